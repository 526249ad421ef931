"""Plain writes of a bulk load, in chunks that fill a call.

A write is plain if nothing has to be awaited, asked of the stored item, or given to the instance but its state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Final, cast

from dynamap_async.models import Definition, Model, definition_of, key_of_item, remember_texts, stored_as_read
from dynamap_async.native.json_text import Spliced, read_json
from dynamap_async.operations import Delete, Put
from dynamap_async.operations.delete import delete_of_key
from dynamap_async.operations.put import indexes_without, put_of_encoded
from dynamap_async.planning import subclass_definitions
from dynamap_async.request import Request
from dynamap_async.session.runner import Runner
from dynamap_async.stored import ChunkPart, ItemRequest, WriteChunk, delete_entries
from dynamap_async.wire import WireKey


class PlainWrite(ChunkPart):
    """One item to be written.

    Args:
        how: how it is written.
        subject: what the call was given.
        identity: that of the item.
        text: the JSON of the item, where it is put. Of hundreds of items that wait, the dicts would push each other
            out of the processor's caches: without them a load takes a quarter less (benchmarks: batch_write).
        size_bytes: its size, where it is put and was counted.
        key: its key, where it is removed.
    """

    __slots__ = ("group", "how", "identity", "json_bytes", "key", "position", "size_bytes", "subject", "text")

    identity: str

    def __init__(
        self,
        how: PlainWrites,
        subject: Any,
        identity: str,
        text: bytes = b"",
        size_bytes: int | None = None,
        key: WireKey | None = None,
    ) -> None:
        self.how: PlainWrites = how
        self.group: Any = how.group
        self.position: int = 0
        self.subject: Any = subject
        self.identity = identity
        self.text: bytes = text
        self.size_bytes: int | None = size_bytes
        self.key: WireKey = key or {}
        self.json_bytes: int = len(text)

    def asked(self) -> ItemRequest[Any]:
        """Return the write as a request of its own."""
        operation = self.how.operation(self)
        return ItemRequest(self.position, self.subject, operation, operation.request(self.how.context))

    def chunk(self, parts: Sequence[Any]) -> PlainWriteChunk:
        """Return the chunk of this write and others of its group."""
        return PlainWriteChunk(parts)


class PlainWrites(ABC):
    """Writes of the items of one model, in chunks."""

    api: ClassVar[str]
    """The API's name of the operation."""

    def __init__(self, definition: Definition[Any], runner: Runner) -> None:
        self.definition: Final = definition
        self.context: Final = runner.context
        self.keys: Final = definition.plain_keys
        self.table: Final = runner.context.tables.full(definition.require_table("written").name)
        self.asked: Final = Request(operation=self.api, body={"TableName": self.table}, table=self.table, writes=True)
        """The request of a write, without its item."""
        self.group: Final = f"{self.api} {self.table}"
        """The same for all models of a table, which share their calls."""

    @abstractmethod
    def part(self, subject: Any) -> PlainWrite | None:
        """Return the write of what the call was given; None where that has to be looked at."""

    @abstractmethod
    def operation(self, write: PlainWrite) -> Any:
        """Return the write as an operation of its own."""

    @abstractmethod
    def entries(self, writes: Sequence[PlainWrite]) -> Any:
        """Return the entries of a BatchWriteItem for some writes."""

    def is_in_all_indexes(self, write: PlainWrite) -> bool:
        """Return whether the item has an entry in each global index; of what is removed that is not known."""
        return True

    def acknowledged(self, writes: Sequence[PlainWrite]) -> None:  # noqa: B027 - of a removal there is nothing to note
        """Record that some writes were carried out."""


class PlainPuts(PlainWrites):
    """Items that replace what is stored."""

    api = "PutItem"

    def __init__(self, definition: Definition[Any], runner: Runner) -> None:
        super().__init__(definition, runner)
        self._validate: Final = definition.validation.before_put
        self._encoded: Final = definition.items.encoded

    def part(self, subject: Any) -> PlainWrite:
        """Return the write of an instance, encoded now."""
        respelled = self._validate(subject, "written")
        stored, text, size = stored_as_read(subject, self.definition) if respelled else self._encoded(subject)
        return PlainWrite(self, subject, self.keys.identity(self.table, stored), text, size)

    def operation(self, write: PlainWrite) -> Put[Any]:
        """Return the write as a ``Put``."""
        return put_of_encoded(write.subject, write.text, write.size_bytes)

    def entries(self, writes: Sequence[PlainWrite]) -> Any:
        """Return the entries of a BatchWriteItem for some writes."""
        if not self.context.splices:
            return [{"PutRequest": {"Item": read_json(write.text)}} for write in writes]
        texts = b'}},{"PutRequest":{"Item":'.join([write.text for write in writes])
        return Spliced(b'[{"PutRequest":{"Item":' + texts + b"}}]")

    def is_in_all_indexes(self, write: PlainWrite) -> bool:
        """Return whether the item has an entry in each global index."""
        return not indexes_without(write.text, self.definition.index_members)

    def acknowledged(self, writes: Sequence[PlainWrite]) -> None:
        """Record in the instances what is stored."""
        remember_texts([write.subject for write in writes], [write.text for write in writes])


