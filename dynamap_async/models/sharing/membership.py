"""The membership of a model in a shared table: its kind, and the fields that are the table's keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from pydantic import BaseModel

from dynamap_async.models.annotations import bare
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.items import ItemCodec
from dynamap_async.models.keys.shards import ShardedKeys
from dynamap_async.models.markers import Role, StoredAs, set_metadata, stored_name
from dynamap_async.models.own_table import check_hiding, index_key_attribute, key_attribute, only
from dynamap_async.models.settings import SETTINGS, Settings, bases_with_items, fault
from dynamap_async.models.sharing.table import BY_KEYS, ByKeys, Kind, Prefix, Table
from dynamap_async.schema import KeyAttribute, TableSchema

if TYPE_CHECKING:
    from dynamap_async.models.sharing.key_shapes import KeyShapes
    from dynamap_async.models.sharing.kinds import Kinds

_KEYS = (Role.PARTITION_KEY, Role.SORT_KEY)


def check_sharing(model: type[Any]) -> None:
    """Raise ModelDefinitionError for faults of a class statement that names a shared table, or a kind."""
    settings: Settings = getattr(model, SETTINGS)
    name, kind = model.__name__, settings.kind
    shared: Table | None = settings.shared
    if shared is None:
        if kind is not None:
            raise fault(name, f"has the kind {kind!r}, but shares no Table; write table=Table(...), or drop the kind")
        return
    _check_kind(name, kind, shared)
    if settings.throughput is not None:
        raise fault(name, f"has a throughput, but shares {shared!r}; give the throughput to the Table")
    if settings.settings is not None:
        raise fault(name, f"has settings, but shares {shared!r}; give the settings to the Table")
    if settings.abstract:
        if kind is not None:
            raise fault(name, f"is abstract, so no item has the kind {kind!r}; drop one of the two")
    elif isinstance(shared.discriminator, Prefix) and kind is None:
        raise fault(
            name,
            f"shares {shared!r}, which tells items apart by how {shared.attribute!r} begins; give the beginning: "
            f'kind="{name.upper()}#", or kind=BY_KEYS if the templates of its keys tell them apart',
        )


def _check_kind(name: str, kind: object, shared: Table) -> None:
    if kind is not None and not isinstance(kind, ByKeys) and not (isinstance(kind, str) and kind):
        raise fault(name, f'kind={kind!r} is not a string; write kind="order", kind=UNMARKED or kind=BY_KEYS')
    if isinstance(kind, str) and shared.discriminator is None:
        raise fault(
            name,
            f"has the kind {kind!r}, but {shared!r} has no attribute for it; drop the kind, or write Table(..., "
            'discriminator="kind")',
        )


def declared_kind(model: type[Any]) -> Kind | None:
    """Return what tells a model's own items: what its class statement says, else what is usual; None without any."""
    settings: Settings = getattr(model, SETTINGS)
    if settings.shared is None or settings.abstract:
        return None
    kind: Kind | None = settings.kind
    if kind is not None:
        return kind
    return BY_KEYS if settings.shared.discriminator is None else model.__name__


_CodecOf = Callable[[type[Any]], ItemCodec[Any]]


def own_kind(model: type[Any], codec_of: _CodecOf) -> Kind | None:
    """Return the kind of a model's own items; None without one.

    Args:
        model: the class.
        codec_of: gives the codecs of models.
    """
    kind = declared_kind(model)
    return replace(kind, model=model, shapes_of=lambda: _shapes(codec_of(model))) if isinstance(kind, ByKeys) else kind


def _shapes(codec: ItemCodec[Any]) -> KeyShapes:
    from dynamap_async.models.sharing.kinds import FamilyCodec

    assert isinstance(codec, FamilyCodec), f"{codec} is of no shared table"  # noqa: S101 - models of a table have it
    return codec.key_shapes


def kinds_of(model: type[Any], codec_of: _CodecOf, fields: Iterable[FieldPlan], shards: ShardedKeys) -> Kinds | None:
    """Return how the items of a model are recognised in its shared table; None for a table of its own.

    Args:
        model: the class.
        codec_of: gives the codecs of models.
        fields: its fields.
        shards: its partition keys that are spread over shards.
    """
    settings: Settings = getattr(model, SETTINGS)
    shared: Table | None = settings.shared
    if shared is None:
        return None
    from dynamap_async.models.sharing.key_shapes import key_shapes  # for shared tables only
    from dynamap_async.models.sharing.kinds import Kinds

    shapes = key_shapes(model, fields, shared.schema.keys.names, shards)
    return Kinds(model, shared, own_kind(model, codec_of), codec_of, shapes)


