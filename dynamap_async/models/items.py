"""Items of one model: instances to wire form and back, a page at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property, partial
from types import GenericAlias
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from dynamap_async.codec import (
    OMISSIONS,
    KeyRole,
    Omissions,
    check_key_value,
    deepest,
    encode_any,
    fits_keys,
    item_json,
    readable_key,
)
from dynamap_async.errors import (
    DecodeError,
    EncodeError,
    ItemDecodeError,
    ItemUpgradeError,
    ItemValidationError,
    ItemVersionError,
)
from dynamap_async.limits import NESTING_LEVELS, SORT_KEY_BYTES
from dynamap_async.models.decoders import FieldDecoders
from dynamap_async.models.encoders import FieldEncoders
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.keys.computed import reading
from dynamap_async.models.keys.shards import ShardedKeys
from dynamap_async.models.own_init import for_own_init
from dynamap_async.models.state import Snapshots, is_whole, remember
from dynamap_async.native import NATIVE, plain
from dynamap_async.schema import TableSchema
from dynamap_async.wire import WireItem

if TYPE_CHECKING:
    from dynamap_async.codec import NativeEncode
    from dynamap_async.models.derived import Derived
    from dynamap_async.models.older_pages import OlderPages
    from dynamap_async.models.upgrades import Upgrades

M = TypeVar("M", bound=BaseModel)

_NOTHING: Final = nullcontext()

Encoded: TypeAlias = tuple[WireItem, bytes, int | None]
"""An item in wire form, or those of its attributes that are part of a key or tell its model; its JSON; and its size,
where it was counted."""


class ItemCodec(Generic[M]):
    """Encodes and decodes the items of one model.

    The native codec, or a table of functions without it, gives the values of the fields; then Pydantic validates the
    whole page at once.
    """

    def __init__(
        self,
        model: type[M],
        fields: Sequence[FieldPlan],
        table: TableSchema | None,
        *,
        shards: ShardedKeys,
        marker: WireItem | None = None,
        told_by: str | None = None,
        upgrades: Upgrades | None = None,
        derived: Derived | None = None,
    ) -> None:
        """Make the codec of a model.

        Args:
            model: the class.
            fields: its fields.
            table: its table, if it has one.
            shards: its partition keys that are spread over shards.
            marker: attributes that every item of it is stored with, beside its fields.
            told_by: the stored name of the attribute that holds the kind of an item in a shared table.
            upgrades: the versions of its items, if they have any.
            derived: the fields that its methods compute, and that are stored with each item.
        """
        self.upgrades: Final = upgrades
        """The versions of its items; None where they have none."""
        self.as_read: Callable[[BaseModel], Callable[[str], Mapping[str, str]]] = lambda _: lambda _: {}
        """Gives the times without a zone that an instance was read with, by the attribute they are in: the text that
        this library writes -> the text that is stored. ``define`` sets it."""
        self._marker: WireItem = {**(marker or {}), **({} if upgrades is None else upgrades.marker)}
        self._writes_older = upgrades is not None and upgrades.writes_older
        self._told_by = told_by
        extras = model.model_config.get("extra")
        self._model = model
        self._name = model.__name__
        self.derived: Final = derived
        """The fields that methods compute, and that are stored with each item; None where there are none."""
        computed = () if derived is None else tuple(field.plan for field in derived.fields)
        self.encoders: FieldEncoders = FieldEncoders(model.__name__, (*fields, *computed))
        self._computes = any(field.template is not None for field in fields)
        self.shards: Final = shards
        """The partition keys that are spread over shards."""
        takes_extras = extras in ("allow", "forbid")
        self.decoders: FieldDecoders = FieldDecoders(
            fields,
            self.shards,
            takes_extras=takes_extras,
            told_by=told_by,
            version=None if upgrades is None else upgrades.attribute,
            readable=() if upgrades is None else upgrades.readable,
            computed=frozenset(plan.stored for plan in computed),
        )
        self._keeps_extras = extras == "allow"
        self._fields = fields
        self._takes_extras = takes_extras
        stored_fields = self.decoders.fields
        checked = {plan.stored: plan for plan in (*fields, *computed) if plan.is_stored}
        self._key_checks: list[tuple[str, str, KeyRole]] = [
            (stored, checked[stored].name, role)
            for stored, role in _key_checks(table)
            if stored in checked and _may_misfit(checked[stored])
        ]
        self.key_names: Final = table.keys.names if table is not None else ()
        """The stored names of the attributes that make the table's key."""
        self.key_fields: Final = tuple(stored_fields[name][0] for name in self.key_names if name in stored_fields)
        """The names of the fields that make the table's key."""
        self._rename = for_own_init(model)
        self._page: Callable[[list[dict[str, Any]]], list[M]] | None = None
        key = [stored_fields[name][2] for name in self.key_names if name in stored_fields]
        self.snapshots: Snapshots = Snapshots(model, fields, key, from_json=not self.shards.of)
        """Takes the remembered states of instances that are decoded."""
        self._remembers = table is not None
        self._met_older = False
        """Whether the page that was decoded last held items of older versions, and so the next one may."""
        self._kept = {*self.key_names, *(stored for stored, _, _ in self._key_checks)}

    @cached_property
    def _older_pages(self) -> OlderPages | None:
        """Decodes pages with older items in one step; None where that gains nothing, or fields are made of parts."""
        if NATIVE is None or self.upgrades is None or self._takes_extras or self.shards.of or self.decoders.computes:
            return None
        from dynamap_async.models.older_pages import OlderPages

        return OlderPages(self._fields, self.shards, self.upgrades, told_by=self._told_by)

    @cached_property
    def _shallow(self) -> bool:
        """Whether the types of the fields keep values from being nested too deep."""
        computed = () if self.derived is None else self.derived.fields
        plans = (*(field for _, _, field in self.decoders.fields.values()), *(field.plan for field in computed))
        levels = deepest(plan.converter for plan in plans)
        return not self._keeps_extras and levels is not None and levels < NESTING_LEVELS

    @cached_property
    def _native(self) -> NativeEncode | None:
        if self.shards.of or self._keeps_extras or self._writes_older:
            return None
        return self.encoders.native(marker=self._marker, kept=self._kept)

    def encode(self, item: M, changes: Mapping[str, Any] | None = None) -> WireItem:
        """Return an instance in wire form, in the present version.

        Args:
            item: the instance.
            changes: field name -> value that is stored in place of the instance's own.

        Raises:
            EncodeError: a value cannot be stored; the error names the model and the field.
            ItemTooLargeError: the item is over 400 KB.
        """
        return self._encoded_in_python(item, self._values(item, changes))[0]

    def _values(self, item: BaseModel, changes: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Return what is stored of an instance: field name -> value."""
        values = {**item.__dict__, **changes} if changes else item.__dict__
        return values if self.derived is None else self.derived.added(values, item)

    def encoded(self, item: M, changes: Mapping[str, Any] | None = None, *, as_read: bool = False) -> Encoded:
        """Return an instance as JSON, ready to be stored, in the version that is written; see ``encode``.

        Times without a zone that a field for times with a zone was read with are written as they are stored.

        Args:
            item: the instance.
            changes: field name -> value that is stored in place of the instance's own.
            as_read: whether the times of fields for times without a zone are written so as well.
        """
        values: Mapping[str, Any] = {**item.__dict__, **changes} if changes else item.__dict__
        if self.derived is not None:
            values = self.derived.added(values, item)
        if self._native is not None and not as_read and (found := self._native(values)) is not None:
            return found
        encoded = self._encoded_in_python(item, values, spelled=True, as_read=as_read)
        if self.upgrades is None or not self._writes_older:
            return encoded
        written = self.upgrades.downgraded(encoded[0])
        return written, item_json(written, self._name), None

    def _encoded_in_python(
        self, item: M, values: Mapping[str, Any], *, spelled: bool = False, as_read: bool = False
    ) -> tuple[WireItem, bytes, None]:
        stored: WireItem = {}
        try:
            stored = self.encoders.encode(values)
        except EncodeError:
            if not is_whole(item) or any(field.is_stored and field.name not in values for field in self._fields):
                raise
            as_read = True
        if as_read:
            stored = self.encoders.with_zoneless(values, self._texts_as_read(item, spelled=spelled))
        if self._marker:
            stored = {**self._marker, **stored}
        if self.shards.of:
            stored = self.shards.added(stored)
        self.check_keys(stored)
        if self._keeps_extras:
            stored.update(self.encode_extras(item))
        return stored, item_json(stored, self._name, shallow=self._shallow), None

    def _texts_as_read(self, item: BaseModel, *, spelled: bool = False) -> Callable[[str], Callable[[str], str | None]]:
        """Return what gives the times without a zone that an instance was read with, for ``with_zoneless``.

        Args:
            item: the instance.
            spelled: whether they are spelled as they are stored, and not as this library writes them.
        """
        texts = self.as_read(item)

        def of(name: str) -> Callable[[str], str | None]:
            known = texts(name)
            return known.get if spelled else lambda text: text if text in known else None

        return of

    def check_keys(self, stored: WireItem) -> None:
        """Check those of an item's attributes that are part of a key of the table or of an index.

        Raises:
            EncodeError: one is empty, too long, or of a type that keys cannot have.
        """
        field = ""
        try:
            for attribute, field, role in self._key_checks:  # noqa: B007 - the error names it
                value = stored.get(attribute)
                if value is None:
                    continue
                text = value.get("S", "")
                if not (0 < len(text) <= SORT_KEY_BYTES and text.isascii()):  # else it is of no interest what key it is
                    check_key_value(value, role)
        except EncodeError as error:
            raise error.at(field, model=self._name) from error.__cause__

    def encode_values(self, values: Mapping[str, Any], item: BaseModel | None = None) -> WireItem:
        """Return the attributes of those fields that have a value; nothing is checked but the values themselves.

        Args:
            values: field name -> value.
            item: the instance that has them; None for values as they were read.

        Raises:
            EncodeError: a value cannot be stored.
        """
        if self.derived is not None:
            values = self.derived.added(values, item)
        try:
            stored = self.encoders.present(values)
        except EncodeError:
            if item is not None and not is_whole(item):
                raise
            stored = self.encoders.with_zoneless(values, _any_text if item is None else self._texts_as_read(item))
        return self.shards.added({**self._marker, **stored})

    def encode_extras(self, item: BaseModel) -> WireItem:
        """Return the attributes of an instance that are no fields.

        Raises:
            EncodeError: one cannot be stored, or has the stored name of a field.
        """
        stored: WireItem = {}
        fields = self.decoders.fields
        for name, value in (item.__pydantic_extra__ or {}).items():
            if name in self._marker or (name == self._told_by and name not in fields):
                what = "version" if name != self._told_by else "kind"
                raise EncodeError(
                    f"the extra attribute has the name of the attribute that holds the {what} of an item"
                ).at(name, model=self._name)
            if self.derived is not None and name in self.derived.stored_names:
                raise EncodeError("the extra attribute has the stored name of a field that is computed").at(
                    name, model=self._name
                )
            if name in fields:
                raise EncodeError(f"the extra attribute has the stored name of the field {fields[name][0]!r}").at(
                    name, model=self._name
                )
            try:
                stored[name] = encode_any(value)
            except EncodeError as error:
                raise error.at(name, model=self._name) from error.__cause__
        return stored

    def decode(self, items: Sequence[WireItem], *, partial: bool = False) -> list[M]:
        """Return wire items as validated instances, in order, each with its remembered state if the model has a table.

        Args:
            items: the items.
            partial: whether they are parts of the stored ones, so that put and save refuse the instances.

        Raises:
            ItemValidationError: an item does not fit the model; the error carries those that do.
        """
        if not items:
            return []
        if self._page is None:
            self._page = self._page_maker()
        omissions = Omissions()
        token = OMISSIONS.set(omissions)
        try:
            older: Sequence[bool] | None = None
            if self.upgrades is None:
                values = self.decoders.values(items)
            else:
                values, older = self._upgraded_values(items, self.upgrades)
            whole = omissions.number == 0
            with reading() if self._computes else _NOTHING:
                page = self._page(values)
        except Exception:  # noqa: BLE001 - code of the model's own may raise anything
            return self._one_by_one(items, omissions, partial=partial)
        finally:
            OMISSIONS.reset(token)
        if len(page) != len(items):  # PydanticOmit leaves an item out of a list
            return self._one_by_one(items, omissions, partial=partial)
        if partial:
            self.snapshots.mark_partial(page, items)
        elif self._remembers and older is None:
            self.snapshots.take(page, values, items, whole=whole)
        elif self._remembers and older is not None:
            self._remember_older(page, values, items, older, whole=whole)
        if self.derived is not None and not partial:
            self._compare_derived(page, items, older)
        return page

    def _compare_derived(self, page: Sequence[M], items: Sequence[WireItem], older: Sequence[bool] | None) -> None:
        """Record as they are stored those items of the present version that have other values than methods compute."""
        if self.derived is None or not self._remembers:
            return
        for position, (made, item) in enumerate(zip(page, items, strict=True)):
            if not (older is not None and older[position]) and self.derived.differing(made, item, self.encoders.one):
                remember(made, item)

    def _upgraded_values(
        self, items: Sequence[WireItem], upgrades: Upgrades
    ) -> tuple[list[dict[str, Any]], Sequence[bool] | None]:
        """Return what Pydantic validates of each item in the present version, and which were older; None if none was.

        Raises:
            DecodeError: an item is malformed.
            ItemUpgradeError: one cannot be upgraded.
            ItemVersionError: one is of a later version than can be read.
        """
        if not self._met_older:
            values = self.decoders.present_values(items)
            if values is not None:
                return values, None
        # So that the older items of the next page are not decoded first.
        elif self._older_pages is not None and (found := self._older_pages.values(items, self.decoders)) is not None:
            return found
        wires = [plain(item) for item in items]
        upgraded = [upgrades.upgraded(wire) for wire in wires]
        older = [new is not wire for wire, new in zip(wires, upgraded, strict=True)]
        # Those of the present version as they came: what is kept of their JSON may be what only some fields hold.
        of_older = iter(self.decoders.values([new for new, is_older in zip(upgraded, older, strict=True) if is_older]))
        present = iter(
            self.decoders.values([item for item, is_older in zip(items, older, strict=True) if not is_older])
        )
        values = [next(of_older if is_older else present) for is_older in older]
        return values, older

    def _remember_older(
        self,
        page: Sequence[M],
        values: list[dict[str, Any]],
        items: Sequence[WireItem],
        older: Sequence[bool],
        *,
        whole: bool,
    ) -> None:
        """Record of a page with older items what is stored: of upgraded ones, the older version."""
        self._met_older = True in older
        if False not in older:
            self.snapshots.take_as_stored(page, values, items)
            return
        self.snapshots.take(page, values, items, whole=whole)
        for made, item, is_older in zip(page, items, older, strict=True):
            if is_older:
                remember(made, item)

    def _page_maker(self) -> Callable[[list[dict[str, Any]]], list[M]]:
        """Return what makes instances of decoded values; it raises Pydantic's ValidationError."""
        made: TypeAdapter[list[M]] = TypeAdapter(_list_of(self._model))
        validate = partial(made.validator.validate_python, by_name=True, by_alias=False)
        rename = self._rename
        return validate if rename is None else lambda values: validate([rename(each) for each in values])

    def validated(self, values: Mapping[str, Any], *, by_alias: bool | None = False) -> M:
        """Return the instance of decoded values; it is not remembered. Raises Pydantic's ValidationError.

        Args:
            values: field name -> decoded value.
            by_alias: whether members of nested models may be named by their aliases; None for either name.
        """
        validate = self._model.__pydantic_validator__.validate_python
        with reading() if self._computes else _NOTHING:
            given = dict(values) if self._rename is None else self._rename(values)
            made: M = validate(given, by_name=True, by_alias=by_alias)
        return made

    def values(self, item: WireItem) -> dict[str, Any]:
        """Return what Pydantic validates: field name -> value; raises DecodeError for a malformed item."""
        [values] = self.decoders.values([item])
        return values

    def _one_by_one(self, items: Sequence[WireItem], omissions: Omissions, *, partial: bool) -> list[M]:
        valid: list[M] = []
        failures: list[ItemValidationError] = []
        for item in map(plain, items):  # errors quote what the decoders in Python give
            try:
                unknown = omissions.number
                present = item if self.upgrades is None else self.upgrades.upgraded(item)
                values = self.values(present)
                made = self.validated(values)
            except (ItemVersionError, ItemUpgradeError) as error:
                failures.append(error)
                continue
            except Exception as error:  # noqa: BLE001 - code of the model's own may raise anything
                failures.append(self.failure(item, error))
                continue
            valid.append(made)
            if partial:
                self.snapshots.mark_partial([made], [item])
            elif self._remembers:
                self.snapshots.take([made], [values], [present], whole=omissions.number == unknown)
                if present is not item:
                    remember(made, item)
                else:
                    self._compare_derived([made], [item], None)
        if failures:
            raise ItemValidationError.of_call(failures, valid)
        return valid

    def shown_key(self, item: WireItem) -> dict[str, Any]:
        """Return the key of a stored item as stored name -> Python value."""
        return readable_key(item, self.key_names)

    def failure(self, item: WireItem, error: Exception) -> ItemValidationError:
        """Return the error of a stored item, or of a part of one, that does not fit the model."""
        key = self.shown_key(item)
        faults = faults_of(error)
        kind = ItemDecodeError if isinstance(error, DecodeError) else ItemValidationError
        return kind(
            f"the stored item {key} does not fit {self._name}: {faults}",
            model=self._name,
            key=key,
            item=item,
            validation_error=error,
        )


def _any_text(_name: str) -> Callable[[str], str | None]:
    return lambda text: text


def _list_of(model: type[Any]) -> Any:
    # Spelled out, because checkers take list[...] for an annotation, where a variable is no type.
    return GenericAlias(list, (model,))


def faults_of(error: Exception) -> str:
    """Return what does not fit, in one line: what Pydantic or a decoder says of it, or what a validator raised."""
    if isinstance(error, DecodeError):
        return str(error)
    if not isinstance(error, ValidationError):
        return f"validating it raised {type(error).__name__}: {_message(error)}"
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:3])


def _message(error: Exception) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - whatever it cannot say, its class tells
        return "its message cannot be shown"


def _may_misfit(field: FieldPlan) -> bool:
    """Return whether a value of a field may be what keys cannot have: empty, too long, or None."""
    return field.may_be_absent or not fits_keys(field.converter)


def _key_checks(table: TableSchema | None) -> list[tuple[str, KeyRole]]:
    """Return which stored names are part of a key of the table or of an index, and of which half."""
    if table is None:
        return []
    checks: dict[tuple[str, KeyRole], None] = {}
    for keys in (table.keys, *(index.keys for index in table.indexes)):
        checks.update({(attribute.name, "partition"): None for attribute in keys.partition})
        checks.update({(attribute.name, "sort"): None for attribute in keys.sort})
    return list(checks)
