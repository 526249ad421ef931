"""The decoders of one model's fields: attributes to what Pydantic validates, a page at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, cast

from dynamap_async.codec import (
    DECODE_ERRORS,
    Absence,
    Decode,
    Members,
    NativeDecode,
    decode_any,
    native_decoder,
    omit,
)
from dynamap_async.errors import DecodeError
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.keys.computed import read_back
from dynamap_async.models.keys.shards import ShardedKeys
from dynamap_async.models.mutability import Mutability
from dynamap_async.native import JSON_ITEM, plain
from dynamap_async.wire import AttributeValue, WireItem

_NULL: Final[AttributeValue] = {"NULL": True}


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
        readable: Collection[str] = (),
        computed: frozenset[str] = frozenset(),
    ) -> None:
        """Make the decoders of a model's fields.

        Args:
            fields: the fields.
            shards: the partition keys that are spread over shards.
            takes_extras: whether attributes that are no fields are given to Pydantic.
            told_by: the stored name of the attribute that holds the kind of an item; it is no extra attribute.
            version: the stored name of the attribute that holds the version of an item; it is no extra attribute.
            readable: the versions that are read as they are, as they are stored.
            computed: the stored names of fields that are computed, and never read; they are no extra attributes.
        """
        self.fields: Final = {
            field.stored: (field.name, field.lax.decode, field) for field in fields if field.is_stored
        }
        """Stored name -> name, decoder and plan of the field."""
        self._names = frozenset(field.name for field in fields)
        self._shards = shards
        self._takes_extras = takes_extras
        self._beside = {told_by, version, *computed}
        self._absent = [
            (field.name, field.stored, field.of_absence)
            for field in fields
            if field.required and (field.absence is not Absence.ERROR or field.assigned is not None)
        ]
        self._read_back = read_back(fields)
        self._version = version
        self._readable = frozenset(readable)

    @property
    def computes(self) -> bool:
        """Whether fields are read out of keys."""
        return bool(self._read_back)

    @property
    def members(self) -> Members:
        """The fields, as the native codec takes them."""
        return {stored: (name, field.lax, field.of_null) for stored, (name, _, field) in self.fields.items()}

    @property
    def absent(self) -> Sequence[tuple[str, Callable[[], Any]]]:
        """Of the fields without a default the name, and what makes the value where the attribute is absent."""
        return [(name, make) for name, _, make in self._absent]

    def values(self, items: Sequence[WireItem]) -> list[dict[str, Any]]:
        """Return of each item field name -> value; raises DecodeError for a malformed one."""
        if not items or type(items[0]) is not JSON_ITEM or (decode := self._native) is None:
            return self._of_wire(items)
        found, unknown, _ = decode(items)
        return self._of_json(items, found, unknown)

    def present_values(self, items: Sequence[WireItem]) -> list[dict[str, Any]] | None:
        """Return of each item field name -> value; None where one has a version that is not read as it is.

        Raises:
            DecodeError: an item is malformed.
        """
        if not items or type(items[0]) is not JSON_ITEM or (decode := self._native) is None:
            return self._of_wire(items) if self._are_present(items) else None
        found, unknown, present = decode(items)
        if present < len(items):
            left = [item for item, values in zip(items, found, strict=True) if values is None]
            if present + len(left) < len(items) or not self._are_present(left):
                return None
        return self._of_json(items, found, unknown)

    def _are_present(self, items: Sequence[WireItem]) -> bool:
        """Return whether all items have versions that are read as they are."""
        # At the speed of one look-up, for it is all that a page of present items takes more (benchmarks: query_100).
        attribute, wires = self._version, cast("Sequence[Any]", items)
        try:
            return {item[attribute]["N"] for item in wires} <= self._readable
        except DECODE_ERRORS:
            return False

    def _of_json(
        self, items: Sequence[WireItem], found: Sequence[dict[str, Any] | None], unknown: int
    ) -> list[dict[str, Any]]:
        if unknown:
            omit(unknown)
        pairs = zip(items, found, strict=True)
        page = [self._decoded(plain(item)) if values is None else values for item, values in pairs]
        return self._completed(page) if self._read_back else page

    def _of_wire(self, items: Sequence[WireItem]) -> list[dict[str, Any]]:
        stored: Sequence[Mapping[str, AttributeValue]] = items
        if items and type(items[0]) is JSON_ITEM:
            stored = list(map(plain, items))
        if self._shards.of:
            stored = [self._shards.removed(item) for item in stored]
        page = [self._decoded(item) for item in stored]
        return self._completed(page) if self._read_back else page

    def _completed(self, page: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return a page with the values of fields that are read out of keys."""
        for each in self._read_back:
            for values in page:
                values.update(each.of(values.get(each.key)))
        return page

    @cached_property
    def _native(self) -> NativeDecode | None:
        if self._shards.of:
            return None
        mutable = [name for name, (_, _, field) in self.fields.items() if field.mutability is not Mutability.FIXED]
        present: list[AttributeValue] = [{"N": each} for each in sorted(self._readable)]
        mark = None if self._version is None else (self._version, present)
        return native_decoder(self.members, mutable, self.absent, drops=not self._takes_extras, mark=mark)

    def _decoded(self, item: Mapping[str, AttributeValue]) -> dict[str, Any]:
        """Return field name -> value of one item without shards; DecodeError for a malformed one."""
        values = self.one_by_one(item)
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
                if self._takes_extras and attribute not in self._beside:
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
            raise DecodeError(f"the attribute {attribute!r} has the name of a field that is stored under another name")
        return _placed(attribute, decode_any, stored)


def _placed(name: str, decode: Decode, stored: AttributeValue) -> Any:
    try:
        return decode(stored)
    except DecodeError as error:
        raise error.at(name) from error.__cause__
