"""The planner: which table or index answers a query, and which conditions become its key condition.

Candidates are the table and the indexes whose partition key the conditions fix by equality and whose conditions the
service would accept; where there is none, also those whose partition key they fix by ``is_in``, one query for each
value. Where a template makes a key, conditions on its parts count as conditions on the key. Most conditions in the key
wins; then the table before local before global indexes; then ALL before INCLUDE before KEYS_ONLY. Nothing here sends,
and nothing falls back to a scan.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.KeyConditionExpressions.html
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from dynamap_async.errors import AmbiguousIndexError, EncodeError, ExpressionError, NoIndexError, OperationError
from dynamap_async.expressions import Comparison, Condition, In, Or, Value, paths_in
from dynamap_async.models import Definition
from dynamap_async.planning.key_conditions import (
    QUERIES,
    PartitionCondition,
    distinct_values,
    fixing_of,
    is_equality,
    is_sort_condition,
    merged,
    named,
    too_many_queries,
)
from dynamap_async.planning.plan import TABLE, Route
from dynamap_async.planning.projection import Need, check_index, is_completed
from dynamap_async.planning.shards import gathering, places_of
from dynamap_async.planning.templated_keys import Served, TemplatedKey, field_of, templated_key
from dynamap_async.schema import IndexSchema, KeySchema, TableSchema


@dataclass(slots=True)
class _Split:
    """A key condition in the making."""

    conditions: Sequence[Condition]
    partition: list[PartitionCondition] = field(default_factory=list[PartitionCondition])
    sort: list[Condition] = field(default_factory=list[Condition])
    answered: list[Condition] = field(default_factory=list[Condition])
    """What the key answers exactly, so that no filter has to."""
    asked: list[Condition] = field(default_factory=list[Condition])
    spread: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    served: int = 0
    sorts: list[tuple[TemplatedKey, Served | None]] = field(default_factory=list[tuple[TemplatedKey, Served | None]])
    """The templated sort keys, with what of them is asked."""
    partitions: list[tuple[TemplatedKey, Served]] = field(default_factory=list[tuple[TemplatedKey, Served]])
    """The templated partition keys, with what of them is asked."""

    def direct(self, *found: Condition) -> None:
        """Take conditions on a key attribute itself."""
        self.answered += found
        self.served += 1

    def of_parts(self, served: Served) -> None:
        """Take conditions on the parts of a key attribute."""
        self.answered += served.exact
        self.asked += [each for each in served.asked if each not in self.asked]
        self.served += served.used


def split(
    keys: KeySchema,
    index: IndexSchema | None,
    conditions: Sequence[Condition],
    definitions: Sequence[Definition[Any]] = (),
) -> Route | None:
    """Return the route through one key; None where the conditions do not fix its partition key.

    Args:
        keys: the key.
        index: the index whose key it is; None for the table's.
        conditions: what must hold.
        definitions: the models that are read, whose templates say what the key attributes are made of.

    Raises:
        OperationError: no item can satisfy the conditions, or the key cannot.
        EncodeError: a value cannot be part of the key.
        ExpressionError: a condition is on a field that only the key holds, and the key does not answer it.
    """
    made = _Split(conditions)
    for attribute in keys.partition:
        if not _add_partition(made, attribute.name, templated_key(definitions, attribute.name)):
            return None
    _add_sort(made, keys, definitions)
    rest = tuple(each for each in conditions if each not in made.answered)
    route = Route(
        index,
        keys,
        tuple(made.partition),
        tuple(made.sort),
        rest,
        asked=tuple(made.asked),
        served=made.served,
        spread=tuple(made.spread),
        hazards=_hazards(made, rest),
    )
    _check_stored(route, definitions)
    return route


def _add_partition(made: _Split, attribute: str, key: TemplatedKey | None) -> bool:
    """Add what fixes a partition key attribute; return whether anything does."""
    fixing = fixing_of([each for each in made.conditions if named(each) == attribute])
    if fixing is not None:
        made.partition.append(distinct_values(fixing))
        made.direct(fixing)
        return True
    served = None if key is None else key.partition(made.conditions)
    if key is None or served is None:
        return False
    if any(isinstance(each, In) for each in served.asked):
        values = [each.right for each in served.conditions if isinstance(each, Comparison)]
        made.partition.append(In(key.path, tuple(value for value in values if isinstance(value, Value))))
    else:
        made.partition += [each for each in served.conditions if isinstance(each, Comparison)]
    made.of_parts(served)
    made.partitions.append((key, served))
    return True


def _add_sort(made: _Split, keys: KeySchema, definitions: Sequence[Definition[Any]]) -> None:
    constants: list[Condition] = []
    spent = [each for each in made.asked if isinstance(each, In)]
    for attribute in keys.sort:
        found = [each for each in made.conditions if is_sort_condition(each) and named(each) == attribute.name]
        key = templated_key(definitions, attribute.name)
        served = None if key is None or found else key.sort(made.conditions, spent)
        if key is not None:
            made.sorts.append((key, served))
        if found:
            made.sort += [*constants, merged(attribute.name, found)]
            made.direct(*found)
        elif served is None:
            return
        elif served.used:
            alternatives = served.conditions
            made.sort += [*constants, alternatives[0] if len(alternatives) == 1 else Or(alternatives)]
            made.spread += served.spread
            made.of_parts(served)
        else:  # a constant counts only where a condition on what follows it needs it
            constants += served.conditions
            continue
        if not is_equality(made.sort[-1]):
            return
        constants = []


def _check_stored(route: Route, definitions: Sequence[Definition[Any]]) -> None:
    for condition in route.filters:
        for path in paths_in(condition):
            for definition in definitions:
                plan = field_of(definition, path.attribute)
                if definition.computed is not None and plan is not None and plan.name in definition.computed.unstored:
                    key = definition.computed.unstored[plan.name]
                    raise ExpressionError(
                        f"({condition}) cannot be checked through {route.name}: {path} is stored in the key {key} "
                        "only, which DynamoDB cannot look into; fix what stands before it in that key with ==, write "
                        f"a condition on {definition.model.__name__}.{key}, or drop its stored=False",
                        expression=str(condition),
                    )


def _hazards(made: _Split, rest: Sequence[Condition]) -> tuple[str, ...]:
    hazards = [
        _roughly(key, condition) for key, served in made.partitions for condition in rest if condition in served.asked
    ]
    if not made.served:
        paths = " and ".join(str(key.path) for key, _ in made.partitions)
        hazards.append(f"{paths} is constant, and nothing else is asked of the key: all that it holds is read")
    for key, served in made.sorts:
        direct = [each for each in made.sort if named(each) == key.path.attribute] if served is None else []
        if not any(map(is_equality, direct)):
            hazards += _of_order(key, 0 if served is None else served.fixed)
        if direct:
            hazards += [
                f"{key.path} has a condition itself, so ({each}) only filters"
                for each in rest
                if key.place(each) is not None
            ]
        else:
            hazards += [hazard for each in rest if (hazard := _hazard(key, served, each)) is not None]
    return tuple(hazards)


def _of_order(key: TemplatedKey, fixed: int) -> list[str]:
    templates = [maker.template for maker in key.makers]
    loose = dict.fromkeys(name for each in templates for name in each.names[fixed:] if name in each.breaks_order)
    return [f"order across {', '.join(loose)} is by the bytes of {key.path}, not by the values"] if loose else []


def _roughly(key: TemplatedKey, condition: Condition) -> str:
    return f"{key.path} answers ({condition}) only roughly, so the filter checks it as well"


def _hazard(key: TemplatedKey, served: Served | None, condition: Condition) -> str | None:
    """Return why a condition on a part of the sort key is not, or not only, answered by the key."""
    place = key.place(condition)
    if place is None:
        return None
    if served is not None and condition in served.asked:
        return _roughly(key, condition)
    part, before = key.makers[0].template.parts[place], key.makers[0].template.parts[:place]
    used = 0 if served is None else served.used
    if len(before) > used:
        return f"({condition}) does not narrow what is read: in {key.path}, {before[used].name} before it is not fixed"
    if is_sort_condition(condition) and not (part.format.sorts and part.closes):
        return f"({condition}) does not narrow what is read: in {key.path}, {part.name} does not sort as its values do"
    return f"({condition}) does not narrow what is read: {key.path} does not answer it"


_Refusal = OperationError | ExpressionError | EncodeError


def choose(
    table: TableSchema,
    conditions: Sequence[Condition],
    need: Need,
    forced: IndexSchema | None = None,
    definitions: Sequence[Definition[Any]] = (),
) -> Route:
    """Choose the table or index that answers a query.

    Args:
        table: the table with its indexes.
        conditions: what must hold, conjunctions taken apart.
        need: what the result is made of.
        forced: the index that the program decided on, if it did.
        definitions: the models that are read, whose templates say what the keys are made of.

    Raises:
        NoIndexError: no key fits the conditions.
        AmbiguousIndexError: several indexes fit equally well, with different sort conditions.
        UnprojectedAttributeError: the only index that fits does not hold what the query names.
        OperationError: the service would refuse the conditions.
        EncodeError: a value cannot be part of a key.
        ExpressionError: a condition is on a field that only a key holds, and no key answers it.
    """
    candidates: list[IndexSchema | None] = [None, *table.indexes] if forced is None else [forced]
    places = places_of(definitions)
    routes: list[Route] = []
    refusals: list[tuple[str, _Refusal]] = []
    for index in candidates:
        try:
            route = split(table.keys if index is None else index.keys, index, conditions, definitions)
            if route is not None:
                route = gathering(route, places, conditions)
                _check(table, route, need)
                routes.append(route)
        except (OperationError, ExpressionError, EncodeError) as refusal:
            refusals.append((TABLE if index is None else f"the index {index.name!r}", refusal))
    if refusals and refusals[0][0] == TABLE:
        # The table's partition, read whole and in another order, is not what was asked of the table; nor is all that
        # an index of one constant partition holds.
        routes = [
            route for route in routes if route.served and (route.sort or route.keys.partition != table.keys.partition)
        ]
        refusals = refusals if routes else refusals[:1]
    if not routes:
        raise _no_route(table, need, candidates, refusals, definitions)

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
    return tuple(dict.fromkeys(path.attribute for condition in route.sort for path in paths_in(condition)))


def _check(table: TableSchema, route: Route, need: Need) -> None:
    """Raise what the service would refuse, or would answer with less than was asked for."""
    if route.queries > QUERIES:
        raise too_many_queries(route.name, route.queries)
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


def _no_route(
    table: TableSchema,
    need: Need,
    candidates: Sequence[IndexSchema | None],
    refusals: Sequence[tuple[str, _Refusal]],
    definitions: Sequence[Definition[Any]],
) -> _Refusal:
    if len({type(refusal) for _, refusal in refusals}) == 1:
        return refusals[0][1]
    if refusals:
        reasons = "; ".join(f"{name}: {refusal}" for name, refusal in refusals)
        return NoIndexError(f"no key answers the query on {need.model}. {reasons}")
    options = "; ".join(
        f"{TABLE if index is None else f'the index {index.name!r}'} needs "
        + " and ".join(
            _needed(each.name, definitions) for each in (table.keys if index is None else index.keys).partition
        )
        for index in candidates
    )
    return NoIndexError(
        f"the query on {need.model} has no equality condition on a partition key ({options}). Add one with "
        ".where(Model.field == value), or read the whole table with session.scan()"
    )


def _needed(attribute: str, definitions: Sequence[Definition[Any]]) -> str:
    key = templated_key(definitions, attribute)
    return f"{attribute}, which is made of {key.parts}" if key is not None and key.parts else attribute
