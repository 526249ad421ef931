"""What a model class means to DynamoDB: its fields, its table, and every way in which it can be wrong."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from dynamap_async import limits
from dynamap_async.errors import ModelDefinitionError
from dynamap_async.expressions import Path
from dynamap_async.models.fields import Absence, FieldPlan, plan_fields
from dynamap_async.models.indexes import IndexDeclaration
from dynamap_async.models.items import ItemCodec
from dynamap_async.models.keys import key_from_values
from dynamap_async.models.markers import Role
from dynamap_async.models.settings import INDEXES, SETTINGS, Settings, check_name
from dynamap_async.schema import IndexKind, IndexSchema, KeyAttribute, KeySchema, Projection, TableSchema, Throughput
from dynamap_async.wire import WireKey

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True, eq=False)
class Definition(Generic[M]):
    """One model class, compiled. Made once per class, shared by everything that reads or writes its items."""

    model: type[M]
    fields: dict[str, FieldPlan]
    """Field name -> how it is stored."""
    items: ItemCodec[M]
    """Encodes instances, decodes items."""
    table: TableSchema | None
    """The table, before the session's prefix; None for nested documents and abstract bases."""
    field_names: dict[str, str]
    """Stored name -> field name."""

    def path(self, field: str) -> Path:
        """Return the path of a field; KeyError if there is none of that name."""
        plan = self.fields[field]
        return Path(
            self.model,
            (plan.stored,),
            field,
            plan.converter,
            none_forms=plan.none_forms,
            empty_set_forms=plan.empty_set_forms,
        )

    def key_fields(self) -> tuple[FieldPlan, ...]:
        """Return the fields of the table's key: partition key, then sort key if there is one."""
        table = self.require_table("used as an item")
        return tuple(self.fields[self.field_names[name]] for name in table.keys.names)

    def key(self, values: Sequence[Any]) -> WireKey:
        """Return the wire key of key values; errors are those of ``key_from_values``."""
        return key_from_values(self.model.__name__, self.key_fields(), values)

    def key_of(self, item: BaseModel) -> WireKey:
        """Return the wire key of an instance."""
        return self.key([getattr(item, field.name) for field in self.key_fields()])

    def require_table(self, use: str) -> TableSchema:
        """Return the table; raises ModelDefinitionError for a model that has none."""
        if self.table is None:
            raise ModelDefinitionError(
                f"{self.model.__name__} has no table, so it cannot be {use}; write class {self.model.__name__}"
                '(Model, table="...")',
                model=self.model.__name__,
            )
        return self.table


def define(model: type[M]) -> Definition[M]:
    """Work out a model's definition.

    Raises:
        ModelDefinitionError: with the model, the field and the remedy.
    """
    settings: Settings = getattr(model, SETTINGS)
    fields = plan_fields(model, key_fields=_names_in_keys(model))
    _check_stored_names(model, fields)
    _check_defaults(model, fields)
    table = _table(model, settings, fields)
    by_stored = {plan.stored: name for name, plan in fields.items()}
    items = ItemCodec(model, tuple(fields.values()), table)
    return Definition(model, fields, items, table, by_stored)


def _declared_indexes(model: type[Any]) -> dict[str, IndexDeclaration]:
    found: dict[str, IndexDeclaration] = {}
    for base in reversed(model.__mro__):
        found.update(base.__dict__.get(INDEXES, {}))
    return {key: index for key, index in found.items() if getattr(model, key, None) is not None}


def _names_in_keys(model: type[Any]) -> frozenset[str]:
    indexes = _declared_indexes(model).values()
    return frozenset(name for index in indexes for name in (*index.partition_fields, *index.sort_fields))


def _error(model: type[Any], message: str, field: str | None = None) -> ModelDefinitionError:
    place = f"{model.__name__}.{field}" if field else model.__name__
    return ModelDefinitionError(f"{place}: {message}", model=model.__name__, field=field)


