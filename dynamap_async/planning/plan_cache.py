"""The plan cache: queries that differ in their values only have one plan, with other values in it.

What a query asks is taken apart into its shape and its values. A plan that was made for the shape before is filled with
the values; else one is made, and kept with its model if it can be filled: a plan for which the planner made conditions
of its own (of templates, shards, periods, of two ends of a range, or of what is expired now) depends on more than the
shape, and is made each time. Making one costs six times what filling costs (benchmarks: render, query_100).

A plan that is kept was made without an error, so that only what depends on values alone is left to check.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

from dynamap_async.codec import KeyRole, check_key_value
from dynamap_async.dataclass import dataclass, replace_fields
from dynamap_async.errors import EncodeError
from dynamap_async.expressions import Condition, RenderedMembers, Values, shape_and_values
from dynamap_async.models import Definition, definition_of
from dynamap_async.planning.context import Context
from dynamap_async.planning.cursors import binding_of
from dynamap_async.planning.key_conditions import path_and_constants
from dynamap_async.planning.plan import Route
from dynamap_async.planning.read_spec import ReadSpec
from dynamap_async.planning.reading import Reading, plan_uncached

_NEW: Final = object()
"""Marks a shape that is not in the cache."""
_LEAST_BYTES: Final = 4_000
"""The memory of a shape and its plan, without the rendered members."""


def plan_reading(spec: ReadSpec, context: Context, *, counting: bool = False) -> Reading[Any]:
    """Plan a query or scan, with the cached plan of its shape if there is one.

    Args:
        counting: only the number of items is wanted.

    Raises:
        OperationError: no table or index answers it, or the service would refuse it; see ``choose_route``.
        CursorError: the checkpoint is of another scan.
        EncodeError: a condition gives a key attribute an empty or too long value.
        ExpressionError: a condition is not about the model, or is over a limit of the service.
    """
    definition = definition_of(spec.model)
    found = _shape(spec, definition, counting=counting)
    if found is None:
        return plan_uncached(spec, context, counting=counting)
    shape, values = found
    cached = definition.compiled.get(shape, _NEW)
    if isinstance(cached, _CachedPlan) and (reading := cached.filled(spec, context, values)) is not None:
        return reading
    reading = plan_uncached(spec, context, counting=counting)
    # A shape that cannot be cached is kept as None, so that it is not tried again.
    if cached is _NEW:
        made = _cacheable(reading, spec, values)
        definition.compiled.keep(shape, made, _LEAST_BYTES if made is None else _LEAST_BYTES + made.members.kept_bytes)
    return reading


def _shape(spec: ReadSpec, definition: Definition[Any], *, counting: bool) -> tuple[Hashable, Values] | None:
    """Return what a plan depends on, and the values that are filled in; None for a query that is not cached."""
    # For collections, checkpoints, shared tables, hidden expired items, periods, and keys that are not plain, the
    # planner makes conditions of its own, which depend on values and on the time.
    if spec.models or spec.checkpoint is not None or not definition.reads_plainly:
        return None
    try:
        shape, values = shape_and_values(spec.conditions)
    except KeyError:
        # A path with steps that the program gave, such as a list index: there may be any number of such shapes.
        return None
    # As in conditions: there may be any number of list positions and map keys.
    if spec.selected is not None and any(path.has_given_steps for path in spec.selected):
        return None
    selected = None if spec.selected is None else tuple([(path, path.spelled) for path in spec.selected])
    settings = (
        spec.scan,
        spec.index,
        spec.descending,
        spec.consistent,
        spec.segments,
        spec.segment,
        selected,
        spec.target,
        spec.invalid,
        counting,
    )
    return (settings, shape), values


@dataclass(frozen=True)
class _CachedPlan:
    """A plan of one shape, and the places in it that another query's conditions and values are filled into."""

    reading: Reading[Any]
    route: Route
    partition: tuple[int, ...]
    """Which conditions of the query are those of the partition key."""
    sort: tuple[int, ...]
    filters: tuple[int, ...]
    key_values: tuple[tuple[int, KeyRole], ...]
    """Which values of the query are values of a key, and whether of the partition key or the sort key."""
    members: RenderedMembers

    def filled(self, spec: ReadSpec, context: Context, values: Values) -> Reading[Any] | None:
        """Return the reading of a query of the same shape; None if DynamoDB refuses one of its values."""
        try:
            for number, role in self.key_values:
                check_key_value(values[number], role)
        except EncodeError:
            return None  # planning it anew raises the error that names the field
        body = self.members.with_values(values)
        if body is None:
            return None
        condition_at: Callable[[int], Any] = spec.conditions.__getitem__
        partition = tuple(map(condition_at, self.partition))
        sort = tuple(map(condition_at, self.sort))
        filters = tuple(map(condition_at, self.filters))
        table = body["TableName"] = context.tables.full(self.reading.plan.table)
        plan = replace_fields(
            self.reading.plan,
            table=table,
            key_conditions=(*partition, *sort),
            sort_conditions=sort,
            filters=filters,
            body=body,
        )

        def binding() -> str:
            return binding_of(spec, table, replace_fields(self.route, partition=partition, sort=sort, filters=filters))

        return replace_fields(
            self.reading,
            plan=plan,
            want=spec.limit,
            page_size=spec.page_size,
            binding=binding,
            cursor_secret=context.cursor_secret,
        )


def _cacheable(reading: Reading[Any], spec: ReadSpec, values: Values) -> _CachedPlan | None:
    """Return the part of a reading that is cached; None if the planner made conditions of its own."""
    route = reading.route
    if route is None or reading.branches or reading.completion is not None or reading.answer_filter is not None:
        return None
    groups = (route.partition, route.sort, route.filters)
    partition, sort, filters = (_numbers(each, spec.conditions) for each in groups)
    if partition is None or sort is None or filters is None:
        return None
    table = definition_of(spec.model).require_table("read").name
    plan = replace_fields(reading.plan, table=table, key_conditions=(), sort_conditions=(), filters=(), body={})
    return _CachedPlan(
        reading=replace_fields(reading, plan=plan, route=None, binding=str, cursor_secret=None),
        route=replace_fields(route, partition=(), sort=(), filters=()),
        partition=partition,
        sort=sort,
        filters=filters,
        # Only these can be refused for their value: a key is never empty, and at most 2,048 or 1,024 bytes long.
        key_values=(*_key_values(route.partition, "partition", values), *_key_values(route.sort, "sort", values)),
        members=RenderedMembers.of({**reading.plan.body, "TableName": table}, values),
    )


def _numbers(conditions: Sequence[Condition], among: Sequence[Condition]) -> tuple[int, ...] | None:
    """Return the positions of conditions among those of a query; None if one is not among them."""
    # By identity: the planner passes on the program's own objects, and an equal one of its own making would stand for
    # another place.
    numbers = {id(condition): number for number, condition in enumerate(among)}
    found = [numbers.get(id(condition)) for condition in conditions]
    return None if None in found else tuple([number for number in found if number is not None])


def _key_values(conditions: Sequence[Condition], role: KeyRole, values: Values) -> list[tuple[int, KeyRole]]:
    """Return the positions of the values in key conditions, each with its role in the key."""
    return [
        (values.index(value.stored), role) for condition in conditions for value in path_and_constants(condition)[1]
    ]
