"""The table of a model: its key, its version and expiry fields, its secondary indexes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dynamap_async import limits
from dynamap_async.codec import Absence
from dynamap_async.errors.habits import closest
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.indexes import IndexDeclaration, check_replaced, limits_of, replaced_name
from dynamap_async.models.markers import Role
from dynamap_async.models.settings import (
    SETTINGS,
    UPGRADE,
    Settings,
    check_index_name,
    fault,
    marked_functions,
    throughput_of,
)
from dynamap_async.schema import (
    IndexKind,
    IndexSchema,
    KeyAttribute,
    KeySchema,
    Projection,
    TableSchema,
    TableSettings,
    Throughput,
)


def table_of(
    model: type[Any], fields: Mapping[str, FieldPlan], indexes: Mapping[str, IndexDeclaration]
) -> TableSchema | None:
    """Return the table of a model, before the session's prefix; None for nested models and abstract bases.

    Args:
        model: the class.
        fields: its fields.
        indexes: its index declarations, by attribute name.

    Raises:
        ModelDefinitionError: the key, a role or an index is wrong.
    """
    settings: Settings = getattr(model, SETTINGS)
    found = {role: only(model, fields, role) for role in Role if role is not Role.ATTRIBUTE}
    partition, sort, ttl = found[Role.PARTITION_KEY], found[Role.SORT_KEY], found[Role.TIME_TO_LIVE]
    if settings.abstract:
        return None
    if settings.table is None:
        _refuse_table_features(model, partition or sort, indexes)
        if settings.hide_expired:
            raise fault(model.__name__, 'hides expired items, but has no table; add table="...", or drop hide_expired')
        return None
    check_hiding(model, ttl)
    keys = _table_key(model, partition, sort)
    schemas = tuple(_index(model, attribute, index, fields, keys) for attribute, index in indexes.items())
    _check_index_counts(model, schemas)
    return TableSchema(
        name=settings.table,
        keys=keys,
        indexes=schemas,
        ttl_attribute=ttl.stored if ttl else None,
        throughput=throughput_of(model.__name__, settings.throughput, settings.settings),
        settings=settings.settings or TableSettings(),
    )


def check_hiding(model: type[Any], ttl: FieldPlan | None) -> None:
    """Raise ModelDefinitionError for a model that hides expired items, but has no field that says which are."""
    settings: Settings = getattr(model, SETTINGS)
    if settings.hide_expired and ttl is None:
        raise fault(
            model.__name__,
            "hides expired items, but has no TimeToLive field; declare one, such as expires_at: TimeToLive[datetime "
            "| None] = attr(default=None), or drop hide_expired",
        )


def only(model: type[Any], fields: Mapping[str, FieldPlan], role: Role) -> FieldPlan | None:
    """Return the field of a role that a model has once at most, if there is one.

    Raises:
        ModelDefinitionError: there are more.
    """
    found = [plan for plan in fields.values() if plan.role is role]
    if len(found) > 1:
        names = " and ".join(plan.name for plan in found)
        raise fault(model.__name__, f"{names} are both {role.value}; a table has one", found[1].name)
    return found[0] if found else None


def _refuse_table_features(model: type[Any], key: FieldPlan | None, indexes: Iterable[str]) -> None:
    remedy = f'add table="..." (or abstract=True) to class {model.__name__}'
    if key is not None:
        raise fault(model.__name__, f"is a {key.role.value}, but the model has no table; {remedy}", key.name)
    for attribute in indexes:
        raise fault(model.__name__, f"is an index, but the model has no table; {remedy}", attribute)


def _table_key(model: type[Any], partition: FieldPlan | None, sort: FieldPlan | None) -> KeySchema:
    if partition is None:
        what = "has a sort key but no partition key" if sort else "has no partition key"
        raise fault(model.__name__, f"{what}; mark one field PartitionKey[...]")
    keys = KeySchema(
        (key_attribute(model, partition, "the partition key"),),
        (key_attribute(model, sort, "the sort key"),) if sort else (),
    )
    for plan in (partition, sort):
        if plan is not None and plan.may_be_absent:
            raise fault(model.__name__, f"is part of the table's key and cannot be {plan.nothing}", plan.name)
    return keys


def key_attribute(model: type[Any], plan: FieldPlan, what: str) -> KeyAttribute:
    """Return the key attribute that a field is.

    Raises:
        ModelDefinitionError: its type or its stored name cannot be that of a key.
    """
    match [*plan.converter.tags]:
        case ["S" | "N" | "B" as tag]:
            pass
        case tags:
            stored = "/".join(sorted(tags))
            raise fault(
                model.__name__,
                f"is {what} and holds {plan.converter.label}, stored as {stored}; a key must be text, a number or "
                "binary data (S, N or B); use such a type, attr(stored_as=...), or for text a serializer that says so: "
                "Annotated[..., BeforeValidator(...), PlainSerializer(str, return_type=str)]",
                plan.name,
            )
    if len(plan.stored.encode()) > limits.KEY_NAME_BYTES:
        raise fault(
            model.__name__, f"the stored name of a key attribute has at most {limits.KEY_NAME_BYTES} bytes", plan.name
        )
    return KeyAttribute(plan.stored, tag)


def _index(
    model: type[Any],
    attribute: str,
    declared: IndexDeclaration,
    fields: Mapping[str, FieldPlan],
    table: KeySchema,
) -> IndexSchema:
    check_index_name(declared.name, model=model.__name__, field=attribute)
    for name in (*declared.partition_fields, *declared.sort_fields):
        _field(model, attribute, name, fields)
    _check_index_shape(model, attribute, declared, table)

    def key(names: Iterable[str]) -> tuple[KeyAttribute, ...]:
        return tuple(index_key_attribute(model, attribute, name, fields) for name in names)

    return IndexSchema(
        name=declared.name,
        kind=declared.kind,
        keys=KeySchema(
            table.partition if declared.kind.shares_partition_key else key(declared.partition_fields),
            key(declared.sort_fields),
        ),
        projection=_projection(model, attribute, declared, fields),
        throughput=_throughput(model, attribute, declared),
        on_demand=limits_of(declared, model.__name__, attribute),
        replaces=replaced_name(declared, model.__name__, attribute),
    )


def _check_index_shape(model: type[Any], attribute: str, declared: IndexDeclaration, table: KeySchema) -> None:
    partition, sort = declared.partition_fields, declared.sort_fields
    if declared.kind.shares_partition_key:
        if not table.sort:
            remedy = "mark one SortKey[...], or use GlobalIndex"
            raise fault(model.__name__, f"a local index needs a table with a sort key; {remedy}", attribute)
        if len(sort) != 1:
            raise fault(model.__name__, "a local index has one sort key field", attribute)
    elif not 1 <= len(partition) <= limits.INDEX_PARTITION_ATTRIBUTES:
        most = limits.INDEX_PARTITION_ATTRIBUTES
        raise fault(
            model.__name__, f"a global index has 1 to {most} partition key fields, not {len(partition)}", attribute
        )
    if len(sort) > limits.INDEX_SORT_ATTRIBUTES:
        most = limits.INDEX_SORT_ATTRIBUTES
        raise fault(model.__name__, f"a global index has at most {most} sort key fields, not {len(sort)}", attribute)
    names = (*partition, *sort)
    if len(set(names)) < len(names):
        raise fault(model.__name__, f"names a field twice in its key ({', '.join(names)})", attribute)


def index_key_attribute(model: type[Any], attribute: str, name: str, fields: Mapping[str, FieldPlan]) -> KeyAttribute:
    """Return the key attribute that a field is in an index.

    Raises:
        ModelDefinitionError: there is no such field, or it cannot be part of a key.
    """
    plan = _field(model, attribute, name, fields)
    if plan.nullable and plan.absence is Absence.MISSING:
        raise fault(
            model.__name__,
            "can be None and MISSING, so None would be stored as NULL, which the key of the index "
            f"{attribute} cannot hold; drop one of the two",
            name,
        )
    if plan.nullable and plan.absence is Absence.OTHER:
        raise fault(
            model.__name__,
            "can be None but has another default, so None would be stored as NULL, which the key of the index "
            f"{attribute} cannot hold; make the default None",
            name,
        )
    return key_attribute(model, plan, f"part of the key of the index {attribute}")


def _field(model: type[Any], index: str, name: object, fields: Mapping[str, FieldPlan]) -> FieldPlan:
    if isinstance(name, str) and name in fields:
        return fields[name]
    if not isinstance(name, str):
        raise fault(model.__name__, f"must name fields as strings, such as {next(iter(fields))!r}, not {name!r}", index)
    close = closest(name, fields)
    hint = f"did you mean {close[0]!r}?" if close else f"the fields are {', '.join(fields)}"
    raise fault(model.__name__, f"names the field {name!r}, which {model.__name__} does not have; {hint}", index)


def _projection(
    model: type[Any], attribute: str, declared: IndexDeclaration, fields: Mapping[str, FieldPlan]
) -> Projection:
    projection: object = declared.projection
    if not isinstance(projection, Projection):
        raise fault(model.__name__, f"projection={projection!r} is not ALL, KEYS_ONLY or include(...)", attribute)
    if projection.type != "INCLUDE":
        return projection
    if not projection.attributes:
        raise fault(model.__name__, "include() names no field; use KEYS_ONLY", attribute)
    known = _of_upgrades(model)
    names = [
        each if each in known - fields.keys() else _field(model, attribute, each, fields).stored
        for each in projection.attributes
    ]
    stored = tuple(dict.fromkeys(names))
    if len(stored) > limits.INCLUDED_ATTRIBUTES_PER_INDEX:
        most = limits.INCLUDED_ATTRIBUTES_PER_INDEX
        raise fault(
            model.__name__, f"include() names {len(stored)} fields, and DynamoDB allows {most}; project ALL", attribute
        )
    return Projection("INCLUDE", stored)


def _of_upgrades(model: type[Any]) -> frozenset[str]:
    """Return the attributes besides fields that an index may hold, so that its items can be upgraded."""
    settings: Settings = getattr(model, SETTINGS)
    if settings.schema_version is None:
        return frozenset()
    needs = (getattr(step, UPGRADE).needs for step in marked_functions(model, UPGRADE).values())
    return frozenset((settings.schema_attribute,)).union(*(each or () for each in needs))


def _throughput(model: type[Any], attribute: str, declared: IndexDeclaration) -> Throughput | None:
    throughput: object = declared.throughput
    if throughput is None or isinstance(throughput, Throughput):
        return throughput
    raise fault(
        model.__name__, f"throughput={throughput!r} is not a Throughput; write Throughput(read=10, write=2)", attribute
    )


def _check_index_counts(model: type[Any], indexes: tuple[IndexSchema, ...]) -> None:
    names = [index.name for index in indexes]
    for name in names:
        if names.count(name) > 1:
            raise fault(model.__name__, f"two indexes are named {name!r}; index names are unique within a table")
    check_replaced(model.__name__, indexes)
    local = sum(index.kind is IndexKind.LOCAL for index in indexes)
    if local > limits.LOCAL_INDEXES:
        raise fault(
            model.__name__,
            f"has {local} local indexes; DynamoDB allows {limits.LOCAL_INDEXES}: make the others GlobalIndex",
        )
    included = sum(len(index.projection.attributes) for index in indexes)
    if included > limits.INCLUDED_ATTRIBUTES:
        raise fault(
            model.__name__,
            f"the INCLUDE projections name {included} attributes, and DynamoDB allows {limits.INCLUDED_ATTRIBUTES}; "
            "project ALL",
        )
