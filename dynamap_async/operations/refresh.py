"""Reading an item into the instance that there is."""

from collections.abc import Sequence
from typing import Any, Generic, TypeVar, final

from dynamap_async.errors import OperationError
from dynamap_async.models import Model, definition_of, take_over
from dynamap_async.operations.get import Find
from dynamap_async.operations.operation import SingleRequest
from dynamap_async.operations.save import not_found
from dynamap_async.planning import Context, checked_model
from dynamap_async.request import Request
from dynamap_async.wire import Body

M = TypeVar("M", bound=Model)


@final
class Refresh(SingleRequest[M], Generic[M]):
    """Read an instance's item, consistently, and take its values over into the same instance.

    What was changed and not saved is lost. Private attributes stay as they are.

    Cost: one GetItem; a read unit per 4 KB of the item.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_GetItem.html
    """

    __slots__ = ("_definition", "_find", "_item")

    def __init__(self, item: M, /) -> None:
        """Name the instance; its key says which item.

        Raises:
            EncodeError: a key value is of the wrong type, empty or too long.
            OperationError: it is not an instance of a model, or its model is frozen.
        """
        model = checked_model(type(item))
        if model.model_config.get("frozen"):
            raise OperationError(
                f"{model.__name__} is frozen, so its instances keep their values; read another one: "
                f"session.get({model.__name__}, key, consistent_read=True)"
            )
        self._item = item
        self._definition = definition_of(type(item))
        self._definition.require_table("read")
        values: list[Any] = [getattr(item, field.name) for field in self._definition.key_fields()]
        self._find: Find[M] = Find(type(item), *values, consistent_read=True)

    def __repr__(self) -> str:
        return f"Refresh({self._item!r})"

    def request(self, context: Context) -> Request:
        """Return the GetItem request."""
        return self._find.request(context)

    def result(self, response: Body, context: Context) -> M:
        """Return the same instance with the stored values.

        Raises:
            ItemNotFoundError: the item does not exist any more.
        """
        found = self._find.result(response, context)
        if found is None:
            raise not_found(self._item, self._definition)
        take_over(self._item, found)
        return self._item

    def read(self, result: Any) -> Sequence[Model]:
        """Return the instance, for the hooks that follow a read."""
        return (result,)
