"""A query or scan, planned: the requests of its pages, what their items become, and where each page ends."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from dynamap_async.codec import order_key
from dynamap_async.errors import ResourceNotFoundError
from dynamap_async.expressions import (
    Condition,
    Placeholders,
    conjunction,
    render_condition,
    render_projection,
)
from dynamap_async.models import Definition, definition_of
from dynamap_async.planning.context import Context
from dynamap_async.planning.cursor_binding import binding_of
from dynamap_async.planning.cursors import decode_positions, encode_cursor, encode_positions
from dynamap_async.planning.expiry import Hiding, hiding
from dynamap_async.planning.fan_out import shortened
from dynamap_async.planning.kinds import both, narrowed, selection_of
from dynamap_async.planning.missing import Missing
from dynamap_async.planning.namespaces import is_own_namespace, within_namespace
from dynamap_async.planning.need import Need, check_index, is_completed
from dynamap_async.planning.periods import cover, whole_plan
from dynamap_async.planning.plan import Plan, hazards_of
from dynamap_async.planning.planner import choose
from dynamap_async.planning.read_spec import (
    ReadSpec,
    conditions_of,
    decoder_of,
    need_of,
    optional_keys,
    requested,
    searched,
)
from dynamap_async.planning.replace_fields import revised
from dynamap_async.planning.route import Route, check_key_values
from dynamap_async.planning.shards import gathering, places_of
from dynamap_async.planning.whole_items import Completion
from dynamap_async.request import Position, Positions, Request
from dynamap_async.schema import KeySchema, TableSchema
from dynamap_async.wire import Body, WireItem, WireKey

ItemT = TypeVar("ItemT")


@dataclass(frozen=True, kw_only=True)  # without slots: see ``revised``
class Reading(Generic[ItemT]):
    """A planned query or scan."""

    plan: Plan
    decode: Callable[[Sequence[WireItem]], list[ItemT]]
    """Wire items -> items of the result, in order."""
    want: int | None = None
    """Most items to give out; None gives all."""
    page_size: int | None = None
    """Most items that one request evaluates."""
    start: WireKey | None = None
    """The position to go on from."""
    exhausted: bool = False
    """Whether it is known without a request that nothing follows ``start``."""
    key_names: tuple[str, ...] = ()
    """The attributes that make a position in the table or index."""
    keys: tuple[KeySchema, ...] = ()
    """The keys that these are of: the table's and the index's."""
    binding: Callable[[], str] = field(default=str, repr=False)
    """Tells what identifies the query, for cursors; worked out only where one is made or read."""
    cursor_secret: bytes | None = field(default=None, repr=False)
    """Signs cursors."""
    segments: int | None = None
    """In how many segments a scan is read; None for one read after the other."""
    branches: tuple[Plan, ...] = ()
    """The plans of the queries, one for each partition, that are merged; empty for a single query."""
    begin: Positions | None = None
    """Where the parts go on; None for the beginning."""
    sieve: Callable[[Body], Body] | None = None
    """What takes expired items out of an answer, where DynamoDB's filter cannot."""
    missing: Callable[[ResourceNotFoundError], Body] | None = None
    """What answers for a table that does not exist, where there is one per period."""
    completion: Completion | None = None
    """What fetches the whole items of an index that does not hold them."""
    dense: bool = False
    """Whether the filter only looks for items of other models, where hardly any are."""
    route: Route | None = field(default=None, repr=False)
    """The way that it takes."""

    @property
    def total(self) -> int:
        """How many parts there are, which are read at the same time; 0 for a single read."""
        return self.segments or len(self.branches)

    def part(self, number: int) -> "Reading[ItemT]":
        """Return one of the parts."""
        if self.branches:
            return replace(self, plan=self.branches[number], branches=())
        return replace(self, plan=replace(self.plan, body={**self.plan.body, "Segment": number}), segments=None)

    @property
    def descending(self) -> bool:
        """Whether the items come in descending order."""
        return self.plan.descending

    def rank(self, item: WireItem) -> list[tuple[str, Any]]:
        """Return what orders the items of one query, for merging."""
        return [order_key(item[name]) for name in self.plan.order]

    def request(self, start: WireKey | None, remaining: int | None) -> Request:
        """Return the request of one page.

        Args:
            start: the position after which the page begins.
            remaining: how many items are still wanted.
        """
        body = dict(self.plan.body)
        # Limit counts items before the filter, so only without one does it say how many will come back. Where the
        # filter drops hardly any, it is near enough; pages follow until all are there that are wanted.
        filtered = (self.plan.filters or self.sieve) and not self.dense
        bounds = [self.page_size] if filtered else [self.page_size, remaining]
        size = min((bound for bound in bounds if bound is not None), default=None)
        if size is not None:
            body["Limit"] = size
        if start is not None:
            body["ExclusiveStartKey"] = start
        plan = self.plan
        required = frozenset(self.key_names)  # which are fetched whatever is selected
        return Request(operation=plan.operation, body=body, table=plan.table, index=plan.index, required=required)

    def position(self, item: WireItem) -> WireKey:
        """Return the position of one raw item in the table or index that is read."""
        return {name: item[name] for name in self.key_names}

    def cursor(self, position: Position | None) -> str | None:
        """Return a position as opaque text.

        Raises:
            OperationError: it is over 4 KB, because many queries are unfinished.
        """
        if position is None:
            return None
        if isinstance(position, Positions):
            shorter = shortened(position, self.branches)
            return encode_positions(shorter, self.total, self.binding(), self.cursor_secret)
        return encode_cursor(position, self.binding(), self.cursor_secret)

    def checkpoint(self, positions: Positions) -> str:
        """Return the positions of all segments as opaque text.

        Raises:
            OperationError: it is over 256 KB, because many segments are unfinished.
        """
        return encode_positions(positions, self.total, self.binding(), self.cursor_secret, checkpoint=True)


