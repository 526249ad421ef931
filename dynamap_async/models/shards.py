"""Shards: the partitions that the items of one partition key are spread over, and how each item finds its own.

The stored key is the plain one, ``#`` and the number of the shard in two digits. The number is calculated, so that
whoever knows an item's key knows its shard. What is calculated from what never changes between versions of this
library: stored items could not be found any more.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-sharding.html
"""

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from hashlib import blake2b
from typing import Final, NamedTuple

from pydantic.fields import FieldInfo

from dynamap_async.codec import Converter, check_key_value
from dynamap_async.errors import DecodeError, EncodeError
from dynamap_async.models.templates import KeyTemplate
from dynamap_async.request import canonical
from dynamap_async.wire import AttributeValue, WireItem

MOST_SHARDS: Final = 100
"""As many numbers as two digits have, and as many queries as are sent together."""

_SEPARATOR: Final = "#"
_SUFFIX: Final = 3


@dataclass(frozen=True, slots=True)
class Shards:
    """Over how many partitions the items of one partition key are spread: ``attr(shards=Shards(10, by="region"))``."""

    count: int
    """The number of partitions, 2 to 100."""
    _: KW_ONLY
    by: str | None = None
    """The field that an item's partition is calculated from; without it the sort key, for a partition key of the table,
    and the table's whole key, for one of an index."""
    before: int | None = None
    """The number of partitions before it was changed: reads look in the old places too, and writes move items."""


def given_shards(shards: int | Shards | None) -> tuple[Shards, ...]:
    """Return what ``attr`` or ``template`` is told of shards, as metadata of the field."""
    return () if shards is None else (shards if isinstance(shards, Shards) else Shards(shards),)


def declared_shards(info: FieldInfo) -> Shards | None:
    """Return what a field says of shards, if it has any."""
    return next((each for each in info.metadata if isinstance(each, Shards)), None)


class ShardSource(NamedTuple):
    """An attribute, or a part of a templated key, that shards are calculated from."""

    name: str
    """The field's name."""
    attribute: str
    """The stored name of the field."""
    key: str | None = None
    """The stored name of the templated key that the field is read from; None for its own attribute."""
    template: KeyTemplate | None = None
    converter: Converter | None = None

    def value(self, item: Mapping[str, AttributeValue]) -> AttributeValue | None:
        """Return the value in an item, or in what is known of one; None where it is not known.

        Raises:
            EncodeError: the key that tells it was not made by its template.
        """
        if self.key is None or self.template is None or self.converter is None:
            return item.get(self.attribute)
        text = item.get(self.key, {}).get("S")
        if text is None:
            return item.get(self.attribute)
        try:
            return self.converter.encode(self.template.parse(text)[self.name])
        except DecodeError as error:
            raise EncodeError(f"{error}; the shard of the item is calculated from {self.name}") from error


