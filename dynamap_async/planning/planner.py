"""The planner: which table or index answers a query, and which conditions become its key condition.

Candidates are the table and the indexes whose partition key the conditions fix by equality and whose conditions the
service would accept; where there is none, also those whose partition key they fix by ``is_in``, one query for each
value. Where a template makes a key, conditions on its parts count as conditions on the key. Most conditions in the key
wins; then the table before local before global indexes; then ALL before INCLUDE before KEYS_ONLY. Nothing here sends,
and nothing falls back to a scan.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.KeyConditionExpressions.html
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from operator import itemgetter
from typing import Any, TypeAlias

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import AmbiguousIndexError, DataError, ExpressionError, NoIndexError, OperationError
from dynamap_async.expressions import Comparison, Condition, In, Or, Value, paths_in
from dynamap_async.models import Definition
from dynamap_async.planning.key_conditions import (
    MAX_QUERIES,
    PartitionCondition,
    answered_by,
    attribute_of,
    distinct_values,
    equality_among,
    is_equality,
    is_sort_condition,
    merge_conditions,
    too_many_queries_error,
)
from dynamap_async.planning.plan import TABLE, Route, route_name
from dynamap_async.planning.projection import Requirements
from dynamap_async.planning.shards import expand_shards, sharded_keys
from dynamap_async.planning.templated_keys import (
    KeyRange,
    TemplatedKey,
    conditions_of_members,
    field_of,
    templated_key,
)
from dynamap_async.schema import IndexSchema, KeySchema, TableSchema

_Refusal: TypeAlias = OperationError | ExpressionError | DataError


@dataclass(slots=True)
class _KeyBuilder:
    """Builds the key condition for one key, and records which conditions it answers."""

    conditions: Sequence[Condition]
    """The conditions of the query."""
    definitions: Sequence[Definition[Any]]
    """The models that are read."""
    partition: list[PartitionCondition] = field(default_factory=list[PartitionCondition])
    sort: list[Condition] = field(default_factory=list[Condition])
    answered: list[Condition] = field(default_factory=list[Condition])
    """What the key answers exactly, so that no filter has to."""
    asked: list[Condition] = field(default_factory=list[Condition])
    """The conditions on parts of templated keys that the key condition is made of."""
    alternatives: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    conditions_used: int = 0
    impossible: list[Condition] = field(default_factory=list[Condition])
    """The conditions that no key can meet."""
    partition_ranges: list[tuple[TemplatedKey, KeyRange]] = field(default_factory=list[tuple[TemplatedKey, KeyRange]])
    """The templated partition keys, with the range that is selected."""
    sort_ranges: list[tuple[TemplatedKey, KeyRange | None]] = field(
        default_factory=list[tuple[TemplatedKey, KeyRange | None]]
    )
    """The templated sort keys, with the range that is selected; None for all of it."""

    def add_partition(self, attribute: str) -> bool:
        """Add the condition on a partition key attribute; return whether the conditions give its value."""
        found = [each for each in self.conditions if attribute_of(each) == attribute]
        equality = equality_among(found)
        if equality is not None:
            self.partition.append(distinct_values(equality))
            self._use(*answered_by(equality, found))
            return True
        # No condition on the key itself: conditions on the fields that it is made of may give its value.
        key = templated_key(self.definitions, attribute)
        selected = None if key is None else key.partition(self.conditions)
        if key is None or selected is None:
            return False
        equalities = [each for each in selected.conditions if isinstance(each, Comparison)]
        # By form, not by how many values there are: the choice of a route must not depend on data.
        if any(isinstance(each, In) for each in selected.part_conditions):
            values = tuple(each.right for each in equalities if isinstance(each.right, Value))
            self.partition.append(In(key.path, values))
        else:
            self.partition += equalities
        self._use_range(selected)
        self.partition_ranges.append((key, selected))
        return True

    def add_sort(self, keys: KeySchema) -> None:
        """Add conditions on the sort key, as far as DynamoDB takes them."""
        constants: list[Condition] = []
        # An is_in on the partition key's parts makes a query for each value already; the sort key has the value's own
        # in each.
        expanded = [each for each in self.asked if isinstance(each, In)]
        for attribute in keys.sort:
            found = [
                each for each in self.conditions if is_sort_condition(each) and attribute_of(each) == attribute.name
            ]
            key = templated_key(self.definitions, attribute.name)
            selected = None if key is None or found else key.sort(self.conditions, expanded)
            if key is not None:
                self.sort_ranges.append((key, selected))
            if found:
                self.sort += [*constants, merge_conditions(attribute.name, found)]
                self._use(*found)
            elif selected is None:
                return
            elif selected.used_parts:
                alternatives = selected.conditions
                self.sort += [*constants, alternatives[0] if len(alternatives) == 1 else Or(alternatives)]
                self.alternatives += selected.alternatives
                self._use_range(selected)
            else:  # a constant counts only where a condition on what follows it needs it
                constants += selected.conditions
                continue
            # DynamoDB takes equalities on the first attributes of a sort key, and a range on the last one named only.
            if not is_equality(self.sort[-1]):
                return
            constants = []

    def add_membership(self, met: Sequence[Condition]) -> None:
        """Add the conditions that every item in the index meets: it is in the index only because it meets them."""
        for condition in met:
            if condition not in self.answered:
                self.answered.append(condition)
                self.conditions_used += condition not in self.asked

    def hazards(self, filters: Sequence[Condition]) -> list[str]:
        """Return the hazards of the keys' templates.

        Args:
            filters: the conditions that the key does not answer.
        """
        hazards = [
            f"no key can meet ({condition}): {attribute_of(condition)} has no room for such a value, so nothing is "
            "read, and no request is sent"
            for condition in self.impossible
        ]
        hazards += [
            _rough_hazard(key, condition)
            for key, selected in self.partition_ranges
            for condition in filters
            if condition in selected.part_conditions
        ]
        if not self.conditions_used:
            paths = " and ".join(str(key.path) for key, _ in self.partition_ranges)
            hazards.append(f"{paths} is constant, and nothing else is asked of the key: all that it holds is read")
        for key, selected in self.sort_ranges:
            own = [each for each in self.sort if attribute_of(each) == key.path.attribute] if selected is None else []
            # An equality on the sort key leaves no order to warn of.
            if not any(map(is_equality, own)):
                hazards += _order_hazards(key, 0 if selected is None else selected.fixed_parts)
            if own:
                hazards += [
                    f"{key.path} has a condition itself, so ({each}) only filters"
                    for each in filters
                    if key.part_number(each) is not None
                ]
            else:
                hazards += [hazard for each in filters if (hazard := _part_hazard(key, selected, each)) is not None]
        return hazards

    def _use(self, *found: Condition) -> None:
        """Record conditions on a key attribute itself as answered."""
        self.answered += found
        self.conditions_used += 1

    def _use_range(self, selected: KeyRange) -> None:
        """Record conditions on the parts of a key attribute as answered, as far as the key answers them exactly."""
        self.answered += selected.exact
        self.asked += [each for each in selected.part_conditions if each not in self.asked]
        self.conditions_used += selected.used_parts
        self.impossible += selected.empty


def match_key(
    keys: KeySchema,
    index: IndexSchema | None,
    conditions: Sequence[Condition],
    definitions: Sequence[Definition[Any]] = (),
    *,
    forced: bool = False,
) -> Route | None:
    """Return the route through one key.

    None where the conditions do not fix its partition key, or may be met by items that are not in the index.

    Args:
        index: the index whose key it is; None for the table's.
        definitions: the models that are read, whose templates say what the key attributes are made of.
        forced: whether the program decided on the index, whatever is in it.

    Raises:
        OperationError: no item can satisfy the conditions, or the key cannot.
        EncodeError: a value cannot be part of the key.
        ExpressionError: a condition is on a field that only the key holds, and the key does not answer it.
    """
    builder = _KeyBuilder(conditions, definitions)
    # An item without the index key is not in the index, so a query through it could miss items that meet the
    # conditions.
    met = None if index is None else conditions_of_members(definitions, keys.names, conditions)
    if index is not None and met is None and not forced:
        return None
    if not all(builder.add_partition(attribute.name) for attribute in keys.partition):
        return None
    builder.add_sort(keys)
    builder.add_membership(met or ())
    filters = tuple(each for each in conditions if each not in builder.answered)
    route = Route(
        index,
        keys,
        tuple(builder.partition),
        tuple(builder.sort),
        filters,
        asked=tuple(builder.asked),
        conditions_used=builder.conditions_used,
        alternatives=tuple(builder.alternatives),
        hazards=tuple(builder.hazards(filters)),
        empty=bool(builder.impossible),
    )
    _check_stored(route, definitions)
    return route


def _check_stored(route: Route, definitions: Sequence[Definition[Any]]) -> None:
    """Raise ExpressionError for a filter on a field that is stored in a key only, or that a model does not have."""
    for condition in route.filters:
        for path in paths_in(condition):
            # Of an attribute that no model declares nothing is known; DynamoDB checks it as it is stored.
            for definition in definitions if path.is_declared else ():
                plan = field_of(definition, path.attribute)
                problem, name = None, definition.model.__name__
                if plan is None:
                    problem = f"{name} has no field stored as {path.attribute!r}, and its key does not answer it"
                elif definition.computed is not None and plan.name in definition.computed.unstored:
                    remedy = _unanswered(definition, definition.computed.unstored[plan.name], plan.name, condition)
                    place = definition.computed.place_of(plan.name)
                    problem = f"{path} is stored in {place} only, which DynamoDB cannot look into; {remedy}"
                if problem is not None:
                    raise ExpressionError(
                        f"({condition}) cannot be checked through {route.name}: {problem}", expression=str(condition)
                    )


def _unanswered(definition: Definition[Any], key: str, name: str, condition: Condition) -> str:
    """Return the remedy for a condition on a field that only a key stores, and that the key does not answer."""
    field_ = definition.fields.get(key)
    template = None if field_ is None else field_.template
    otherwise = f"write a condition on {definition.model.__name__}.{key}, or drop its stored=False"
    if template is None:
        return "ask a subclass, or drop its stored=False"
    part = template.part(name)
    if is_sort_condition(condition) and not is_equality(condition) and not part.format.sorts:
        padded = f": {part.format.label} without a width, in which 10 stands before 9" * (
            part.format.alphabet is not None
        )
        form = "give it a width, such as {" + name + ":06d}, where the keys have one, " if padded else ""
        singly = f"ask for single values with == or is_in, or {otherwise}"
        return f"its text there does not sort as its values do{padded}; {form}{singly}"
    before = [each.name for each in template.parts[: template.parts.index(part)]]
    return f"fix {' and '.join(before)} before it in that key with ==, {otherwise}" if before else otherwise


def _order_hazards(key: TemplatedKey, fixed: int) -> list[str]:
    templates = [model.template for model in key.models]
    loose = dict.fromkeys(name for each in templates for name in each.names[fixed:] if name in each.breaks_order)
    return [f"order across {', '.join(loose)} is by the bytes of {key.path}, not by the values"] if loose else []


def _rough_hazard(key: TemplatedKey, condition: Condition) -> str:
    return f"({condition}) is narrowed, checked again: {key.path} answers it only roughly, so the filter stays"


def _part_hazard(key: TemplatedKey, selected: KeyRange | None, condition: Condition) -> str | None:
    """Return why a condition on a part of the sort key is not, or not only, answered by the key."""
    number = key.part_number(condition)
    if number is None:
        return None
    if selected is not None and condition in selected.part_conditions:
        return _rough_hazard(key, condition)
    parts = key.models[0].template.parts
    part, before = parts[number], parts[:number]
    used = 0 if selected is None else selected.used_parts
    if len(before) > used:
        return f"({condition}) does not narrow what is read: in {key.path}, {before[used].name} before it is not fixed"
    if is_sort_condition(condition) and not (part.format.sorts and part.closes):
        return f"({condition}) does not narrow what is read: in {key.path}, {part.name} does not sort as its values do"
    return f"({condition}) does not narrow what is read: {key.path} does not answer it"


def choose_route(
    table: TableSchema,
    conditions: Sequence[Condition],
    required: Requirements,
    forced: IndexSchema | None = None,
    definitions: Sequence[Definition[Any]] = (),
) -> Route:
    """Choose the table or index that answers a query.

    Args:
        conditions: what must hold, conjunctions taken apart.
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
    sharded = sharded_keys(definitions)
    routes: list[Route] = []
    refusals: list[tuple[str, _Refusal]] = []
    # Each candidate may refuse the conditions for a reason of its own. The reasons are told only if no candidate is
    # left.
    for index in candidates:
        try:
            keys = table.keys if index is None else index.keys
            route = match_key(keys, index, conditions, definitions, forced=forced is not None)
            if route is not None:
                route = expand_shards(route, sharded, conditions)
                _check(table, route, required)
                routes.append(route)
        except (OperationError, ExpressionError, DataError) as refusal:
            refusals.append((route_name(index), refusal))
    if refusals and refusals[0][0] == TABLE:
        # The table's partition, read whole and in another order, is not what was asked of the table; nor is all that
        # an index of one constant partition holds.
        routes = [
            route
            for route in routes
            if route.conditions_used and (route.sort or route.keys.partition != table.keys.partition)
        ]
        refusals = refusals if routes else refusals[:1]
    if not routes:
        raise _no_route(table, required, candidates, refusals, definitions)

    ranked = [((*route.rank, required.needs_completion(table, route.index)), route) for route in routes]
    ranked.sort(key=itemgetter(0))  # sorting is stable: declaration order decides ties
    best = [route for rank, route in ranked if rank == ranked[0][0]]
    # They would give different orders. Without sort conditions no order was asked for, and the first is taken.
    if any(_sort_names(route) != _sort_names(best[0]) for route in best):
        names = [route.index.name for route in best if route.index is not None]
        raise AmbiguousIndexError(
            f"the query on {required.model} fits the indexes {', '.join(names)} equally well, but each gives another "
            "order; choose one with .index(...)",
            indexes=names,
        )
    return best[0]


