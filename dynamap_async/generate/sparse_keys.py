"""Keys of indexes that only some items of a kind have: what tells in which items they are.

A template would give the key to each item that has its parts, and so add items to an index that leaves them out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from dynamap_async.generate.field_types import is_secret
from dynamap_async.generate.key_patterns import ENOUGH_ITEMS, KeyCondition, KeyPattern
from dynamap_async.generate.table_design import FieldDesign
from dynamap_async.source_text import literal
from dynamap_async.wire import WireItem

_FEW: Final = 12
_OFTEN: Final = 5
"""A state has few values, each in several items; with fewer items, a field could tell the key by chance."""
_TYPES: Final = {"str": "S", "int": "N", "bool": "BOOL"}


def with_condition(
    pattern: KeyPattern, attribute: str, items: Sequence[WireItem], fields: Mapping[str, FieldDesign]
) -> tuple[KeyPattern | None, tuple[str, ...]]:
    """Return the pattern of a key that some items lack, with what tells those that have it, and doubts.

    None where nothing in the items tells it: they have the parts of the key, but not the key.

    Args:
        attribute: the key.
        items: all items of the kind.
        fields: stored name -> field.
    """
    parts = {part.field for part in pattern.fields}
    stored = [name for name, field in fields.items() if field.name in parts]
    lacking = [item for item in items if attribute not in item and all(_has(item, name) for name in stored)]
    if not lacking:
        return pattern, ()  # a key is absent where a part of it is
    having = [item for item in items if attribute in item]
    found = [*_conditions(having, lacking, fields, attribute)] if len(having) + len(lacking) >= ENOUGH_ITEMS else []
    if not found:
        doubt = (
            f"may be template({pattern.text!r}), but {len(lacking):,} of {len(items):,} items have its parts and not "
            "the key, and nothing tells which: say it by when=, or give the key yourself"
        )
        return None, (doubt,)
    others = ", ".join(each.field for each in found[1:])
    doubts = (f"that {found[0].field} tells which items have it may be chance: {others} does so too",) if others else ()
    return pattern.only_when(found[0]), doubts


def _has(item: WireItem, attribute: str) -> bool:
    return "NULL" not in item.get(attribute, {"NULL": True})


def _conditions(
    having: Sequence[WireItem], lacking: Sequence[WireItem], fields: Mapping[str, FieldDesign], attribute: str
) -> Iterator[KeyCondition]:
    """Yield what tells the items that have a key from those that lack it, the likeliest first."""
    plain = {name: field for name, field in fields.items() if name != attribute and field.pattern is None}
    found: list[tuple[int, KeyCondition]] = []
    for name, field in plain.items():
        tag = _TYPES.get(field.guessed.text)
        if tag is None or field.guessed.stored_as is not None or field.role != "Attr" or is_secret(name):
            continue
        one, other = (Counter(_values(items, name, tag)) for items in (having, lacking))
        counts = one + other
        is_state = len(counts) <= _FEW and counts.total() >= _OFTEN * len(counts)
        if is_state and one.total() == len(having) and not one.keys() & other.keys():
            texts = tuple(literal(text) if tag == "S" else text for text in sorted(one))
            found.append((len(counts), KeyCondition(field=field.name, values=texts)))
    yield from (condition for _, condition in sorted(found, key=lambda each: (each[0], each[1].field)))
    for name, field in plain.items():
        if all(_has(item, name) for item in having) and not any(_has(item, name) for item in lacking):
            yield KeyCondition(field=field.name)


def _values(items: Iterable[WireItem], name: str, tag: str) -> Iterator[str]:
    return (str(content) for item in items for each, content in item.get(name, {}).items() if each == tag)
