"""The decoders of one model's fields: attributes to what Pydantic validates, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Final

from dynamap_async.codec import (
    DECODE_ERRORS,
    STORED_NUMBER,
    Decode,
    NativeDecode,
    StraightPages,
    decode_any,
    native_decoder,
    omit,
)
from dynamap_async.errors import DecodeError
from dynamap_async.models.fields import Absence, FieldPlan
from dynamap_async.models.keys.computed import read_back
from dynamap_async.models.keys.shards import ShardedKeys
from dynamap_async.native import JSON_ITEM, plain
from dynamap_async.wire import AttributeValue, WireItem

_NULL: Final[AttributeValue] = {"NULL": True}

VERSION: Final = "\0version"
"""Stands for a field's name where the values of an item hold the text of its version; no field has the name."""


class FieldDecoders:
    """Decodes the attributes of the items of one model.

    An attribute that is stored as another type than its field is refused. One of the right type whose content is not as
    expected is left for Pydantic to judge.
    """

    def __init__(
        self,
        fields: Sequence[FieldPlan],
        shards: ShardedKeys,
        *,
        takes_extras: bool,
        told_by: str | None,
        version: str | None = None,
    ) -> None:
        """Make the decoders.

        Args:
            fields: the fields.
            shards: the partition keys that are spread over shards.
            takes_extras: whether attributes that are no fields are given to Pydantic.
            told_by: the stored name of the attribute that holds the kind of an item; it is no extra attribute.
            version: the stored name of the attribute that holds the version of an item, which is given as ``VERSION``.
        """
        self.fields: Final = {
            field.stored: (field.name, field.lax.decode, field) for field in fields if field.is_stored
        }
        """Stored name -> name, decoder and plan of the field."""
        self._names = frozenset(field.name for field in fields)
        self._shards = shards
        self._takes_extras = takes_extras
        self._told_by = told_by
        self._absent = [
            (field.name, field.stored, field.of_absence)
            for field in fields
            if field.required and (field.absence is not Absence.ERROR or field.assigned is not None)
        ]
        self._read_back = read_back(fields)
        self._version = version
        self._members: dict[str, tuple[str, Decode]] = {
            stored: (name, decode) for stored, (name, decode, _) in self.fields.items()
        }
        if version is not None:
            self._members[version] = (VERSION, STORED_NUMBER)
        self._straight = StraightPages(self._members, self._absent, drops=not takes_extras)

    def values(self, items: Sequence[WireItem]) -> list[dict[str, Any]]:
        """Return of each item field name -> value; raises DecodeError for a malformed one."""
        page: list[dict[str, Any]] | None = None
        if items and type(items[0]) is JSON_ITEM:
            if (decode := self._native) is not None:
                found, unknown = decode(items)
                if unknown:
                    omit(unknown)
                pairs = zip(items, found, strict=True)
                page = [self._decoded_singly(plain(item)) if values is None else values for item, values in pairs]
            else:
                items = list(map(plain, items))
        if page is None:
            page = self._of_wire(items)
        for each in self._read_back:
            for values in page:
                values.update(each.of(values.get(each.key)))
        return page

    def _of_wire(self, items: Sequence[WireItem]) -> list[dict[str, Any]]:
        stored: Sequence[Mapping[str, AttributeValue]] = items
        if self._shards.of:
            stored = [self._shards.removed(item) for item in items]
        page = self._straight.decode(stored)
        return [self._decoded_singly(item) for item in stored] if page is None else page

    @cached_property
    def _native(self) -> NativeDecode | None:
        if self._shards.of:
            return None
        of_null = {stored: field.of_null for stored, (_, _, field) in self.fields.items()}
        members = {
            stored: (name, decode, of_null.get(stored, _no_version)) for stored, (name, decode) in self._members.items()
        }
        absent = [(name, make) for name, _, make in self._absent]
        return native_decoder(members, absent, drops=not self._takes_extras)

    def _decoded_singly(self, item: Mapping[str, AttributeValue]) -> dict[str, Any]:
        """Return field name -> value of one item without shards; DecodeError for a malformed one."""
        page = self._straight.decode((item,))
        if page is not None:
            return page[0]
        values = self.one_by_one(item)
        self._straight.give_up(item)
        for name, attribute, make in self._absent:
            if attribute not in item:
                values[name] = make()
        return values

    def one_by_one(self, item: Mapping[str, AttributeValue]) -> dict[str, Any]:
        """Return field name -> value of the attributes that there are; DecodeError for a malformed one."""
        values: dict[str, Any] = {}
        fields = self.fields
        for attribute, stored in item.items():
            found = fields.get(attribute)
            if found is None:
                if attribute == self._version:
                    values[VERSION] = stored.get("N")
                elif self._takes_extras and attribute != self._told_by:
                    values[attribute] = self._extra(attribute, stored)
                continue
            name, decode, field = found
            try:
                values[name] = decode(stored)
            except DECODE_ERRORS:
                values[name] = field.of_null() if stored == _NULL else _placed(name, field.lax.decode_or_plain, stored)
        return values

    def _extra(self, attribute: str, stored: AttributeValue) -> Any:
        if attribute in self._names:
            raise DecodeError(
                f"attribute {attribute!r} is unknown, yet has the name of a field that is stored under another name"
            )
        return _placed(attribute, decode_any, stored)


def _no_version() -> None:
    """Return what stands for a version that is stored as NULL."""


def _placed(name: str, decode: Decode, stored: AttributeValue) -> Any:
    try:
        return decode(stored)
    except DecodeError as error:
        raise error.at(name) from error.__cause__
