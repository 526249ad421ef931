"""Shards: the partitions that the items of one partition key are spread over, and how each item finds its own.

The stored key is the plain one, ``#`` and the number of the shard in two digits. The number is calculated, so that
whoever knows an item's key knows its shard. What is calculated from what never changes between versions of this
library: stored items could not be found any more.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-sharding.html
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Final, NamedTuple

from pydantic import BaseModel

from dynamap_async.codec import Converter, check_key_value
from dynamap_async.errors import DecodeError, EncodeError
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.markers import Role, Shards, declared_shards
from dynamap_async.models.settings import SETTINGS, Settings, bases_with_items, fault
from dynamap_async.request import canonical
from dynamap_async.schema import TableSchema
from dynamap_async.wire import AttributeValue, WireItem

if TYPE_CHECKING:
    from dynamap_async.models.templates import KeyTemplate

MOST_SHARDS: Final = 100
"""As many numbers as two digits have, and as many queries as are sent together."""

_SEPARATOR: Final = "#"
SHARD_DIGITS: Final = 2
"""The digits of the number of a shard, which stand behind a separator at the end of the key."""
_SUFFIX: Final = 1 + SHARD_DIGITS


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
            raise EncodeError(f"{error}; the item's shard is calculated from {self.name}") from error


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
        # While the number of shards changes, an item is where the old number or the new one says.
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
                f"{self.attribute}: {text!r} does not end with a shard, such as {_SEPARATOR}07; {self.field} has "
                "shards, so the item was written by another program, or before the shards were declared"
            )
        return {"S": text[:-_SUFFIX]}

    def check_place(self, item: Mapping[str, AttributeValue], value: AttributeValue) -> None:
        """Raise DecodeError for an item that is not in the shard in which its key is looked up.

        Args:
            item: its plain attributes.

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
                f"{self.attribute}: {text!r} should be in shard {number:02d} of {self.counts[-1]}, as calculated from "
                f"{self.made_of}; it was written by another program, or with another number of shards"
            )


