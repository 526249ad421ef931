"""``Request``: the value that the pure half of the library hands to the asynchronous half."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from decimal import Context, Decimal
from typing import Any, Final, TypeAlias

from dynamap_async.dataclass import dataclass
from dynamap_async.service import DYNAMODB, Service
from dynamap_async.wire import AttributeValue, Body, WireItem, WireKey

_EXACT: Final = Context(prec=40)  # the usual one rounds to 28 digits, and a number has up to 38

AnswerFilter: TypeAlias = Callable[[Body], Body]
"""Removes from the answer of a page what callers are not to see."""


# Not frozen, as all other values are: freezing costs each request 2 us (benchmarks: concurrent_gets_400, batch_get).
@dataclass(slots=True)
class Target:
    """The one item that a request reads or writes. It does not change."""

    key: WireKey
    """Its key attributes, partition key first."""

    identity: str
    """Table and key in canonical form: equal for equal keys."""

    measured: int | Callable[[], int] = 0
    """The size in bytes of what is written, or a function that measures it; 0 for reads and deletes."""

    json_bytes: int = 0
    """The length of its JSON, where it is known: never less than its size."""

    @property
    def size_bytes(self) -> int:
        """The size of what is written, as DynamoDB counts it. It is measured on the first access."""
        measured = self.measured
        if not isinstance(measured, int):
            measured = self.measured = measured()
        return measured


def identity_of(table: str, key: WireKey) -> str:
    """Return the identity of an item: ``1`` and ``1.0`` are one number, and so one key."""
    identity = table
    for value in key.values():
        # Each with its length: a text may hold any character, and so no separator keeps ("ab", "c") from ("a", "bc").
        text = value.get("S")
        if text is not None:  # as most keys are, at half the cost of the others (benchmarks: concurrent_gets_400)
            identity += f"\0{len(text) + 1}:S{text}"
            continue
        [(tag, content)] = value.items()
        part = canonical(tag, content)
        identity += f"\0{len(part)}:{part}"
    return identity


def canonical(tag: str, value: object) -> str:
    """Return a key-typed value as text, its type first: equal for equal values, and only for those."""
    text = str(value)
    if tag == "N" and not text.isdigit():
        text = format(Decimal(text).normalize(_EXACT), "f")
    return f"{tag}{text}"


Reader: TypeAlias = Callable[[Sequence[WireItem]], Sequence[Any]]
"""Makes instances of items, in order; raises if one of the items cannot be decoded."""


class SharedDecoding:
    """The items of one answer that callers with the same reader have asked for, one each.

    The first caller who looks decodes all of them, at two thirds of what it costs one by one (benchmarks:
    concurrent_gets_400). If one cannot be decoded, each caller decodes its own, so that none gets another's error.
    """

    __slots__ = ("_instances", "_items", "_reader")

    def __init__(self, reader: Reader) -> None:
        """Create it without items.

        Args:
            reader: decodes the items.
        """
        self._reader = reader
        self._items: list[WireItem] = []
        self._instances: list[Any] | None = None

    def add(self, item: WireItem) -> int:
        """Add an item, and return its number."""
        self._items.append(item)
        return len(self._items) - 1

    def take(self, number: int, reader: Reader) -> Any:
        """Return the instance of an item, once; None if the reader is another one, or the item cannot be decoded."""
        if reader is not self._reader:
            return None
        instances = self._instances
        if instances is None:
            try:
                instances = list(self._reader(self._items))
            except Exception:  # noqa: BLE001 - the caller whose item it is gets the error when it decodes that alone
                instances = [None] * len(self._items)
            self._instances, self._items = instances, []
        instance, instances[number] = instances[number], None
        return instance


class PartOfAnswer(dict[str, Any]):
    """The part of a shared answer for one of its requests, as if that one had travelled alone."""

    __slots__ = ("_number", "_shared")

    _number: int
    """The number of its item among those of the shared decoding."""
    _shared: SharedDecoding

    def read_with(self, shared: SharedDecoding) -> None:
        """Have its item decoded together with those of others.

        Args:
            shared: decodes the items of all.
        """
        self._shared, self._number = shared, shared.add(self["Item"])

    def instance(self, reader: Reader) -> Any:
        """Return an instance of its item that nobody else has; None if the caller has to decode the item."""
        try:
            shared = self._shared
        except AttributeError:
            return None
        return shared.take(self._number, reader)


@dataclass(frozen=True, slots=True)
class WriteId:
    """The id that a write stores in its item. Nobody else knows it, so it shows that the item was written."""

    attribute: str
    """The stored name of the attribute."""

    value: AttributeValue

    parts: Callable[[WireItem], WireItem] | None = None
    """Returns the part of the item that the answer to the write holds; None if that is all of it, or not looked at."""

    def answer(self, item: WireItem | None) -> Body | None:
        """Return the answer that the write would have got; None if the stored item does not show that it was done."""
        if item is None or item.get(self.attribute) != self.value:
            return None
        return {"Attributes": item if self.parts is None else self.parts(item)}


@dataclass(slots=True, kw_only=True)
class Request:
    """One call of the DynamoDB API, ready to be encoded, signed and sent.

    It changes once: when it is sent, its body is made to ask for the units that it takes.
    """

    operation: str
    """The API's own name of the operation, such as ``GetItem``."""

    body: Body = field(repr=False)
    """The request's JSON object, in wire form. Left out of ``repr``: it holds item data."""

    table: str
    """The full table name; errors and events name it. Of several tables all names, for people to read."""

    tables: tuple[str, ...] = ()
    """The full names of the tables, each once, where there are several; empty for a request about ``table`` alone."""

    index: str | None = None
    """The index that is read, if any."""

    target: Target | None = None
    """The one item that the request is about; None for queries, scans, batches and tables."""

    targets: tuple[Target, ...] = ()
    """The items that a transaction writes or checks, each once: it takes its turn among the writes of each."""

    batchable: bool = False
    """Whether the request may be carried out as part of a batch call."""

    writes: bool = False
    """Whether the operation changes data, so that a lost answer leaves its outcome unknown."""

    conditional: bool = False
    """Whether a condition guards the write: its failure after a lost answer may be its own success."""

    resendable: bool = True
    """Whether sending again after a lost answer leads to the same state as sending once."""

    resendable_seconds: float | None = None
    """For how long after the first sending that is so, where a client request token makes it so; None for always."""

    write_id: WriteId | None = None
    """The id by which the stored item shows that the write was done; None if the model has no field for it."""

    required: frozenset[str] = frozenset()
    """The attributes that each item of a page must have, or an update must bring back; an answer without is damaged."""

    unindexed: Callable[[], tuple[str, ...]] | None = None
    """Returns the global indexes in which the item that is put has no entry; None if that is not known."""

    reader: Reader | None = None
    """Decodes the item, together with others if they share an answer; None if the caller has to decode it."""

    service: Service = DYNAMODB
    """The service that it goes to."""


def tables_of(request: Request) -> tuple[str, ...]:
    """Return the full names of the tables that a request is about, each once."""
    return request.tables or (request.table,)


def about_tables(tables: Iterable[str]) -> dict[str, Any]:
    """Return the members of a request that say which tables it is about.

    Args:
        tables: their full names, any number of times.
    """
    names = tuple(dict.fromkeys(tables))
    return {"table": ", ".join(names), "tables": names if len(names) > 1 else ()}


@dataclass(frozen=True, slots=True)
class Positions:
    """How far each part of a read in several parts (segments, or partitions) has come."""

    begun: int
    """How many parts were begun. The others follow in the order of their numbers."""

    at: dict[int, WireKey | None]
    """The parts under way: number -> the key to go on after, None for the beginning."""


Position: TypeAlias = WireKey | Positions
"""How far a read has come: one that goes page by page, or one in several parts."""
