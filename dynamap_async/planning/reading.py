"""Planned queries and scans: the requests of their pages, what items become, where a page ends and the next begins."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any, Generic, TypeVar

from dynamap_async.codec import order_key
from dynamap_async.dataclass import dataclass, replace_fields
from dynamap_async.errors import ResourceNotFoundError
from dynamap_async.expressions import (
    Condition,
    Placeholders,
    conjunction,
    is_impossible,
    paths_in,
    render_condition,
    render_projection,
)
from dynamap_async.limits import PAGE_ITEMS
from dynamap_async.models import Definition, Model, definition_of
from dynamap_async.planning.context import Context
from dynamap_async.planning.cursors import (
    binding_of,
    decode_cursor,
    decode_positions,
    encode_cursor,
    encode_positions,
    foreign_cursor_error,
    side_of_range,
    without_partition_keys,
)
from dynamap_async.planning.existence import ExpiryFilter, filter_expired
from dynamap_async.planning.periods import MissingTable, combined_plan, queries_by_table
from dynamap_async.planning.plan import Plan, Route, hazards_of, partition_of
from dynamap_async.planning.planner import choose_route
from dynamap_async.planning.projection import Completion, Requirements
from dynamap_async.planning.read_spec import ReadSpec
from dynamap_async.planning.shards import expand_shards, sharded_keys
from dynamap_async.planning.shared_tables import (
    both_filters,
    filter_kinds,
    is_own_namespace,
    restrict_to_namespace,
    select_kinds,
    subclass_definitions,
)
from dynamap_async.request import AnswerFilter, Position, Positions, Request
from dynamap_async.schema import KeySchema, TableSchema
from dynamap_async.wire import Body, WireItem, WireKey

ItemT = TypeVar("ItemT")


@dataclass(frozen=True, kw_only=True)  # without slots: see ``replace_fields``
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
    """Returns what identifies the query; called only where a cursor is made or read."""
    cursor_secret: bytes | None = field(default=None, repr=False)
    """Signs cursors."""
    segments: int | None = None
    """In how many segments a scan is read; None for one read after the other."""
    branches: tuple[Plan, ...] = ()
    """The plans of the queries, one for each partition, that are merged; empty for a single query."""
    begin: Positions | None = None
    """Where the parts go on; None for the beginning."""
    answer_filter: AnswerFilter | None = None
    """Removes expired items, and items of other models, from an answer, where DynamoDB's filter cannot."""
    missing: Callable[[ResourceNotFoundError], Body] | None = None
    """Answers for a table that does not exist, where there is one per period."""
    completion: Completion | None = None
    """Fetches the whole items of an index that does not hold them."""
    drops_few: bool = False
    """Whether the filter only looks for items of other models, where hardly any are."""
    asks_first: bool = False
    """Whether the first page asks for as many items as are wanted, although items of other models may be among them."""
    route: Route | None = field(default=None, repr=False)
    """The table or index that is read, and the conditions."""

    @property
    def total(self) -> int:
        """The number of parts that are read at the same time; 0 for a single read."""
        return self.segments or len(self.branches)

    def part(self, number: int) -> Reading[ItemT]:
        """Return one of the parts."""
        if self.branches:
            return replace(self, plan=self.branches[number], branches=())
        # The parts of a scan differ in the number of their segment alone.
        return replace(self, plan=replace(self.plan, body={**self.plan.body, "Segment": number}), segments=None)

    @property
    def descending(self) -> bool:
        """Whether the items come in descending order."""
        return self.plan.descending

    def rank(self, item: WireItem) -> list[tuple[str, Any]]:
        """Return the sort key's values of an item, by which several queries are merged."""
        return [order_key(item[name]) for name in self.plan.order]

    def request(self, start: WireKey | None, remaining: int | None) -> Request:
        """Return the request of one page.

        Args:
            start: the position after which the page begins.
            remaining: how many items are still wanted.
        """
        body = dict(self.plan.body)
        # Limit counts items before the filter, so only without one does it say how many will come back. Where the
        # filter drops hardly any, it is near enough; pages follow until all are there that are wanted. Where only items
        # of other models are dropped, a first page of that size is cheap, and often enough.
        is_near = self.drops_few or (self.asks_first and start == self.start)
        size, filtered = self.page_size, (self.plan.filters or self.answer_filter) and not is_near
        if remaining is not None and not filtered:
            size = remaining if size is None else min(size, remaining)
        if size is not None:
            body["Limit"] = min(size, PAGE_ITEMS)
        if start is not None:
            body["ExclusiveStartKey"] = start
        plan = self.plan
        required = frozenset(self.key_names)  # which are fetched whatever is selected
        return Request(operation=plan.operation, body=body, table=plan.table, index=plan.index, required=required)

    def position(self, item: WireItem) -> WireKey:
        """Return the key attributes of a raw item, in the table and in the index that is read."""
        return {name: item[name] for name in self.key_names}

    def cursor(self, position: Position | None) -> str | None:
        """Return a position as the text of a cursor.

        Raises:
            OperationError: it is over 4 KB, because many queries are unfinished.
        """
        if position is None:
            return None
        if isinstance(position, Positions):
            shorter = without_partition_keys(position, self.branches)
            return encode_positions(shorter, self.total, self.binding(), self.cursor_secret)
        return encode_cursor(position, self.binding(), self.cursor_secret)

    def checkpoint(self, positions: Positions) -> str:
        """Return the positions of all segments as one text.

        Raises:
            OperationError: it is over 256 KB, because many segments are unfinished.
        """
        return encode_positions(positions, self.total, self.binding(), self.cursor_secret, checkpoint=True)

    def resume(self, cursor: str | None) -> Reading[ItemT]:
        """Return the reading that continues where a cursor's page ended.

        A sort condition may have other values than when the cursor was made. DynamoDB refuses a position outside the
        new range, so that is answered here: from the range's beginning, or with nothing more.

        Args:
            cursor: the text; None begins at the beginning.

        Raises:
            CursorError: the cursor is of another query.
        """
        if cursor is None:
            return self
        if self.branches:
            return self._resume_branches(cursor)
        position = decode_cursor(cursor, self.binding(), self.cursor_secret, keys=self.keys)
        # Without a secret anybody can make a cursor up, and DynamoDB refuses a position in another partition.
        if any(order_key(position[name]) != order_key(value) for name, value in partition_of(self.plan).items()):
            raise foreign_cursor_error()
        side = side_of_range(self.plan, position)
        return self if side < 0 else replace(self, start=position, exhausted=self.exhausted or side > 0)

    def resume_scan(self, checkpoint: str) -> Reading[ItemT]:
        """Return the reading of a scan in segments that continues from a checkpoint.

        Raises:
            CursorError: the checkpoint is of another scan.
        """
        secret, total = self.cursor_secret, self.total
        begin = decode_positions(checkpoint, self.binding(), secret, total=total, keys=self.keys, checkpoint=True)
        return replace(self, begin=begin)

    def _resume_branches(self, cursor: str) -> Reading[ItemT]:
        known = partition_of(self.branches[0])
        found = decode_positions(
            cursor, self.binding(), self.cursor_secret, total=self.total, keys=self.keys, known=known
        )
        at: dict[int, WireKey | None] = {}
        for number, position in found.at.items():
            plan = self.branches[number]
            # The cursor leaves the partition keys out: the query names them, and many of them would make it long.
            whole = None if position is None else {**position, **partition_of(plan)}
            side = 0 if whole is None else side_of_range(plan, whole)
            if side <= 0:
                at[number] = whole if side == 0 else None
        return replace(self, begin=Positions(found.begun, at))


