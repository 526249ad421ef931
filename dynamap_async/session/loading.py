"""Loaders of a session: by key, or by a field that many items share."""

from collections.abc import Callable, Coroutine, Hashable, Sequence
from functools import partial
from typing import Any, Final, Generic, TypeVar, overload

from dynamap_async.errors import EncodeError, OperationError
from dynamap_async.expressions import Condition, Expr, path_of
from dynamap_async.models import Index, Key, Model
from dynamap_async.operations import Find, Query
from dynamap_async.planning import checked_model
from dynamap_async.session.loader import Loader
from dynamap_async.session.many import of_key
from dynamap_async.session.runner import Runner

M = TypeVar("M", bound=Model)
T = TypeVar("T")


class Loaders:
    """What a session offers to programs that ask for one key at a time, as GraphQL resolvers do."""

    _runner: Runner

    @overload
    def loader(self, model: type[M], /, *, consistent_read: bool = False) -> Loader[Key, M | None]: ...
    @overload
    def loader(
        self,
        model: type[M],
        /,
        *,
        by: Expr[T],
        where: Condition | Sequence[Condition] = (),
        index: Index[M] | None = None,
        descending: bool = False,
        limit: int | None = None,
        consistent_read: bool = False,
    ) -> Loader[T, list[M]]: ...
    def loader(
        self,
        model: type[M],
        /,
        *,
        by: Expr[Any] | None = None,
        where: Condition | Sequence[Condition] = (),
        index: Index[M] | None = None,
        descending: bool = False,
        limit: int | None = None,
        consistent_read: bool = False,
    ) -> Loader[Any, Any]:
        """Return a new loader, for one web request: of items by their key, or ``by=`` a field that many items share.

        Args:
            model: the model of the items.
            by: the field whose value is the key; its table or an index must have it as partition key. Each key is then
                one Query, and its value a list.
            where: what else must hold of the items.
            index: the index to go through, whatever the planner would choose.
            descending: whether the sort key's largest value comes first.
            limit: at most how many items each key gives; without one, all.
            consistent_read: whether all writes answered before must be seen; indexes other than local ones cannot.

        Raises:
            OperationError: the settings contradict each other, or the service would refuse them.
            ExpressionError: ``by`` is no field.

        Cost: nothing by itself; see ``Loader.load``. Queries of different keys are under way at the same time, as many
            as the session has connections.
        Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
        """
        checked_model(model)
        if by is None:
            if where != () or index is not None or descending or limit is not None:
                raise OperationError(
                    f"a loader by key reads one {model.__name__} for each key; where=, index=, descending= and limit= "
                    f"belong to lists: name their field too, as in by={model.__name__}.some_field"
                )
            return Loader(_ByKey(self._runner, model, consistent_read=consistent_read))
        query = Query(model).where(*([where] if isinstance(where, Condition) else where))
        query = query if index is None else query.index(index)
        query = query.descending() if descending else query
        query = query if limit is None else query.limit(limit)
        return Loader(_ByField(self._runner, query.consistent() if consistent_read else query, by))


class _ByKey(Generic[M]):
    """Items by their key."""

    def __init__(self, runner: Runner, model: type[M], *, consistent_read: bool) -> None:
        self._runner: Final = runner
        self._model: Final = model
        self._operation: Final = partial(Find[M], consistent_read=consistent_read)

    def ask(self, key: Key, /) -> tuple[Hashable, Callable[[], Coroutine[Any, Any, M | None]]]:
        find: Find[M] = of_key(self._operation, self._model, key)
        target = find.request(self._runner.context).target
        return None if target is None else target.identity, partial(self._runner.execute, find)


class _ByField(Generic[M]):
    """Lists of items by the value of a field: one query for each."""

    def __init__(self, runner: Runner, query: Query[M, M], by: Expr[Any]) -> None:
        self._runner: Final = runner
        self._query: Final = query
        self._by: Final = by
        self._path: Final = path_of(by)

    def ask(self, key: object, /) -> tuple[Hashable, Callable[[], Coroutine[Any, Any, list[M]]]]:
        if key is None and None in self._path.reads_as_none:  # to a query it means absence, of which no key is made
            raise EncodeError("None is no value of a key, so no item has it; load only what is not None").at(
                self._path.spelled, model=self._path.owner.__name__
            )
        query = self._query.where(self._by == key)
        try:
            hash(key)
        except TypeError:
            raise OperationError(f"{key!r} cannot be a key of a loader: it can be changed") from None
        return (type(key), key), partial(self._runner.execute, query)