def plan_anew(spec: ReadSpec, context: Context, *, counting: bool = False) -> Reading[Any]:
    """Plan a query or scan; ``plan_reading`` does that once for each shape of query.

    Args:
        spec: what is asked.
        context: what the session adds.
        counting: only the number of items is wanted.

    Raises:
        OperationError: no table or index answers it, or the service would refuse it; see ``planner.choose``.
        CursorError: the checkpoint is of another scan.
        EncodeError: a condition gives a key attribute an empty or too long value.
        ExpressionError: a condition is not about the model, or is over a limit of the service.
    """
    definition, definitions = definition_of(spec.model), [definition_of(model) for model in spec.asked]
    table = searched(spec).prefixed(context.table_prefix)
    conditions = conditions_of(spec, spec.conditions)
    need = need_of(spec, counting=counting)
    route = _route(spec, table, conditions, need, definitions)
    completed = is_completed(table, route.index, need)
    selection = selection_of(definitions, sees_unknown=spec.sees_unknown)
    told = route.index is None or need.told_by is None or table.projects(route.index, need.told_by)
    narrow = narrowed(selection, route, scan=spec.scan, told=told)
    dense = not spec.scan and not route.filters and is_own_namespace(route, definitions)
    # A query, other than a scan, does not filter by the key that it goes through.
    hidden = hiding(definition, context.now(), () if spec.scan else route.keys.names)
    if completed and route.index is not None and not (need.expiry is None or table.projects(route.index, need.expiry)):
        hidden = Hiding()  # the whole items tell
    route = revised(narrow.route, dense=dense and hidden == Hiding())
    sieve = both(hidden.sieve, narrow.sieve)
    told_apart = ((hidden.attribute, "expired items"), (narrow.attribute, "items of other models"))
    branches = [revised(each, filters=(*each.filters, *hidden.filters)) for each in route.branches()]
    key_names = tuple(dict.fromkeys((*table.keys.names, *route.keys.names)))
    completion = None
    if completed:
        completion = Completion(definition, table, spec.consistent, context.now, narrow.keeps, context.table_prefix)
    sifted = tuple((name, what) for name, what in told_apart if name is not None)
    covered = cover(spec, table, conditions, branches)
    plans = [_plan(spec, part, each, key_names, sifted, completion, counting=counting) for part, each in covered.parts]
    merging = len(plans) > 1
    reading: Reading[Any] = Reading(
        plan=whole_plan(plans, spec, route, covered),
        decode=decoder_of(spec),
        want=spec.limit,
        page_size=spec.page_size,
        key_names=key_names,
        keys=(table.keys, route.keys),
        binding=lambda: binding_of(spec, covered.table.name, route),
        cursor_secret=context.cursor_secret,
        segments=spec.segments,
        branches=tuple(plans) if merging else (),
        sieve=sieve,
        completion=completion,
        missing=None if definition.periods is None else Missing(definition, spec.skips_missing).answer,
        dense=route.dense,
        route=route,
    )
    return reading if spec.checkpoint is None else _go_on(reading, spec.checkpoint)