class PlainDeletes(PlainWrites):
    """Items that are removed, named by an instance."""

    api = "DeleteItem"

    def part(self, subject: Any) -> PlainWrite | None:
        """Return the write, with the key encoded now."""
        return self._removed(subject, key_of_item(subject, self.definition))

    def _removed(self, subject: Any, key: WireKey | None) -> PlainWrite | None:
        if key is None:
            return None
        return PlainWrite(self, subject, self.keys.identity(self.table, key), key=key)

    def operation(self, write: PlainWrite) -> Delete:
        """Return the write as a ``Delete``."""
        return delete_of_key(self.definition, write.key, write.subject)

    def entries(self, writes: Sequence[PlainWrite]) -> Any:
        """Return the entries of a BatchWriteItem for some writes."""
        return delete_entries([write.key for write in writes])


class PlainDeletesByKey(PlainDeletes):
    """Items that are removed, named by a key."""

    def part(self, subject: Any) -> PlainWrite | None:
        """Return the write, with the key encoded now."""
        return self._removed(subject, self.keys.made(subject if issubclass(type(subject), tuple) else (subject,)))

    def operation(self, write: PlainWrite) -> Delete:
        """Return the write as a ``Delete``."""
        return delete_of_key(self.definition, write.key, None)


class PlainWriteChunk(WriteChunk):
    """A chunk of plain writes."""

    __slots__ = ("json_bytes", "writes")

    def __init__(self, writes: Sequence[PlainWrite]) -> None:
        super().__init__(writes[0].how.asked, [write.identity for write in writes])
        self.writes: Sequence[PlainWrite] = writes
        self.json_bytes: int = sum([write.json_bytes for write in writes])

    def entries(self) -> Any:
        """Return what the call says of the items, in order."""
        return self.writes[0].how.entries(self.writes)

    def take_apart(self) -> list[ItemRequest[Any]]:
        """Return the PutItem or DeleteItem request of each item."""
        return [write.asked() for write in self.writes]

    def is_in_all_indexes(self) -> bool:
        """Return whether all items have entries in all global indexes, as far as can be told."""
        return all(write.how.is_in_all_indexes(write) for write in self.writes)

    def acknowledged(self) -> None:
        """Record that the chunk was written."""
        self.writes[0].how.acknowledged(self.writes)


class PlainWriting:
    """The plain writes of one call, by model.

    Args:
        kind: what is done with the items.
    """

    def __init__(self, runner: Runner, kind: type[PlainWrites]) -> None:
        self._runner: Final = runner
        self._kind: Final = kind
        self._groups: Final[dict[Any, PlainWrites | None]] = {}

    def part(self, subject: Any, model: Any = None) -> PlainWrite | None:
        """Return the write of what a call was given, as it is now; None where it is not plain, or has an error.

        Args:
            subject: what the call was given.
            model: the model of the item; None where the subject is an instance, or should be one.
        """
        kind = cast("Any", type(subject)) if model is None else model
        try:
            group = self._groups[kind] if kind in self._groups else self._new_group(kind)
            return None if group is None else group.part(subject)
        except Exception:  # noqa: BLE001 - whatever it is, it is told where the same is done as a request of its own
            return None

    def _new_group(self, model: Any) -> PlainWrites | None:
        plain = is_plain(model, self._runner)
        group = self._groups[model] = self._kind(definition_of(model), self._runner) if plain else None
        return group


def is_plain(model: Any, runner: Runner) -> bool:
    """Return whether nothing has to be awaited, asked, or given to the instance, to write an item of a model.

    Nor of a subclass of it, which may be what a key is of.
    """
    if not isinstance(model, type(Model)):
        return False
    definition = definition_of(model)
    return (
        runner.writes.shares_calls
        and definition.table is not None
        and definition.version is None
        and definition.periods is None
        and not (definition.uniques or definition.assigned or definition.prepares)
        and not (runner.hooks.before(definition) or runner.hooks.follow_write(definition))
        and not any(each.uniques for each in subclass_definitions(definition))
    )
