"""Namespaces: the keys of a shared table that the templates of some models make, and nobody else's."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dynamap_async.expressions import Between, Comparison, Condition, Function, In, Or, Value
from dynamap_async.models import Definition
from dynamap_async.models.templates import after_all
from dynamap_async.planning.clauses import is_equality
from dynamap_async.planning.kinds import implies
from dynamap_async.planning.route import Route
from dynamap_async.planning.templated_keys import field_of, templated_key


def within_namespace(route: Route, definitions: Sequence[Definition[Any]]) -> Route:
    """Return a route that reads only keys that the models' templates make, as far as a condition can say so.

    Args:
        route: a route through one key.
        definitions: the models that are read.
    """
    sort = [*route.sort]
    for attribute in route.keys.sort[len(sort) :]:
        key = templated_key(definitions, attribute.name) if not sort or is_equality(sort[-1]) else None
        namespace = None if key is None else key.namespace
        if namespace is None:
            break
        sort.append(namespace)
    return replace(route, sort=tuple(sort))


def is_own_namespace(route: Route, definitions: Sequence[Definition[Any]]) -> bool:
    """Return whether a route reads a part of a key in which no other model that is known has items.

    Args:
        route: a route through one key.
        definitions: the models that are read.
    """
    others = _others(definitions)
    if others and any(_is_only_theirs(attribute.name, others) for attribute in route.keys.attributes):
        return True
    for attribute, condition in zip(route.keys.attributes, route.key_conditions, strict=False):
        key = templated_key(definitions, attribute.name)
        namespace = None if key is None else key.namespace
        if (
            namespace is not None
            and _lies_in(condition, _text(namespace))
            and not any(_meets(each, attribute.name, namespace) for each in others)
        ):
            return True
    return False


def _is_only_theirs(attribute: str, others: Sequence[Definition[Any] | None]) -> bool:
    """Return whether none of the other models has an attribute of a key, so that its items are not in the index."""
    return all(other is not None and field_of(other, attribute) is None for other in others)


def _text(namespace: Condition) -> str:
    match namespace:
        case Comparison(right=Value(stored={"S": str(text)})) | Function(arguments=(Value(stored={"S": str(text)}),)):
            return text
        case _:
            raise TypeError(f"{namespace} is no namespace")


def _lies_in(condition: Condition, text: str) -> bool:
    """Return whether a condition selects keys that begin with a text, and at most the one behind all of them."""
    match condition:
        case Or(parts=parts):
            return all(_lies_in(part, text) for part in parts)
        case In(values=values):
            return all(value.stored.get("S", "").startswith(text) for value in values)
        case Between(low=Value(stored={"S": str(low)}), high=Value(stored={"S": str(high)})) if high == after_all(text):
            return low.startswith(text)
        case _:
            return implies(condition, text)


def _others(definitions: Sequence[Definition[Any]]) -> list[Definition[Any] | None]:
    """Return the other models of a shared table; None for one that is not complete yet."""
    kinds = definitions[0].kinds
    if kinds is None:
        return []
    own = {model for definition in definitions for model in definition.family.values()}
    return [model.__dict__.get("__dynamap_definition__") for model in kinds.table.models.values() if model not in own]


def _meets(other: Definition[Any] | None, attribute: str, namespace: Condition) -> bool:
    """Return whether keys of another model may lie in a namespace."""
    field = None if other is None else field_of(other, attribute)
    if other is None or field is None:
        return other is None  # without the field, its items are not in the index
    if field.template is None:
        return True
    begun, text = field.template.prefix({}), _text(namespace)
    if not field.template.parts:
        return begun == text if isinstance(namespace, Comparison) else begun.startswith(text)
    return text.startswith(begun) or (begun.startswith(text) and not isinstance(namespace, Comparison))
