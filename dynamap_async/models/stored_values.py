"""What is known of a stored item, and what a save has to change in it, attribute by attribute."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from json import JSONEncoder
from typing import Any, Final, NamedTuple, TypeAlias, cast

from pydantic import BaseModel

from dynamap_async.codec import instant_text, parse_instant
from dynamap_async.errors import EncodeError, OperationError
from dynamap_async.models.definition import Definition
from dynamap_async.models.items import Encoded
from dynamap_async.models.state import present, state_of
from dynamap_async.models.upgrades import Upgrades
from dynamap_async.native.json_text import read_json, write_json
from dynamap_async.wire import AttributeValue, WireItem, WireKey


class Removed(Enum):
    """Stands for the new value of an attribute that is to be removed."""

    REMOVED = "removed"


REMOVED: Final = Removed.REMOVED
"""Stands for the new value of an attribute that is to be removed."""

_SORTED: Final = JSONEncoder(sort_keys=True)
"""Writes equal values as equal texts."""

Changes: TypeAlias = dict[str, AttributeValue | Removed]
"""Stored attribute -> its new value, or ``REMOVED``."""


class Known(NamedTuple):
    """What is known of a stored item."""

    item: WireItem
    """It, as the instance would have been stored right after it was read or written."""
    raw: Mapping[str, AttributeValue]
    """Those of its attributes whose very stored form is known, with members that the model does not know."""
    older: WireItem | None = None
    """The stored item itself where it is of an older version: ``item`` and ``raw`` are then what it was upgraded to."""
    upgrades: Upgrades | None = None
    """What upgraded it then."""
    decoded: Mapping[str, Any] = {}
    """Attribute -> what Pydantic made its value of, where that is known instead of its very stored form."""

    @property
    def stored(self) -> WireItem:
        """The stored item, each attribute exactly as it is stored where that is known."""
        return {**self.item, **self.raw} if self.older is None else self.older


def difference(before: Known, new: WireItem) -> Changes:
    """Return the changed attributes of an item; members of nested values that the model does not know stay."""
    found: Changes = {
        name: _merged(before.raw.get(name), before.item.get(name), value)
        for name, value in new.items()
        if before.item.get(name) != value
    }
    found.update((name, REMOVED) for name in before.item if name not in new)
    if before.older is None:
        return found
    after: Changes = {**before.raw, **found}
    kept: WireItem = {name: value for name, value in after.items() if not isinstance(value, Removed)}
    if before.upgrades is not None:
        kept = before.upgrades.written_over(before.older, kept)
    upgraded: Changes = {name: value for name, value in kept.items() if before.older.get(name) != value}
    return {**upgraded, **{name: REMOVED for name in before.older if name not in kept}}


def changed(before: Known, differences: Changes) -> WireItem:
    """Return an item after changes, as far as it is known."""
    after: Changes = {**before.stored, **differences}
    return {name: value for name, value in after.items() if not isinstance(value, Removed)}


def _merged(raw: AttributeValue | None, old: AttributeValue | None, new: AttributeValue) -> AttributeValue:
    """Return a new value with the members of the stored one that the model does not know.

    Args:
        raw: the stored value.
        old: what the model knows of it.
        new: what the model has now.
    """
    if raw is None or old is None:
        return new
    if old == new:
        return raw
    if "M" in raw and "M" in old and "M" in new:
        stored, before = raw["M"], old["M"]
        unknown = {name: value for name, value in stored.items() if name not in before}
        known = {name: _merged(stored.get(name), before.get(name), value) for name, value in new["M"].items()}
        return {"M": {**unknown, **known}}
    if "L" in raw and "L" in old and "L" in new and len(raw["L"]) == len(old["L"]):
        return {"L": _merged_elements(raw["L"], old["L"], new["L"])}
    return new


def _merged_elements(
    raw: list[AttributeValue], old: list[AttributeValue], new: list[AttributeValue]
) -> list[AttributeValue]:
    """Return the elements of a list: unchanged ones as they are stored, wherever they are now.

    A changed one is taken for the one with which alone it shares a text, number or binary member, such as a name. What
    then remains is taken for the one that stood in its place, if the list has kept its length or they share a member.
    """
    found = dict(enumerate(new))
    # First those that stayed in their places, so that of equal elements each keeps its own.
    stayed = {position for position, element in found.items() if position < len(old) and old[position] == element}
    found.update((position, raw[position]) for position in stayed)
    left = {position for position, each in enumerate(old) if position not in stayed and _has_parts(each)}
    wanted = {position for position, each in enumerate(new) if position not in stayed and _has_parts(each)}

    def take(pairs: Mapping[int, int]) -> None:
        for position, before in pairs.items():
            found[position] = _merged(raw[before], old[before], new[position])
        left.difference_update(pairs.values())
        wanted.difference_update(pairs)

    take(_moved(old, new, left, wanted))
    take(_alike(old, new, left, wanted))
    kept = len(old) == len(new)
    take({each: each for each in wanted & left if kept or _members(old[each]) & _members(new[each])})
    return list(found.values())


_Elements: TypeAlias = Sequence[AttributeValue]


def _has_parts(value: AttributeValue) -> bool:
    return "M" in value or "L" in value


def _moved(old: _Elements, new: _Elements, left: set[int], wanted: set[int]) -> dict[int, int]:
    """Return new position -> old position of elements that are equal, the first with the first."""
    places: dict[str, deque[int]] = {}
    for before in sorted(left):
        places.setdefault(_text(old[before]), deque()).append(before)
    texts = {position: _text(new[position]) for position in sorted(wanted)}
    return {position: places[text].popleft() for position, text in texts.items() if places.get(text)}


def _alike(old: _Elements, new: _Elements, left: set[int], wanted: set[int]) -> dict[int, int]:
    """Return new position -> old position of elements that share a member which no other element of theirs has."""
    if not left or not wanted:
        return {}
    owners, heirs = _only(old), _only(new)
    pairs = {(heirs[member], owners[member]) for member in owners.keys() & heirs.keys()}
    pairs = {(position, before) for position, before in pairs if position in wanted and before in left}
    times = Counter(position for position, _ in pairs), Counter(before for _, before in pairs)
    return {position: before for position, before in pairs if times[0][position] == times[1][before] == 1}


def _only(elements: _Elements) -> dict[tuple[str, str], int]:
    """Return member -> position of the only element that has it."""
    positions: dict[tuple[str, str], list[int]] = {}
    for position, element in enumerate(elements):
        for member in _members(element):
            positions.setdefault(member, []).append(position)
    return {member: found[0] for member, found in positions.items() if len(found) == 1}


def _members(element: AttributeValue) -> set[tuple[str, str]]:
    """Return the members of a map by which it may be known: (name, value)."""
    return {(name, _text(value)) for name, value in element.get("M", {}).items() if value.keys() & {"S", "N", "B"}}


def _text(value: AttributeValue) -> str:
    return _SORTED.encode(value)


def changes(item: BaseModel, definition: Definition[Any], new: WireItem | None = None) -> Changes:
    """Return the attributes that have to change in the stored item for it to equal the instance.

    Args:
        item: an instance that is remembered.
        definition: its model.
        new: its wire form; None encodes it.

    Raises:
        EncodeError: a value cannot be stored.
    """
    return difference(known(item, definition), definition.items.encode(item) if new is None else new)


def known(item: BaseModel, definition: Definition[Any]) -> Known:
    """Return what is known of the stored item of an instance that is remembered."""
    codec = definition.items
    values, parts = state_of(item)
    if isinstance(values, bytes):
        raw: WireItem = read_json(values)
        try:
            present = raw if codec.upgrades is None else codec.upgrades.upgraded(raw)
            # What the store gives back, given to the model again: the instance as it was.
            before = codec.validated(codec.values(present))
            own = {**codec.encode_values(before.__dict__), **codec.encode_extras(before)}
            if present is raw and codec.derived is not None:  # what was computed otherwise counts as changed
                others = {name: value for name, value in own.items() if name not in codec.derived.stored_names}
                own = others | {name: raw[name] for name in codec.derived.stored_names if name in raw}
            if present is raw:
                return Known(own, raw)
            return Known(own, definition.with_computed_keys(present, own), raw, codec.upgrades)
        except Exception:  # noqa: BLE001 - whatever the model's own code raises: it was pickled by other code
            return Known(raw, raw)
    return _known_of_parts(definition, values, parts or ())


def older_item(item: BaseModel, definition: Definition[Any]) -> WireItem | None:
    """Return the stored item of an instance that was upgraded when it was read; None for any other instance.

    Args:
        item: an instance.
        definition: its model.
    """
    upgrades = definition.items.upgrades
    if upgrades is None or not upgrades.older_exist:
        return None
    values, _ = state_of(item)
    if not isinstance(values, bytes):
        return None
    stored: WireItem = read_json(values)
    return stored if upgrades.is_behind(stored) else None


def stored_otherwise(item: BaseModel, definition: Definition[Any]) -> tuple[str, ...]:
    """Return the names of the ``@computed_attr`` fields of which an instance's item has other values than are computed.

    Args:
        item: an instance that was read just now.
        definition: its model.
    """
    values, _ = state_of(item)
    if definition.derived is None or not isinstance(values, bytes):  # only what differs is remembered as it is stored
        return ()
    stored: WireItem = read_json(values)
    upgrades = definition.items.upgrades
    if upgrades is not None and upgrades.is_behind(stored):
        return ()
    return definition.derived.differing(item, stored, definition.items.encoders.one)


def _known_of_parts(definition: Definition[Any], values: Sequence[Any], parts: Sequence[Any] | bytes) -> Known:
    codec = definition.items
    snapshots = codec.snapshots
    fixed = present(snapshots.fixed, values)
    stored_shared = [field.stored for field in snapshots.shared]
    if isinstance(parts, bytes):
        stored: WireItem = read_json(parts)
        shared = {name: stored.pop(name) for name in stored_shared if name in stored}
        own = {name: value for name, value in codec.values(stored).items() if name in snapshots.own}
    else:
        own = present(snapshots.own, parts[: len(snapshots.own)])
        shared = present(stored_shared, parts[len(snapshots.own) :])
    decoded = {definition.fields[name].stored: own[name] for name in snapshots.own if name in own}
    names = {*snapshots.own, *(field.name for field in snapshots.shared)}
    if not names:
        return Known(codec.encode_values(fixed), {})
    try:
        before = codec.validated({**codec.values(shared), **fixed, **own})
    except Exception:  # noqa: BLE001 - the model's validators take no valid instance: all parts count as changed
        return Known(codec.encode_values(fixed), shared, decoded=decoded)
    held = {name: value for name, value in before.__dict__.items() if name in names}
    return Known(codec.encode_values({**fixed, **held}), shared, decoded=decoded)


def zoneless_as_read(item: BaseModel, definition: Definition[Any]) -> Callable[[str], Mapping[str, str]]:
    """Return a function: attribute -> its times without a zone, as an instance was read with them.

    They are given as the text that this library writes -> the text that is stored, wherever they are in the attribute.

    Args:
        item: the instance.
        definition: its model.
    """
    before = known(item, definition)

    def texts_of(name: str) -> Mapping[str, str]:
        stored = before.raw.get(name, before.decoded.get(name))
        texts = {own: text for text in _texts_in(stored) if (own := _zoneless(text)) is not None}
        return {**{text: text for text in _texts_in(before.item.get(name))}, **texts}

    return texts_of


def _zoneless(text: str) -> str | None:
    """Return the text that this library writes for the time without a zone that is stored as a text; None of others."""
    try:
        time = parse_instant(text)
    except ValueError:
        return None
    return instant_text(time) if time.tzinfo is None else None


def _texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in an attribute value or in a decoded one, keys of maps among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, each in cast("dict[str, Any]", value).items():
            yield from _texts_in(name)
            yield from _texts_in(each)
    elif isinstance(value, list | tuple | set | frozenset):
        for each in cast("Iterable[object]", value):
            yield from _texts_in(each)


def key_of_item(item: BaseModel, definition: Definition[Any]) -> WireKey:
    """Return the key of an instance: of one that was read or written, that under which its item is stored.

    Args:
        item: an instance.
        definition: its model.

    Raises:
        EncodeError: a key value is of the wrong type, empty or too long.
        OperationError: the instance was given another key since it was read or written.
    """
    state = state_of(item)
    stored = _stored_key(state, definition)
    if stored is not None:
        with suppress(EncodeError):  # one that cannot be written may have been read
            if definition.key_of(item) == stored:
                return stored
    if changed := _changed_keys(item, state, definition):
        model, is_one = definition.model.__name__, len(changed) == 1
        raise OperationError(
            f"{model}.{' and '.join(changed)} {'is' if is_one else 'are'} part of the item's key and "
            f"{'was' if is_one else 'were'} changed, but a stored item keeps its key. Create a new item and delete the "
            f"old one in a transaction: tx.create({model}(...)); tx.delete({model}, old key)"
        )
    return definition.key_of(item) if stored is None else stored


def stored_as_read(item: BaseModel, definition: Definition[Any], changes: Mapping[str, Any] | None = None) -> Encoded:
    """Return an instance as JSON, with its key and its times without a zone as they are stored.

    What the instance was given since is spelled as the library does.

    Args:
        item: an instance that was read or written, of which the library spells something otherwise.
        definition: its model.
        changes: field name -> value that is stored in place of the instance's own.
    """
    encoded = definition.items.encoded(item, changes, as_read=True)
    state = state_of(item)
    stored = _stored_key(state, definition)
    if stored is None or stored.items() <= encoded[0].items() or _changed_keys(item, state, definition):
        return encoded
    text = write_json({**read_json(encoded[1]), **stored})
    return {**encoded[0], **stored}, text, None


def _stored_key(state: tuple[Any, Any], definition: Definition[Any]) -> WireKey | None:
    """Return the key under which the item of an instance is stored; None where it is spelled as the library does."""
    values, parts = state
    if isinstance(values, tuple) or values is None:
        return None
    names = definition.items.key_names
    found = (
        read_json(values) if isinstance(values, bytes) else dict(zip(names, parts[1] if parts else (), strict=False))
    )
    key = {name: value for name in names if (value := found.get(name)) is not None}
    return key if len(key) == len(names) else None


def _changed_keys(item: BaseModel, state: tuple[Any, Any], definition: Definition[Any]) -> list[str]:
    """Return the names of those fields of an instance's key that have other values than it was read or written with."""
    codec, (values, parts), now = definition.items, state, item.__dict__
    if isinstance(values, tuple):
        return [name for name, place in codec.snapshots.key_places if values[place : place + 1] != (now.get(name),)]
    before: Mapping[str, Any] = {}
    if isinstance(values, bytes):
        before = _read_again(read_json(values), definition)
    elif parts:
        before = present(codec.key_fields, parts[0])
    return [name for name in codec.key_fields if name in before and before[name] != now.get(name)]


def _read_again(stored: WireItem, definition: Definition[Any]) -> Mapping[str, Any]:
    """Return field name -> value of what a stored item is read as; of its key, where the item cannot be read."""
    codec = definition.items
    try:
        present = stored if codec.upgrades is None else codec.upgrades.upgraded(stored)
        instance = cast("BaseModel", codec.validated(codec.values(present)))
    except Exception:  # noqa: BLE001 - whatever the model's own code raises: it was pickled by other code
        return {field.name: field.of_stored(stored[field.stored]) for field in definition.key_fields()}
    return vars(instance)
