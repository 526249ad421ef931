"""Kinds in operations: which items of a shared table a read gives out, and which ones a write may change."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from dynamap_async.codec import text
from dynamap_async.errors import OperationError
from dynamap_async.expressions import Between, Comparison, Condition, Function, In, Or, Path, Value
from dynamap_async.limits import IN_OPERANDS
from dynamap_async.models import UNMARKED, Definition, Kind, Prefix, Table, definition_of
from dynamap_async.planning.clauses import is_equality
from dynamap_async.planning.presence import is_stored, not_stored
from dynamap_async.planning.route import Route
from dynamap_async.wire import Body, WireItem

Keeps = Callable[[WireItem], bool]
Sieve = Callable[[Body], Body]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which kinds of item a read gives out."""

    table: Table
    owner: type[Any]
    """The model that conditions are spelled with."""
    kinds: tuple[Kind, ...]
    excluded: bool = False
    """Whether these are the kinds that are left out; otherwise they are all that is given out."""

    @property
    def path(self) -> Path:
        """The path of the attribute that tells the kind."""
        return Path(self.owner, (self.table.attribute,), self.table.attribute, text())

    def keeps(self, item: WireItem) -> bool:
        """Return whether an item is to be given out."""
        return (self.table.kind_of(item) in self.kinds) is not self.excluded

    def sifted(self, answer: Body) -> Body:
        """Return an answer without the items that are not to be given out."""
        kept = [item for item in answer.get("Items", ()) if self.keeps(item)]
        return {**answer, "Items": kept, "Count": len(kept)}

    @property
    def condition(self) -> Condition | None:
        """The condition that an item is to be given out; None where every item is."""
        if not self.kinds:
            return None
        found = of_kinds(self.table, self.path, self.kinds)
        return ~found if self.excluded else found


@dataclass(frozen=True, slots=True)
class Narrowing:
    """How a read through one route leaves out items of other kinds."""

    route: Route
    """The route, with what DynamoDB checks."""
    sieve: Sieve | None = None
    """What is done with each answer where the kind is in a key, which DynamoDB does not filter by."""
    keeps: Keeps | None = None
    """Tells of a whole item that completes an index entry whether it is given out, where the entry does not."""
    attribute: str | None = None
    """The stored name of the key attribute that is sifted by."""


def selection_of(definitions: Sequence[Definition[Any]], *, sees_unknown: bool) -> Selection | None:
    """Return which kinds a read of these models gives out; None where they share no table.

    Args:
        definitions: the models.
        sees_unknown: whether items of no known model are read too.
    """
    kinds = definitions[0].kinds
    if kinds is None:
        return None
    wanted = tuple(dict.fromkeys(kind for each in definitions for kind in each.family))
    if not sees_unknown:
        return Selection(kinds.table, kinds.model, wanted)
    others = tuple(kind for kind in kinds.table.models if kind not in wanted)
    return Selection(kinds.table, kinds.model, others, excluded=True)


def narrowed(selection: Selection | None, route: Route, *, scan: bool, told: bool) -> Narrowing:
    """Return how a read leaves out the items that are not selected.

    Args:
        selection: what is given out.
        route: the way that the read takes.
        scan: whether it is a scan, which filters by keys too.
        told: whether what is read holds the attribute that tells the kind.
    """
    condition = None if selection is None else selection.condition
    if selection is None or condition is None:
        return Narrowing(route)
    if not told:
        return Narrowing(route, keeps=selection.keeps)
    if scan or selection.table.attribute not in route.keys.names:
        return Narrowing(replace(route, filters=(*route.filters, condition)))
    if _decided(selection, route):
        return Narrowing(route)
    if isinstance(selection.table.discriminator, Prefix) and not selection.excluded and len(selection.kinds) == 1:
        names = [attribute.name for attribute in route.keys.sort]
        here = names.index(selection.table.attribute) if selection.table.attribute in names else None
        if here == len(route.sort) and all(map(is_equality, route.sort)):
            return Narrowing(replace(route, sort=(*route.sort, condition)))
        if here is not None and here < len(route.sort) and implies(route.sort[here], str(selection.kinds[0])):
            return Narrowing(route)
    return Narrowing(route, sieve=partial(Selection.sifted, selection), attribute=selection.table.attribute)


