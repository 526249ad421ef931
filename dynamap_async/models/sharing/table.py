"""Shared tables: one table that holds the items of several models, told apart by a marker or by their keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from dynamap_async import codec, limits
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import OperationError
from dynamap_async.models.indexes import (
    GlobalIndex,
    Index,
    IndexDeclaration,
    LocalIndex,
    check_replaced,
    limits_of,
    replaced_name,
)
from dynamap_async.models.settings import (
    check_index_name,
    check_keywords,
    check_table_name,
    fault,
    names_periods,
    throughput_of,
)
from dynamap_async.schema import (
    IndexSchema,
    KeyAttribute,
    KeySchema,
    TableSchema,
    TableSettings,
    Throughput,
    is_attribute_name,
)
from dynamap_async.wire import AttributeValue, KeyTag, WireItem

if TYPE_CHECKING:
    from dynamap_async.models.sharing.key_shapes import KeyShapes


@dataclass(frozen=True, slots=True)
class ByKeys:
    """The kind of items that are told by their keys."""

    model: type[Any] | None = None
    """The model that makes them; None for what a class statement says."""
    shapes_of: Callable[[], KeyShapes] | None = field(default=None, compare=False, repr=False)

    @property
    def shapes(self) -> KeyShapes:
        """The shapes of the keys, which are known once the model is complete."""
        assert self.shapes_of is not None, f"{self} is in no table"  # noqa: S101 - tables hold those that have it
        return self.shapes_of()


BY_KEYS: Final = ByKeys()
"""``class Game(Model, table=SHOP, kind=BY_KEYS)``: items without a marker, told by the templates of their keys."""


@dataclass(frozen=True, slots=True)
class Unmarked(ByKeys):
    """The kind of items that nothing else tells; several such kinds of a table are told by their keys."""


UNMARKED: Final = Unmarked()
"""``class Customer(Model, table=SHOP, kind=UNMARKED)``: items that neither a marker nor a key of another kind tells."""

Kind: TypeAlias = str | ByKeys
"""What tells the items of one model of a shared table: a stored text, or their keys, with ``UNMARKED`` for the rest."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """A discriminator for ``Table``: the value of a text attribute begins with the kind of the item.

    ``Table("games", partition_key="PK", sort_key="SK", discriminator=Prefix("SK"))`` with ``kind="ITEM#"``. No kind may
    be the beginning of another.
    """

    attribute: str
    """The stored name of the attribute."""


Shapes: TypeAlias = "dict[Kind, KeyShapes]"
"""The shapes of the keys of some kinds."""


class Table:
    """A table that several models share: ``class Order(Model, table=SHOP, kind="order")``.

    Names in it are those of stored attributes. Every item is stored with the kind of its model, and read back as that
    model; a model and its subclasses are a family, and reading the base gives instances of them all.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-modeling-nosql.html
    """

    def __init__(
        self,
        name: str,
        /,
        *,
        partition_key: str,
        sort_key: str | None = None,
        indexes: Sequence[GlobalIndex | LocalIndex] = (),
        types: Mapping[str, KeyTag] = MappingProxyType({}),
        discriminator: str | Prefix | None = "kind",
        time_to_live: str | None = None,
        throughput: Throughput | None = None,
        settings: TableSettings | None = None,
    ) -> None:
        """Describe the table; nothing is created before ``session.tables.create(SHOP)``.

        Args:
            name: the table's name, before the session's prefix.
            partition_key: the stored name of the partition key.
            sort_key: the stored name of the sort key, if the table has one.
            indexes: its indexes, each with a name, and with stored names for its keys and ``include``.
            types: stored name -> ``"S"``, ``"N"`` or ``"B"`` of those key attributes that are not text.
            discriminator: the stored name of the attribute that holds an item's kind, or a ``Prefix``; None where the
                templates of the keys tell it.
            time_to_live: the stored name of the models' ``TimeToLive`` fields.
            throughput: provisioned capacity; without it the table is created on-demand.
            settings: what else the table has: billing, stream, recovery, protection, class, encryption, tags.

        Raises:
            ModelDefinitionError: DynamoDB has no such table.
        """
        self.name: Final = name
        self.discriminator: Final = discriminator
        self._models: dict[Kind, type[Any]] = {}
        self._doubts: dict[Kind, tuple[Kind, ...]] = {}
        self._rest: Kind | None = None
        self._told_by_values: set[Kind] = set()
        self._losing: dict[Kind, tuple[Kind, ...]] = {}
        self._shapes: tuple[Shapes, Shapes] | None = None
        self._tells_by_keys = False
        if names_periods(name):
            raise self._fault(
                "must have one name: a table for each period is for one model, without a Table: class Reading(Model, "
                'table="readings_{at:month}")'
            )
        check_table_name(name, f"Table({name!r})")
        check_keywords(f"Table({name!r})", {"throughput": throughput, "settings": settings})
        self._types = dict(types)
        self.schema: Final = TableSchema(
            name=name,
            keys=KeySchema(self._attributes([partition_key]), self._attributes([sort_key] if sort_key else [])),
            indexes=tuple(self._index(each, partition_key) for each in indexes),
            ttl_attribute=time_to_live,
            throughput=throughput_of(f"Table({name!r})", throughput, settings),
            settings=settings or TableSettings(),
        )
        self._check()

    def __repr__(self) -> str:
        return f"Table({self.name!r})"

    @property
    def attribute(self) -> str | None:
        """The stored name of the attribute that holds, or begins with, an item's kind; None where keys tell it."""
        return self.discriminator.attribute if isinstance(self.discriminator, Prefix) else self.discriminator

    @property
    def models(self) -> Mapping[Kind, type[Any]]:
        """Kind -> model, of all models that share the table."""
        return MappingProxyType(self._models)

    def index(self, name: str, /) -> Index[Any]:
        """Return an index, for ``session.query(Order).index(SHOP.index("gsi1"))``.

        Args:
            name: the index's name in DynamoDB.

        Raises:
            ModelDefinitionError: the table has no index of that name.
        """
        names = [each.name for each in self.schema.indexes]
        if name not in names:
            raise self._fault(f"has no index {name!r}; its indexes are {', '.join(names) or 'none'}")
        return Index(object, name, self)

    def from_wire(self, image: Mapping[str, Any], /) -> Any:
        """Return the instance of an item in DynamoDB's JSON, of the model that its kind tells: see ``Model.from_wire``.

        Args:
            image: attribute name -> attribute value, such as ``{"id": {"S": "a"}, "kind": {"S": "Order"}}``.

        Raises:
            DecodeError: it is no item in that form.
            ItemValidationError: it does not fit its model; an ItemDecodeError where a stored type differs.
            ItemKindError: it is of no model that is known.
            OperationError: no model shares the table yet.
        """
        item = codec.wire_item(image)
        if not self._models:
            raise OperationError(f"no model shares {self!r} yet; import the module that defines them")
        kind = self.kind_of(item)
        found = None if kind is None else self._models.get(kind)
        # Any model of the table says of an item of an unknown kind what is wrong with it.
        return (next(iter(self._models.values())) if found is None else found).from_wire(item)

    def marker(self, kind: Kind) -> WireItem:
        """Return the attribute that is stored with every item of a kind beside its fields; empty where there is none.

        Args:
            kind: the kind of the item's model.
        """
        if isinstance(self.discriminator, str) and isinstance(kind, str):
            return {self.discriminator: {"S": kind}}
        return {}

    def kind_of(self, item: Mapping[str, AttributeValue]) -> Kind | None:
        """Return the kind of a stored item; None for an item of no model of the table, or of more than one.

        Args:
            item: the item in wire form, or a part of it that has its key and the attribute with the kind.
        """
        if isinstance(self.discriminator, str) and (stored := item.get(self.discriminator)) is not None:
            return stored.get("S")
        found = self.kinds_of(item)
        return found[0] if len(found) == 1 else None

    def kinds_of(self, item: Mapping[str, AttributeValue]) -> tuple[Kind, ...]:
        """Return the kind of a stored item; none for an item of no model, several where its key does not tell.

        A marker, or a ``Prefix``, goes before the keys, and those before ``UNMARKED``.

        Args:
            item: as for ``kind_of``.
        """
        stored = None if self.attribute is None else item.get(self.attribute, {})
        text = None if stored is None else stored.get("S")
        if isinstance(self.discriminator, str) and stored:
            return (text,) if text in self._models else ()
        if text is not None:
            found = next((kind for kind in self._models if begins(text, kind)), None)
            if found is not None:
                return (found, *self._held(self._doubts.get(found, ()), item))
        told, rest = self._shapes or self._told_by_keys()
        found = next((kind for kind, each in told.items() if each.hold(item)), None)
        if found is not None:
            return self._winning((found, *self._held(self._doubts.get(found, ()), item)))
        if self._rest is not None:
            return (self._rest,)
        unmarked = self._winning(tuple(kind for kind, each in rest.items() if each.hold(item)))
        if unmarked:
            return unmarked
        # An item whose parts have values that their fields do not allow is told by what else its key says, so that the
        # error can say which value it is.
        loosely = tuple(kind for kind, each in (*told.items(), *rest.items()) if each.hold(item, loosely=True))
        return loosely if len(loosely) == 1 else ()

    def _told_by_keys(self) -> tuple[Shapes, Shapes]:
        """Return the shapes of the kinds that keys tell, and of those that share the rest."""
        kinds = [kind for kind in self._models if isinstance(kind, ByKeys) and kind != self._rest]
        told: Shapes = {kind: kind.shapes for kind in kinds if not isinstance(kind, Unmarked)}
        rest: Shapes = {kind: kind.shapes for kind in kinds if isinstance(kind, Unmarked)}
        self._shapes = told, rest
        return told, rest

    def _held(self, kinds: Sequence[Kind], item: Mapping[str, AttributeValue]) -> list[Kind]:
        """Return those of some kinds whose keys an item may have."""
        told, _ = self._shapes or self._told_by_keys()
        return [kind for kind in kinds if kind in told and told[kind].hold(item)]

    def _winning(self, kinds: tuple[Kind, ...]) -> tuple[Kind, ...]:
        """Return the kinds before which no other of them goes."""
        if len(kinds) < 2 or not self._losing:
            return kinds
        return tuple(kind for kind in kinds if not any(each in kinds for each in self._losing.get(kind, ())))

    @property
    def tells_by_keys(self) -> bool:
        """Whether the kind of some items is told by their keys: by those that a model makes, or that none makes."""
        return self._tells_by_keys

    def tells_by_key(self, kind: Kind) -> bool:
        """Return whether the keys of a kind tell its items, rather than a marker, or that nothing else tells them.

        Args:
            kind: a kind of the table.
        """
        return isinstance(kind, ByKeys) and kind != self._rest

    def is_doubted(self, kind: Kind) -> bool:
        """Return whether what all keys of a kind have in common may be in those of another one, too.

        Args:
            kind: a kind of the table.
        """
        if kind in self._doubts or kind in self._told_by_values:
            return True
        # Where nothing else tells an item of which a value is not allowed, it belongs to the rest.
        has_rest = any(isinstance(each, Unmarked) for each in self._models)
        return has_rest and isinstance(kind, ByKeys) and kind.shapes.are_limited

    def tell_by_values(self, *kinds: Kind) -> None:
        """Have kinds told by what their fields allow, because their templates could make one key.

        Args:
            kinds: the kinds.
        """
        self._told_by_values.update(kinds)

    def doubt(self, one: Kind, other: Kind) -> None:
        """Have two kinds of which it is not proved that they have no key in common looked at together.

        Args:
            one: a kind.
            other: the other.
        """
        for kind, also in ((one, other), (other, one)):
            self._doubts[kind] = (*(each for each in self._doubts.get(kind, ()) if each != also), also)

    def prefer(self, one: Kind, other: Kind) -> None:
        """Have a kind go before another one where a key may be of both.

        Args:
            one: the kind that has the key.
            other: the other.
        """
        self._losing[other] = (*(each for each in self._losing.get(other, ()) if each != one), one)

    def add(self, model: type[Any], kind: Kind) -> None:
        """Add a model; one that is defined again, as in a notebook, replaces itself.

        Args:
            model: the class.
            kind: the kind of its items.

        Raises:
            ModelDefinitionError: another model has the same kind, or one that cannot be told from it.
        """
        name, mine = model.__name__, (model.__module__, model.__qualname__)
        for other, taken in self._models.items():
            if (taken.__module__, taken.__qualname__) == mine:
                continue
            if other == kind:
                what = "items without a marker" if isinstance(kind, Unmarked) else f"the kind {kind!r}"
                raise fault(
                    name,
                    f"and {taken.__name__} both take {what} of the table {self.name!r}, so their items could not be "
                    f'told apart; give one of them another kind: class {name}(Model, table=..., kind="..."), or '
                    "kind=BY_KEYS if its keys tell them apart",
                )
            prefixes = isinstance(self.discriminator, Prefix) and isinstance(kind, str) and isinstance(other, str)
            if prefixes and (begins(str(kind), other) or begins(str(other), kind)):
                raise fault(
                    name,
                    f"has the kind {kind!r} and {taken.__name__} has {other!r}: one begins with the other, so their "
                    "items could not be told apart; change one of them",
                )
        self._models = {k: m for k, m in self._models.items() if (m.__module__, m.__qualname__) != mine}
        self._models[kind] = model
        self._shapes = None
        rest = [each for each in self._models if isinstance(each, Unmarked)]
        # One takes all that nothing else tells, whatever its key is.
        self._rest = rest[0] if len(rest) == 1 else None
        told = any(isinstance(each, ByKeys) and each != self._rest for each in self._models)
        self._tells_by_keys = told or (bool(rest) and not isinstance(self.discriminator, str))

    def _attributes(self, names: Sequence[str]) -> tuple[KeyAttribute, ...]:
        return tuple(KeyAttribute(name, self._types.get(name, "S")) for name in names)

    def _index(self, declared: IndexDeclaration, partition: str) -> IndexSchema:
        if declared.declared_name is None:
            raise self._fault('has an index without a name; write GlobalIndex("gsi1", partition_key=...)')
        check_index_name(declared.name, model=f"Table({self.name!r})")
        return IndexSchema(
            name=declared.name,
            kind=declared.kind,
            keys=KeySchema(
                self._attributes([partition] if declared.kind.shares_partition_key else declared.partition_fields),
                self._attributes(declared.sort_fields),
            ),
            projection=declared.projection,
            throughput=declared.throughput,
            on_demand=limits_of(declared, f"Table({self.name!r})"),
            replaces=replaced_name(declared, f"Table({self.name!r})"),
        )

    def _check(self) -> None:
        schema, names = self.schema, [each.name for each in self.schema.indexes]
        for name in (*schema.attribute_types, *(() if self.attribute is None else (self.attribute,))):
            if not is_attribute_name(name, most=limits.KEY_NAME_BYTES):
                raise self._fault(f"names an attribute of 1 to {limits.KEY_NAME_BYTES} bytes of UTF-8, not {name!r}")
        for name, tag in self._types.items():
            if name not in schema.attribute_types or tag not in ("S", "N", "B"):
                raise self._fault(f'types={{{name!r}: {tag!r}}}: name a key attribute, and "S", "N" or "B"')
        if len(set(names)) < len(names):
            raise self._fault(f"has two indexes of one name ({', '.join(names)})")
        check_replaced(f"Table({self.name!r})", schema.indexes)
        local = schema.local_indexes
        if local and not schema.keys.sort:
            raise self._fault("has a local index, which needs a table with a sort key; give sort_key=...")
        if len(local) > limits.LOCAL_INDEXES:
            raise self._fault(f"has {len(local)} local indexes; DynamoDB allows {limits.LOCAL_INDEXES}")
        self._check_discriminator()

    def _check_discriminator(self) -> None:
        if self.attribute is not None and self.schema.attribute_types.get(self.attribute, "S") != "S":
            raise self._fault(f"tells kinds apart by {self.attribute!r}, which is not text")
        if isinstance(self.discriminator, str) and self.attribute in self.schema.keys.names:
            raise self._fault(
                f"stores the kind as {self.attribute!r}, which is part of its key; name another attribute, or tell "
                f"kinds apart by how the key begins: discriminator=Prefix({self.attribute!r})"
            )

    def _fault(self, problem: str) -> Any:
        return fault(f"Table({self.name!r})", problem)


def begins(text: str, kind: Kind) -> bool:
    """Return whether text begins with a kind."""
    return isinstance(kind, str) and text.startswith(kind)
