"""The definition of a model: its fields, its items and its table, as DynamoDB knows them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from pydantic import BaseModel

from dynamap_async import expressions
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import ModelDefinitionError
from dynamap_async.expressions import Path
from dynamap_async.models.annotations import default_of
from dynamap_async.models.checks import check_assigned, check_attr, check_fields, holds_part
from dynamap_async.models.fields import FieldPlan, plan_fields, store_times
from dynamap_async.models.hooks import NO_HOOKS, Hooks, compare_computed, find_hooks
from dynamap_async.models.indexes import declared_indexes, names_in_keys
from dynamap_async.models.items import ItemCodec
from dynamap_async.models.keys.computed import Computed, computed_of
from dynamap_async.models.keys.key import PlainKeys, key_from_values
from dynamap_async.models.keys.periods import Periods, periods_of
from dynamap_async.models.keys.shards import ShardedKeys, sharded_keys
from dynamap_async.models.markers import Role
from dynamap_async.models.own_code import runs_own_code
from dynamap_async.models.own_table import table_of
from dynamap_async.models.settings import SETTINGS, UPGRADE, Settings, fault, marked_functions
from dynamap_async.models.sharing.membership import (
    check_bases,
    kinds_of,
    name_keys,
    names_in_shared_keys,
    shared_table_of,
)
from dynamap_async.models.uniques import UniqueFields, find_uniques
from dynamap_async.native.json_text import write_json
from dynamap_async.request import Reader
from dynamap_async.schema import TableSchema
from dynamap_async.wire import WireItem, WireKey

if TYPE_CHECKING:
    from dynamap_async.expressions import Condition
    from dynamap_async.models.derived import Derived
    from dynamap_async.models.sharing.kinds import Kinds
    from dynamap_async.models.sharing.table import Kind
    from dynamap_async.models.upgrades import Upgrades
    from dynamap_async.models.validation import Validation

MOST: Final = 512
"""How many shapes are kept with one model: programs have a few dozen."""
MOST_BYTES: Final = 2**20
"""About how much memory they may take together."""


IndexMembers: TypeAlias = tuple[tuple[str, tuple[bytes, ...]], ...]
"""Each global index of a table, with what is found in the JSON of an item that has an entry there."""


class Compiled(dict[Hashable, Any]):
    """A cache of results by the shape of an expression. It is emptied when it is full."""

    def __init__(self) -> None:
        """Create an empty cache."""
        super().__init__()
        self.kept_bytes: int = 0
        """About how much memory they take."""

    def keep(self, shape: Hashable, made: Any, size: int) -> None:
        """Cache the result for a shape.

        Args:
            shape: it; nothing of users' values may be in it.
            made: what was worked out.
            size: about how many bytes both take.
        """
        if size > MOST_BYTES:
            return
        if len(self) >= MOST or self.kept_bytes + size > MOST_BYTES:
            self.clear()
        self[shape] = made
        self.kept_bytes += size

    def clear(self) -> None:
        """Empty the cache."""
        super().clear()
        self.kept_bytes = 0


M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, eq=False)  # without slots, for what is worked out once per class
class Definition(Generic[M]):
    """One model class, compiled. Made once per class, shared by everything that reads or writes its items."""

    model: type[M]
    fields: dict[str, FieldPlan]
    """Field name -> how it is stored."""
    items: ItemCodec[M]
    """Encodes instances, decodes items."""
    table: TableSchema | None
    """The table, before the session's prefix; None for nested models and abstract bases."""
    field_names: dict[str, str]
    """Stored name -> field name."""
    hooks: Hooks = NO_HOOKS
    """The hooks that run before and after a write of an item, and after a read."""
    uniques: tuple[UniqueFields, ...] = ()
    """Which fields have values that no two items share."""
    assigned: tuple[FieldPlan, ...] = ()
    """The fields whose values the library gives when it writes an item."""
    computed: Computed | None = None
    """The fields that are made of others by templates."""
    kinds: Kinds | None = None
    """How the model's items are recognised in a shared table; None for a table of its own."""
    derived: Derived | None = None
    """The fields that methods compute, and that are stored with the item; they are among ``fields``."""
    periods: Periods | None = None
    """The tables of the model, one for each period, in place of the one table; None where it has one, or none."""

    @property
    def kind(self) -> Kind | None:
        """The kind of the model's items in a shared table; None without one, and for abstract bases."""
        return None if self.kinds is None else self.kinds.kind

    @property
    def family(self) -> dict[Kind, type[Any]]:
        """Kind -> model, of the model and its subclasses in a shared table; empty without one."""
        return {} if self.kinds is None else self.kinds.family

    @property
    def templates(self) -> Mapping[str, tuple[str, ...]]:
        """Field name of a part -> the computed fields that it belongs to."""
        return {} if self.computed is None else self.computed.of_part

    @cached_property
    def validation(self) -> Validation[M]:
        """Validates changed values of instances before they are written."""
        from dynamap_async.models.validation import Validation

        return Validation(self.model, self.own_fields, self.items, self.computed)

    @cached_property
    def own_fields(self) -> Mapping[str, FieldPlan]:
        """Field name -> how it is stored, of what the constructor takes: all but computed fields."""
        return {name: plan for name, plan in self.fields.items() if name in self.model.__pydantic_fields__}

    @cached_property
    def stored_names(self) -> tuple[str, ...]:
        """The stored names of the fields that are attributes of their own."""
        return tuple(plan.stored for plan in self.fields.values() if plan.is_stored)

    @cached_property
    def version(self) -> FieldPlan | None:
        """The field that counts the item's writes, if there is one."""
        return next((plan for plan in self.fields.values() if plan.role is Role.VERSION), None)

    @cached_property
    def expiry(self) -> FieldPlan | None:
        """The field whose time, once it has passed, hides an item from reads; None unless the model hides them."""
        settings: Settings = getattr(self.model, SETTINGS)
        if not settings.hide_expired:
            return None
        return next((plan for plan in self.fields.values() if plan.role is Role.TIME_TO_LIVE), None)

    @cached_property
    def keys_are_plain(self) -> bool:
        """Whether no key is made of fields, nor spread over shards."""
        return self.computed is None and not self.items.shards.of

    @cached_property
    def computed_index_keys(self) -> frozenset[str]:
        """The stored names of attributes that are made of others, or spread over shards, and no part of the own key."""
        own = self.require_table("used as an item").keys.names
        templates = (field.stored for field in self.fields.values() if field.template is not None)
        computed = () if self.derived is None else self.derived.stored_names
        return frozenset((*templates, *self.items.shards.of, *computed)).difference(own)

    def with_computed_keys(self, upgraded: WireItem, encoded: WireItem) -> WireItem:
        """Return an upgraded item with those keys of indexes that the model computes, which upgrades know nothing of.

        Args:
            upgraded: the item, as its upgrades left it.
            encoded: the same item, as the model stores it.
        """
        if not (names := self.computed_index_keys):
            return upgraded
        others = {name: value for name, value in upgraded.items() if name not in names}
        return {**others, **{name: encoded[name] for name in names if name in encoded}}

    @cached_property
    def reads_plainly(self) -> bool:
        """Whether conditions are sent unchanged: plain keys, one table of the model's own, no hidden items."""
        return self.keys_are_plain and all(each is None for each in (self.kinds, self.periods, self.expiry))

    @cached_property
    def read_at_once(self) -> Reader | None:
        """Decodes the items of several callers in one page; None where each caller has to decode its own."""
        alone = self.kinds is not None or runs_own_code(self.model)
        return None if alone else self.items.decode

    @cached_property
    def compiled(self) -> Compiled:
        """The cached plans of queries and updates of the model."""
        return Compiled()

    @cached_property
    def is_stored(self) -> Condition:
        """The condition that an item has the key of the one that is written."""
        return expressions.Function("attribute_exists", self.path(self.key_fields()[0].name))

    @cached_property
    def prepares(self) -> bool:
        """Whether an item is encoded at each execution of a write, and not when the write is created.

        What is awaited before has to be so, and so has a write id: each execution has one of its own.
        """
        return bool(self.hooks.before_write) or self.numbered is not None or self.write_id is not None

    @cached_property
    def frozen(self) -> tuple[FieldPlan, ...]:
        """The fields of which a stored item keeps the first value."""
        infos = self.model.__pydantic_fields__
        return tuple(plan for plan in self.own_fields.values() if infos[plan.name].frozen and plan.is_stored)

    @cached_property
    def numbered(self) -> FieldPlan | None:
        """The field that gets the next number of a counter, if there is one: a key, or a part of a computed one."""
        return next((plan for plan in self.assigned if plan.assigned and plan.assigned.autoincrement), None)

    @cached_property
    def numbered_key(self) -> FieldPlan | None:
        """The field of the table's key that holds the number: the partition key, if it does."""
        field = self.numbered
        return None if field is None else next((key for key in self.key_fields() if holds_part(key, field.name)), None)

    @cached_property
    def write_id(self) -> FieldPlan | None:
        """The field with the id of the write that stored the item, if there is one."""
        return next((plan for plan in self.assigned if plan.assigned and plan.assigned.write_id), None)

    def path(self, field: str) -> Path:
        """Return the path of a field; KeyError if there is none of that name."""
        plan, info = self.fields[field], self.model.__pydantic_fields__.get(field)
        return Path(
            self.model,
            (plan.stored,),
            field,
            plan.converter,
            none_forms=plan.none_forms,
            empty_set_forms=plan.empty_set_forms,
            absence=plan.absence,
            default=None if info is None else default_of(info),  # what is computed has none
        )

    def key_fields(self) -> tuple[FieldPlan, ...]:
        """Return the fields of the table's key: partition key, then sort key if there is one."""
        return self._key_fields

    @cached_property
    def _key_fields(self) -> tuple[FieldPlan, ...]:
        table = self.require_table("used as an item")
        return tuple(self.fields[self.field_names[name]] for name in table.keys.names)

    @cached_property
    def index_members(self) -> IndexMembers:
        """Each global index with what is found in the JSON of an item that has an entry there; see ``Put``."""
        indexes = () if self.table is None else self.table.global_indexes
        return tuple((index.name, tuple(write_json(name) + b":" for name in index.keys.names)) for index in indexes)

    @cached_property
    def plain_keys(self) -> PlainKeys:
        """The functions that make the keys of many items; the keys equal those of ``key``."""
        as_given = not self.items.shards.of and self.kinds is None
        attributes = self.require_table("used as an item").keys.attributes
        return PlainKeys(attributes, self._key_fields, self.key, as_given=as_given)

    def key(self, values: Sequence[Any]) -> WireKey:
        """Return the wire key of key values, in its shard; errors are those of ``key_from_values``."""
        key = self.items.shards.added(key_from_values(self.model.__name__, self.key_fields(), values))
        if self.kinds is not None:
            self.kinds.check(key)
        return key

    def key_of(self, item: BaseModel) -> WireKey:
        """Return the wire key of an instance."""
        return self.key([getattr(item, field.name) for field in self.key_fields()])

    def table_name(self, key: WireKey, use: str) -> str:
        """Return the name of the table that an item with this key is in, before the session's prefix.

        Raises:
            ModelDefinitionError: the model has no table, so that it cannot be used so.
            EncodeError: the model has one table per period, and the key makes no name of one.
        """
        table = self.require_table(use)
        return table.name if self.periods is None else self.periods.name_of(dict(self.items.shards.removed(key)))

    def is_in(self, table: str) -> bool:
        """Return whether items of the model are in the table of this name, before the session's prefix."""
        if self.periods is not None:
            return self.periods.has(table)
        return self.table is not None and self.table.name == table

    def require_table(self, use: str) -> TableSchema:
        """Return the table; raises ModelDefinitionError for a model that has none."""
        if self.table is None:
            raise ModelDefinitionError(
                f"{self.model.__name__} has no table, so it cannot be {use}; write class {self.model.__name__}"
                '(Model, table="...")',
                model=self.model.__name__,
            )
        return self.table


