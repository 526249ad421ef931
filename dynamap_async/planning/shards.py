"""Shards: conditions on plain partition keys as conditions on the keys that are stored, with their shards.

A query of a key with shards becomes one query for each, or a single one where the conditions tell what the shard is
calculated from. A filter, or the condition of a write, asks for all that the key may be stored as.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import ExpressionError
from dynamap_async.expressions import And, Comparison, Condition, Function, In, Not, Or, Path, Value, paths_in
from dynamap_async.models import Definition, Model, Sharding, definition_of
from dynamap_async.planning.context import own_conditions
from dynamap_async.planning.key_conditions import (
    MAX_QUERIES,
    EachShard,
    PartitionCondition,
    check_constants,
    path_and_constants,
)
from dynamap_async.planning.plan import Route
from dynamap_async.wire import AttributeValue


@dataclass(frozen=True, slots=True)
class ShardedKey:
    """A partition key that models spread over shards: the stored forms of a plain key."""

    shardings: tuple[Sharding | None, ...]
    """How each model of the read spreads the key; None for one that does not."""

    def stored_values(self, value: AttributeValue, known: Mapping[str, Sequence[AttributeValue]]) -> tuple[Value, ...]:
        """Return the stored forms of a plain key that certain items may have.

        Args:
            known: stored name -> the values that the items may have, as far as that is known.
        """
        found: list[AttributeValue] = []
        for each in self.shardings:
            found += [value] if each is None else [each.stored(value, number) for number in _numbers(each, known)]
        return tuple(Value(each) for i, each in enumerate(found) if each not in found[:i])

    def is_in_one_shard(self, known: Mapping[str, Sequence[AttributeValue]]) -> bool:
        """Return True if conditions on these attributes determine the shard, whatever the values."""
        [sharding, *others] = self.shardings
        if sharding is None or len(sharding.counts) > 1:
            return False
        values = [known.get(each.attribute, known.get(each.key or "", ())) for each in sharding.sources]
        return all(len(each) == 1 for each in values) and all(other == sharding for other in others)

    def all_stored_values(self, value: AttributeValue) -> tuple[Value, ...]:
        """Return all stored forms of a plain key."""
        return self.stored_values(value, {})


def _numbers(sharding: Sharding, known: Mapping[str, Sequence[AttributeValue]]) -> Sequence[int]:
    """Return the shards in which items may be, in ascending order."""
    names = [name for each in sharding.sources for name in (each.attribute, each.key) if name is not None]
    names = [name for name in names if name in known]
    choices = [known[name] for name in names]
    # More combinations than queries are sent together: all shards then, instead of a hash for each.
    if math.prod(map(len, choices)) > MAX_QUERIES:
        return range(sharding.total)
    items = [dict(zip(names, values, strict=True)) for values in product(*choices)]
    return sorted({number for item in items for number in sharding.numbers(item)})


def sharded_keys(definitions: Iterable[Definition[Any]]) -> dict[str, ShardedKey]:
    """Return stored name -> key of the partition keys that models spread over shards; models of a family agree."""
    shardings = [definition.items.shards.of for definition in definitions]
    names = dict.fromkeys(name for each in shardings for name in each)
    return {name: ShardedKey(tuple(each.get(name) for each in shardings)) for name in names}


def expand_shards(route: Route, sharded: Mapping[str, ShardedKey], conditions: Iterable[Condition]) -> Route:
    """Return a route with one query for each shard of its partition key.

    Args:
        route: the route of a query by its plain conditions.
        sharded: stored name -> key, of the partition keys that are spread over shards.
        conditions: what else is known of the items, conjunctions taken apart.

    Raises:
        ExpressionError: a filter asks of a key with shards what cannot be asked of it.
    """
    if not sharded:
        return route
    known = _known_values((*conditions, *route.key_conditions, *route.filters))
    return replace(
        route,
        partition=tuple(_partition_in_shards(each, sharded, known) for each in route.partition),
        filters=tuple(on_stored_keys(each, sharded) for each in route.filters),
    )


def plain_keys(route: Route, definition: Definition[Any]) -> list[Condition]:
    """Return the key conditions of one query as they were before ``expand_shards``."""
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


def _known_values(conditions: Iterable[Condition]) -> dict[str, Sequence[AttributeValue]]:
    """Return stored name -> the values that the conditions allow an attribute."""
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


def _partition_in_shards(
    condition: PartitionCondition, sharded: Mapping[str, ShardedKey], known: Mapping[str, Sequence[AttributeValue]]
) -> PartitionCondition:
    path, plain = path_and_constants(condition)
    if path.attribute not in sharded:
        return condition
    check_constants(condition, "partition")  # a shard would make a key of what is none
    key = sharded[path.attribute]
    values = tuple(each for value in plain for each in key.stored_values(value.stored, known))
    # By form: how a route ranks never depends on which shards the values happen to be in.
    if isinstance(condition, Comparison) and len(values) == 1 and key.is_in_one_shard(known):
        return Comparison("=", path, values[0])
    return (
        In(path, values)
        if isinstance(condition, In) and len(values) == len(plain)
        else EachShard(path, values, condition)
    )


def stored_conditions(model: type[Model], conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Return the conditions of a write on keys as they are stored, with conjunctions split.

    Raises:
        ExpressionError: one is no condition, names a field of another model, or asks of a key with shards what cannot
            be asked of it.
    """
    sharded = sharded_keys((definition_of(model),))
    return tuple(on_stored_keys(each, sharded) for each in own_conditions(model, conditions))