def plan_uncached(spec: ReadSpec, context: Context, *, counting: bool = False) -> Reading[Any]:
    """Plan a query or scan anew; ``plan_reading`` does that once for each shape of query.

    Args:
        counting: only the number of items is wanted.

    Raises:
        OperationError: no table or index answers it, or the service would refuse it; see ``choose_route``.
        CursorError: the checkpoint is of another scan.
        EncodeError: a condition gives a key attribute an empty or too long value.
        ExpressionError: a condition is not about the model, or is over a limit of the service.
    """
    definitions = [definition_of(model) for model in spec.read_models]
    definition = definitions[0]
    searched = spec.searched_table
    table = searched.named(context.tables.full(searched.name))
    conditions = spec.checked_conditions(spec.conditions)
    required = spec.requirements(counting=counting)
    route = _route(spec, table, conditions, required, definitions)
    completed = required.needs_completion(table, route.index)
    selection = select_kinds(definitions, sees_unknown=spec.sees_unknown)
    by_kind = filter_kinds(selection, route, scan=spec.scan, sees_kind=required.sees_kind(table, route.index))
    # Then the filter on the kind is a safeguard: a limit can be sent as it is, and a plan does not warn of dropped
    # items.
    drops_few = not spec.scan and not route.filters and is_own_namespace(route, definitions)
    # A query, other than a scan, does not filter by the key that it goes through.
    by_expiry = filter_expired(definition, context.now(), () if spec.scan else route.keys.names)
    if spec.with_expired or (completed and not required.sees_expiry(table, route.index)):
        by_expiry = ExpiryFilter()  # of a completed read, whole items are looked at when they are there
    by_kind_alone = not route.filters and by_expiry == ExpiryFilter()
    route = replace_fields(by_kind.route, drops_few=drops_few and by_expiry == ExpiryFilter())
    # What DynamoDB cannot filter by, a key attribute of the query, is looked at when the answer is here.
    answer_filter = both_filters(by_expiry.answer_filter, by_kind.answer_filter)
    told_by_keys = ((by_expiry.attribute, "expired items"), (by_kind.attribute, "items of other models"))
    # An is_in on a partition key takes a query for each value: DynamoDB's key condition has no IN and no OR.
    branches = [replace_fields(each, filters=(*each.filters, *by_expiry.filters)) for each in route.single_queries()]
    key_names = tuple(dict.fromkeys((*table.keys.names, *route.keys.names)))
    completion = None
    if completed:
        now = None if spec.with_expired else context.now
        completion = Completion(definition, table, spec.consistent, now, by_kind.keeps, context.tables)
    left_out = tuple((name, what) for name, what in told_by_keys if name is not None)
    kind_attribute = None if selection is None else selection.table.attribute
    # Answers are filtered here by the kind then, so it has to be projected.
    fetched = key_names if by_kind.answer_filter is None or kind_attribute is None else (*key_names, kind_attribute)
    queries = queries_by_table(spec, table, context.tables, conditions, branches)
    plans = [_plan(spec, part, each, fetched, left_out, completion, counting=counting) for part, each in queries.parts]
    merging = len(plans) > 1
    reading: Reading[Any] = Reading(
        plan=combined_plan(plans, spec, route, queries),
        decode=spec.decoder(),
        want=spec.limit,
        page_size=spec.page_size,
        key_names=key_names,
        keys=(table.keys, route.keys),
        # Most reads never make a cursor, so what it is bound to is computed when one does.
        binding=lambda: binding_of(spec, " ".join(queries.names), route),
        cursor_secret=context.cursor_secret,
        segments=spec.segments,
        branches=tuple(plans) if merging else (),
        answer_filter=answer_filter,
        completion=completion,
        missing=None if definition.periods is None else MissingTable(definition, spec.skips_missing).answer,
        drops_few=route.drops_few,
        asks_first=by_kind_alone and not spec.scan and selection is not None and selection.table.tells_by_keys,
        exhausted=route.empty or queries.empty,
        route=route,
    )
    return reading if spec.checkpoint is None else reading.resume_scan(spec.checkpoint)