def join(model: type[Any], codec_of: _CodecOf) -> None:
    """Add a model to the table that it shares.

    Args:
        model: the class.
        codec_of: gives the codecs of models.

    Raises:
        ModelDefinitionError: its items could not be told from those of another model.
    """
    settings: Settings = getattr(model, SETTINGS)
    kind = own_kind(model, codec_of)
    if settings.shared is not None and kind is not None:
        settings.shared.add(model, kind)


def name_keys(model: type[BaseModel]) -> None:
    """Set the stored names of key fields to those of the shared table, unless they have names of their own."""
    settings: Settings = getattr(model, SETTINGS)
    if settings.shared is None:
        return
    names = dict(zip(_KEYS, settings.shared.schema.keys.names, strict=False))
    for name, info in model.__pydantic_fields__.items():
        role = next((each for each in info.metadata if isinstance(each, Role)), None)
        if role in names and stored_name(name, info) == name:
            set_metadata(info, [*info.metadata, StoredAs(name=names[role])])


def names_in_shared_keys(model: type[BaseModel]) -> frozenset[str]:
    """Return the names of the fields that are part of a key of the shared table, or of an index of it."""
    settings: Settings = getattr(model, SETTINGS)
    shared: Table | None = settings.shared
    stored = shared.schema.attribute_types.keys() if shared is not None else frozenset[str]()
    return frozenset(n for n, info in model.__pydantic_fields__.items() if stored_name(n, info) in stored)


def shared_table_of(model: type[Any], fields: Mapping[str, FieldPlan], indexes: Iterable[str]) -> TableSchema | None:
    """Return the table that a model shares; None where it shares none.

    Raises:
        ModelDefinitionError: the model's fields do not fit the table.
    """
    settings: Settings = getattr(model, SETTINGS)
    shared: Table | None = settings.shared
    if shared is None:
        return None
    for attribute in indexes:
        raise fault(
            model.__name__,
            f"is an index, but {shared!r} is shared, so its indexes belong to the Table; declare it there, and query "
            'it with .index(TABLE.index("name"))',
            attribute,
        )
    roles: dict[Role, FieldPlan | None] = {
        role: only(model, fields, role) for role in Role if role is not Role.ATTRIBUTE
    }
    for role, what in zip(_KEYS, ("the partition key", "the sort key"), strict=True):
        _check_key(model, shared, role, what, roles[role])
    _check_marks(model, shared, fields)
    _check_index_keys(model, shared, fields)
    _check_marker(model, shared, fields)
    ttl, expected = roles[Role.TIME_TO_LIVE], shared.schema.ttl_attribute
    if ttl is not None and ttl.stored != expected:
        raise fault(
            model.__name__,
            f"is a TimeToLive stored as {ttl.stored!r}, but that of {shared!r} is {expected!r}; write Table(..., "
            f'time_to_live="{ttl.stored}"), or attr(name=...) here',
            ttl.name,
        )
    check_hiding(model, ttl)
    return shared.schema


def check_bases(model: type[Any], version: str | None, uniques: Iterable[str]) -> None:
    """Refuse to keep what a base that has items itself would not: it writes the items of both by their keys.

    Args:
        model: the class, complete.
        version: the name of its version field, if it has one.
        uniques: the names of its unique constraints.

    Raises:
        ModelDefinitionError: a base has no version, or not the same unique constraints.
    """
    own = {*uniques} if version is None else {*uniques, version}
    for base in bases_with_items(model):
        kept: set[str] = {each.name for each in base.uniques}
        if base.version is not None:
            kept.add(base.version.name)
        for name in sorted(own - kept):
            whose = base.model.__name__
            raise fault(
                model.__name__,
                f"is not declared in {whose}, so a write by key through {whose} would not keep it in a "
                f"{model.__name__}; declare it in {whose} too, or give both an abstract base",
                name,
            )


