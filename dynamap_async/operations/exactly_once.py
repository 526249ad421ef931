"""One write whose answer may be lost without its being done twice."""

from typing import Any, Generic, TypeVar, final

from dynamap_async.errors import ServiceError, TransactionCanceledError
from dynamap_async.operations.get import Get
from dynamap_async.operations.operation import Operation
from dynamap_async.operations.transact import key_values
from dynamap_async.operations.transact_write import TransactWrite
from dynamap_async.operations.write import Write
from dynamap_async.planning import Context

M = TypeVar("M")
R_co = TypeVar("R_co", covariant=True)


@final
class ExactlyOnce(TransactWrite, Generic[M]):
    """Carry out one write as a transaction of its own, so that it can be sent again and is done once all the same.

    DynamoDB remembers the transaction's client request token for ten minutes; this gives up before. A transaction
    returns nothing, so the result is None; ``then_get()`` reads the item afterwards. Errors are those of the write
    itself.

    Cost: one TransactWriteItems; two write units per KB of the item, twice what the write alone takes.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
    """

    __slots__ = ()

    def __init__(self, write: Write[Any], /, *, client_request_token: str | None = None) -> None:
        """Take the write.

        Args:
            write: a ``Put``, ``Update`` or other write of one item.
            client_request_token: 1 to 36 characters that stand for this write, also in another process: with the same
                token within ten minutes it is not done again.

        Raises:
            OperationError: this is no write, or the token is empty or too long.
        """
        super().__init__((write,), client_request_token=client_request_token)

    def __repr__(self) -> str:
        return f"ExactlyOnce({self.actions[0]!r})"

    def then_get(self) -> "ThenGet[M]":
        """Return the same, with a consistent read of the item behind it, whose result is the item.

        The item is as it is at that moment: others may have written in between.

        Cost: one GetItem more; a read unit per 4 KB.
        """
        return ThenGet(self)

    def failed(self, error: ServiceError) -> Exception:
        """Return what the write on its own would have raised."""
        explained = super().failed(error)
        if not isinstance(explained, TransactionCanceledError):
            return explained
        own = next((reason.error for reason in explained.failures if reason.error is not None), None)
        return explained if own is None else own


@final
class ThenGet(Operation[R_co], Generic[R_co]):
    """A write that is done exactly once, and then a consistent read of its item. Made by ``ExactlyOnce``.

    Cost: that of the write, and one GetItem with a read unit per 4 KB.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_GetItem.html
    """

    __slots__ = ("write",)

    def __init__(self, write: ExactlyOnce[Any]) -> None:
        self.write: ExactlyOnce[Any] = write
        """What is done first."""

    def __repr__(self) -> str:
        return f"{self.write!r}.then_get()"

    def get(self) -> Operation[R_co]:
        """Return the read; of a new item that gets its key by being written, only after that."""
        write = self.write.actions[0]
        definition = write.definition
        if write.item is not None:
            values = [getattr(write.item, field.name) for field in definition.key_fields()]
        else:
            target = write.request(Context()).target
            values = [] if target is None else list(key_values(definition, target.key).values())
        get: Operation[R_co] = Get(definition.model, *values, consistent_read=True)
        return get
