"""The planner: which table or index answers a query, and which conditions become its key condition.

Candidates are the table and the indexes whose partition key the conditions fix by equality and whose conditions the
service would accept; where there is none, also those whose partition key they fix by ``is_in``, one query for each
value. Most conditions in the key wins; then the table before local before global indexes; then ALL before INCLUDE
before KEYS_ONLY. Nothing here sends, and nothing falls back to a scan.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.KeyConditionExpressions.html
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final

from dynamap_async.codec import order_key
from dynamap_async.errors import (
    AmbiguousIndexError,
    NoIndexError,
    OperationError,
    UnprojectedAttributeError,
)
from dynamap_async.expressions import Between, Comparison, Condition, Function, In, Path, Value, paths_in
from dynamap_async.operations.route import TABLE, PartitionCondition, Route, distinct_values
from dynamap_async.schema import IndexKind, IndexSchema, TableSchema

_QUERIES: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """What a query needs of the index that answers it."""

    model: str
    """Name of the model, for messages."""
    attributes: tuple[str, ...]
    """Stored names of the attributes that its result is made of."""
    everything: bool
    """Whether its result is made of all stored attributes, known or not."""
    consistent: bool
    whole: bool = False
    """Whether its result is whole items, which can be fetched from the table."""
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """Stored name -> the field that asks for it, of the model that the result is read into."""
    expiry: str | None = None
    """Stored name of the attribute that says which items are expired and left out, if any are."""
    told_by: str | None = None
    """Stored name of the attribute that tells its items from those of other models in the same table, if any do."""


def choose(table: TableSchema, conditions: Sequence[Condition], need: Need, forced: IndexSchema | None = None) -> Route:
    """Choose the table or index that answers a query.

    Args:
        table: the table with its indexes.
        conditions: what must hold, conjunctions taken apart.
        need: what the result is made of.
        forced: the index that the program decided on, if it did.

    Raises:
        NoIndexError: no key fits the conditions.
        AmbiguousIndexError: several indexes fit equally well, with different sort conditions.
        UnprojectedAttributeError: the only index that fits does not hold what the query names.
        OperationError: the service would refuse the conditions.
    """
    candidates: list[IndexSchema | None] = [None, *table.indexes] if forced is None else [forced]
    routes: list[Route] = []
    refusals: list[tuple[str, OperationError]] = []
    for index in candidates:
        try:
            route = _route(table, index, conditions)
            if route is not None:
                _check(table, route, need)
                routes.append(route)
        except OperationError as refusal:
            refusals.append((TABLE if index is None else f"the index {index.name!r}", refusal))
    if refusals and refusals[0][0] == TABLE:
        # The table's partition, read whole and in another order, is not what was asked of the table.
        routes = [route for route in routes if route.sort or route.keys.partition != table.keys.partition]
        refusals = refusals if routes else refusals[:1]
    if not routes:
        raise _no_route(table, need, candidates, refusals)

    ranked = [((*route.rank, is_completed(table, route.index, need)), route) for route in routes]
    ranked.sort(key=itemgetter(0))  # sorting is stable: declaration order decides ties
    best = [route for rank, route in ranked if rank == ranked[0][0]]
    if any(_sort_names(route) != _sort_names(best[0]) for route in best):
        names = [route.index.name for route in best if route.index is not None]
        raise AmbiguousIndexError(
            f"the query on {need.model} fits the indexes {', '.join(names)} equally well, each with another sort "
            "condition and order; choose one with .index(...)",
            indexes=names,
        )
    return best[0]


def _sort_names(route: Route) -> tuple[str, ...]:
    return tuple(path.attribute for condition in route.sort for path in paths_in(condition))


def _route(table: TableSchema, index: IndexSchema | None, conditions: Sequence[Condition]) -> Route | None:
    """Split the conditions for one key schema; None where the partition key is not fixed."""
    keys = table.keys if index is None else index.keys
    rest = list(conditions)
    partition: list[PartitionCondition] = []
    for attribute in keys.partition:
        found = [each for each in rest if _names(each) == attribute.name]
        fixing = _fixing(found)
        if fixing is None:
            return None
        rest = [each for each in rest if each != fixing]
        partition.append(distinct_values(fixing))
    sort: list[Condition] = []
    for attribute in keys.sort:
        found = [each for each in rest if _is_sort_condition(each) and _names(each) == attribute.name]
        if not found:
            break
        sort.append(_merged(attribute.name, found))
        rest = [each for each in rest if each not in found]
        if not _is_equality(sort[-1]):
            break
    return Route(index, keys, tuple(partition), tuple(sort), tuple(rest))


def _names(condition: Condition) -> str | None:
    """Return the attribute that a condition compares with constants; None for anything else."""
    match condition:
        case Comparison(left=Path(steps=(str(name),)), right=Value()):
            return name
        case (
            Between(operand=Path(steps=(str(name),)))
            | In(operand=Path(steps=(str(name),)))
            | Function(path=Path(steps=(str(name),)))
        ):
            return name
        case _:
            return None


def _is_equality(condition: Condition) -> bool:
    return isinstance(condition, Comparison) and condition.comparator == "=" and isinstance(condition.right, Value)


def _is_sort_condition(condition: Condition) -> bool:
    match condition:
        case Comparison(comparator=comparator, right=Value()):
            return comparator != "<>"
        case Between():
            return True
        case Function(name=name):
            return name == "begins_with"
        case _:
            return False


def _one_equality(found: list[Condition]) -> Comparison | None:
    distinct = _distinct(found)
    if len(distinct) > 1:
        raise OperationError(
            f"no item can satisfy both {' and '.join(map(str, distinct))}: an item has one partition key"
        )
    return distinct[0] if distinct and isinstance(distinct[0], Comparison) else None


def _fixing(found: list[Condition]) -> PartitionCondition | None:
    equality = _one_equality([each for each in found if _is_equality(each)])
    return next((each for each in found if isinstance(each, In)), None) if equality is None else equality


def _merged(name: str, found: list[Condition]) -> Condition:
    """Return one condition for a sort key attribute: DynamoDB takes one, so ``>=`` with ``<=`` becomes BETWEEN."""
    distinct = _distinct(found)
    match sorted(distinct, key=lambda each: each.comparator if isinstance(each, Comparison) else ""):
        case [only]:
            return only
        case [
            Comparison(comparator="<=", right=Value() as high) as below,
            Comparison(comparator=">=", right=Value() as low) as above,
        ]:
            if order_key(low.stored) > order_key(high.stored):
                raise OperationError(f"no item can satisfy both {above} and {below}: the low end is above the high end")
            return Between(below.left, low, high)
        case _:
            pass
    raise OperationError(
        f"a key condition takes one condition on the sort key {name!r}, and {' with '.join(map(str, distinct))} cannot "
        "be merged into one; write >= with <=, or between()"
    )


def _distinct(conditions: list[Condition]) -> list[Condition]:
    return [each for i, each in enumerate(conditions) if each not in conditions[:i]]


def _check(table: TableSchema, route: Route, need: Need) -> None:
    """Raise what the service would refuse, or would answer with less than was asked for."""
    if route.queries > _QUERIES:
        raise OperationError(
            f"the key of {route.name} has {route.queries:,} combinations of values, each a query of its own, and at "
            f"most {_QUERIES} are sent together; ask for fewer values at a time, and put the results together"
        )
    for condition in route.filters:
        for path in paths_in(condition):
            if path.attribute in route.keys.names:
                raise OperationError(
                    f"({condition}) cannot be checked: {path} is part of the key of {route.name}, and DynamoDB filters "
                    "by other attributes only. Make it part of the key condition (==, <, <=, >, >=, between or "
                    "begins_with), or use another index"
                )
    index = route.index
    if index is None:
        return
    check_index(table, index, need, route.filters)


def check_index(table: TableSchema, index: IndexSchema, need: Need, filters: Sequence[Condition]) -> None:
    """Raise OperationError where an index cannot give what a query or scan needs of it."""
    if need.consistent and index.kind is IndexKind.GLOBAL:
        raise OperationError(
            f"the index {index.name!r} is global, and DynamoDB reads global indexes with eventual consistency only; "
            "drop .consistent(), or read the table"
        )
    filtered = [path.attribute for condition in filters for path in paths_in(condition)]
    missing = [name for name in dict.fromkeys(filtered) if not table.projects(index, name)]
    if missing:
        raise UnprojectedAttributeError(
            f"the index {index.name!r} does not hold {_listed(missing)}, so a filter on it would find nothing; project "
            "it into the index, or query another index or the table",
            attributes=missing,
            index=index.name,
        )
    if is_completed(table, index, need):
        return
    if need.expiry is not None and not table.projects(index, need.expiry):
        raise UnprojectedAttributeError(
            f"the index {index.name!r} does not hold {need.expiry!r}, which says when an item of {need.model} expires, "
            "so expired items could not be left out; project it into the index, or query another index or the table",
            attributes=(need.expiry,),
            index=index.name,
        )
    if need.told_by is not None and not table.projects(index, need.told_by):
        raise UnprojectedAttributeError(
            f"the index {index.name!r} does not hold {need.told_by!r}, which tells what an item is in a shared table, "
            f"so items of other models than {need.model} could not be left out; project it into the index, or query "
            "another index or the table",
            attributes=(need.told_by,),
            index=index.name,
        )
    missing = _missing(table, index, need)
    if missing:
        raise UnprojectedAttributeError(
            f"the index {index.name!r} does not hold {_listed(missing)}{_wanted_by(missing, need)}; leave it out, "
            "project it into the index, or read whole items, which are completed from the table",
            attributes=missing,
            index=index.name,
        )


def is_completed(table: TableSchema, index: IndexSchema | None, need: Need) -> bool:
    """Return whether whole items are asked for, and the index does not hold them."""
    if index is None or not need.whole:
        return False
    untold = need.told_by is not None and not table.projects(index, need.told_by)
    return untold or bool(_missing(table, index, need)) or (need.everything and index.projection.type != "ALL")


def _missing(table: TableSchema, index: IndexSchema, need: Need) -> list[str]:
    if index.projection.type == "ALL":
        return []
    held = {*index.projection.attributes, *index.keys.names, *table.keys.names}
    return [name for name in dict.fromkeys(need.attributes) if name not in held]


def _wanted_by(missing: Sequence[str], need: Need) -> str:
    labels = [need.labels[name] for name in missing if name in need.labels]
    return f", which {' and '.join(labels)} would be filled from" if labels else f" of {need.model}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _no_route(
    table: TableSchema,
    need: Need,
    candidates: Sequence[IndexSchema | None],
    refusals: Sequence[tuple[str, OperationError]],
) -> OperationError:
    if len({type(refusal) for _, refusal in refusals}) == 1:
        return refusals[0][1]
    if refusals:
        reasons = "; ".join(f"{name}: {refusal}" for name, refusal in refusals)
        return NoIndexError(f"no key answers the query on {need.model}. {reasons}")
    keys = [(TABLE, table.keys) if each is None else (f"the index {each.name!r}", each.keys) for each in candidates]
    options = "; ".join(f"{name} needs {' and '.join(k.name for k in schema.partition)}" for name, schema in keys)
    return NoIndexError(
        f"the query on {need.model} has no equality condition on a partition key ({options}). Add one with "
        ".where(Model.field == value), or read the whole table with session.scan()"
    )