def _check_stored_names(model: type[Any], fields: dict[str, FieldPlan]) -> None:
    taken: dict[str, str] = {}
    for plan in fields.values():
        if not 0 < len(plan.stored.encode()) <= limits.ATTRIBUTE_NAME_BYTES:
            raise _error(model, f"the stored name {plan.stored[:40]!r} must be 1 to 65,535 bytes long", plan.name)
        if plan.stored in taken:
            raise _error(
                model,
                f"is stored as {plan.stored!r}, and so is {taken[plan.stored]!r}; give one of them another "
                "attr(name=...)",
                plan.name,
            )
        taken[plan.stored] = plan.name


def _check_defaults(model: type[Any], fields: dict[str, FieldPlan]) -> None:
    for plan in fields.values():
        info = model.__pydantic_fields__[plan.name]
        if info.is_required() or info.default_factory is not None:
            continue
        try:
            model.__pydantic_validator__.validate_assignment(model.model_construct(), plan.name, info.default)
        except ValidationError as error:
            wrong = [each for each in error.errors() if each["loc"][:1] == (plan.name,)]
            if wrong:
                raise _error(model, f"the default {info.default!r} does not fit: {wrong[0]['msg']}", plan.name) from None
        except Exception:  # noqa: BLE001, S112 - a user's own validator that needs a whole item cannot judge a default alone
            continue


def _only(model: type[Any], fields: dict[str, FieldPlan], role: Role) -> FieldPlan | None:
    found = [plan for plan in fields.values() if plan.role is role]
    if len(found) > 1:
        names = " and ".join(plan.name for plan in found)
        raise _error(model, f"{names} are both {role.value}; a table has one", found[1].name)
    return found[0] if found else None


def _table(model: type[Any], settings: Settings, fields: dict[str, FieldPlan]) -> TableSchema | None:
    partition = _only(model, fields, Role.PARTITION_KEY)
    sort = _only(model, fields, Role.SORT_KEY)
    ttl = _only(model, fields, Role.TIME_TO_LIVE)
    version = _only(model, fields, Role.VERSION)
    if version is not None and version.converter.label != "int":
        raise _error(model, f"a Version counts writes, so it is an int, not {version.converter.label}", version.name)
    if settings.abstract:
        return None
    if settings.table is None:
        _check_document(model, partition or sort)
        return None
    if partition is None:
        what = "has a sort key but no partition key" if sort else "has no partition key"
        raise _error(model, f"{what}; mark one field PartitionKey[...]")
    keys = KeySchema(
        (_key_attribute(model, partition, "the partition key"),),
        (_key_attribute(model, sort, "the sort key"),) if sort else (),
    )
    for plan in (partition, *([sort] if sort else ())):
        if plan.nullable:
            raise _error(model, "is part of the table's key, which every item has; it cannot be None", plan.name)
    indexes = tuple(_index(model, key, index, fields, keys) for key, index in _declared_indexes(model).items())
    _check_index_counts(model, indexes)
    return TableSchema(
        name=settings.table,
        keys=keys,
        indexes=indexes,
        ttl_attribute=ttl.stored if ttl else None,
        throughput=settings.throughput,
    )


def _check_document(model: type[Any], key: FieldPlan | None) -> None:
    remedy = f'add table="..." (or abstract=True) to class {model.__name__}'
    if key is not None:
        raise _error(model, f"is a {key.role.value}, but the model has no table; {remedy}", key.name)
    for attribute in _declared_indexes(model):
        raise _error(model, f"is an index, but the model has no table; {remedy}", attribute)


def _key_attribute(model: type[Any], plan: FieldPlan, what: str) -> KeyAttribute:
    match [*plan.converter.tags]:
        case ["S" | "N" | "B" as tag]:
            pass
        case tags:
            stored = "/".join(sorted(tags))
            raise _error(
                model,
                f"is {what} and holds {plan.converter.label}, stored as {stored}; a key is text, a number or binary "
                "data (S, N or B): choose such a type, or attr(stored_as=...)",
                plan.name,
            )
    if len(plan.stored.encode()) > limits.KEY_NAME_BYTES:
        raise _error(model, f"the stored name of a key attribute has at most {limits.KEY_NAME_BYTES} bytes", plan.name)
    return KeyAttribute(plan.stored, tag)


