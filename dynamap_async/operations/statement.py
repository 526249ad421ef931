"""A PartiQL statement.

The text goes to DynamoDB as it is: no table prefix is put in, and no model's settings apply to it.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-reference.html
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, Generic, cast, final, overload

from typing_extensions import TypeVar  # Pydantic's own dependency; typing's TypeVar has defaults from 3.13 on

from dynamap_async.codec import decode_any, encode_any
from dynamap_async.errors import (
    ConditionalCheckFailedError,
    EncodeError,
    ItemValidationError,
    OperationError,
    ServiceError,
)
from dynamap_async.limits import STATEMENT_LENGTH
from dynamap_async.models import Definition, Model, definition_of
from dynamap_async.operations.operation import Operation
from dynamap_async.planning import Context, checked_model, positive
from dynamap_async.request import Request
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

    __slots__ = ("_consistent", "_definition", "_parameters", "limit", "page_size", "text")

    @overload
    def __init__(
        self: "Statement[M]",
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
        self: "Statement[dict[str, Any]]",
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
        """Take the statement.

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
        self.text: str = _checked_text(text)
        """The statement as it is sent."""
        self.limit: int | None = None if limit is None else positive(limit, "limit")
        """Most items to give out; None gives all."""
        self.page_size: int | None = None if page_size is None else positive(page_size, "page_size")
        """Most items that one request evaluates."""
        self._parameters = _encoded(parameters)
        self._consistent = consistent_read
        self._definition: Definition[Any] | None = None if into is None else definition_of(checked_model(into))

    def __repr__(self) -> str:
        return f"Statement({self.text!r}, {len(self._parameters)} parameters)"

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
        return _READS.match(self.text) is not None

    @property
    def checks(self) -> bool:
        """Whether the statement is an EXISTS, the condition check of a transaction."""
        return _CHECKS.match(self.text) is not None

    @property
    def table(self) -> str:
        """The table that the statement names first, for messages; empty if none is found."""
        found = _TABLE.search(self.text)
        return "" if found is None else found[1]

    def request(self, context: Context, start: WireKey | None = None, remaining: int | None = None) -> Request:
        """Return the ExecuteStatement request of one page.

        Args:
            context: what the session adds: nothing to a statement.
            start: where the page before ended; None for the first.
            remaining: how many items are still wanted; DynamoDB counts others, so it is not told.
        """
        body = self.part()
        if self.page_size is not None:
            body["Limit"] = self.page_size
        if start is not None:
            body[_NEXT] = start[_NEXT].get("S")
        return Request(
            operation="ExecuteStatement", body=body, table=self.table, writes=self.writes, resendable=not self.writes
        )

    def part(self) -> dict[str, Any]:
        """Return what the statement says, alone or among others."""
        body: dict[str, Any] = {"Statement": self.text}
        if self._parameters:  # an empty list is refused
            body["Parameters"] = self._parameters
        if self._consistent:
            body["ConsistentRead"] = True
        if _GUARDED.match(self.text):
            body["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        return body

    def page_of(self, answer: Body) -> Body:
        """Return an answer in the form of a query's page: the token is its position."""
        token = answer.get(_NEXT)
        return {"Items": answer.get("Items") or [], "LastEvaluatedKey": {_NEXT: {"S": token}} if token else None}

    def decode(self, items: Sequence[WireItem]) -> list[Any]:
        """Return wire items as instances or dicts.

        Raises:
            ItemValidationError: an item does not fit the model; the error carries those that do.
        """
        if self._definition is not None:
            return self._definition.items.decode(items)
        return [{name: decode_any(value) for name, value in item.items()} for item in items]

    def failed(self, error: ServiceError) -> Exception:
        """Return what a refusal means to the caller: a failed condition brings the stored item as an instance."""
        if self._definition is not None and isinstance(error, ConditionalCheckFailedError) and error.wire_item:
            with suppress(ItemValidationError):  # the caller's error is that of the condition
                [error.item] = self._definition.items.decode([error.wire_item])
        return error


def _checked_text(text: object) -> str:
    if not isinstance(text, str) or not 1 <= len(text) <= STATEMENT_LENGTH:
        what = f"one of {len(text):,} characters" if isinstance(text, str) else repr(text)
        raise OperationError(f"a statement is text of 1 to {STATEMENT_LENGTH:,} characters, not {what}")
    return text


def _encoded(parameters: object) -> list[AttributeValue]:
    if not isinstance(parameters, Sequence) or isinstance(parameters, str | bytes | bytearray):
        raise OperationError(f"the parameters are a list of values, not {parameters!r}; write [{parameters!r}] for one")
    encoded: list[AttributeValue] = []
    for value in cast("Sequence[object]", parameters):
        try:
            encoded.append(encode_any(value))
        except EncodeError as error:
            raise error.at("parameters", len(encoded)) from error.__cause__
    return encoded
