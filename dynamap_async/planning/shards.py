"""Shards in conditions: what is asked of a plain partition key, in terms of the keys that are stored.

A query of a key with shards becomes one query for each, or a single one where the conditions tell what the shard is
calculated from. A filter, or the condition of a write, asks for all that the key may be stored as.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from dynamap_async.errors import ExpressionError
from dynamap_async.expressions import And, Comparison, Condition, Function, In, Not, Or, Path, Value, paths_in
from dynamap_async.limits import IN_OPERANDS
from dynamap_async.models import Definition, Model, Sharding, definition_of
from dynamap_async.planning.context import own_conditions
from dynamap_async.planning.route import QUERIES, PartitionCondition, Route, check_constants, constants_of
from dynamap_async.wire import AttributeValue


@dataclass(frozen=True, slots=True)
class Places:
    """Where the items of one partition key are, those of several models together."""

    ways: tuple[Sharding | None, ...]
    """How each model spreads the key; None for one that does not."""

    def of(self, value: AttributeValue, known: Mapping[str, Sequence[AttributeValue]]) -> tuple[Value, ...]:
        """Return what a plain key is stored as in certain items.

        Args:
            value: the plain key.
            known: stored name -> the values that the items may have, as far as that is known.
        """
        found: list[AttributeValue] = []
        for each in self.ways:
            found += [value] if each is None else [each.stored(value, number) for number in _numbers(each, known)]
        return tuple(Value(each) for i, each in enumerate(found) if each not in found[:i])

    def is_one(self, known: Mapping[str, Sequence[AttributeValue]]) -> bool:
        """Return whether items of which this is known are in one place, whatever the values are."""
        [way, *others] = self.ways
        if way is None or len(way.counts) > 1:
            return False
        values = [known.get(each.attribute, known.get(each.key or "", ())) for each in way.sources]
        return all(len(each) == 1 for each in values) and all(other == way for other in others)

    def everywhere(self, value: AttributeValue) -> tuple[Value, ...]:
        """Return all that a plain key may be stored as."""
        return self.of(value, {})


def _numbers(sharding: Sharding, known: Mapping[str, Sequence[AttributeValue]]) -> Sequence[int]:
    """Return the shards in which items may be, in ascending order."""
    names = [name for each in sharding.sources for name in (each.attribute, each.key) if name is not None]
    names = [name for name in names if name in known]
    choices = [known[name] for name in names]
    if math.prod(map(len, choices)) > QUERIES:
        return range(sharding.total)
    items = [dict(zip(names, values, strict=True)) for values in product(*choices)]
    return sorted({number for item in items for number in sharding.numbers(item)})


def places_of(definitions: Iterable[Definition[Any]]) -> dict[str, Places]:
    """Return stored name -> places, of the keys that some of these models spread over shards; families agree."""
    ways = [definition.items.shards.of for definition in definitions]
    names = dict.fromkeys(name for each in ways for name in each)
    return {name: Places(tuple(each.get(name) for each in ways)) for name in names}


@dataclass(frozen=True, slots=True)
class Gathered(In):
    """The shards of a partition key, each a query of its own. It prints as the condition that asked for them."""

    asked: PartitionCondition

    def __str__(self) -> str:
        return str(self.asked)


def gathering(route: Route, places: Mapping[str, Places], conditions: Iterable[Condition]) -> Route:
    """Return a route through the shards of its partition key.

    Args:
        route: the way that a query takes by its plain conditions.
        places: stored name -> where the items of a key are.
        conditions: what else is known of the items, conjunctions taken apart.

    Raises:
        ExpressionError: a filter asks of a key with shards what cannot be asked of it.
    """
    if not places:
        return route
    known = _known((*conditions, *route.key_conditions, *route.filters))
    return replace(
        route,
        partition=tuple(_spread(each, places, known) for each in route.partition),
        filters=tuple(in_shards(each, places) for each in route.filters),
    )


def plain_keys(route: Route, definition: Definition[Any]) -> list[Condition]:
    """Return the key conditions of one query as they were before ``gathering``."""
    shards = definition.items.shards.of
    plain: list[Condition] = []
    for condition in route.key_conditions:
        match condition:
            case Comparison(comparator="=", left=Path() as path, right=Value(stored=stored)) if (
                path.attribute in shards
            ):
                plain.append(Comparison("=", path, Value(shards[path.attribute].plain(stored))))
            case _:
                plain.append(condition)
    return plain


def _known(conditions: Iterable[Condition]) -> dict[str, Sequence[AttributeValue]]:
    """Return stored name -> the values that conditions leave."""
    known: dict[str, Sequence[AttributeValue]] = {}
    for condition in conditions:
        match condition:
            case Comparison(comparator="=", left=Path(steps=(str(name),)), right=Value(stored=stored)):
                known[name] = (stored,)
            case In(operand=Path(steps=(str(name),)), values=values) if name not in known:
                known[name] = [value.stored for value in values]
            case _:
                continue
    return known


def _spread(
    condition: PartitionCondition, places: Mapping[str, Places], known: Mapping[str, Sequence[AttributeValue]]
) -> PartitionCondition:
    path, plain = constants_of(condition)
    if path.attribute not in places:
        return condition
    check_constants(condition, "partition")  # a shard would make a key of what is none
    found = places[path.attribute]
    values = tuple(each for value in plain for each in found.of(value.stored, known))
    # By form: how a route ranks never depends on which shards the values happen to be in.
    if isinstance(condition, Comparison) and len(values) == 1 and found.is_one(known):
        return Comparison("=", path, values[0])
    return (
        In(path, values)
        if isinstance(condition, In) and len(values) == len(plain)
        else Gathered(path, values, condition)
    )


def stored_conditions(model: type[Model], conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Return the conditions of a write as they are checked, with conjunctions taken apart.

    Raises:
        ExpressionError: one is no condition, names a field of another model, or asks of a key with shards what cannot
            be asked of it.
    """
    places = places_of((definition_of(model),))
    return tuple(in_shards(each, places) for each in own_conditions(model, conditions))


