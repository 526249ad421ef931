"""Shared tables: which items of them a read gives out, which ones a write may change, and which keys are whose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from dynamap_async.codec import text
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import OperationError
from dynamap_async.expressions import And, Between, Comparison, Condition, Function, In, Or, Path, Value, paths_in
from dynamap_async.models import (
    UNMARKED,
    AttributeShape,
    ByKeys,
    Definition,
    Kind,
    Model,
    Prefix,
    Table,
    Unmarked,
    definition_of,
)
from dynamap_async.planning.existence import not_stored
from dynamap_async.planning.key_conditions import implies_prefix, is_equality, is_within
from dynamap_async.planning.plan import Route
from dynamap_async.planning.templated_keys import field_of, templated_key
from dynamap_async.request import AnswerFilter
from dynamap_async.wire import Body, WireItem, WireKey

Keeps = Callable[[WireItem], bool]


@dataclass(frozen=True, slots=True)
class KindSelection:
    """The kinds of items that a read returns."""

    table: Table
    owner: type[Any]
    """The model that conditions are spelled with."""
    kinds: tuple[Kind, ...]
    excluded: bool = False
    """Whether these are the kinds that are left out; otherwise they are all that is given out."""

    @property
    def path(self) -> Path:
        """The path of the attribute that tells the kind."""
        return self.path_of(self.table.attribute or "")

    def path_of(self, attribute: str) -> Path:
        """Return the path of a text attribute of the table."""
        return Path(self.owner, (attribute,), attribute, text())

    def keeps(self, item: WireItem) -> bool:
        """Return whether an item is returned. One that may be of several kinds is, and decoding it raises the error."""
        found = self.table.kinds_of(item)
        if self.excluded:
            return not found or any(kind not in self.kinds for kind in found)
        return any(kind in self.kinds for kind in found)

    def without_others(self, answer: Body) -> Body:
        """Return an answer without the items of other kinds."""
        kept = [item for item in answer.get("Items", ()) if self.keeps(item)]
        return {**answer, "Items": kept, "Count": len(kept)}

    @property
    def condition(self) -> Condition:
        """The condition on the attribute that tells the kind."""
        found = kind_condition(self.table, self.path, self.kinds)
        return ~found if self.excluded else found

    def condition_by_keys(
        self, unfiltered: Sequence[str], key_conditions: Sequence[Condition]
    ) -> tuple[Condition | None, bool]:
        """Return a condition that every selected item meets, and whether no other item does.

        Args:
            unfiltered: the attributes that DynamoDB does not filter by in this read.
            key_conditions: what is known to hold of those.
        """
        marked = tuple(kind for kind in self.kinds if isinstance(kind, str))
        filters_kind = self.table.attribute is not None and self.table.attribute not in unfiltered
        if marked and not filters_kind:
            return None, False
        parts = [kind_condition(self.table, self.path, marked)] if marked else []
        exact = filters_kind or not isinstance(self.table.discriminator, str)
        others = [kind for kind in self.kinds if isinstance(kind, ByKeys)]
        if self.excluded:  # what is left out by a condition has to be of these kinds for certain
            return (~parts[0] if parts else None), not others
        for kind in others:
            by_marker = filters_kind and isinstance(self.table.discriminator, str)
            found: list[Condition] = [Function("attribute_not_exists", self.path)] if by_marker else []
            for each in kind.shapes.attributes if self.table.tells_by_key(kind) else ():
                if _are_of_shape(each, key_conditions):
                    continue
                begun, whole = each.begins
                if begun and each.name not in unfiltered:
                    path, value = self.path_of(each.name), Value({"S": begun})
                    found.append(Comparison("=", path, value) if whole else Function("begins_with", path, (value,)))
                exact &= (each.is_prefix or whole) and (not begun or each.name not in unfiltered)
            exact &= not (isinstance(kind, Unmarked) or kind.shapes.shared or self.table.is_doubted(kind))
            if not found:
                return None, exact and len(self.kinds) == 1
            parts.append(found[0] if len(found) == 1 else And(tuple(found)))
        return parts[0] if len(parts) == 1 else Or(tuple(parts)), exact


def _are_of_shape(attribute: AttributeShape, conditions: Sequence[Condition]) -> bool:
    """Return whether only texts of a shape meet the conditions on an attribute."""
    return attribute.tag == "S" and any(
        _is_of_shape(attribute, each)
        for each in conditions
        for path in paths_in(each)
        if path.attribute == attribute.name
    )


def _is_of_shape(attribute: AttributeShape, condition: Condition) -> bool:
    match condition:
        case Or(parts=parts):
            return all(_is_of_shape(attribute, part) for part in parts)
        case Comparison(comparator="=", right=Value(stored={"S": str(value)})):
            return attribute.shape.holds(value)
        case In(values=values):
            return all(attribute.shape.holds(value.stored.get("S", "")) for value in values)
        case _:
            return attribute.is_prefix and implies_prefix(condition, attribute.begins[0])


@dataclass(frozen=True, slots=True)
class KindFilter:
    """How a read through one route leaves out items of other kinds."""

    route: Route
    """The route, with what DynamoDB checks."""
    answer_filter: AnswerFilter | None = None
    """What is done with each answer where the kind is in a key, which DynamoDB does not filter by."""
    keeps: Keeps | None = None
    """Returns whether a whole item is kept that completes an index entry without its kind."""
    attribute: str | None = None
    """The stored name of the key attribute by which answers are filtered."""


def select_kinds(definitions: Sequence[Definition[Any]], *, sees_unknown: bool) -> KindSelection | None:
    """Return the kinds that a read of these models returns; None where they share no table.

    Args:
        sees_unknown: whether items of no known model are read too.
    """
    kinds = definitions[0].kinds
    if kinds is None:
        return None
    wanted = tuple(dict.fromkeys(kind for each in definitions for kind in each.family))
    if not sees_unknown:
        return KindSelection(kinds.table, kinds.model, wanted)
    # Unknown kinds cannot be listed, so the known ones that are not wanted are excluded instead.
    others = tuple(kind for kind in kinds.table.models if kind not in wanted)
    return KindSelection(kinds.table, kinds.model, others, excluded=True)


def filter_kinds(selection: KindSelection | None, route: Route, *, scan: bool, sees_kind: bool) -> KindFilter:
    """Return how a read leaves out the items that are not selected.

    Args:
        scan: whether it is a scan, which filters by keys too.
        sees_kind: whether what is read holds the attribute that tells the kind.
    """
    if selection is None or not selection.kinds:
        return KindFilter(route)
    # Index entries without the kind are completed from the table, and looked at then.
    if not sees_kind:
        return KindFilter(route, keeps=selection.keeps)
    if selection.table.tells_by_keys:
        return _filter_by_keys(selection, route, () if scan else route.keys.names)
    condition = selection.condition
    # A filter of Query may not name a key attribute; a filter of Scan may.
    if scan or selection.table.attribute not in route.keys.names:
        return KindFilter(replace(route, filters=(*route.filters, condition)))
    if _key_decides_kind(selection, route):
        return KindFilter(route)
    narrowed = _narrowed_to_prefix(selection, route, condition)
    if narrowed is not None:
        return KindFilter(narrowed)
    return KindFilter(route, answer_filter=selection.without_others, attribute=selection.table.attribute)


def _narrowed_to_prefix(selection: KindSelection, route: Route, condition: Condition) -> Route | None:
    """Return the route narrowed to the sort key prefix of the one selected kind; None where there is none."""
    if not isinstance(selection.table.discriminator, Prefix) or selection.excluded or len(selection.kinds) != 1:
        return None
    names = [attribute.name for attribute in route.keys.sort]
    here = names.index(selection.table.attribute) if selection.table.attribute in names else None
    if here == len(route.sort) and all(map(is_equality, route.sort)):
        return replace(route, sort=(*route.sort, condition))
    if here is not None and here < len(route.sort) and implies_prefix(route.sort[here], str(selection.kinds[0])):
        return route
    return None


def _filter_by_keys(selection: KindSelection, route: Route, unfiltered: Sequence[str]) -> KindFilter:
    """Return how a read leaves out other kinds in a table where keys tell the kinds of some items."""
    condition, exact = selection.condition_by_keys(unfiltered, route.key_conditions)
    if condition is not None:
        route = replace(route, filters=(*route.filters, condition))
    if exact:
        return KindFilter(route)
    return KindFilter(route, answer_filter=selection.without_others, attribute="what tells them")


def _key_decides_kind(selection: KindSelection, route: Route) -> bool:
    """Return True if the key condition selects no item of another kind."""
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


def both_filters(first: AnswerFilter | None, second: AnswerFilter | None) -> AnswerFilter | None:
    """Return a filter of answers that applies both, of which either may be missing."""
    if first is None or second is None:
        return first or second
    return lambda answer: second(first(answer))


def kind_condition(table: Table, path: Path, kinds: Sequence[Kind]) -> Condition:
    """Return the condition that an item is of one of these kinds."""
    values = tuple(Value({"S": kind}) for kind in kinds if isinstance(kind, str))
    parts: list[Condition] = []
    if isinstance(table.discriminator, Prefix):
        parts = [Function("begins_with", path, (value,)) for value in values]
    elif len(values) == 1:
        parts = [Comparison("=", path, values[0])]
    elif values:
        parts = [In(path, values)]
    if any(isinstance(kind, Unmarked) for kind in kinds):
        parts.append(Function("attribute_not_exists", path))
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def own_kind_conditions(definition: Definition[Any], *, or_absent: bool) -> tuple[Condition, ...]:
    """Return the conditions that the stored item is of the model or of its family.

    Args:
        or_absent: whether there may also be no item.
    """
    kinds = definition.kinds
    if kinds is None or not isinstance(kinds.table.discriminator, str):
        return () if or_absent else (definition.is_stored,)
    # Whether a key is one of those that tell the kind was looked at when it was made.
    told = tuple(dict.fromkeys(kind if isinstance(kind, str) else UNMARKED for kind in kinds.family))
    selection = KindSelection(kinds.table, kinds.model, told)
    own = kind_condition(kinds.table, selection.path, selection.kinds)
    if UNMARKED in selection.kinds:  # an item that does not exist has no marker either
        return (own,) if or_absent else (definition.is_stored, own)
    return (not_stored(definition) | own,) if or_absent else (own,)


def own_conditions(
    definition: Definition[Any], key: WireKey, condition_of: Callable[[Definition[Any]], Condition | None]
) -> tuple[Condition, ...]:
    """Return the conditions that the item's own model, perhaps a subclass, requires of the stored item.

    Args:
        definition: the model that it is written through.
        condition_of: gives what a model asks of its items; None where it asks nothing.
    """
    kinds = definition.kinds
    if kinds is None:
        alone = condition_of(definition)
        return () if alone is None else (alone,)
    by_key = kinds.of(key)  # unless the item has a marker
    has_marker = isinstance(kinds.table.discriminator, str)
    asked: list[tuple[Condition | None, list[Kind]]] = []
    for kind, model in kinds.family.items():
        if model is by_key or (has_marker and isinstance(kind, str)):
            condition = condition_of(definition_of(model))
            # Models of a family that ask for the same share one condition, so that the expression stays short.
            same = next((others for other, others in asked if other == condition), None)
            if same is None:
                asked.append((condition, same := []))
            same.append(kind if isinstance(kind, str) else UNMARKED)
    if len(asked) == 1:
        return tuple(condition for condition, _ in asked if condition is not None)
    path = KindSelection(kinds.table, kinds.model, ()).path
    return tuple(
        ~kind_condition(kinds.table, path, those) | condition for condition, those in asked if condition is not None
    )


def checked_collection(models: Sequence[type[Model]]) -> tuple[type[Model], ...]:
    """Return the models of an entity collection, checked to share one table.

    Raises:
        OperationError: they do not share one table, one is named twice, or they disagree on hiding expired items.
    """
    names = ", ".join(model.__name__ for model in models)
    definitions = [definition_of(model) for model in models]
    tables = {None if each.kinds is None else each.kinds.table for each in definitions}
    if len(tables) > 1 or None in tables:
        raise OperationError(
            f"{names} do not share a Table, so no query can read them together; declare SHOP = Table(...) and class "
            "...(Model, table=SHOP) for each, or send a query for each with session.gather(...)"
        )
    if len(set(models)) < len(models):
        raise OperationError(f"the query on {names} names a model twice; name each once")
    if len({None if each.expiry is None else each.expiry.stored for each in definitions}) > 1:
        raise OperationError(
            f"some of {names} hide expired items and others do not; give all of them hide_expired=True, or query them "
            "separately"
        )
    return tuple(models)


def subclass_definitions(definition: Definition[Any]) -> Iterator[Definition[Any]]:
    """Yield the definitions of the other models whose items a model of a shared table reads."""
    return (definition_of(model) for model in definition.family.values() if model is not definition.model)


def check_written_by_key(definition: Definition[Any], *, deletes: bool) -> None:
    """Raise OperationError for a write by key through a base if a subclass has a version or unique values of its own.

    Args:
        deletes: whether the item is removed, and its version with it.

    Raises:
        OperationError: a subclass has a version or unique values that its base does not have.
    """
    if definition.kinds is None:
        return
    own = {each.name for each in definition.uniques}
    for member in subclass_definitions(definition):
        # A write by key does not read the item: the guards of a subclass's unique values would stay behind, and its
        # version would not count up.
        kept = [each.name for each in member.uniques if each.name not in own]
        if member.version is not None and definition.version is None and not deletes:
            kept.append(member.version.name)
        if kept:
            name = member.model.__name__
            raise OperationError(
                f"the item may be a {name}, and a write by key through {definition.model.__name__} would lose its "
                f"{kept[0]}; write it as {name}, or pass an instance that was read"
            )


def restrict_to_namespace(route: Route, definitions: Sequence[Definition[Any]]) -> Route:
    """Return the route, narrowed to the keys that the models can make.

    Items of other models in the same partition are then not read where the templates of the key tell them apart.
    """
    if definitions[0].kinds is None:
        return route
    sort = [*route.sort]
    for attribute in route.keys.sort[len(sort) :]:
        key = templated_key(definitions, attribute.name) if not sort or is_equality(sort[-1]) else None
        namespace = None if key is None else key.namespace
        if namespace is None:
            break
        sort.append(namespace)
    return replace(route, sort=tuple(sort))


def is_own_namespace(route: Route, definitions: Sequence[Definition[Any]]) -> bool:
    """Return whether a route reads a part of a key in which no other known model has items."""
    others = _other_models(definitions)
    if others and any(_is_in_none_of(attribute.name, others) for attribute in route.keys.attributes):
        return True
    # Its part of one key attribute is enough: what other models write there lies elsewhere.
    for attribute, condition in zip(route.keys.attributes, route.key_conditions, strict=False):
        key = templated_key(definitions, attribute.name)
        namespace = None if key is None else key.namespace
        if (
            namespace is not None
            and not isinstance(namespace, Between)
            and is_within(condition, _text(namespace))
            and not any(_may_overlap(each, attribute.name, namespace) for each in others)
        ):
            return True
    return False


def _is_in_none_of(attribute: str, others: Sequence[Definition[Any] | None]) -> bool:
    """Return True if none of the other models has an attribute of a key, so that their items are not in the index."""
    return all(other is not None and field_of(other, attribute) is None for other in others)


def _text(namespace: Condition) -> str:
    match namespace:
        case Comparison(right=Value(stored={"S": str(text)})) | Function(arguments=(Value(stored={"S": str(text)}),)):
            return text
        case _:
            raise TypeError(f"{namespace} is not a namespace")


def _other_models(definitions: Sequence[Definition[Any]]) -> list[Definition[Any] | None]:
    """Return the other models of a shared table; None for one that is not complete yet."""
    kinds = definitions[0].kinds
    if kinds is None:
        return []
    own = {model for definition in definitions for model in definition.family.values()}
    return [model.__dict__.get("__dynamap_definition__") for model in kinds.table.models.values() if model not in own]


def _may_overlap(other: Definition[Any] | None, attribute: str, namespace: Condition) -> bool:
    """Return whether keys of another model may lie in a namespace."""
    field = None if other is None else field_of(other, attribute)
    if other is None or field is None:
        return other is None  # without the field, its items are not in the index
    if field.template is None:
        return True
    begun, text = field.template.prefix({}), _text(namespace)
    if not field.template.parts:
        return begun == text if isinstance(namespace, Comparison) else begun.startswith(text)
    # One beginning is part of the other, so a key may have both.
    return text.startswith(begun) or (begun.startswith(text) and not isinstance(namespace, Comparison))
