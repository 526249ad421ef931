"""The kinds of items in a shared table: which model an item belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeGuard, TypeVar

from pydantic import BaseModel

from dynamap_async.codec import readable
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import EncodeError, ItemKindError, ItemValidationError
from dynamap_async.errors.items import each_outcome
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.items import Encoded, ItemCodec
from dynamap_async.models.keys.shards import ShardedKeys
from dynamap_async.models.sharing.table import ByKeys, Kind, Prefix, Table, begins
from dynamap_async.wire import AttributeValue, WireItem

if TYPE_CHECKING:
    from dynamap_async.models.derived import Derived
    from dynamap_async.models.sharing.key_shapes import KeyShapes
    from dynamap_async.models.upgrades import Upgrades

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True, eq=False)
class Kinds:
    """The kinds of one model and its subclasses in a shared table."""

    model: type[Any]
    table: Table
    kind: Kind | None
    """The kind of the model's own items; None for an abstract base, which has none."""
    codec_of: Callable[[type[Any]], ItemCodec[Any]]
    """Model -> what encodes and decodes its items."""
    shapes: KeyShapes
    """Which keys its own items may have."""

    @property
    def family(self) -> dict[Kind, type[Any]]:
        """Kind -> model, of the model and its subclasses, as far as they are defined by now."""
        return {kind: model for kind, model in self.table.models.items() if issubclass(model, self.model)}

    @property
    def marker(self) -> WireItem:
        """The attribute that holds the kind of the model's own items; empty where a prefix is the kind."""
        return {} if self.kind is None else self.table.marker(self.kind)

    @property
    def told_by(self) -> str | None:
        """The stored name of the attribute that holds the kind; None where the prefix of a key is the kind."""
        return None if isinstance(self.table.discriminator, Prefix) else self.table.attribute

    def check(self, stored: Mapping[str, AttributeValue], *, own: bool = False) -> None:
        """Check that the key of an item, or a key, is one of the model, where the key tells the kind.

        Args:
            stored: the item, or the key.
            own: whether it has to be of the model itself, and not of a subclass.

        Raises:
            EncodeError: it is of another model, of none, or of more than one.
        """
        discriminator = self.table.discriminator
        if isinstance(discriminator, Prefix) and all(isinstance(kind, str) for kind in self.family):
            self._check_prefix(stored, discriminator.attribute)
            return
        if isinstance(self.kind, str) or not self.table.tells_by_keys:
            return
        kinds = (self.kind,) if own else tuple(self.family)
        if isinstance(self.table.discriminator, str) and any(isinstance(kind, str) for kind in kinds):
            return  # an item with a marker is of the marker's kind, and a key alone does not show whether there is one
        found = self.table.kinds_of({name: stored[name] for name in self.table.schema.keys.names if name in stored})
        if len(found) != 1 or found[0] not in kinds:
            raise EncodeError(self._other_key(stored, found)).at(model=self.model.__name__)

    def _check_prefix(self, stored: Mapping[str, AttributeValue], name: str) -> None:
        if name not in stored:
            return
        text, kinds = stored[name].get("S", ""), self.family
        if not any(begins(text, kind) for kind in kinds):
            wanted = " or ".join(map(repr, kinds))
            raise EncodeError(
                f"must begin with {wanted} in every {self.model.__name__} of {self.table.name!r}, and is {text!r}"
            ).at(name, model=self.model.__name__)

    def _other_key(self, stored: Mapping[str, AttributeValue], found: Sequence[Kind]) -> str:
        """Return why a key is not one of the model."""
        key, name = _shown_key(self.table, stored), self.model.__name__
        others = " and ".join(self.table.models[kind].__name__ for kind in found)
        if not others:
            return f"the key {key} is of no {name}, whose keys are {self.shapes}"
        if len(found) == 1:
            return f"the key {key} is that of a {others}, and the keys of {self.table!r} tell its models apart"
        return (
            f"the key {key} may be that of {others}, which are declared distinct, so that reading the item back would "
            "be an error; take another value"
        )

    def of(self, item: WireItem) -> type[Any] | None:
        """Return the model of an item, this one or a subclass; None for an item of another model, or of several."""
        kinds = self.table.kinds_of(item)
        found = self.table.models[kinds[0]] if len(kinds) == 1 else None
        return found if found is not None and issubclass(found, self.model) else None

    def error(self, item: WireItem, codec: ItemCodec[Any]) -> ItemKindError:
        """Return the error of an item of another model."""
        return kind_error(self.table, item, codec.shown_key(item), (self.model.__name__,))


