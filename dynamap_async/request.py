"""The one value that crosses from the pure half of the library to the asynchronous half."""

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Context, Decimal
from functools import lru_cache
from typing import Final, TypeAlias

from dynamap_async.wire import Body, WireKey

_EXACT: Final = Context(prec=40)  # the usual one rounds to 28 digits, and a number has up to 38


# Not frozen, as all other values are: freezing costs each request 2 us (benchmarks: concurrent_gets_400, batch_get).
@dataclass(slots=True)
class Target:
    """The one item that a request reads or writes. It does not change."""

    key: WireKey
    """Its key attributes, partition key first."""

    identity: str
    """Table and key in canonical form: equal for equal keys."""

    measured: int | Callable[[], int] = 0
    """The size in bytes of what is written, or what measures it; 0 for reads and deletes."""

    json_bytes: int = 0
    """The length of its JSON, where it is known: never less than its size."""

    @property
    def size_bytes(self) -> int:
        """The size of what is written, as DynamoDB counts it. It is measured when it is asked for first."""
        measured = self.measured
        if not isinstance(measured, int):
            measured = self.measured = measured()
        return measured


def identity_of(table: str, key: WireKey) -> str:
    """Return the identity of an item: ``1`` and ``1.0`` are one number, and so one key."""
    identity = table
    for value in key.values():
        [(tag, content)] = value.items()
        part = f"S{content}" if tag == "S" else canonical(tag, content)
        # Each with its length: a text may hold any character, and so no separator keeps ("ab", "c") from ("a", "bc").
        identity += f"\0{len(part)}:{part}"
    return identity


def canonical(tag: str, value: object) -> str:
    """Return a key-typed value as text, its type first: equal for equal values, and only for those."""
    text = str(value)
    if tag == "N" and not text.isdigit():
        text = format(Decimal(text).normalize(_EXACT), "f")
    return f"{tag}{text}"


@dataclass(slots=True, kw_only=True)
class Request:
    """One call of the DynamoDB API, ready to be encoded, signed and sent. It does not change."""

    operation: str
    """The API's own name of the operation, such as ``GetItem``."""

    body: Body = field(repr=False)
    """The request's JSON object, in wire form. Left out of ``repr``: it holds item data."""

    table: str
    """The full table name; errors and statistics name it."""

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


def tables_of(request: Request) -> tuple[str, ...]:
    """Return the full names of the tables that a request is about, each once."""
    return _names(request.table)


@lru_cache(maxsize=1024)
def _names(table: str) -> tuple[str, ...]:
    # Of a batch or a transaction the names are joined; no table's name holds a comma.
    return tuple(dict.fromkeys(table.split(", ")))


@dataclass(frozen=True, slots=True)
class Positions:
    """Where each part of a read in several parts (segments, or partitions) stands."""

    begun: int
    """How many parts were begun; the others follow in order of their numbers."""

    at: dict[int, WireKey | None]
    """The parts that were begun and not finished: number -> the position to go on after, None for the beginning."""


Position: TypeAlias = WireKey | Positions
"""Where a read stands: one that goes page by page, or one in several parts."""