class ShardedKeys:
    """The partition keys of one model that are spread over shards."""

    __slots__ = ("_model", "of")

    def __init__(self, model: str, keys: Iterable[Sharding]) -> None:
        self._model = model
        self.of: Mapping[str, Sharding] = {each.attribute: each for each in keys}
        """Stored name -> how the key is spread."""

    def added(self, plain: WireItem) -> WireItem:
        """Return an item or a key, with its partition keys in their stored form.

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
        """Return one key in the form that an item with these plain attributes has; errors are those of ``added``."""
        try:
            # An empty key would become valid with the shard's number behind it.
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
        """Return a stored item, or a part of one, with its partition keys in their plain form.

        Raises:
            DecodeError: a key has no shard, or is not in the one in which it is looked for.
        """
        if not self.of:
            return item
        keys = [sharding for attribute, sharding in self.of.items() if attribute in item]
        found = {**item, **{each.attribute: each.plain(item[each.attribute]) for each in keys}}
        for each in keys:
            # Only the table's key is looked up through one shard; queries through an index ask all of them.
            if each.of_table:
                each.check_place(found, item[each.attribute])
        return found


_SCALARS: Final = (frozenset("S"), frozenset("N"), frozenset("B"))


def sharded_keys(model: type[BaseModel], fields: Mapping[str, FieldPlan], table: TableSchema | None) -> ShardedKeys:
    """Return the partition keys of a model that are spread over shards.

    Args:
        model: the class, complete.
        table: its table, if it has one.

    Raises:
        ModelDefinitionError: shards are declared of what cannot have them, or of a wrong number.
    """
    settings: Settings = getattr(model, SETTINGS)
    if settings.abstract:
        return ShardedKeys(model.__name__, ())
    found = {
        name: declared for name in fields if (declared := declared_shards(model.__pydantic_fields__[name])) is not None
    }
    made = {name: _sharding(model, fields, table, name, declared) for name, declared in found.items()}
    _check_family(model, fields, made)
    return ShardedKeys(model.__name__, made.values())


def _check_family(model: type[BaseModel], fields: Mapping[str, FieldPlan], made: Mapping[str, Sharding]) -> None:
    """Refuse other shards than those of a base, through which items of the model are read and written too."""
    for base in bases_with_items(model):
        known = base.items.shards.of
        for name, inherited in base.fields.items():
            if name in fields and _spread(known.get(inherited.stored)) != _spread(made.get(name)):
                raise fault(
                    model.__name__,
                    f"has other shards than in {base.model.__name__}, which reads and writes the items of both; "
                    "declare the same shards in both",
                    name,
                )


def _spread(sharding: Sharding | None) -> object:
    if sharding is None:
        return None
    return sharding.counts, [(source.attribute, source.key) for source in sharding.sources]


def _sharding(
    model: type[BaseModel],
    fields: Mapping[str, FieldPlan],
    table: TableSchema | None,
    name: str,
    declared: Shards,
) -> Sharding:
    key, settings = fields[name], getattr(model, SETTINGS)
    counts = _counts(declared)
    problem = counts if isinstance(counts, str) else _problem(key, table, settings)
    if problem is not None or table is None or isinstance(counts, str):
        raise fault(model.__name__, str(problem), name)
    of_table = key.role is Role.PARTITION_KEY
    if of_table and len(counts) > 1:
        raise fault(
            model.__name__,
            f"has before={declared.before!r}, but an item of this model is looked up by its own key only; drop it, "
            "and copy the items to change the number of shards",
            name,
        )
    by: object = declared.by
    if by is None:
        # Whatever else identifies the item: whoever knows its key can calculate the shard, and items of one key spread
        # evenly.
        names = table.keys.names[1:] if of_table else table.keys.names
        by_stored = {plan.stored: plan for plan in fields.values()}
        sources = tuple(ShardSource(by_stored[each].name, each) for each in names)
    else:
        sources = (_source(model, fields, table, key, by, of_table=of_table),)
    return Sharding(name, key.stored, counts, sources, of_table)


def _counts(declared: Shards) -> tuple[int, ...] | str:
    """Return the numbers of shards, the present one last; or the fault in them."""
    given: tuple[object, ...] = (declared.count,) if declared.before is None else (declared.before, declared.count)
    counts: list[int] = []
    for each in given:
        if isinstance(each, bool) or not isinstance(each, int) or not 2 <= each <= MOST_SHARDS:
            return f"has {each!r} shards; a key has 2 to {MOST_SHARDS}, each a query of its own when it is read"
        counts.append(each)
    return tuple(counts)


def _problem(key: FieldPlan, table: TableSchema | None, settings: Settings) -> str | None:
    """Return why a field cannot have shards."""
    if table is None:
        return 'has shards, but the model has no table, so it is not a key; add table="..."'
    of_table, stored = key.role is Role.PARTITION_KEY, key.stored
    indexes = [index for index in table.indexes if stored in (each.name for each in index.keys.partition)]
    sorting = [index.name for index in table.indexes if stored in (each.name for each in index.keys.sort)]
    if key.role is Role.SORT_KEY or sorting:
        where = f"the index {sorting[0]!r}" if sorting else "the table"
        return f"has shards, and is a sort key of {where}, whose order they would break; only partition keys have them"
    if not of_table and not indexes:
        return "has shards, but is the partition key of neither the table nor an index; drop shards"
    if of_table and not table.keys.sort:
        return (
            "has shards, but the table has no sort key: each key is one item, and in a partition of its own already; "
            "drop shards, or give the table a sort key"
        )
    if settings.shared is not None and settings.shared.attribute == stored:
        return f"has shards, and tells the kind of each item of {settings.shared!r}; drop shards"
    if key.converter.tags != frozenset("S"):
        return f"has shards, and holds {key.converter.label}; the number of a shard is added to text: declare it as str"
    return None


def _source(
    model: type[BaseModel],
    fields: Mapping[str, FieldPlan],
    table: TableSchema,
    key: FieldPlan,
    by: object,
    *,
    of_table: bool,
) -> ShardSource:
    """Return the field that shards are calculated from, by name."""
    found = fields.get(by) if isinstance(by, str) else None
    if found is None:
        raise fault(
            model.__name__,
            f"by={by!r} is not a field; name one of {', '.join(n for n in fields if n != key.name)}",
            key.name,
        )
    problem = _source_problem(key, found)
    if problem is not None:
        raise fault(model.__name__, f"by={by!r} {problem}", key.name)
    if not of_table:
        telling = _telling(fields, table, found)
        if telling is not None:
            return ShardSource(found.name, found.stored, telling.stored, telling.template, found.converter)
        if found.is_stored:
            return ShardSource(found.name, found.stored)
        raise fault(model.__name__, f"by={by!r} is not stored; drop its stored=False", key.name)
    sort = next(plan for plan in fields.values() if plan.stored == table.keys.names[1])
    if found.name == sort.name:
        return ShardSource(found.name, found.stored)
    # A get knows the sort key, and nothing else of the item to calculate the shard from.
    if sort.template is None or found.name not in sort.template.readable:
        raise fault(
            model.__name__,
            f"by={by!r} cannot be read from the sort key {sort.name}, so an item could not be found by its key; name "
            f"{sort.name}, or a field that its template contains unchanged",
            key.name,
        )
    return ShardSource(found.name, found.stored, sort.stored, sort.template, found.converter)


def _telling(fields: Mapping[str, FieldPlan], table: TableSchema, found: FieldPlan) -> FieldPlan | None:
    """Return the key whose template contains a field, so that an item's key tells the field's value."""
    for each in fields.values():
        if each.stored in table.keys.names and each.template is not None and found.name in each.template.readable:
            return each
    return None


def _source_problem(key: FieldPlan, found: FieldPlan) -> str | None:
    if found.name == key.name:
        return "is the key itself: all items with one key would be in one shard"
    if found.may_be_absent:
        return f"may be {found.nothing}, and every item needs its shard; declare it without {found.nothing}"
    if found.role is Role.VERSION or (found.assigned is not None and found.assigned.on_update is not None):
        return "changes with each write, which would move the item each time; name a field that stays"
    if found.converter.tags not in _SCALARS:
        return f"holds {found.converter.label}; name a field that is text, a number or binary data"
    return None
