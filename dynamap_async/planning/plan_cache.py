"""Planning, once for each shape: queries that differ in their values only have one plan, with other values in it.

What a query asks is taken apart into its shape and its values. A plan that was made for the shape before is filled with
the values; else one is made, and kept with its model if it can be filled: a plan for which the planner made conditions
of its own (of templates, shards, periods, of two ends of a range, or of what is expired now) depends on more than the
shape, and is made each time. Making one costs six times what filling costs (benchmarks: render, query_100).

A plan that is kept was made without an error, so that only what depends on values alone is left to check.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dynamap_async.expressions import Condition, Mould, Values, shape_and_values
from dynamap_async.models import Definition, definition_of
from dynamap_async.planning.context import Context
from dynamap_async.planning.cursor_binding import binding_of
from dynamap_async.planning.read_spec import ReadSpec
from dynamap_async.planning.reading import Reading, plan_anew
from dynamap_async.planning.replace_fields import revised
from dynamap_async.planning.route import Route, check_key_values

_NEW: Final = object()
"""Stands for a shape that was never met."""
_LEAST_BYTES: Final = 4_000
"""What a shape takes, and its plan, besides what is sent."""


def plan_reading(spec: ReadSpec, context: Context, *, counting: bool = False) -> Reading[Any]:
    """Plan a query or scan; arguments and errors are those of ``plan_anew``."""
    definition = definition_of(spec.model)
    asked = _shape(spec, definition, counting=counting)
    if asked is None:
        return plan_anew(spec, context, counting=counting)
    shape, values = asked
    mould = definition.compiled.get(shape, _NEW)
    if isinstance(mould, _PlanMould) and (filled := mould.filled(spec, context, values)) is not None:
        return filled
    reading = plan_anew(spec, context, counting=counting)
    if mould is _NEW:
        made = _mould_of(reading, spec, values)
        definition.compiled.keep(shape, made, _LEAST_BYTES if made is None else _LEAST_BYTES + made.body.kept_bytes)
    return reading


def _shape(spec: ReadSpec, definition: Definition[Any], *, counting: bool) -> tuple[Hashable, Values] | None:
    """Return all that the plan of a query depends on, and the values that are put into it; None where that is more."""
    if spec.models or spec.checkpoint is not None or not definition.reads_plainly:
        return None
    try:
        shape, values = shape_and_values(spec.conditions)
    except KeyError:
        return None
    if spec.selected is not None and any(path.has_given_steps for path in spec.selected):
        return None
    selected = None if spec.selected is None else tuple([(path, path.spelled) for path in spec.selected])
    settings = (
        spec.scan,
        spec.index,
        spec.descending,
        spec.consistent,
        spec.segments,
        selected,
        spec.card,
        spec.invalid,
        counting,
    )
    return (settings, shape), values


@dataclass(frozen=True)
class _PlanMould:
    """A plan, and where the conditions and values of a query of its shape belong in it."""

    reading: Reading[Any]
    route: Route
    partition: tuple[int, ...]
    """The places of the partition key's conditions among those of the query."""
    sort: tuple[int, ...]
    filters: tuple[int, ...]
    body: Mould

    def filled(self, spec: ReadSpec, context: Context, values: Values) -> Reading[Any] | None:
        """Return the reading of a query of the shape; None where its values are more than DynamoDB accepts.

        Raises:
            EncodeError: a condition gives a key attribute an empty or too long value.
        """
        conditions: Any = spec.conditions
        route = revised(
            self.route,
            partition=tuple([conditions[place] for place in self.partition]),
            sort=tuple([conditions[place] for place in self.sort]),
            filters=tuple([conditions[place] for place in self.filters]),
        )
        check_key_values(route)
        body = self.body.filled(values)
        if body is None:
            return None
        table = body["TableName"] = context.table_prefix + self.reading.plan.table
        return revised(
            self.reading,
            plan=revised(
                self.reading.plan,
                table=table,
                key_conditions=route.key_conditions,
                sort_conditions=route.sort,
                filters=route.filters,
                body=body,
            ),
            want=spec.limit,
            page_size=spec.page_size,
            binding=lambda: binding_of(spec, table, route),
            cursor_secret=context.cursor_secret,
        )


def _mould_of(reading: Reading[Any], spec: ReadSpec, values: Values) -> _PlanMould | None:
    """Return the mould of a reading; None where it has conditions that are not the query's own."""
    route = reading.route
    if route is None or reading.branches or reading.completion is not None or reading.sieve is not None:
        return None
    partition, sort, filters = (_places(each, spec.conditions) for each in (route.partition, route.sort, route.filters))
    if partition is None or sort is None or filters is None:
        return None
    table = definition_of(spec.model).require_table("read").name
    plan = revised(reading.plan, table=table, key_conditions=(), sort_conditions=(), filters=(), body={})
    return _PlanMould(
        reading=revised(reading, plan=plan, route=None, binding=str, cursor_secret=None),
        route=revised(route, partition=(), sort=(), filters=()),
        partition=partition,
        sort=sort,
        filters=filters,
        body=Mould.of({**reading.plan.body, "TableName": table}, values),
    )


def _places(conditions: Sequence[Condition], among: Sequence[Condition]) -> tuple[int, ...] | None:
    """Return the place of each condition among those of a query; None where one is not of these."""
    places = {id(condition): place for place, condition in enumerate(among)}
    found = [places.get(id(condition)) for condition in conditions]
    return None if None in found else tuple([place for place in found if place is not None])
