"""The planner: which table or index answers a query, and which conditions become its key condition.

Candidates are the table and the indexes whose partition key the conditions fix by equality and whose conditions the
service would accept; where there is none, also those whose partition key they fix by ``is_in``, one query for each
value. Where a template makes a key, conditions on its parts count as conditions on the key. Most conditions in the key
wins; then the table before local before global indexes; then ALL before INCLUDE before KEYS_ONLY. Nothing here sends,
and nothing falls back to a scan.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.KeyConditionExpressions.html
"""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from dynamap_async.errors import AmbiguousIndexError, EncodeError, ExpressionError, NoIndexError, OperationError
from dynamap_async.expressions import Condition, paths_in
from dynamap_async.models import Definition
from dynamap_async.planning.key_conditions import split
from dynamap_async.planning.need import Need, check_index, is_completed
from dynamap_async.planning.route import QUERIES, TABLE, Route, too_many_queries
from dynamap_async.planning.shards import gathering, places_of
from dynamap_async.planning.templated_keys import templated_key
from dynamap_async.schema import IndexSchema, TableSchema

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
