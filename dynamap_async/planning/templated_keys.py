"""Templated keys: the key attributes that the models of a read make of fields, each by its own template.

One query reads them all, so what their templates make of the conditions has to come to one key condition.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dynamap_async.errors import OperationError
from dynamap_async.expressions import Between, Comparison, Condition, Function, Path, Value
from dynamap_async.models import Definition, FieldPlan, definition_of
from dynamap_async.models.templates import after_all
from dynamap_async.planning.clauses import named
from dynamap_async.planning.template_ranges import Maker, Served, serve


@dataclass(frozen=True, slots=True)
class TemplatedKey:
    """A key attribute that is made of fields."""

    makers: tuple[Maker, ...]
    """The ways in which the models make it."""

    @property
    def path(self) -> Path:
        """Its path, as the first model has it."""
        return self.makers[0].path

    @property
    def parts(self) -> str:
        """The names of the fields that it is made of, for messages; empty for a constant."""
        return " and ".join(self.makers[0].template.names)

    @property
    def namespace(self) -> Condition | None:
        """The condition that holds of all keys that the templates make; None where nothing is common to them."""
        texts = [maker.template.prefix({}) for maker in self.makers]
        if not any(maker.template.parts for maker in self.makers) and len(set(texts)) == 1:
            return Comparison("=", self.path, Value({"S": texts[0]}))
        return _beginning(self.path, text) if (text := _common(texts)) else None

    def place(self, condition: Condition) -> int | None:
        """Return the place of the part that a condition compares with constants; None if it does not name one."""
        maker, name = self.makers[0], named(condition)
        places = (i for i, part in enumerate(maker.template.parts) if maker.source(part).stored == name)
        return next(places, None)

    def partition(self, conditions: Sequence[Condition]) -> Served | None:
        """Return the equality, or equalities, that conditions on all parts make; None where they do not.

        Raises:
            EncodeError: a value cannot be part of the key.
            OperationError: the models make different keys of the values.
        """
        found: list[Served] = []
        for maker in self.makers:
            served = serve(maker, conditions, whole=True)
            if served is None:
                return None
            found.append(served)
        for maker, served in zip(self.makers, found, strict=True):
            if served.conditions != found[0].conditions:
                if not found[0].used:
                    return None
                raise OperationError(
                    f"{self.makers[0].name} and {maker.name} make different keys of the same values, "
                    f"{_texts(found[0])} and {_texts(served)}, so one query does not read both; query each by itself, "
                    "and put the results together"
                )
        return _of_all(found)

    def sort(self, conditions: Sequence[Condition], spent: Sequence[Condition] = ()) -> Served | None:
        """Return what conditions on parts select of a sort key; None where that is all of it.

        Args:
            conditions: on any attributes.
            spent: the ``is_in`` conditions that make several queries already.

        Raises:
            EncodeError: a value cannot be part of the key.
            OperationError: no item can satisfy the conditions.
        """
        found: list[Served] = []
        for maker in self.makers:
            served = serve(maker, conditions, spent=spent)
            if served is None:
                return None
            found.append(served)
        if all(served.conditions == found[0].conditions for served in found):
            return _of_all(found)
        used = min(served.used for served in found)
        condition = self._covering(found) if used else None
        # Where the keys go on differently, another value of a part could begin alike: the filter checks them all.
        return None if condition is None else Served(conditions=(condition,), asked=found[0].asked, used=used)

    def _covering(self, found: Sequence[Served]) -> Condition | None:
        """Return a key condition that all keys meet which meet one of several; None where it is no narrower."""
        if any(isinstance(condition, Between) for served in found for condition in served.conditions):
            ends = [ends for served in found if (ends := _ends_of(served)) is not None]
            if len(ends) < len(found):
                return None
            low, high = min(low for low, _ in ends), max(high for _, high in ends)
            return Between(self.path, Value({"S": low}), Value({"S": high}))
        texts = [beginning for served in found if (beginning := _beginning_of(served)) is not None]
        text = _common(texts) if texts else ""
        shared = len(_common([maker.template.prefix({}) for maker in self.makers]))
        return _beginning(self.path, text) if len(texts) == len(found) and len(text) > shared else None


def templated_key(definitions: Sequence[Definition[Any]], attribute: str) -> TemplatedKey | None:
    """Return a key attribute that all models, and their subclasses in the same table, make by templates.

    Args:
        definitions: the models.
        attribute: the stored name of the attribute.
    """
    if all(definition.computed is None for definition in definitions):
        return None
    makers: list[Maker] = []
    path = _path(definitions, attribute)
    for definition in _families(definitions):
        field = field_of(definition, attribute)
        if path is None or field is None or field.template is None:
            return None
        maker = Maker(definition, field.template, path)
        if not any(maker.likeness == other.likeness for other in makers):  # most of a family inherit what they have
            makers.append(maker)
    return TemplatedKey(tuple(makers))


def _path(definitions: Sequence[Definition[Any]], attribute: str) -> Path | None:
    first = definitions[0]
    return first.path(first.field_names[attribute]) if attribute in first.field_names else None


def field_of(definition: Definition[Any], attribute: str) -> FieldPlan | None:
    """Return the field that is stored under a name; None if there is none."""
    name = definition.field_names.get(attribute)
    return None if name is None else definition.fields[name]


def _families(definitions: Sequence[Definition[Any]]) -> list[Definition[Any]]:
    """Return the models whose items are read: a base that is abstract has none of its own."""
    found: dict[type[Any], Definition[Any]] = {}
    for definition in definitions:
        members = [definition_of(model) for model in definition.family.values()]
        own = [definition] if definition.kind is not None or not members else []
        for each in (*own, *members):
            found.setdefault(each.model, each)
    return [*found.values()]


def _of_all(found: Sequence[Served]) -> Served:
    """Return what all templates have in common, where they make the same key conditions."""
    first = found[0]
    return Served(
        conditions=first.conditions,
        asked=first.asked,
        exact=tuple(each for each in first.exact if all(each in other.exact for other in found)),
        used=first.used,
        fixed=min(served.fixed for served in found),
        spread=first.spread,
        whole=all(served.whole for served in found),
    )


def _beginning(path: Path, text: str) -> Function:
    return Function("begins_with", path, (Value({"S": text}),))


def _beginning_of(served: Served) -> str | None:
    """Return how all keys begin that meet the only key condition; None where it does not tell."""
    match served.conditions:
        case [Comparison(comparator="=", right=Value(stored={"S": str(text)}))]:
            return text
        case [Function(arguments=(Value(stored={"S": str(text)}),))]:
            return text
        case _:
            return None


def _ends_of(served: Served) -> tuple[str, str] | None:
    """Return the first and the last key that meet the only key condition; None where it does not tell."""
    match served.conditions:
        case [Between(low=Value(stored={"S": str(low)}), high=Value(stored={"S": str(high)}))]:
            return low, high
        case [Comparison(comparator="=", right=Value(stored={"S": str(text)}))]:
            return text, text
        case _:
            first = _beginning_of(served)
            last = None if first is None else after_all(first)
            return None if first is None or last is None else (first, last)


def _common(texts: Sequence[str]) -> str:
    """Return how all texts begin."""
    first, *others = texts
    length = 0
    while length < len(first) and all(other.startswith(first[: length + 1]) for other in others):
        length += 1
    return first[:length]


def _texts(served: Served) -> str:
    return " and ".join(
        str(each.right) for each in served.conditions if isinstance(each, Comparison) and isinstance(each.right, Value)
    )