def _check_key(model: type[Any], shared: Table, role: Role, what: str, plan: FieldPlan | None) -> None:
    keys: dict[Role, KeyAttribute] = dict(zip(_KEYS, shared.schema.keys.attributes, strict=False))
    key = keys.get(role)
    if key is None:
        if plan is not None:
            raise fault(model.__name__, f"is {what}, but {shared!r} has none; write Attr[...]", plan.name)
        return
    if plan is None:
        raise fault(
            model.__name__,
            f"has no field for {what} of {shared!r}, which is stored as {key.name!r}; declare one: {key.name}: "
            f"{role.value}[str]",
        )
    found = key_attribute(model, plan, what)
    if found.name != key.name:
        raise fault(
            model.__name__,
            f"is {what} and stored as {found.name!r}, but in {shared!r} that is {key.name!r}; drop attr(name=...)",
            plan.name,
        )
    if found.type != key.type:
        raise fault(
            model.__name__,
            f"is stored as {found.type}, and {what} of {shared!r} holds {key.type}; change the field's type, or write "
            f'Table(..., types={{"{key.name}": "{found.type}"}})',
            plan.name,
        )
    if plan.may_be_absent:
        raise fault(model.__name__, f"is {what} of {shared!r} and cannot be {plan.nothing}", plan.name)


def _check_marks(model: type[Any], shared: Table, fields: Mapping[str, FieldPlan]) -> None:
    for key, role in zip(shared.schema.keys.names, _KEYS, strict=False):
        for plan in fields.values():
            if plan.stored == key and plan.role is not role:
                raise fault(
                    model.__name__,
                    f"is stored as {key!r}, which is a key of {shared!r}; mark it {role.value}[...], or give it "
                    "another attr(name=...)",
                    plan.name,
                )


def _check_index_keys(model: type[Any], shared: Table, fields: Mapping[str, FieldPlan]) -> None:
    by_stored = {plan.stored: plan for plan in fields.values()}
    for index in shared.schema.indexes:
        for key in index.keys.attributes:
            plan = by_stored.get(key.name)
            if plan is None or key.name in shared.schema.keys.names:
                continue
            found = index_key_attribute(model, index.name, plan.name, fields)
            if found.type != key.type:
                raise fault(
                    model.__name__,
                    f"is stored as {found.type}, and in the key of the index {index.name!r} of {shared!r} it is "
                    f'{key.type}; change its type, or write Table(..., types={{"{key.name}": "{found.type}"}})',
                    plan.name,
                )


def _check_marker(model: type[Any], shared: Table, fields: Mapping[str, FieldPlan]) -> None:
    """Refuse a field in the place of the kind, unless its type or its template says that it fits there."""
    kind = declared_kind(model)
    in_place = [each for each in fields.values() if each.stored == shared.attribute]
    if isinstance(shared.discriminator, Prefix) and isinstance(kind, str) and not in_place:
        raise fault(
            model.__name__,
            f"has the kind {kind!r}, which {shared!r} recognises by how {shared.attribute!r} begins, but has no field "
            f'that is stored as {shared.attribute!r}; add one, such as Attr[str] = template("{kind}..."), or name '
            "another attribute in Prefix(...)",
        )
    for plan in in_place:
        if isinstance(shared.discriminator, Prefix):
            _check_prefix(model, shared, plan, kind)
            continue
        annotation = bare(plan.annotation)
        if get_origin(annotation) is Literal and (kind is None or get_args(annotation) == (kind,)):
            continue
        raise fault(
            model.__name__,
            f"is stored as {plan.stored!r}, where {shared!r} keeps the kind of each item; drop the field, or write "
            f"{plan.name}: Literal[{kind!r}] = {kind!r}",
            plan.name,
        )


def _check_prefix(model: type[Any], shared: Table, plan: FieldPlan, kind: Kind | None) -> None:
    begun = "" if plan.template is None else plan.template.prefix({})
    if isinstance(kind, str) and not (begun.startswith(kind) or kind.startswith(begun)):
        raise fault(
            model.__name__,
            f"begins with {begun!r}, but {shared!r} recognises the kind {kind!r} by this beginning; write "
            f"template({kind + str(plan.template)!r}), or another kind",
            plan.name,
        )
