"""Pages of older items: decoded and upgraded in one step, without a wire form of all that no upgrade looks at.

Upgrades name most of what they look at. So the attributes of these names are decoded to plain values, while all others
are decoded for their fields; the upgrades change the plain values; and what these leave is decoded for its fields then.
Where an upgrade asks for more than it names, or anything is wrong, whole items are upgraded in wire form, which tells
what.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from dynamap_async.codec import DECODE_ERRORS, decode_any, native_apart, omit
from dynamap_async.models.at_hand import LooksFurtherError, item_at_hand
from dynamap_async.models.decoders import FieldDecoders
from dynamap_async.models.fields import Absence, FieldPlan
from dynamap_async.models.keys.shards import ShardedKeys
from dynamap_async.models.upgrades import FIRST, Upgrades, stored_form
from dynamap_async.native import plain
from dynamap_async.wire import AttributeValue, WireItem

_NULL: Final[AttributeValue] = {"NULL": True}

_PLAIN: Final = "\0plain "
"""Stands before the stored name of an attribute where the values of an item hold it as a plain value."""

_NO_FIELD: Final = ""
"""The name of what is no field."""


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
        self._readable: Final = frozenset(map(int, upgrades.readable))
        upgraded = [field for field in fields if field.is_stored and field.stored in self._names]
        self._upgraded = [
            (field.stored, field.name, field.lax.decode, field.of_null, _of_absence(field)) for field in upgraded
        ]
        self._unread = self._names.difference(each.stored for each in upgraded)
        """The names of attributes at hand that are no fields."""
        others = [field for field in fields if field not in upgraded]
        self._decoded = frozenset(field.stored for field in others if field.is_stored)
        """The attributes that are decoded before the upgrades run."""
        apart = (upgrades.attribute, *self._names)
        self._plain = [(_PLAIN + name, name) for name in apart]
        self._decoders = FieldDecoders(
            others,
            shards,
            takes_extras=False,
            told_by=told_by,
            given={name: (mark, decode_any) for mark, name in self._plain},
        )
        members = {field.stored: (field.name, field.lax.decode, field.of_null) for field in fields if field.is_stored}
        no_field = (_NO_FIELD, decode_any, _none)
        self._native = native_apart(
            {field.stored: members[field.stored] for field in others if field.is_stored},
            [(field.name, of_absence) for field in others if (of_absence := _of_absence(field)) is not None],
            {name: members.get(name, no_field) for name in apart},
            [(name, of_absence) for _, name, _, _, of_absence in self._upgraded if of_absence is not None],
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
        try:
            return self._values(items, present)
        except LooksFurtherError:
            self._names = frozenset[str]()  # from now on, whole items are upgraded at once
        except DECODE_ERRORS:
            pass
        return None

    def _values(
        self, items: Sequence[WireItem], present: FieldDecoders
    ) -> tuple[list[dict[str, Any]], list[bool]] | None:
        page: list[dict[str, Any]] = []
        older = [True] * len(items)
        for position, (values, apart) in enumerate(self._apart(items)):
            page.append(values)
            version = apart.pop(self._upgrades.attribute, FIRST)
            if type(version) is int and version in self._readable:  # True is no version
                older[position] = False
            elif not self._upgrade(version, apart, values):
                return None
        if False in older:
            self._put_present(page, older, items, present)
        return page, older

    def _apart(self, items: Sequence[WireItem]) -> Sequence[tuple[dict[str, Any], dict[str, Any]]]:
        """Return of each item field name -> value, and attribute name -> plain value of what upgrades look at.

        Raises:
            DecodeError: an item is malformed.
        """
        if self._native is not None:
            found, omitted = self._native.decode(items)
            apart = [each for each in found if each is not None]
            if len(apart) == len(items):
                omit(omitted)
                return apart
        page = self._decoders.values(list(map(plain, items)))
        return [(values, {name: values.pop(mark) for mark, name in self._plain if mark in values}) for values in page]

    def _upgrade(self, version: Any, apart: dict[str, Any], values: dict[str, Any]) -> bool:
        """Upgrade an older item, and put what is made of it among its values; return False where it takes all of it."""
        if type(version) is not int:
            return False
        if not self._upgrades.upgrade_at_hand(item_at_hand(apart, self._names), apart, version):
            return False
        if self._native is None or not self._native.put(apart, values):
            self._put(apart, values)
        return True

    def _put(self, apart: Mapping[str, Any], values: dict[str, Any]) -> None:
        """Put what upgrades have left of an item among the values of its fields.

        Raises:
            LooksFurtherError: they have set another field, by a name that does not stand in them.
            EncodeError: they have set what cannot be stored.
        """
        if not self._decoded.isdisjoint(apart):
            raise LooksFurtherError
        for attribute in self._unread:
            if attribute in apart:
                stored_form(apart[attribute], attribute)  # what cannot be stored is an error, as it is in other reads
        for attribute, name, decode, of_null, of_absence in self._upgraded:
            stored = stored_form(apart[attribute], attribute) if attribute in apart else None
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


def _none() -> None:
    """Return what stands for NULL."""
