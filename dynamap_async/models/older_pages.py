"""Pages of older items: decoded and upgraded in one step, without a wire form of all that no upgrade looks at.

The upgrades of an item look at the attributes that those of the items before looked at. So these are decoded to plain
values, while all others are decoded for their fields; the upgrades change the plain values; and what these leave is
decoded for its fields then. Where an upgrade asks for another attribute, or anything is wrong, whole items are upgraded
in wire form, which tells what.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final

from dynamap_async.codec import DECODE_ERRORS, anything, native_apart, omit
from dynamap_async.errors import ItemUpgradeError, ItemVersionError
from dynamap_async.models.decoders import FieldDecoders
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.keys.shards import ShardedKeys
from dynamap_async.models.upgrades import FIRST, StoredItem, Upgrades, stored_form
from dynamap_async.native import plain
from dynamap_async.wire import WireItem

_NO_FIELD: Final = ("", anything(), type(None))
"""What stands for an attribute that is no field's: no name, how its value is stored, and what NULL is."""

_MOST_NAMES: Final = 64
"""Where upgrades look at more attributes, whole items are upgraded."""


class LooksFurtherError(BaseException):
    """An upgrade asked for an attribute that is not at hand; no ``except Exception`` of its own must catch it."""


class ItemAtHand(StoredItem):
    """An older item of which some attributes are at hand, as plain values; for any other, an upgrade is stopped."""

    __slots__ = ()

    def __init__(self, values: dict[str, Any], names: frozenset[str]) -> None:
        """Take an item of which some attributes are at hand.

        Args:
            values: name -> plain value; it is changed.
            names: those that are at hand: which are not among the values, the item does not have.
        """
        self._wire = {}
        self._held = names
        self._values = values

    def __repr__(self) -> str:
        raise LooksFurtherError

    def wire(self) -> WireItem:
        """Stop an upgrade that wants all attributes."""
        raise LooksFurtherError

    def _refused(self, name: object = None) -> BaseException:
        return LooksFurtherError(name)


class OlderPages:
    """Decodes pages of one model that may hold older items."""

    def __init__(
        self, fields: Sequence[FieldPlan], shards: ShardedKeys, upgrades: Upgrades, *, told_by: str | None
    ) -> None:
        """Prepare to decode pages; the first one tells which attributes upgrades look at.

        Args:
            fields: the fields.
            shards: none.
            upgrades: the versions of the items.
            told_by: the stored name of the attribute that holds the kind of an item.
        """
        self._fields: Final = fields
        self._shards: Final = shards
        self._upgrades: Final = upgrades
        self._told_by: Final = told_by
        self._names: frozenset[str] = frozenset()
        """The attributes that upgrades have looked at or set."""
        self._apart: _PagesApart | None = None
        """Decodes pages by these names; None before the first page, and where whole items are upgraded for good."""
        self._is_open = True
        """Whether other names than these may still help."""

    def values(
        self, items: Sequence[WireItem], present: FieldDecoders
    ) -> tuple[list[dict[str, Any]], list[bool]] | None:
        """Return of each item field name -> value, and whether it was an older one; None where that is not enough.

        Args:
            items: the page.
            present: decodes items of the present version.
        """
        if self._apart is None and self._is_open:
            self._look_at(items)
        if self._apart is None:
            return None
        try:
            return self._apart.values(items, present)
        except LooksFurtherError:
            self._look_at(items)  # for the pages to come
        except DECODE_ERRORS:
            pass
        return None

    def _look_at(self, items: Sequence[WireItem]) -> None:
        """Find out which attributes the upgrades of some items look at, and decode pages by these from now on."""
        names = set(self._names)
        for item in items:
            with suppress(ItemUpgradeError, ItemVersionError):
                names |= self._upgrades.used(plain(item))
        self._is_open = self._names < names and len(names) <= _MOST_NAMES and self._upgrades.attribute not in names
        self._names = frozenset(names)
        self._apart = (
            _PagesApart(self._fields, self._shards, self._upgrades, self._names, told_by=self._told_by)
            if self._is_open
            else None
        )


class _PagesApart:
    """Decodes pages of which some attributes are upgraded as plain values."""

    def __init__(
        self,
        fields: Sequence[FieldPlan],
        shards: ShardedKeys,
        upgrades: Upgrades,
        names: frozenset[str],
        *,
        told_by: str | None,
    ) -> None:
        self._upgrades: Final = upgrades
        self._names: Final = names
        self._looked_up: Final = upgrades.looked_up(names)
        self._kept: Final = upgrades.kept(names)
        self._readable: Final = frozenset(map(int, upgrades.readable))
        upgraded = [field for field in fields if field.is_stored and field.stored in names]
        others = FieldDecoders(
            [field for field in fields if field not in upgraded], shards, takes_extras=False, told_by=told_by
        )
        self._later = FieldDecoders(upgraded, shards, takes_extras=False, told_by=told_by)
        """Decodes what upgrades leave of the attributes that they look at."""
        members = self._later.members
        self._native = native_apart(
            others.members,
            others.absent,
            {name: members.get(name, _NO_FIELD) for name in (upgrades.attribute, *names)},
            self._later.absent,
        )

    def values(
        self, items: Sequence[WireItem], present: FieldDecoders
    ) -> tuple[list[dict[str, Any]], list[bool]] | None:
        """Return what ``OlderPages.values`` does.

        Raises:
            LooksFurtherError: an upgrade looked at another attribute, or set one.
            DecodeError: an item is malformed.
            EncodeError: an upgrade has set what cannot be stored.
        """
        found, omitted = self._native.decode(items)
        page: list[dict[str, Any]] = []
        older = [True] * len(items)
        rest: list[tuple[dict[str, Any], dict[str, Any]]] = []
        for position, each in enumerate(found):
            if each is None:  # an item that is unusual
                return None
            values, apart = each
            page.append(values)
            version = apart.pop(self._upgrades.attribute, FIRST)
            if type(version) is int and version in self._readable:  # True is no version
                older[position] = False
            elif not self._upgrade(version, apart):
                return None
            elif not self._native.put(apart, values):
                rest.append((values, apart))
        self._put(rest)
        if False in older:
            self._put_present(page, older, items, present)
        omit(omitted)
        return page, older

    def _upgrade(self, version: Any, apart: dict[str, Any]) -> bool:
        """Upgrade those attributes of an older item that are at hand; return False where that takes all of it."""
        if type(version) is not int or version not in self._kept:
            return False
        return self._upgrades.upgrade_at_hand(ItemAtHand(apart, self._looked_up), apart, version, self._kept)

    def _put(self, items: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> None:
        """Put what upgrades have left of items, the second of each pair, among the values of their fields, the first.

        Raises:
            LooksFurtherError: they have set another attribute.
            EncodeError: they have set what cannot be stored.
        """
        page: list[WireItem] = []
        for _, apart in items:
            if not apart.keys() <= self._names:
                raise LooksFurtherError
            page.append({name: form for name, value in apart.items() if (form := stored_form(value, name)) is not None})
        for (values, _), left in zip(items, self._later.values(page), strict=True):
            values.update(left)

    @staticmethod
    def _put_present(
        page: list[dict[str, Any]], older: Sequence[bool], items: Sequence[WireItem], decoders: FieldDecoders
    ) -> None:
        """Put the values of items of the present version in their places."""
        places = [place for place, is_older in enumerate(older) if not is_older]
        for place, values in zip(places, decoders.values([items[place] for place in places]), strict=True):
            page[place] = values
