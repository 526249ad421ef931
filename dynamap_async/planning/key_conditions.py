"""Splitting: what becomes of a query's conditions on the way through one key, of the table or of an index."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dynamap_async.errors import ExpressionError
from dynamap_async.expressions import Comparison, Condition, In, Or, Value, paths_in
from dynamap_async.models import Definition
from dynamap_async.planning.clauses import fixing_of, is_equality, is_sort_condition, merged, named
from dynamap_async.planning.route import PartitionCondition, Route, distinct_values
from dynamap_async.planning.template_ranges import Served
from dynamap_async.planning.templated_keys import TemplatedKey, field_of, templated_key
from dynamap_async.schema import IndexSchema, KeySchema


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