def _route(
    spec: ReadSpec,
    table: TableSchema,
    conditions: tuple[Condition, ...],
    required: Requirements,
    definitions: Sequence[Definition[Any]],
) -> Route:
    """Return the route of a query or scan; errors are those of ``plan_uncached``."""
    forced = table.index(spec.index) if spec.index is not None else None
    if spec.scan:
        if forced is not None:
            required.check_index(table, forced, conditions)
        route = Route(forced, table.keys if forced is None else forced.keys, (), (), conditions)
        return _marked_empty(expand_shards(route, sharded_keys(definitions), conditions), conditions)
    route = restrict_to_namespace(choose_route(table, conditions, required, forced, definitions), definitions)
    route.check_key_values()
    return _marked_empty(route, (*conditions, *route.key_conditions))


def _marked_empty(route: Route, conditions: Sequence[Condition]) -> Route:
    """Return a route, marked as empty if no item can meet the conditions."""
    impossible = next(filter(is_impossible, conditions), None)
    if impossible is None:
        return route
    hazard = f"no item can meet ({impossible}), so nothing is read, and no request is sent"
    return replace_fields(route, empty=True, hazards=(*route.hazards, hazard))


def _unordered(models: Sequence[type[Model]], route: Route) -> tuple[str, ...]:
    """Return the sort key attributes whose stored form may not sort as the field's values do."""
    found: dict[str, None] = {}
    for definition in map(definition_of, models):
        for attribute in route.keys.sort:
            field = definition.fields.get(definition.field_names.get(attribute.name, ""))
            # Times of day may have zones, and are then in no order at all.
            if field is not None and not (field.converter.ordered and field.converter.label != "time"):
                found[attribute.name] = None
    return tuple(found)