def _route(
    spec: ReadSpec,
    table: TableSchema,
    conditions: tuple[Condition, ...],
    need: Need,
    definitions: Sequence[Definition[Any]],
) -> Route:
    """Return the way that a query or scan takes; errors are those of ``plan_anew``."""
    forced = table.index(spec.index) if spec.index is not None else None
    if spec.scan:
        if forced is not None:
            check_index(table, forced, need, conditions)
        route = Route(forced, table.keys if forced is None else forced.keys, (), (), conditions)
        return gathering(route, places_of(definitions), conditions)
    route = choose(table, conditions, need, forced, definitions)
    if definitions[0].kinds is not None and not spec.sees_unknown:
        route = within_namespace(route, definitions)
    check_key_values(route)
    return route


def _go_on(reading: Reading[ItemT], checkpoint: str) -> Reading[ItemT]:
    secret, total = reading.cursor_secret, reading.total
    begin = decode_positions(checkpoint, reading.binding(), secret, total=total, keys=reading.keys, checkpoint=True)
    return replace(reading, begin=begin)


def _plan(
    spec: ReadSpec,
    table: TableSchema,
    route: Route,
    key_names: tuple[str, ...],
    sifted: tuple[tuple[str, str], ...],
    completion: Completion | None,
    *,
    counting: bool,
) -> Plan:
    placeholders = Placeholders()
    body: dict[str, Any] = {"TableName": table.name}
    if route.index is not None:
        body["IndexName"] = route.index.name
    key_condition = conjunction(route.key_conditions)
    if key_condition is not None:
        body["KeyConditionExpression"] = render_condition(key_condition, placeholders)
    filter_condition = conjunction(route.filters)
    if filter_condition is not None:
        body["FilterExpression"] = render_condition(filter_condition, placeholders)
    if counting and not sifted:
        body["Select"] = "COUNT"
    elif (wanted := requested(spec, route.index, completed=completion is not None, counting=counting)) is not None:
        # The keys are fetched too: a page may end in the middle, and its cursor is made of them.
        wanted = (*wanted, *((name,) for name in key_names))
        body["ProjectionExpression"] = render_projection(wanted, placeholders)
    body |= _settings(spec) | placeholders.to_wire()
    return Plan(
        operation="Scan" if spec.scan else "Query",
        model=spec.name,
        table=table.name,
        index=route.index.name if route.index is not None else None,
        index_kind=route.index.kind.value if route.index is not None else None,
        order=tuple(attribute.name for attribute in route.keys.sort),
        descending=spec.descending,
        key_conditions=route.key_conditions,
        sort_conditions=route.sort,
        asked=route.asked,
        filters=route.filters,
        segments=spec.segments,
        projection=None if spec.selected is None else tuple(path.spelled for path in spec.selected),
        completion=None if completion is None else completion.told(spec.limit),
        hazards=hazards_of(
            scan=spec.scan,
            index=route.index,
            filters=() if route.dense else route.filters,
            optional=optional_keys(spec, route),
            sifted=sifted,
            completed=completion is not None,
            of_keys=route.hazards,
        ),
        body=body,
    )


def _settings(spec: ReadSpec) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if spec.descending:
        settings["ScanIndexForward"] = False
    if spec.consistent:
        settings["ConsistentRead"] = True
    if spec.segments is not None:
        settings |= {"Segment": 0, "TotalSegments": spec.segments}
    return settings
