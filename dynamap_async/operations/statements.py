"""Several PartiQL statements in one call, each for itself or all as one."""

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Generic, final

from typing_extensions import TypeVar  # Pydantic's own dependency; typing's TypeVar has defaults from 3.13 on

from dynamap_async.errors import OperationError
from dynamap_async.limits import BATCH_STATEMENTS, TRANSACTION_ACTIONS
from dynamap_async.operations.operation import Operation
from dynamap_async.operations.statement import Statement
from dynamap_async.operations.tokens import RESENDABLE_SECONDS, checked_token, token_to_send
from dynamap_async.planning import Context
from dynamap_async.request import Request, about_tables

ItemT = TypeVar("ItemT", default=dict[str, Any])


class Statements(Operation[list[ItemT | None]], Generic[ItemT]):
    """Several statements in one call."""

    __slots__ = ("statements",)

    most: ClassVar[int]
    """How many there may be."""

    def __init__(self, statements: Iterable[Statement[ItemT]], /) -> None:
        self.statements: tuple[Statement[ItemT], ...] = tuple(statements)
        """The statements, in order."""
        for position, statement in enumerate(self.statements):
            _check_part(position, statement)
        if len(self.statements) > self.most:
            raise OperationError(
                f"{len(self.statements)} statements, and one {type(self).__name__} takes {self.most}; they are not "
                "split, because you decide which belong together"
            )
        if any(each.reads for each in self.statements) and not all(each.reads for each in self.statements):
            raise OperationError("statements that travel together all read or all write; send the reads on their own")

    def __repr__(self) -> str:
        return f"{type(self).__name__}([{', '.join(map(repr, self.statements))}])"

    @property
    def table(self) -> str:
        """The tables that the statements name, for messages."""
        return ", ".join(dict.fromkeys(each.table for each in self.statements if each.table))

    @property
    def writes(self) -> bool:
        """Whether the statements may change data."""
        return any(each.writes for each in self.statements)

    @abstractmethod
    def request(self, context: Context) -> Request:
        """Return the request of all statements."""
        raise NotImplementedError


@final
class BatchExecuteStatement(Statements[ItemT]):
    """Up to 25 statements in one call, each for itself: some may fail while others succeed.

    Each is about one item: a SELECT has equality conditions on the whole key. The result is, for each, the item that it
    brought back, or None.

    Cost: one BatchExecuteStatement; the units of each statement.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchExecuteStatement.html
    """

    __slots__ = ()

    most = BATCH_STATEMENTS

    def request(self, context: Context) -> Request:
        """Return the BatchExecuteStatement request."""
        return Request(
            operation="BatchExecuteStatement",
            body={"Statements": [each.part() for each in self.statements]},
            **about_tables([each.table for each in self.statements if each.table]),
            writes=self.writes,
            resendable=not self.writes,
        )


@final
class ExecuteTransaction(Statements[ItemT]):
    """Up to 100 statements, carried out as one: all of them or none.

    Each is about one item, and no two about the same. Each execution has a client request token of its own, unless one
    is given, so that sending again after a lost answer never writes twice.

    Cost: one ExecuteTransaction; twice the units of each statement. A cancelled transaction is charged too.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExecuteTransaction.html
    """

    __slots__ = ("_token",)

    most = TRANSACTION_ACTIONS

    def __init__(self, statements: Iterable[Statement[ItemT]], /, *, client_request_token: str | None = None) -> None:
        """Take the statements.

        Args:
            statements: SELECT statements, or INSERT, UPDATE, DELETE and EXISTS statements.
            client_request_token: 1 to 36 characters that stand for this transaction: executed again with the same token
                within ten minutes, it succeeds and writes nothing.

        Raises:
            OperationError: these are no statements, more than 100, or reads among writes; or the token is empty or too
                long.
        """
        super().__init__(statements)
        self._token = checked_token(client_request_token)

    def request(self, context: Context) -> Request:
        """Return the ExecuteTransaction request; sent again as it is, it writes once."""
        parts = [each.part() for each in self.statements]
        for part in parts:
            part.pop("ConsistentRead", None)  # a transaction always reads consistently, and does not know the member
        return Request(
            operation="ExecuteTransaction",
            body={"TransactStatements": parts, "ClientRequestToken": token_to_send(self._token)},
            **about_tables([each.table for each in self.statements if each.table]),
            writes=self.writes,
            resendable_seconds=RESENDABLE_SECONDS,
        )


def _check_part(position: int, statement: object) -> None:
    if not isinstance(statement, Statement):
        raise OperationError(f"number {position}, {statement!r}, is no statement; write Statement(text, parameters)")
    if statement.limit is not None or statement.page_size is not None:
        raise OperationError(
            f"statement {position} has a limit or a page_size; among others a statement is about one item: drop it"
        )