def in_shards(condition: Condition, places: Mapping[str, Places]) -> Condition:
    """Return a condition on plain partition keys as one on the keys that are stored.

    Raises:
        ExpressionError: it compares one by its order, its parts or its size, which the shards are in the way of.
    """
    if not any(path.attribute in places for path in paths_in(condition)):
        return condition
    match condition:
        case And(parts=parts):
            return And(tuple(in_shards(each, places) for each in parts))
        case Or(parts=parts):
            return Or(tuple(in_shards(each, places) for each in parts))
        case Not(part=part):
            return ~in_shards(part, places)
        case _:
            return _in_shards(condition, places)


def _in_shards(condition: Condition, places: Mapping[str, Places]) -> Condition:
    match condition:
        case Comparison(comparator="=", left=Path() as path, right=Value(stored={"S": _}) as value):
            return _one_of(path, places[path.attribute], (value,))
        case Comparison(comparator="<>", left=Path() as path, right=Value(stored={"S": _}) as value):
            return ~_one_of(path, places[path.attribute], (value,))
        case In(operand=Path() as path, values=values):
            return _one_of(path, places[path.attribute], values)
        case Function(name="begins_with", path=path, arguments=(Value(stored={"S": str(prefix)}),)):
            return _beginning(condition, path, places[path.attribute], prefix)
        case (
            Function(name="attribute_exists" | "attribute_not_exists" | "attribute_type")
            | Comparison(comparator="=" | "<>", left=Path(), right=Value(stored={"NULL": True}))
        ):
            return condition
        case _:
            [name, *_] = (path.spelled for path in paths_in(condition) if path.attribute in places)
            raise ExpressionError(
                f"({condition}) cannot be checked: {name} is stored with the number of its shard, so DynamoDB can tell "
                "of it by ==, !=, is_in(), begins_with(), exists() and missing() only",
                expression=str(condition),
            )


def _one_of(path: Path, places: Places, plain: Sequence[Value]) -> Condition:
    """Return the condition that a key is one of these, in any shard."""
    values = tuple(each for value in plain for each in places.everywhere(value.stored))
    parts = [In(path, values[at : at + IN_OPERANDS]) for at in range(0, len(values), IN_OPERANDS)]
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def _beginning(condition: Condition, path: Path, places: Places, prefix: str) -> Condition:
    """Return the condition that a plain key begins with a prefix; the prefix may look like the shard behind one."""
    head, mark, _ = prefix.rpartition("#")
    stored = places.everywhere({"S": head}) if mark and None not in places.ways else ()
    mistaken = tuple(each for each in stored if each.stored.get("S", "").startswith(prefix))
    return And((condition, Not(In(path, mistaken)))) if mistaken else condition