def stored_condition(definition: Definition[Any], condition: Condition) -> Condition:
    """Return a condition on a model's plain partition key as a condition on the stored keys.

    Raises:
        ExpressionError: it asks of a key with shards what cannot be asked of it.
    """
    return on_stored_keys(condition, sharded_keys((definition,)))


def on_stored_keys(condition: Condition, sharded: Mapping[str, ShardedKey]) -> Condition:
    """Return a condition on plain partition keys as a condition on the stored keys.

    Raises:
        ExpressionError: it compares one by its order, its parts or its size, which the shards are in the way of.
    """
    if not any(path.attribute in sharded for path in paths_in(condition)):
        return condition
    match condition:
        case And(parts=parts):
            return And(tuple(on_stored_keys(each, sharded) for each in parts))
        case Or(parts=parts):
            return Or(tuple(on_stored_keys(each, sharded) for each in parts))
        case Not(part=part):
            return ~on_stored_keys(part, sharded)
        case _:
            return _on_stored_keys(condition, sharded)


def _on_stored_keys(condition: Condition, sharded: Mapping[str, ShardedKey]) -> Condition:
    match condition:
        case Comparison(comparator="=", left=Path() as path, right=Value(stored={"S": _}) as value):
            return _one_of(path, sharded[path.attribute], (value,))
        case Comparison(comparator="<>", left=Path() as path, right=Value(stored={"S": _}) as value):
            return ~_one_of(path, sharded[path.attribute], (value,))
        case In(operand=Path() as path, values=values):
            return _one_of(path, sharded[path.attribute], values)
        case Function(name="begins_with", path=path, arguments=(Value(stored={"S": str(prefix)}),)):
            return _beginning(condition, path, sharded[path.attribute], prefix)
        case (
            Function(name="attribute_exists" | "attribute_not_exists" | "attribute_type")
            | Comparison(comparator="=" | "<>", left=Path(), right=Value(stored={"NULL": True}))
        ):
            return condition
        case _:
            [name, *_] = (path.spelled for path in paths_in(condition) if path.attribute in sharded)
            raise ExpressionError(
                f"({condition}) cannot be checked: {name} is stored with the number of its shard, so only ==, !=, "
                "is_in(), begins_with(), exists() and missing() work on it",
                expression=str(condition),
            )


def _one_of(path: Path, key: ShardedKey, plain: Sequence[Value]) -> Condition:
    """Return the condition that a key is one of these values, in any shard."""
    values = tuple(each for value in plain for each in key.all_stored_values(value.stored))
    return In(path, values)


def _beginning(condition: Condition, path: Path, key: ShardedKey, prefix: str) -> Condition:
    """Return the condition that a plain key begins with a prefix, which may look like a shard number itself."""
    head, mark, _ = prefix.rpartition("#")
    stored = key.all_stored_values({"S": head}) if mark and None not in key.shardings else ()
    # "a#0" also begins "a#01", which is how the plain key "a" is stored in shard 1 and which does not begin with it.
    mistaken = tuple(each for each in stored if each.stored.get("S", "").startswith(prefix))
    return And((condition, Not(In(path, mistaken)))) if mistaken else condition
