"""Every way in which the shards of a model can be declared wrongly; and the fields with those that are right."""

from collections.abc import Mapping
from typing import Final

from pydantic import BaseModel

from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.markers import Role
from dynamap_async.models.settings import SETTINGS, Settings, bases_with_items, fault
from dynamap_async.models.shards import MOST_SHARDS, Sharding, Shards, ShardSource, declared_shards
from dynamap_async.schema import TableSchema

_SCALARS: Final = (frozenset("S"), frozenset("N"), frozenset("B"))


def with_shards(
    model: type[BaseModel], fields: dict[str, FieldPlan], table: TableSchema | None
) -> dict[str, FieldPlan]:
    """Return field name -> plan, with how partition keys are spread over shards.

    Args:
        model: the class, complete.
        fields: its fields.
        table: its table, if it has one.

    Raises:
        ModelDefinitionError: shards are declared of what cannot have them, or of a wrong number.
    """
    settings: Settings = getattr(model, SETTINGS)
    if settings.abstract:
        return fields
    found = {
        name: declared for name in fields if (declared := declared_shards(model.__pydantic_fields__[name])) is not None
    }
    made = {name: _sharding(model, fields, table, name, declared) for name, declared in found.items()}
    _check_family(model, fields, made)
    return {name: plan._replace(sharding=made[name]) if name in made else plan for name, plan in fields.items()}


def _check_family(model: type[BaseModel], fields: Mapping[str, FieldPlan], made: Mapping[str, Sharding]) -> None:
    """Refuse other shards than those of a base, which finds and writes the items of the model by its own."""
    for base in bases_with_items(model):
        for name, inherited in base.fields.items():
            if name in fields and _spread(inherited.sharding) != _spread(made.get(name)):
                raise fault(
                    model.__name__,
                    f"has other shards than in {base.model.__name__}, which reads and writes the items of both; "
                    "declare the same, or no base",
                    name,
                )


def _spread(sharding: Sharding | None) -> object:
    if sharding is None:
        return None
    return sharding.counts, [(source.attribute, source.key) for source in sharding.sources]


def _sharding(
    model: type[BaseModel],
    fields: Mapping[str, FieldPlan],
    table: TableSchema | None,
    name: str,
    declared: Shards,
) -> Sharding:
    key, settings = fields[name], getattr(model, SETTINGS)
    counts = _counts(declared)
    problem = counts if isinstance(counts, str) else _problem(key, table, settings)
    if problem is not None or table is None or isinstance(counts, str):
        raise fault(model.__name__, str(problem), name)
    of_table = key.role is Role.PARTITION_KEY
    if of_table and len(counts) > 1:
        raise fault(
            model.__name__,
            f"has before={declared.before!r}, but an item is looked for where its own key says, and nowhere else; drop "
            "it, and copy the items to change the number of shards",
            name,
        )
    by: object = declared.by
    if by is None:
        names = table.keys.names[1:] if of_table else table.keys.names
        by_stored = {plan.stored: plan for plan in fields.values()}
        sources = tuple(ShardSource(by_stored[each].name, each) for each in names)
    else:
        sources = (_source(model, fields, table, key, by, of_table=of_table),)
    return Sharding(name, key.stored, counts, sources, of_table)


def _counts(declared: Shards) -> tuple[int, ...] | str:
    """Return the numbers of shards, the present one last; or what is wrong with them."""
    given: tuple[object, ...] = (declared.count,) if declared.before is None else (declared.before, declared.count)
    counts: list[int] = []
    for each in given:
        if isinstance(each, bool) or not isinstance(each, int) or not 2 <= each <= MOST_SHARDS:
            return f"has {each!r} shards; a key has 2 to {MOST_SHARDS}, each a query of its own when it is read"
        counts.append(each)
    return tuple(counts)


def _problem(key: FieldPlan, table: TableSchema | None, settings: Settings) -> str | None:
    """Return why a field cannot have shards."""
    if table is None:
        return 'has shards, but the model has no table, so it is no key of anything; add table="..."'
    of_table, stored = key.role is Role.PARTITION_KEY, key.stored
    indexes = [index for index in table.indexes if stored in (each.name for each in index.keys.partition)]
    sorting = [index.name for index in table.indexes if stored in (each.name for each in index.keys.sort)]
    if key.role is Role.SORT_KEY or sorting:
        where = f"the index {sorting[0]!r}" if sorting else "the table"
        return f"has shards, and is a sort key of {where}, whose order they would break; only partition keys have them"
    if not of_table and not indexes:
        return "has shards, but is the partition key of neither the table nor an index; drop shards"
    if of_table and not table.keys.sort:
        return (
            "has shards, but the table has no sort key: each key is one item, and in a partition of its own already; "
            "drop shards, or give the table a sort key"
        )
    if settings.shared is not None and settings.shared.attribute == stored:
        return f"has shards, and tells the kind of each item of {settings.shared!r}; drop shards"
    if key.converter.tags != frozenset("S"):
        return f"has shards, and holds {key.converter.label}; the number of a shard is added to text: declare it as str"
    return None


def _source(
    model: type[BaseModel],
    fields: Mapping[str, FieldPlan],
    table: TableSchema,
    key: FieldPlan,
    by: object,
    *,
    of_table: bool,
) -> ShardSource:
    """Return the field that shards are calculated from, by name."""
    found = fields.get(by) if isinstance(by, str) else None
    if found is None:
        raise fault(
            model.__name__,
            f"by={by!r} is no field; name one of {', '.join(n for n in fields if n != key.name)}",
            key.name,
        )
    problem = _source_problem(key, found)
    if problem is not None:
        raise fault(model.__name__, f"by={by!r} {problem}", key.name)
    if not of_table:
        telling = _telling(fields, table, found)
        if telling is not None:
            return ShardSource(found.name, found.stored, telling.stored, telling.template, found.converter)
        if found.is_stored:
            return ShardSource(found.name, found.stored)
        raise fault(model.__name__, f"by={by!r} is not stored by itself; drop its stored=False", key.name)
    sort = next(plan for plan in fields.values() if plan.stored == table.keys.names[1])
    if found.name == sort.name:
        return ShardSource(found.name, found.stored)
    if sort.template is None or found.name not in sort.template.readable:
        raise fault(
            model.__name__,
            f"by={by!r} is not told by the sort key {sort.name}, so an item could not be found by its key; name "
            f"{sort.name}, or a field that its template holds as it is",
            key.name,
        )
    return ShardSource(found.name, found.stored, sort.stored, sort.template, found.converter)


def _telling(fields: Mapping[str, FieldPlan], table: TableSchema, found: FieldPlan) -> FieldPlan | None:
    """Return the key of the table whose template tells a field, so that whoever knows an item's key knows it."""
    for each in fields.values():
        if each.stored in table.keys.names and each.template is not None and found.name in each.template.readable:
            return each
    return None


def _source_problem(key: FieldPlan, found: FieldPlan) -> str | None:
    if found.name == key.name:
        return "is the key itself: all items with one key would be in one shard"
    if found.nullable:
        return "may be None, and every item needs its shard; declare it without None"
    if found.role is Role.VERSION or (found.assigned is not None and found.assigned.on_update is not None):
        return "changes with each write, which would move the item each time; name a field that stays"
    if found.converter.tags not in _SCALARS:
        return f"holds {found.converter.label}; name a field that is text, a number or binary data"
    return None