def define(
    model: type[M],
    codec_of: Callable[[type[Any]], ItemCodec[Any]],
    as_read: Callable[[BaseModel], Callable[[str], Mapping[str, str]]],
) -> Definition[M]:
    """Return the definition of a model.

    Args:
        model: the class, complete.
        codec_of: gives the codecs of other models of its family.
        as_read: gives the times without a zone that an instance was read with.

    Raises:
        ModelDefinitionError: with the model, the field and the remedy.
    """
    check_attr(model)
    store_times(model)
    indexes = declared_indexes(model)
    name_keys(model)
    fields = plan_fields(model, key_fields=names_in_keys(indexes) | names_in_shared_keys(model))
    check_fields(model, fields, indexes)
    check_assigned(model, fields)
    computed = computed_of(model, fields, indexes)
    derived = None
    if model.__pydantic_decorators__.computed_fields:
        from dynamap_async.models.derived import derived_of  # few models have such fields

        derived = derived_of(model, fields)
    everything = fields if derived is None else {**fields, **{each.name: each.plan for each in derived.fields}}
    table = shared_table_of(model, everything, indexes) or table_of(model, everything, indexes)
    shards = sharded_keys(model, fields, table)
    for sharding in shards.of.values():
        fields[sharding.field] = fields[sharding.field]._replace(unsharded=sharding.plain)
    plans = tuple(fields.values())
    kinds = kinds_of(model, codec_of, plans, shards)
    upgrades = _upgrades_of(model, tuple(everything.values()), table)
    items = _codec_of(model, plans, table, kinds, shards, upgrades, derived)
    items.as_read = as_read
    names = {plan.stored: name for name, plan in everything.items()}
    assigned = tuple(plan for plan in fields.values() if plan.assigned is not None)
    hooks, uniques = find_hooks(model), find_uniques(model, fields, table)
    if derived is not None:
        hooks = hooks._replace(after_read=(compare_computed, *hooks.after_read))
    if uniques and upgrades is not None and upgrades.writes_older:
        raise fault(
            model.__name__,
            f"writes items in version {upgrades.written} and has unique values, which older programs may guard in "
            "another form; first let all programs accept the later version, then drop writes=",
            uniques[0].name,
        )
    version = next((plan.name for plan in plans if plan.role is Role.VERSION), None)
    check_bases(model, version, [each.name for each in uniques])
    more: dict[str, Any] = {
        "hooks": hooks,
        "uniques": uniques,
        "assigned": assigned,
        "kinds": kinds,
        "computed": computed,
        "derived": derived,
        "periods": periods_of(model, fields, table, uniques),
    }
    made = Definition(model, everything, items, table, names, **more)
    if kinds is not None and kinds.kind is not None:
        from dynamap_async.models.sharing.collisions import check_collisions  # for shared tables only

        check_collisions(kinds, made.key_fields(), _known)
    return made


