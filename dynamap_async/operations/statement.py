"""PartiQL statements: one alone, several in one call each for itself, or all as one.

The text goes to DynamoDB as it is: no table prefix is put in, and no model's settings apply to it.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.html
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Final, Generic, cast, final, overload

from typing_extensions import TypeVar  # Pydantic's own dependency; typing's TypeVar has defaults from 3.13 on

from dynamap_async.codec import check_value, decode_any, encode_any
from dynamap_async.errors import (
    ConditionalCheckFailedError,
    EncodeError,
    ItemValidationError,
    OperationError,
    OutOfRangeError,
    ServiceError,
)
from dynamap_async.limits import BATCH_STATEMENTS, STATEMENT_LENGTH, TRANSACTION_ACTIONS
from dynamap_async.models import Definition, Model, definition_of
from dynamap_async.operations.operation import Operation
from dynamap_async.operations.transactions import RESENDABLE_SECONDS, checked_token, token_to_send
from dynamap_async.planning import Context, positive
from dynamap_async.request import Request, about_tables
from dynamap_async.wire import AttributeValue, Body, WireItem, WireKey

ItemT = TypeVar("ItemT", default=dict[str, Any])
M = TypeVar("M", bound=Model)

_READS: Final = re.compile(r"\s*SELECT\b", re.IGNORECASE)
_CHECKS: Final = re.compile(r"\s*EXISTS\b", re.IGNORECASE)
_GUARDED: Final = re.compile(r"\s*(?:UPDATE|DELETE)\b", re.IGNORECASE)
_TABLE: Final = re.compile(r'\b(?:FROM|INTO|UPDATE)\s+"?([A-Za-z0-9_.-]+)', re.IGNORECASE)
_NEXT: Final = "NextToken"


@final
class Statement(Operation[list[ItemT]], Generic[ItemT]):
    """A PartiQL statement with its parameters. The result is a list of what it brings back: empty for most writes.

    A statement that writes is not sent again after a lost answer; ``ExecuteTransaction`` makes that safe.

    Cost: one ExecuteStatement for each page of up to 1 MB. A SELECT without equality on the partition key reads, and
    pays for, the whole table. Units are those of GetItem, Query or Scan, and of PutItem, UpdateItem or DeleteItem.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExecuteStatement.html
    """

    __slots__ = ("_consistent", "_definition", "_limit", "_page_size", "_parameters", "_text")

    @overload
    def __init__(
        self: Statement[M],
        text: str,
        parameters: Sequence[object] = (),
        /,
        *,
        into: type[M],
        consistent_read: bool = False,
        limit: int | None = None,
        page_size: int | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: Statement[dict[str, Any]],
        text: str,
        parameters: Sequence[object] = (),
        /,
        *,
        into: None = None,
        consistent_read: bool = False,
        limit: int | None = None,
        page_size: int | None = None,
    ) -> None: ...
    def __init__(
        self,
        text: str,
        parameters: Sequence[object] = (),
        /,
        *,
        into: type[Model] | None = None,
        consistent_read: bool = False,
        limit: int | None = None,
        page_size: int | None = None,
    ) -> None:
        """Create the operation; nothing is sent yet.

        Args:
            text: the statement, of up to 8,192 characters, with ``?`` in place of values.
            parameters: the values, in order; each is stored by its own type, as in ``encode_any``.
            into: the model that items become; without it they are dicts of plain values.
            consistent_read: whether all writes answered before must be seen.
            limit: most items to give out.
            page_size: most items that one request evaluates, whether they fit or not.

        Raises:
            EncodeError: a parameter cannot be stored.
            OperationError: the text is empty or too long, a number is below 1, or ``into`` is no model.
        """
        self._text = _checked_text(text)
        self._limit = None if limit is None else positive(limit, "limit")
        self._page_size = None if page_size is None else positive(page_size, "page_size")
        self._parameters = _encoded(parameters)
        self._consistent = consistent_read
        self._definition: Definition[Any] | None = None if into is None else definition_of(into)

    def __repr__(self) -> str:
        return f"Statement({self._text!r}, {len(self._parameters)} parameters)"

    @property
    def text(self) -> str:
        """The statement as it is sent."""
        return self._text

    @property
    def limit(self) -> int | None:
        """Most items to give out; None gives all."""
        return self._limit

    @property
    def page_size(self) -> int | None:
        """Most items that one request evaluates."""
        return self._page_size

    @property
    def model(self) -> type[Model] | None:
        """The model that items become; None for dicts."""
        return None if self._definition is None else self._definition.model

    @property
    def writes(self) -> bool:
        """Whether the statement may change data: it is neither a SELECT nor an EXISTS."""
        return not (self.reads or self.checks)

    @property
    def reads(self) -> bool:
        """Whether the statement is a SELECT."""
        return _READS.match(self._text) is not None

    @property
    def checks(self) -> bool:
        """Whether the statement is an EXISTS, the condition check of a transaction."""
        return _CHECKS.match(self._text) is not None

    @property
    def table(self) -> str:
        """The table that the statement names first, for messages; empty if none is found."""
        found = _TABLE.search(self._text)
        return "" if found is None else found[1]

    def request(self, context: Context, start: WireKey | None = None, remaining: int | None = None) -> Request:
        """Return the ExecuteStatement request of one page.

        Args:
            context: what the session adds: nothing to a statement.
            start: where the page before ended; None for the first.
            remaining: how many items are still wanted; DynamoDB counts others, so it is not told.
        """
        body = self.part()
        if self._page_size is not None:
            body["Limit"] = self._page_size
        if start is not None:
            body[_NEXT] = start[_NEXT].get("S")
        return Request(
            operation="ExecuteStatement", body=body, table=self.table, writes=self.writes, resendable=not self.writes
        )

    def part(self) -> dict[str, Any]:
        """Return what the statement says, alone or among others."""
        body: dict[str, Any] = {"Statement": self._text}
        if self._parameters:  # an empty list is refused
            body["Parameters"] = self._parameters
        if self._consistent:
            body["ConsistentRead"] = True
        if _GUARDED.match(self._text):
            body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return body

    def page_of(self, answer: Body) -> Body:
        """Return an answer in the form of a query's page: the token is its position.

        Args:
            answer: the answer's body.
        """
        token = answer.get(_NEXT)
        return {"Items": answer.get("Items") or [], "LastEvaluatedKey": {_NEXT: {"S": token}} if token else None}

    def decode(self, items: Sequence[WireItem]) -> list[Any]:
        """Return wire items as instances or dicts.

        Args:
            items: items in wire form.

        Raises:
            ItemValidationError: an item does not fit the model; the error carries those that do.
        """
        if self._definition is not None:
            return self._definition.items.decode(items)
        return [{name: decode_any(value) for name, value in item.items()} for item in items]

    def failed(self, error: ServiceError) -> Exception:
        """Return what a refusal means to the caller: a failed condition brings the stored item as an instance.

        Args:
            error: the refusal.
        """
        if self._definition is not None and isinstance(error, ConditionalCheckFailedError) and error.wire_item:
            with suppress(ItemValidationError):  # the caller's error is that of the condition
                [error.item] = self._definition.items.decode([error.wire_item])
        return error


def _checked_text(text: object) -> str:
    if not isinstance(text, str) or not 1 <= len(text) <= STATEMENT_LENGTH:
        what = f"one of {len(text):,} characters" if isinstance(text, str) else repr(text)
        raise OperationError(f"a statement must be a string of 1 to {STATEMENT_LENGTH:,} characters, not {what}")
    return text


def _encoded(parameters: object) -> list[AttributeValue]:
    if not isinstance(parameters, Sequence) or isinstance(parameters, str | bytes | bytearray):
        raise OperationError(
            f"the parameters must be a list of values, not {parameters!r}; write [{parameters!r}] for one"
        )
    encoded: list[AttributeValue] = []
    for value in cast("Sequence[object]", parameters):
        try:
            stored = encode_any(value)
            check_value(stored)
        except EncodeError as error:
            raise error.at("parameters", len(encoded)) from error.__cause__
        encoded.append(stored)
    return encoded


class Statements(Operation[list[ItemT | None]], Generic[ItemT]):
    """Several statements in one call."""

    __slots__ = ("_statements",)

    most: ClassVar[int]
    """How many there may be."""

    def __init__(self, statements: Iterable[Statement[ItemT]], /) -> None:
        """Create the operation; nothing is sent yet.

        Args:
            statements: those that read, or those that write, in order.

        Raises:
            OperationError: these are no statements, or too many, or reads among writes.
        """
        self._statements = tuple(statements)
        for position, statement in enumerate(self._statements):
            _check_part(position, statement)
        if len(self._statements) > self.most:
            raise OutOfRangeError(
                f"one {type(self).__name__} takes {self.most} statements, not {len(self._statements)}; split them "
                "yourself, because you know which belong together"
            )
        if any(each.reads for each in self._statements) and not all(each.reads for each in self._statements):
            raise OperationError(
                "statements that are sent together must all read or all write; send the reads separately"
            )

    @property
    def statements(self) -> tuple[Statement[ItemT], ...]:
        """The statements, in order."""
        return self._statements

    def __repr__(self) -> str:
        return f"{type(self).__name__}([{', '.join(map(repr, self._statements))}])"

    @property
    def table(self) -> str:
        """The tables that the statements name, for messages."""
        return ", ".join(dict.fromkeys(each.table for each in self._statements if each.table))

    @property
    def writes(self) -> bool:
        """Whether the statements may change data."""
        return any(each.writes for each in self._statements)

    @abstractmethod
    def request(self, context: Context) -> Request:
        """Return the request of all statements.

        Args:
            context: what the session adds: its table prefix, its clock and its settings.
        """


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
        """Return the BatchExecuteStatement request.

        Args:
            context: what the session adds: its table prefix, its clock and its settings.
        """
        return Request(
            operation="BatchExecuteStatement",
            body={"Statements": [each.part() for each in self._statements]},
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
        """Create the operation; nothing is sent yet.

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
        """Return the ExecuteTransaction request; sent again as it is, it writes once.

        Args:
            context: what the session adds: its table prefix, its clock and its settings.
        """
        parts = [each.part() for each in self._statements]
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
        raise OperationError(f"number {position}, {statement!r}, is not a statement; write Statement(text, parameters)")
    if statement.limit is not None or statement.page_size is not None:
        raise OperationError(
            f"statement {position} has a limit or a page_size, but a statement that is sent with others is about one "
            "item; drop it"
        )
