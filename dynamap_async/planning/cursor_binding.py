"""Bindings: what identifies a query, so that a cursor of another one is refused."""

from typing import Any

from dynamap_async.expressions import shape_of
from dynamap_async.models import definition_of
from dynamap_async.planning.read_spec import ReadSpec
from dynamap_async.planning.route import Route


def binding_of(spec: ReadSpec, table: str, route: Route) -> str:
    """Return what a cursor is bound to: the values of the partition key, but only the shape of other conditions.

    Args:
        spec: what is asked.
        table: the full table name.
        route: the way that it takes.
    """
    index = route.index.name if route.index is not None else None
    filters = sorted(map(shape_of, route.filters))  # their order in where() does not matter
    direction = ("segments" if spec.segments else "scan") if spec.scan else spec.descending
    bound: tuple[Any, ...] = (
        table,
        index,
        direction,
        route.partition_values,
        [*map(shape_of, route.sort)],
        filters,
    )
    if route.asked:  # what was asked of the parts of a key, and which of several values a position belongs to
        bound = (*bound, sorted(map(shape_of, route.asked)), route.spread)
    shares = definition_of(spec.model).kinds is not None
    return repr((*bound, spec.name) if shares else bound)
