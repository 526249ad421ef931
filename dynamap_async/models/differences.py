"""Differences: what a save has to change in a stored item, attribute by attribute."""

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple, TypeAlias

from dynamap_async.wire import AttributeValue, WireItem


class Removed(Enum):
    """The new value of an attribute that is to be removed."""

    REMOVED = "removed"


REMOVED: Final = Removed.REMOVED
"""Stands for the new value of an attribute that is to be removed."""

Changes: TypeAlias = dict[str, AttributeValue | Removed]
"""Stored attribute -> its new value, or ``REMOVED``."""


class Known(NamedTuple):
    """What is known of a stored item."""

    item: WireItem
    """It, as the instance would have been stored right after it was read or written."""
    raw: Mapping[str, AttributeValue]
    """Those of its attributes whose very stored form is known, with members that the model does not know."""


def difference(before: Known, new: WireItem) -> Changes:
    """Return what is different in an item; members of nested values that the model does not know stay."""
    found: Changes = {
        name: _merged(before.raw.get(name), before.item.get(name), value)
        for name, value in new.items()
        if before.item.get(name) != value
    }
    found.update((name, REMOVED) for name in before.item if name not in new)
    return found


def changed(before: Known, differences: Changes) -> WireItem:
    """Return an item after changes, as far as it is known."""
    after: Changes = {**before.item, **before.raw, **differences}
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

    A changed one is taken for the one that stood in its place if the list has kept its length.
    """
    left = dict(enumerate(old))
    found: dict[int, AttributeValue] = {}
    # First those that stayed in their places, so that of equal elements each keeps its own.
    for position, element in enumerate(new):
        if left.get(position) == element:
            found[position] = raw[position]
            del left[position]
    for position, element in enumerate(new):
        match = None if position in found else next((each for each in left if left[each] == element), None)
        if match is not None:
            found[position] = raw[match]
            del left[match]
    for position, element in enumerate(new):
        if position not in found:
            same = len(old) == len(new) and position in left
            found[position] = _merged(raw[position], old[position], element) if same else element
    return [found[position] for position in range(len(new))]