def _codec_of(
    model: type[Any],
    plans: Sequence[FieldPlan],
    table: TableSchema | None,
    kinds: Kinds | None,
    shards: ShardedKeys,
    upgrades: Upgrades | None,
    derived: Derived | None,
) -> ItemCodec[Any]:
    if kinds is None:
        return ItemCodec(model, plans, table, shards=shards, upgrades=upgrades, derived=derived)
    from dynamap_async.models.sharing.kinds import FamilyCodec  # for shared tables only

    return FamilyCodec(model, plans, kinds, shards, upgrades, derived)


def _upgrades_of(model: type[Any], plans: Sequence[FieldPlan], table: TableSchema | None) -> Upgrades | None:
    """Return the versions of a model's items, if it has any; what that takes is loaded for such models."""
    settings: Settings = getattr(model, SETTINGS)
    if settings.schema_version is None:
        said = {"accepts": settings.accepts, "complete_since": settings.complete_since, "writes": settings.writes}
        if told := [keyword for keyword, value in said.items() if value is not None]:
            raise fault(model.__name__, f"has {' and '.join(told)}, but no schema_version; add one, or drop them")
        if not marked_functions(model, UPGRADE):
            return None
    from dynamap_async.models.upgrades import upgrades_of

    return upgrades_of(model, [plan.stored for plan in plans], () if table is None else table.keys.names)


def _known(model: type[Any]) -> tuple[Kinds, Sequence[FieldPlan]] | None:
    """Return the kinds and the key fields of another model of a table; None for one that is not complete yet."""
    definition: Definition[Any] | None = model.__dict__.get("__dynamap_definition__")
    return None if definition is None or definition.kinds is None else (definition.kinds, definition.key_fields())