def _sort_names(route: Route) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path.attribute for condition in route.sort for path in paths_in(condition)))


def _check(table: TableSchema, route: Route, required: Requirements) -> None:
    """Raise an error where the service would refuse the route, or answer with less than was asked for."""
    if route.queries > MAX_QUERIES:
        raise too_many_queries_error(route.name, route.queries)
    for condition in route.filters:
        for path in paths_in(condition):
            # A filter of Query may not name key attributes of what is queried; DynamoDB refuses it with a
            # ValidationException.
            if path.attribute in route.keys.names:
                raise OperationError(
                    f"({condition}) cannot be checked: {path} is part of the key of {route.name}, and DynamoDB filters "
                    "by other attributes only. Make it part of the key condition (==, <, <=, >, >=, between or "
                    "begins_with), or use another index"
                )
    index = route.index
    if index is None:
        return
    required.check_index(table, index, route.filters)


def _no_route(
    table: TableSchema,
    required: Requirements,
    candidates: Sequence[IndexSchema | None],
    refusals: Sequence[tuple[str, _Refusal]],
    definitions: Sequence[Definition[Any]],
) -> _Refusal:
    # All are refused for reasons of one kind, and the first, as a rule the table's, says it.
    if len({type(refusal) for _, refusal in refusals}) == 1:
        return refusals[0][1]
    if refusals:
        reasons = "; ".join(f"{name}: {refusal}" for name, refusal in refusals)
        return NoIndexError(f"no key answers the query on {required.model}. {reasons}")
    options = "; ".join(
        f"{route_name(index)} needs "
        + " and ".join(
            _needed(each.name, definitions) for each in (table.keys if index is None else index.keys).partition
        )
        for index in candidates
    )
    return NoIndexError(
        f"the query on {required.model} has no equality condition on a partition key ({options}). Add one with "
        ".where(Model.field == value), or read the whole table with session.scan()"
    )


def _either(values: Sequence[Any]) -> str:
    return " or ".join(map(repr, values))


def _needed(attribute: str, definitions: Sequence[Definition[Any]]) -> str:
    key = templated_key(definitions, attribute)
    if key is None:
        return attribute
    only = [each for model in key.models for each in model.template.when]
    when = "".join(
        f", and {each.field} {'not to be None' if each.values is None else f'to be {_either(each.values)}'}"
        for each in dict.fromkeys(only)
    )
    return (f"{attribute}, which is made of {key.parts}" if key.parts else attribute) + when
