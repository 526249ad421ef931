"""The keys of a bulk read: those of one model, asked for once each, in chunks that fill a call."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Final

from dynamap_async.models import Definition, Model, definition_of
from dynamap_async.operations import SingleRequest
from dynamap_async.planning import Context, is_expired
from dynamap_async.request import Request
from dynamap_async.session.results import readable
from dynamap_async.session.runner import Runner
from dynamap_async.stored import BulkChunk, ChunkPart, ItemRequest
from dynamap_async.transport import UNREADABLE
from dynamap_async.wire import Body, WireItem, WireKey

SLICE_ITEMS: Final = 32
"""How many items are decoded at once: less than 2 ms of work unless they are large."""

MakeFind = Callable[[Any], SingleRequest[Any]]
"""Returns the operation that reads what was asked for."""


class KeyedReads:
    """Reads of the items of one model, in chunks."""

    __slots__ = ("_now", "_one", "asked", "consistent", "context", "definition", "expiry", "keys", "table")

    def __init__(self, definition: Definition[Any], context: Context, *, consistent: bool) -> None:
        self.definition: Final = definition
        self.context: Final = context
        self.keys: Final = definition.plain_keys
        self.table: Final = context.tables.full(definition.require_table("read").name)
        self.consistent: Final = consistent
        body = {"TableName": self.table, "ConsistentRead": consistent}
        self.asked: Final = Request(operation="GetItem", body=body, table=self.table)
        """The request of a read, without its key."""
        self.expiry: Final = None if definition.expiry is None else definition.expiry.stored
        self._now: Final = context.now
        self._one: Final = readable(self._read, lambda: self.asked, lambda item: (item,))

    def call(self, keys: Sequence[WireKey]) -> Request:
        """Return the request of a chunk."""
        entry: dict[str, Any] = {"Keys": keys}
        if self.consistent:
            entry["ConsistentRead"] = True
        return Request(operation="BatchGetItem", body={"RequestItems": {self.table: entry}}, table=self.table)

    def part(self, find: MakeFind, position: int, subject: Any) -> KeyPart | None:
        """Return a key as it was given, at a position of the call's input; None if it is none."""
        values: tuple[Any, ...] = subject if issubclass(type(subject), tuple) else (subject,)
        key = self.keys.made(values)
        if key is None:
            return None
        try:
            return KeyPart(self, find, position, subject, key)
        except LookupError:
            return None

    def read(self, items: Sequence[WireItem]) -> list[Any] | None:
        """Return the instances of items, in order; None where they have to be read one by one."""
        if self.expiry is None:
            with contextlib.suppress(Exception):  # whatever it is, the others are read all the same
                return self.definition.items.decode(items)
        return None

    def _read(self, item: WireItem) -> Any:
        if self.expiry is not None and is_expired(item, self.expiry, self._now()):
            return None
        return self.definition.items.decode([item])[0]

    def read_one(self, item: WireItem) -> Any:
        """Return the instance of an item; None if it has expired, and the error if it has one."""
        try:
            return self._one(item)
        except Exception as error:  # noqa: BLE001 - whatever it is, the others are read all the same
            return error


def keyed_reads(model: type[Model], runner: Runner, *, consistent: bool) -> KeyedReads | None:
    """Return how the items of a model are read in chunks; None where they are read one by one.

    A model that has hooks, or a table for each period, takes the longer way.
    """
    definition = definition_of(model)
    if definition.table is None or definition.periods is not None or runner.hooks.after_each([model]):
        return None
    return KeyedReads(definition, runner.context, consistent=consistent)


class KeyChunk(BulkChunk):
    """A chunk of keys that fill a call.

    Args:
        reads: how they are read.
        first: the number of the first of them, among all of the call.
        places: key, as ``PlainKeys.hashable`` has it -> its number.
        asked_of: returns what is asked for with the key of a number, as a request of its own.
    """

    __slots__ = ("_asked_of", "_first", "_keys", "_places", "_reads", "asked", "items", "numbers", "size")

    def __init__(
        self,
        reads: KeyedReads,
        keys: Sequence[WireKey],
        first: int,
        places: dict[Hashable, int],
        asked_of: Callable[[int], ItemRequest[Any]],
    ) -> None:
        self._reads = reads
        self._keys = keys
        self._first = first
        self._places = places
        self._asked_of = asked_of
        self.asked: Request = reads.asked
        self.size: int = len(keys)
        self.items: Sequence[WireItem] = ()
        """What was found, in any order."""
        self.numbers: Sequence[int] = ()
        """For each of these the number of its key."""

    @property
    def all_numbers(self) -> range:
        """The numbers of all its keys."""
        return range(self._first, self._first + self.size)

    def call(self) -> Request:
        """Return the BatchGetItem request."""
        return self._reads.call(self._keys)

    def take_apart(self) -> list[ItemRequest[Any]]:
        """Return the GetItem request of each key."""
        return [self._asked_of(number) for number in self.all_numbers]

    def takes(self, answer: Body) -> bool:
        """Keep the items, unless keys are left over, or an item was not asked for."""
        if answer.get("UnprocessedKeys"):
            return False
        try:
            responses: Any = answer.get("Responses") or {}
            items = responses.get(self._reads.table, ())
            place, places = self._reads.keys.hashable, self._places
            numbers = [places[place(item)] for item in items]
        except UNREADABLE:
            return False
        known = not numbers or self._first <= min(numbers) <= max(numbers) < self._first + self.size
        if not known or len(responses) > 1 or (responses and self._reads.table not in responses):
            return False
        self.items, self.numbers = items, numbers
        return True