def _field(model: type[Any], index: str, name: str, fields: dict[str, FieldPlan]) -> FieldPlan:
    if name not in fields:
        close = difflib.get_close_matches(name, fields, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"the fields are {', '.join(fields)}"
        raise _error(model, f"names the field {name!r}, which {model.__name__} does not have; {hint}", index)
    return fields[name]


def _index(
    model: type[Any], attribute: str, declared: IndexDeclaration, fields: dict[str, FieldPlan], table: KeySchema
) -> IndexSchema:
    check_name(declared.name, "index name", model=model.__name__, field=attribute)
    local = declared.kind is IndexKind.LOCAL
    if local and not table.sort:
        raise _error(model, "a local index needs a table with a sort key; mark one SortKey[...], or use GlobalIndex", attribute)
    if not local and not 1 <= len(declared.partition_fields) <= limits.INDEX_PARTITION_ATTRIBUTES:
        raise _error(model, f"a global index has 1 to {limits.INDEX_PARTITION_ATTRIBUTES} partition key fields", attribute)
    if len(declared.sort_fields) > limits.INDEX_SORT_ATTRIBUTES:
        raise _error(model, f"a global index has at most {limits.INDEX_SORT_ATTRIBUTES} sort key fields", attribute)
    names = (*declared.partition_fields, *declared.sort_fields)
    if len(set(names)) < len(names):
        raise _error(model, f"names a field twice in its key ({', '.join(names)})", attribute)

    def key(name: str) -> KeyAttribute:
        plan = _field(model, attribute, name, fields)
        if plan.nullable and plan.absence is Absence.OTHER:
            raise _error(
                model,
                f"can be None but defaults to something else, so None would have to be stored; it is part of the key "
                f"of the index {attribute}, where DynamoDB refuses NULL: make the default None",
                name,
            )
        return _key_attribute(model, plan, f"part of the key of the index {attribute}")

    partition = table.partition if local else tuple(key(name) for name in declared.partition_fields)
    return IndexSchema(
        name=declared.name,
        kind=declared.kind,
        keys=KeySchema(partition, tuple(key(name) for name in declared.sort_fields)),
        projection=_projection(model, attribute, declared, fields),
        throughput=_throughput(model, attribute, declared),
    )


def _projection(
    model: type[Any], attribute: str, declared: IndexDeclaration, fields: dict[str, FieldPlan]
) -> Projection:
    projection: object = declared.projection
    if not isinstance(projection, Projection):
        raise _error(model, f"projection={projection!r} is not ALL, KEYS_ONLY or include(...)", attribute)
    if projection.type != "INCLUDE":
        return projection
    if not projection.attributes:
        raise _error(model, "include() names no field; use KEYS_ONLY", attribute)
    stored = (_field(model, attribute, name, fields).stored for name in projection.attributes)
    return Projection("INCLUDE", tuple(dict.fromkeys(stored)))


def _throughput(model: type[Any], attribute: str, declared: IndexDeclaration) -> Throughput | None:
    throughput: object = declared.throughput
    if throughput is not None and not isinstance(throughput, Throughput):
        raise _error(model, f"throughput={throughput!r} is not a Throughput; write Throughput(read=10, write=2)", attribute)
    return throughput


def _check_index_counts(model: type[Any], indexes: Sequence[IndexSchema]) -> None:
    names = [index.name for index in indexes]
    for name in names:
        if names.count(name) > 1:
            raise _error(model, f"two indexes are named {name!r}; index names are unique within a table")
    local = sum(index.kind is IndexKind.LOCAL for index in indexes)
    if local > limits.LOCAL_INDEXES:
        raise _error(
            model,
            f"has {local} local indexes; DynamoDB allows {limits.LOCAL_INDEXES}: make the others GlobalIndex",
        )
    included = sum(len(index.projection.attributes) for index in indexes)
    if included > limits.INCLUDED_ATTRIBUTES:
        raise _error(
            model,
            f"the INCLUDE projections name {included} attributes; DynamoDB allows {limits.INCLUDED_ATTRIBUTES} in all: "
            "project ALL",
        )