def kind_error(table: Table, item: WireItem, key: dict[str, Any], wanted: Sequence[str]) -> ItemKindError:
    """Return the error of an item that belongs to none of the requested models.

    Args:
        table: the shared table.
        item: the stored item.
        key: its key, for the message.
        wanted: the names of the models.
    """
    names = " or ".join(wanted)
    found = [table.models[kind] for kind in table.kinds_of(item)]
    told = _told(table, item)
    if len(found) > 1:
        several = " and ".join(model.__name__ for model in found)
        problem = (
            f"may be of the models {several}, which are declared distinct: {told}, and both make such a key; give one "
            "of them other keys, or store a marker with its items"
        )
    elif found:
        [model] = found
        problem = f"is of the model {model.__name__}, not {names} (it {told}); read it as {model.__name__}"
    else:
        problem = (
            f"is of no known model, and not of {names}: it {told}, and {table!r} knows the kinds "
            f"{', '.join(_spelled(table, each) for each in table.models)}; import the model of that kind, or define one"
        )
    kind = table.kind_of(item)
    fault = ValueError(problem)
    error = ItemKindError(
        f"the stored item {key} {problem}", model=wanted[0], key=key, item=item, validation_error=fault
    )
    error.kind = kind if isinstance(kind, str) else None
    return error


def _told(table: Table, item: WireItem) -> str:
    """Return what an item says of its kind."""
    if table.attribute is None or (table.tells_by_keys and table.attribute not in item):
        return f"has the key {_shown_key(table, item)}"
    stored = item.get(table.attribute)
    return f"has no {table.attribute!r}" if stored is None else f"has {table.attribute!r} {readable(stored)!r}"


def _shown_key(table: Table, item: Mapping[str, AttributeValue]) -> str:
    return " and ".join(f"{name} {readable(item[name])!r}" for name in table.schema.keys.names if name in item)


def _spelled(table: Table, kind: Kind) -> str:
    if isinstance(kind, ByKeys) and table.tells_by_key(kind):
        return f"of keys {kind.shapes}"
    return "UNMARKED" if isinstance(kind, ByKeys) else repr(kind)


class FamilyCodec(ItemCodec[M], Generic[M]):
    """Encodes the items of one model of a shared table, and decodes those of its family, each as its own model."""

    def __init__(
        self,
        model: type[M],
        fields: Sequence[FieldPlan],
        kinds: Kinds,
        shards: ShardedKeys,
        upgrades: Upgrades | None,
        derived: Derived | None,
    ) -> None:
        super().__init__(
            model,
            fields,
            kinds.table.schema,
            shards=shards,
            marker=kinds.marker,
            told_by=kinds.told_by,
            upgrades=upgrades,
            derived=derived,
        )
        self._kinds = kinds
        self.key_shapes: KeyShapes = kinds.shapes
        if kinds.table.attribute is not None:
            self._kept.add(kinds.table.attribute)

    def encode(self, item: M, changes: Mapping[str, Any] | None = None) -> WireItem:
        """Return an instance in wire form, with its kind; errors are those of ``ItemCodec``."""
        stored = super().encode(item, changes)
        self._kinds.check(stored, own=True)
        return stored

    def encoded(self, item: M, changes: Mapping[str, Any] | None = None, *, as_read: bool = False) -> Encoded:
        """Return an instance as JSON, with its kind; errors are those of ``ItemCodec``."""
        encoded = super().encoded(item, changes, as_read=as_read)
        self._kinds.check(encoded[0], own=True)
        return encoded

    def decode(self, items: Sequence[WireItem], *, partial: bool = False) -> list[M]:
        """Return wire items as instances of the model or of its subclasses, in order.

        Raises:
            ItemKindError: an item is of another model; the error carries those that are not.
            ItemValidationError: an item does not fit its model; the error carries those that do.
        """
        models = [self._kinds.of(item) for item in items]
        if all(model is self._model for model in models):
            return super().decode(items, partial=partial)
        codecs = [
            self._kinds.error(item, self) if model is None else self._kinds.codec_of(model)
            for item, model in zip(items, models, strict=True)
        ]
        return decode_mixed(items, codecs, partial=partial)


def decode_mixed(items: Sequence[WireItem], ways: Sequence[Any], *, partial: bool = False) -> list[Any]:
    """Return wire items of several models as instances, in order; those of one model are validated together.

    Args:
        items: the items.
        ways: for each item the codec that decodes it, the error that it is, or what it becomes.
        partial: whether they are parts of the stored ones.

    Raises:
        ItemValidationError: an item does not fit its model, or is an error; it carries the others.
    """
    made: dict[int, Any] = {}
    failures: dict[int, ItemValidationError] = {}
    groups: dict[ItemCodec[Any], list[int]] = {}
    for position, way in enumerate(ways):
        if _is_codec(way):
            groups.setdefault(way, []).append(position)
        elif isinstance(way, ItemValidationError):
            failures[position] = way
        else:
            made[position] = way
    for codec, positions in groups.items():
        try:
            found = codec.decode([items[position] for position in positions], partial=partial)
        except ItemValidationError as error:
            outcomes = each_outcome(error, [items[position] for position in positions])
            for position, outcome in zip(positions, outcomes, strict=True):
                (failures if isinstance(outcome, ItemValidationError) else made)[position] = outcome
        else:
            made.update(zip(positions, found, strict=True))
    given = [made[position] for position in sorted(made)]
    if failures:
        raise ItemValidationError.of_call([failures[position] for position in sorted(failures)], given)
    return given


def _is_codec(way: object) -> TypeGuard[ItemCodec[Any]]:
    return isinstance(way, ItemCodec)