class Sharding(NamedTuple):
    """How one partition key is spread over shards."""

    field: str
    """The name of the key's field."""
    attribute: str
    """Its stored name."""
    counts: tuple[int, ...]
    """The numbers of shards that the key has had; the last is the one that is written."""
    sources: tuple[ShardSource, ...]
    """What the shard is calculated from."""
    of_table: bool
    """Whether it is the partition key of the table, so that a stored item is in its shard or cannot be found."""

    @property
    def total(self) -> int:
        """How many shards items may be in."""
        return max(self.counts)

    @property
    def made_of(self) -> str:
        """The names of the fields that the shard is calculated from, for messages."""
        return " and ".join(source.name for source in self.sources)

    def number(self, item: Mapping[str, AttributeValue]) -> int | None:
        """Return the shard that an item is written to, by its plain attributes; None where they are not known."""
        found = self._digest(item)
        return None if found is None else found % self.counts[-1]

    def numbers(self, item: Mapping[str, AttributeValue]) -> tuple[int, ...]:
        """Return the shards in which an item with these plain attributes may be: all where too few are known."""
        try:
            found = self._digest(item)
        except EncodeError:  # a key that was not made by its template tells nothing
            found = None
        if found is None:
            return tuple(range(self.total))
        return tuple(dict.fromkeys(found % count for count in reversed(self.counts)))

    def _digest(self, item: Mapping[str, AttributeValue]) -> int | None:
        texts: list[str] = []
        for source in self.sources:
            value = source.value(item)
            if value is None:
                return None
            [(tag, content)] = value.items()
            texts.append(canonical(tag, content))
        # Each with its length, as no separator keeps ("ab", "c") from ("a", "bc"). Not hash(), which changes with each
        # process, nor a checksum, whose last bits may follow a pattern in the keys.
        text = ",".join(f"{len(each)}:{each}" for each in texts)
        return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())

    def stored(self, value: AttributeValue, number: int) -> AttributeValue:
        """Return a plain key as it is stored in a shard."""
        return {"S": f"{value.get('S', '')}{_SEPARATOR}{number:02d}"}

    def plain(self, value: AttributeValue) -> AttributeValue:
        """Return a stored key without its shard; raises DecodeError where it has none."""
        text = value.get("S")
        if text is None:
            return value  # of another type: the field says so
        if text[-_SUFFIX:-2] != _SEPARATOR or not (text[-2:].isascii() and text[-2:].isdigit()):
            raise DecodeError(
                f"{self.attribute}: {text!r} does not end with a shard, such as {_SEPARATOR}07; {self.field} is "
                "declared with shards, so the item was written by something else, or before they were declared"
            )
        return {"S": text[:-_SUFFIX]}

    def check_place(self, item: Mapping[str, AttributeValue], value: AttributeValue) -> None:
        """Check that an item is in the shard in which it is looked for.

        Args:
            item: its plain attributes.
            value: the stored key.

        Raises:
            DecodeError: it is in another, so that no read by its key finds it.
        """
        try:
            number = self.number(item)
        except EncodeError as error:
            raise DecodeError(str(error)) from error
        text = value.get("S", "")
        if number is not None and text[-2:] != f"{number:02d}":
            raise DecodeError(
                f"{self.attribute}: {text!r} is not in the shard {number:02d} that {self.made_of} gives among "
                f"{self.counts[-1]}; it was written by something else, or with another number of shards"
            )


class ShardedKeys:
    """The partition keys of one model that are spread over shards."""

    __slots__ = ("_model", "of")

    def __init__(self, model: str, keys: Iterable[Sharding]) -> None:
        """Take the keys.

        Args:
            model: the model's name, for messages.
            keys: how each is spread.
        """
        self._model = model
        self.of: Mapping[str, Sharding] = {each.attribute: each for each in keys}
        """Stored name -> how the key is spread."""

    def added(self, plain: WireItem) -> WireItem:
        """Return an item, or a key, with its partition keys as they are stored.

        Raises:
            EncodeError: a shard cannot be calculated, or the key would be too long.
        """
        if not self.of:
            return plain
        found: WireItem = {**plain}
        for attribute, sharding in self.of.items():
            if attribute in plain:
                found[attribute] = self.placed(sharding, plain[attribute], plain)
        return found

    def placed(self, sharding: Sharding, value: AttributeValue, plain: Mapping[str, AttributeValue]) -> AttributeValue:
        """Return one key as it is stored in an item with these plain attributes; errors are those of ``added``."""
        try:
            check_key_value(value, "partition")
            number = sharding.number(plain)
            if number is None:
                raise EncodeError(f"its shard is calculated from {sharding.made_of}, which has no value")  # noqa: TRY301
            stored = sharding.stored(value, number)
            check_key_value(stored, "partition")
        except EncodeError as error:
            raise error.at(sharding.field, model=self._model) from error.__cause__
        return stored

    def removed(self, item: Mapping[str, AttributeValue]) -> Mapping[str, AttributeValue]:
        """Return a stored item, or a part of one, with its partition keys as they are without shards.

        Raises:
            DecodeError: a key has no shard, or is not in the one in which it is looked for.
        """
        if not self.of:
            return item
        keys = [sharding for attribute, sharding in self.of.items() if attribute in item]
        found = {**item, **{each.attribute: each.plain(item[each.attribute]) for each in keys}}
        for each in keys:
            if each.of_table:
                each.check_place(found, item[each.attribute])
        return found