def _decided(selection: Selection, route: Route) -> bool:
    """Return whether the key condition gives the attribute that tells the kind no value but of what is selected."""
    for condition in route.key_conditions:
        match condition:
            case Comparison(comparator="=", left=Path() as path, right=Value() as value):
                values: tuple[Value, ...] = (value,)
            case In(operand=Path() as path, values=values):
                pass
            case _:
                continue
        if path.attribute == selection.table.attribute:
            return all(selection.keeps({path.attribute: each.stored}) for each in values)
    return False


def both(first: Sieve | None, second: Sieve | None) -> Sieve | None:
    """Return what does with an answer what two sieves do, of which either may be missing."""
    if first is None or second is None:
        return first or second
    return lambda answer: second(first(answer))


def implies(condition: Condition, prefix: str) -> bool:
    """Return whether a condition on text holds of nothing but what begins with a prefix."""
    match condition:
        case Or(parts=parts):
            return all(implies(part, prefix) for part in parts)
        case Comparison(comparator="=", right=Value(stored={"S": str(value)})):
            return value.startswith(prefix)
        case Between(low=Value(stored={"S": str(low)}), high=Value(stored={"S": str(high)})):
            return low.startswith(prefix) and high.startswith(prefix)
        case Function(name="begins_with", arguments=(Value(stored={"S": str(value)}),)):
            return value.startswith(prefix)
        case _:
            return False


def of_kinds(table: Table, path: Path, kinds: Sequence[Kind]) -> Condition:
    """Return the condition that an item is of one of these kinds."""
    values = tuple(Value({"S": kind}) for kind in kinds if isinstance(kind, str))
    parts: list[Condition] = []
    if isinstance(table.discriminator, Prefix):
        parts = [Function("begins_with", path, (value,)) for value in values]
    elif len(values) == 1:
        parts = [Comparison("=", path, values[0])]
    else:
        parts = [In(path, values[at : at + IN_OPERANDS]) for at in range(0, len(values), IN_OPERANDS)]
    if UNMARKED in kinds:
        parts.append(Function("attribute_not_exists", path))
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def of_own_kind(definition: Definition[Any], *, or_absent: bool) -> tuple[Condition, ...]:
    """Return the conditions that the stored item is of the model or of its family.

    Args:
        definition: the model.
        or_absent: whether there may also be no item.
    """
    kinds = definition.kinds
    if kinds is None or isinstance(kinds.table.discriminator, Prefix):
        return () if or_absent else (is_stored(definition),)
    selection = Selection(kinds.table, kinds.model, tuple(kinds.family))
    own = of_kinds(kinds.table, selection.path, selection.kinds)
    if UNMARKED in selection.kinds:  # an item that does not exist has no marker either
        return (own,) if or_absent else (is_stored(definition), own)
    return (not_stored(definition) | own,) if or_absent else (own,)


def subclasses_of(definition: Definition[Any]) -> Iterator[Definition[Any]]:
    """Give the definitions of the other models whose items a model of a shared table reads."""
    return (definition_of(model) for model in definition.family.values() if model is not definition.model)


def check_written_by_key(definition: Definition[Any], *, deletes: bool) -> None:
    """Refuse a write by key through a base where a subclass keeps what the base knows nothing of.

    Args:
        definition: the base, or any model.
        deletes: whether the item is removed, and its version with it.

    Raises:
        OperationError: a subclass has a version or unique values that its base does not have.
    """
    if definition.kinds is None:
        return
    own = {each.name for each in definition.uniques}
    for member in subclasses_of(definition):
        kept = [each.name for each in member.uniques if each.name not in own]
        if member.version is not None and definition.version is None and not deletes:
            kept.append(member.version.name)
        if kept:
            name = member.model.__name__
            raise OperationError(
                f"the key may be that of a {name}, whose {kept[0]} a write through {definition.model.__name__} would "
                f"not keep; write it as {name}, or give the item itself, read before"
            )