def _plan(
    spec: ReadSpec,
    table: TableSchema,
    route: Route,
    fetched: tuple[str, ...],
    left_out: tuple[tuple[str, str], ...],
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
    # COUNT answers without items, so it cannot be used where some of them are left out here.
    if counting and not left_out:
        body["Select"] = "COUNT"
    elif (wanted := spec.projected_paths(route.index, completed=completion is not None, counting=counting)) is not None:
        # The keys are fetched too: a page may end in the middle, and its cursor is made of them.
        wanted = (*wanted, *((name,) for name in fetched))
        body["ProjectionExpression"] = render_projection(wanted, placeholders)
    body |= _settings(spec) | placeholders.to_wire()
    return Plan(
        operation="Scan" if spec.scan else "Query",
        model=spec.name,
        table=table.name,
        index=route.index.name if route.index is not None else None,
        index_kind=route.index.kind.value if route.index is not None else None,
        order=tuple(attribute.name for attribute in route.keys.sort),
        unordered=_unordered(spec.read_models, route),
        descending=spec.descending,
        key_conditions=route.key_conditions,
        sort_conditions=route.sort,
        asked=route.asked,
        filters=route.filters,
        segments=spec.segments,
        projection=None if spec.selected is None else tuple(path.spelled for path in spec.selected),
        completion=None if completion is None else completion.explained(spec.limit),
        hazards=hazards_of(
            scan=spec.scan,
            index=route.index,
            filters=() if route.drops_few else route.filters,
            optional=spec.optional_keys(route),
            left_out=() if route.drops_few else left_out,
            completed=completion is not None,
            key_hazards=(
                *route.hazards,
                *(each for definition in _all_read(spec) for each in _of_older_items(spec, definition)),
            ),
        ),
        body=body,
    )


def _all_read(spec: ReadSpec) -> list[Definition[Any]]:
    """Return the definitions of the models that are read, and of their subclasses in a shared table."""
    named = [definition_of(model) for model in spec.read_models]
    return list(dict.fromkeys(each for one in named for each in (one, *subclass_definitions(one))))


def _of_older_items(spec: ReadSpec, definition: Definition[Any]) -> Iterator[str]:
    """Yield the hazards of stored items of older versions, which DynamoDB sees before they are upgraded."""
    model, upgrades = definition.model, definition.items.upgrades
    if upgrades is None or not upgrades.older_exist:
        return
    # An upgrade runs when an item is read; conditions and projections are DynamoDB's, which sees what is stored.
    named = {path.attribute for condition in spec.conditions for path in paths_in(condition)}
    selected = {path.attribute for path in spec.selected or ()}
    if left := sorted(filter(upgrades.may_change, selected)):
        yield (
            f"select() and into() read items as they are stored: {', '.join(left)} of a {model.__name__} before "
            f"version {upgrades.version} may be absent or otherwise; read whole items, or upgrade them, then "
            f"declare complete_since={upgrades.version}{upgrades.why_any}"
        )
    if changed := sorted(filter(upgrades.may_change, named)):
        yield (
            f"conditions see items as they are stored: those of {model.__name__} before version {upgrades.version} "
            f"may differ in {', '.join(changed)}, and be missed; upgrade them, then declare "
            f"complete_since={upgrades.version}{upgrades.why_any}"
        )


def without_proved(spec: ReadSpec, hazards: tuple[str, ...], context: Context) -> tuple[str, ...]:
    """Return the hazards without those about older items of models that are proved to have none stored."""
    told: set[str] = set()
    for definition in _all_read(spec):
        upgrades, version = definition.items.upgrades, context.upgraded_to.get(definition.model, 0)
        if upgrades is not None and upgrades.version <= version and not upgrades.writes_older:
            told.update(_of_older_items(spec, definition))
    return tuple(each for each in hazards if each not in told)


def _settings(spec: ReadSpec) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if spec.descending:
        settings["ScanIndexForward"] = False
    if spec.consistent:
        settings["ConsistentRead"] = True
    if spec.segments is not None:
        settings |= {"Segment": 0, "TotalSegments": spec.segments}
    elif spec.segment is not None:
        settings |= dict(zip(("Segment", "TotalSegments"), spec.segment, strict=True))
    return settings
