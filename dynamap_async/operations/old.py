"""``Old``, another spelling of ``returning="old"``."""

from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, final, overload

from dynamap_async.errors import OperationError
from dynamap_async.models import Model
from dynamap_async.operations.delete import Delete
from dynamap_async.operations.put import Put
from dynamap_async.operations.write import checked_returns

M = TypeVar("M", bound=Model)


@final
class Old(Put[M, M | None], Generic[M]):
    """Carry out a ``Put`` or a ``Delete``, and give back the item as it was before; None where there was none.

    ``Old(Put(item))`` is ``Put(item, returning="old")``, and gives that: an instance of the class of the write.

    Cost: as the write alone, but as a request of its own: it does not share a BatchWriteItem.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @overload
        def __init__(self, write: Put[M], returning: Literal["old"] = "old", /) -> None: ...
        @overload
        def __init__(self, write: Delete[Any], returning: Literal["old"] = "old", /) -> None: ...
        def __init__(self, write: Any, returning: Literal["old"] = "old", /) -> None: ...

    else:

        def __new__(cls, write: Any, returning: Any = "old", /) -> Any:
            """Return the write, which gives back the old item.

            Args:
                write: the put or the delete.
                returning: what to give back: there is nothing else than ``"old"``.

            Raises:
                OperationError: it is neither a ``Put`` nor a ``Delete``, or has no such result.
            """
            if type(write) not in (Put, Delete) or write.returns is not None:
                raise OperationError(
                    f"Old({write!r}) gives back what Put or Delete replaced; an update has .returning('old'), and what "
                    "other writes find is not replaced"
                )
            return write._with_members(_returns=checked_returns(write, returning, has_old=True))  # noqa: SLF001 - a write
