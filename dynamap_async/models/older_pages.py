"""Pages of older items: decoded and upgraded in one step, without a wire form of all that no upgrade looks at.

Upgrades name most of what they look at. So the attributes of these names are decoded to plain values, while all others
are decoded for their fields; the upgrades change the plain values; and what these leave is decoded for its fields then.
Where an upgrade asks for more than it names, or anything is wrong, whole items are upgraded in wire form, which tells
what.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from dynamap_async.codec import DECODE_ERRORS, STORED_NUMBER, decode_any
from dynamap_async.models.decoders import FieldDecoders
from dynamap_async.models.fields import Absence, FieldPlan
from dynamap_async.models.keys.shards import ShardedKeys
from dynamap_async.models.upgrades import FIRST, LooksFurtherError, Upgrades, stored_form
from dynamap_async.wire import AttributeValue, WireItem

_NULL: Final[AttributeValue] = {"NULL": True}

_VERSION: Final = "\0version"
"""Stands for a field's name where the values of an item hold the text of its version; no field has the name."""

_PLAIN: Final = "\0plain "
"""Stands before the stored name of an attribute where the values of an item hold it as a plain value."""


class OlderPages:
    """Decodes pages of one model that may hold older items."""

    def __init__(
        self, fields: Sequence[FieldPlan], shards: ShardedKeys, upgrades: Upgrades, *, told_by: str | None
    ) -> None:
        """Make the decoders.

        Args:
            fields: the fields.
            shards: none.
            upgrades: the versions of the items.
            told_by: the stored name of the attribute that holds the kind of an item.
        """
        self._upgrades: Final = upgrades
        self._names: frozenset[str] = upgrades.at_hand
        self._plain = [(_PLAIN + name, name) for name in self._names]
        upgraded = [field for field in fields if field.is_stored and field.stored in self._names]
        self._upgraded = [
            (field.stored, field.name, field.lax.decode, field.of_null, _of_absence(field)) for field in upgraded
        ]
        self._unread = self._names.difference(each.stored for each in upgraded)
        """The names of attributes at hand that are no fields."""
        others = [field for field in fields if field not in upgraded]
        self._decoded = frozenset(field.stored for field in others if field.is_stored)
        """The attributes that are decoded before the upgrades run."""
        self._decoders = FieldDecoders(
            others,
            shards,
            takes_extras=False,
            told_by=told_by,
            given={
                upgrades.attribute: (_VERSION, STORED_NUMBER),
                **{name: (mark, decode_any) for mark, name in self._plain},
            },
        )

    def values(
        self, items: Sequence[WireItem], present: FieldDecoders
    ) -> tuple[list[dict[str, Any]], list[bool]] | None:
        """Return of each item field name -> value, and whether it was an older one; None where that is not enough.

        Args:
            items: the page.
            present: decodes items of the present version.
        """
        if not self._names:
            return None
        readable, unstored = self._upgrades.readable, str(FIRST)
        older = [True] * len(items)
        try:
            page = self._decoders.values(items)
            for position, values in enumerate(page):
                version = values.pop(_VERSION, unstored)
                if version in readable:
                    older[position] = False
                    continue
                plain = {name: values.pop(mark) for mark, name in self._plain if mark in values}
                if not self._upgrades.upgrade_at_hand(plain, self._names, version):
                    return None
                self._decode(plain, values)
            if False in older:
                self._put_present(page, older, items, present)
        except LooksFurtherError:
            self._names = frozenset[str]()  # from now on, whole items are upgraded at once
            return None
        except DECODE_ERRORS:
            return None
        return page, older

    def _decode(self, plain: Mapping[str, Any], values: dict[str, Any]) -> None:
        """Decode what upgrades have left of an item for its fields.

        Raises:
            LooksFurtherError: they have set another field, by a name that does not stand in them.
            EncodeError: they have set what cannot be stored.
        """
        if not self._decoded.isdisjoint(plain):
            raise LooksFurtherError
        for attribute in self._unread:
            if attribute in plain:
                stored_form(plain[attribute], attribute)  # what cannot be stored is an error, as it is in other reads
        for attribute, name, decode, of_null, of_absence in self._upgraded:
            stored = stored_form(plain[attribute], attribute) if attribute in plain else None
            if stored is not None:
                values[name] = of_null() if stored == _NULL else decode(stored)
            elif of_absence is not None:
                values[name] = of_absence()

    @staticmethod
    def _put_present(
        page: list[dict[str, Any]], older: Sequence[bool], items: Sequence[WireItem], decoders: FieldDecoders
    ) -> None:
        """Put the values of items of the present version in their places."""
        places = [place for place, is_older in enumerate(older) if not is_older]
        for place, values in zip(places, decoders.values([items[place] for place in places]), strict=True):
            page[place] = values


def _of_absence(field: FieldPlan) -> Callable[[], Any] | None:
    """Return what makes the value of a field whose attribute is absent; None where Pydantic does."""
    makes = field.required and (field.absence is not Absence.ERROR or field.assigned is not None)
    return field.of_absence if makes else None