class KeyPart(ChunkPart):
    """One key of a read that goes on while its answers are taken.

    Args:
        reads: how it is read.
        find: returns the operation that reads what was asked for.
        position: its place in the call's input, from 0.
        subject: how it was given.
    """

    __slots__ = ("_find", "_reads", "group", "identity", "json_bytes", "key", "position", "subject")

    def __init__(self, reads: KeyedReads, find: MakeFind, position: int, subject: Any, key: WireKey) -> None:
        self._reads = reads
        self._find = find
        self.group: KeyedReads = reads
        self.position: int = position
        self.subject: Any = subject
        self.key: WireKey = key
        self.identity: Hashable = reads.keys.hashable(key)
        self.json_bytes: int = 0

    def asked(self) -> ItemRequest[Any]:
        """Return the key as a request of its own."""
        find = self._find(self.subject)
        return ItemRequest(self.position, self.subject, find, find.request(self._reads.context))

    def chunk(self, parts: Sequence[Any]) -> PartsChunk:
        """Return the chunk of this key and others."""
        return PartsChunk(self._reads, parts)


class PartsChunk(KeyChunk):
    """A chunk of keys whose items are read slice by slice."""

    __slots__ = ("_at", "parts")

    def __init__(self, reads: KeyedReads, parts: Sequence[KeyPart]) -> None:
        places: dict[Hashable, int] = {part.identity: number for number, part in enumerate(parts)}
        super().__init__(reads, [part.key for part in parts], 0, places, lambda number: parts[number].asked())
        self.parts: Sequence[KeyPart] = parts
        self._at = 0

    def next_slice(self, most: int) -> list[tuple[KeyPart, Any]]:
        """Return the next keys, each with its instance, or its error; None where there is no item; nothing at the end.

        Those without an item come last.

        Args:
            most: how many items are decoded at most.
        """
        at, self._at = self._at, self._at + most
        if at > len(self.items):
            return []
        items, numbers = self.items[at : self._at], self.numbers[at : self._at]
        found = self._reads.read(items) or [self._reads.read_one(item) for item in items]
        pairs = [(self.parts[number], item) for number, item in zip(numbers, found, strict=True)]
        if self._at > len(self.items):
            absent = set(self.all_numbers).difference(self.numbers)
            pairs += [(self.parts[number], None) for number in sorted(absent)]
        return pairs


class KeyBook:
    """The keys of one call, each once, with the positions in which they were given."""

    def __init__(self, reads: KeyedReads) -> None:
        self.reads: Final = reads
        self._keys: list[WireKey] = []
        self._places: dict[Hashable, int] = {}
        self.positions: list[int] = []
        """For each key the position in which it was given first."""
        self._subjects: list[Any] = []
        """How it was given there."""
        self._again: dict[int, list[tuple[int, Any]]] = {}
        """The further positions of those keys that have some."""

    def add(self, position: int, subject: Any) -> bool:
        """Add a key as it was given, at a position of the call's input; return False if it is none."""
        plain, keys = self.reads.keys, self._keys
        key = plain.made(subject if issubclass(type(subject), tuple) else (subject,))
        if key is None:
            return False
        try:
            place = plain.hashable(key)
        except LookupError:
            return False
        number = self._places.setdefault(place, count := len(keys))
        if number < count:
            self._again.setdefault(number, []).append((position, subject))
        else:
            keys.append(key)
            self.positions.append(position)
            self._subjects.append(subject)
        return True

    def given(self, number: int) -> Sequence[tuple[int, Any]]:
        """Return all positions of a key, each with how the key was given there."""
        return ((self.positions[number], self._subjects[number]), *self._again.get(number, ()))

    @property
    def repeats(self) -> bool:
        """Whether any key was given in several positions."""
        return bool(self._again)

    def chunks(self, together: int, asked_of: Callable[[int], ItemRequest[Any]]) -> Iterator[KeyChunk]:
        """Yield the chunks that are full.

        Args:
            together: how many keys fill one.
            asked_of: returns what is asked for with the key of a number, as a request of its own.
        """
        for first in range(0, len(self._keys) - together + 1, together):
            yield KeyChunk(self.reads, self._keys[first : first + together], first, self._places, asked_of)

    def rest(self, together: int) -> range:
        """Return the numbers of the keys that fill no chunk."""
        return range(len(self._keys) - len(self._keys) % together, len(self._keys))
