"""Templated keys: what conditions on the fields that a key is made of select of the key.

Conditions count from the left, as far as ``==`` or ``is_in`` fix each part; then one range or ``begins_with`` on the
part that follows. What the key selects is never less than what the conditions say; which of them it answers exactly,
so that no filter has to ask again, is said with it. A query on several models reads them all by one key condition, so
what their templates make of the conditions has to come to one.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, Final, NamedTuple, TypeAlias

from dynamap_async.errors import EncodeError, OperationError
from dynamap_async.expressions import Between, Comparison, Condition, Function, In, Path, Value
from dynamap_async.models import Definition, FieldPlan, definition_of
from dynamap_async.models.templates import KeyTemplate, Part, after_all
from dynamap_async.planning.key_conditions import QUERIES, distinct, empty_range, fixing_of, named, too_many_queries

Leading: TypeAlias = Mapping[str, Any]
_End: TypeAlias = tuple[Value, bool]
_SIGMA: Final = "Σ"


@dataclass(frozen=True, slots=True)
class Maker:
    """How one model makes a key attribute."""

    definition: Definition[Any]
    template: KeyTemplate
    path: Path
    """The key attribute, as conditions on it name it."""

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.definition.model.__name__

    @property
    def likeness(self) -> tuple[object, ...]:
        """What is the same of two models that make the same keys of the same conditions."""
        fields = [self.source(part) for part in self.template.parts]
        stored = [(field.stored, field.annotation, field.converter.label, field.converter.tags) for field in fields]
        return self.template.pattern, [part.escaping for part in self.template.parts], stored

    def source(self, part: Part) -> FieldPlan:
        """Return the field that a part is."""
        return self.definition.fields[part.name]

    def on(self, part: Part, conditions: Sequence[Condition]) -> list[Condition]:
        """Return the conditions that compare a part with constants other than NULL."""
        stored = self.source(part).stored
        return [each for each in conditions if named(each) == stored and not _is_null(each)]

    def value(self, part: Part, constant: Value) -> Any:
        """Return the Python value of a constant that a part is compared with."""
        return self.source(part).converter.decode(constant.stored)


def _is_null(condition: Condition) -> bool:
    return isinstance(condition, Comparison) and isinstance(condition.right, Value) and "NULL" in condition.right.stored


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What a template makes of conditions on its parts."""

    conditions: tuple[Condition, ...]
    """On the key attribute: one, or one for each combination of ``is_in`` values."""
    asked: tuple[Condition, ...] = ()
    """The conditions on parts that these are made of."""
    exact: tuple[Condition, ...] = ()
    """Those of them that need no further check."""
    used: int = 0
    """How many parts they fix or bound; 0 for a constant."""
    fixed: int = 0
    """How many leading parts have one value in all of the result."""
    spread: tuple[tuple[str, ...], ...] = ()
    """The texts of each part that has several, in order."""
    whole: bool = False
    """Whether every part is fixed, so that the conditions are equalities."""


class _Bound(NamedTuple):
    """One end of a range."""

    text: bytes
    inclusive: bool
    value: Any


_OPEN: Final = _Bound(b"", True, None)


@dataclass(frozen=True, slots=True)
class _Next:
    """What conditions on the part behind the fixed ones say."""

    make: Callable[[Leading], Condition]
    asked: tuple[Condition, ...]
    exact: tuple[Condition, ...]


def serve(
    maker: Maker, conditions: Sequence[Condition], *, spent: Sequence[Condition] = (), whole: bool = False
) -> Served | None:
    """Return what a template makes of conditions; None where it makes nothing of them.

    Args:
        maker: the template.
        conditions: on any attributes.
        spent: the ``is_in`` conditions that make several queries already.
        whole: whether nothing less than the whole key will do.

    Raises:
        EncodeError: a value cannot be part of the key; the error names the model and the field.
        OperationError: no item can satisfy the conditions, or they take too many queries.
    """
    try:
        return _serve(maker, conditions, spent, whole=whole)
    except EncodeError as error:
        raise error.at(model=maker.name) from error.__cause__


def _serve(maker: Maker, conditions: Sequence[Condition], spent: Sequence[Condition], *, whole: bool) -> Served | None:
    template, path = maker.template, maker.path
    fixing = _fixing(maker, conditions, spent)
    complete = len(fixing) == len(template.parts)
    if whole and not complete:
        return None
    following = None if complete else _following(maker, template.parts[len(fixing)], conditions)
    if not (complete or fixing or following):
        return None
    texts = [_texts(maker, part, condition) for part, condition in zip(template.parts, fixing, strict=False)]
    if prod(map(len, texts)) > QUERIES:
        raise too_many_queries(str(path), prod(map(len, texts)))
    made: list[Condition] = []
    for values in product(*(each.values() for each in texts)):
        leading = dict(zip(template.names, values, strict=False))
        if following is not None:
            made.append(following.make(leading))
        elif complete:
            made.append(Comparison("=", path, Value({"S": template.prefix(leading)})))
        else:
            made.append(Function("begins_with", path, (Value({"S": template.prefix(leading)}),)))
    single = [not isinstance(each, In) for each in fixing]
    exact = [each for part, each in zip(template.parts, fixing, strict=False) if not part.format.lossy]
    return Served(
        conditions=tuple(made),
        asked=(*fixing, *(following.asked if following else ())),
        exact=(*exact, *(following.exact if following else ())),
        used=len(fixing) + (following is not None),
        fixed=single.index(False) if False in single else len(single),
        spread=tuple(tuple(each) for each, alone in zip(texts, single, strict=True) if not alone),
        whole=complete,
    )


def _fixing(maker: Maker, conditions: Sequence[Condition], spent: Sequence[Condition]) -> list[Comparison | In]:
    """Return the conditions that give the values of the leading parts."""
    found: list[Comparison | In] = []
    for part in maker.template.parts:
        fixing = fixing_of(maker.on(part, conditions), f"an item has one {part.name}")
        if fixing is None or (isinstance(fixing, In) and fixing in spent):
            break
        found.append(fixing)
    return found


def _texts(maker: Maker, part: Part, condition: Comparison | In) -> dict[str, Any]:
    """Return text in the key -> value, for each distinct text."""
    constants = condition.values if isinstance(condition, In) else (condition.right,)
    texts: dict[str, Any] = {}
    for constant in constants:
        if isinstance(constant, Value):
            value = maker.value(part, constant)
            texts.setdefault(part.text(value), value)
    return texts


def _following(maker: Maker, part: Part, conditions: Sequence[Condition]) -> _Next | None:
    found = maker.on(part, conditions)
    return _range(maker, part, found) or _beginning(maker, part, found)


def _range(maker: Maker, part: Part, found: Sequence[Condition]) -> _Next | None:
    """Return what comparisons and ranges on a part say, the tightest of them; None where bytes do not tell."""
    if not (part.format.sorts and part.closes):
        return None
    ends = [(condition, _ends(condition)) for condition in distinct(found)]
    asked = tuple(condition for condition, (low, high) in ends if low or high)
    if not asked:
        return None
    lows = [_bound(maker, part, low) for _, (low, _) in ends if low is not None]
    highs = [_bound(maker, part, high) for _, (_, high) in ends if high is not None]
    low = max(lows, key=lambda each: (each.text, not each.inclusive), default=_OPEN)
    high = min(highs, key=lambda each: (each.text, each.inclusive), default=_OPEN)

    def make(leading: Leading) -> Condition:
        first, last = maker.template.bounds(
            leading,
            part.name,
            low=low.value,
            high=high.value,
            low_inclusive=low.inclusive,
            high_inclusive=high.inclusive,
        )
        return _between(maker.path, first, last, asked)

    return _Next(make, asked, () if part.format.lossy else asked)


def _ends(condition: Condition) -> tuple[_End | None, _End | None]:
    """Return the low and the high end of a range, each with whether it belongs to it."""
    match condition:
        case Comparison(comparator=">" | ">=" as comparator, right=Value() as low):
            return (low, comparator == ">="), None
        case Comparison(comparator="<" | "<=" as comparator, right=Value() as high):
            return None, (high, comparator == "<=")
        case Between(low=low, high=high):
            return (low, True), (high, True)
        case _:
            return None, None


def _bound(maker: Maker, part: Part, end: _End) -> _Bound:
    constant, inclusive = end
    value = maker.value(part, constant)
    return _Bound(part.text(value).encode(), inclusive, value)


def _between(path: Path, first: str | None, last: str | None, asked: Sequence[Condition]) -> Condition:
    if last is None:
        return Comparison(">=", path, Value({"S": first or ""}))
    if first is None:
        return Comparison("<=", path, Value({"S": last}))
    if first.encode() > last.encode():
        raise empty_range(asked)
    return Between(path, Value({"S": first}), Value({"S": last}))


def _beginning(maker: Maker, part: Part, found: Sequence[Condition]) -> _Next | None:
    """Return what the first ``begins_with`` on a text part says; None without one."""
    for condition in found:
        match condition:
            case Function(name="begins_with", arguments=(Value(stored={"S": str(prefix)}),)):
                return _begun(maker, part, condition, _beginning_of(maker, part, prefix))
            case _:
                continue
    return None


def _begun(maker: Maker, part: Part, condition: Condition, text: str | None) -> _Next | None:
    if text is None or not (text or part.before or part is not maker.template.parts[0]):
        return None  # nothing is known of the keys, or they all begin with no text at all

    def make(leading: Leading) -> Condition:
        return Function("begins_with", maker.path, (Value({"S": maker.template.prefix(leading) + text}),))

    exact = not part.format.lossy and (part.escaping is not None or not _reaches(text, part.closing))
    return _Next(make, (condition,), (condition,) if exact else ())


def _beginning_of(maker: Maker, part: Part, prefix: str) -> str | None:
    """Return how the texts of values with a prefix begin in the key; None where nothing is known of that."""
    form = part.format
    plain = form.label == "str" and form.texts is None
    # "Σ" at the end of a word has a small letter of its own, so that a prefix of a text is none of its small letters.
    if not plain or (form.lossy and _SIGMA in prefix):
        return None
    try:
        if maker.source(part).converter.encode(prefix) != {"S": prefix}:
            return None
    except EncodeError:
        return None
    text = form.write(prefix)
    return text if part.escaping is None else part.escaping.escaped(text)


def _reaches(prefix: str, closing: str) -> bool:
    """Return whether a key could begin with the prefix because of what stands behind a shorter value."""
    return bool(closing) and any(
        closing.startswith(prefix[at:]) or prefix.startswith(closing, at) for at in range(len(prefix))
    )


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
        return _begins_with(self.path, text) if (text := _common(texts)) else None

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
                    f"{_values_of(found[0])} and {_values_of(served)}, so one query does not read both; query each by "
                    "itself, and put the results together"
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
        texts = [beginning for served in found if (beginning := _prefix_of(served)) is not None]
        text = _common(texts) if texts else ""
        shared = len(_common([maker.template.prefix({}) for maker in self.makers]))
        return _begins_with(self.path, text) if len(texts) == len(found) and len(text) > shared else None


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


def _begins_with(path: Path, text: str) -> Function:
    return Function("begins_with", path, (Value({"S": text}),))


def _prefix_of(served: Served) -> str | None:
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
            first = _prefix_of(served)
            last = None if first is None else after_all(first)
            return None if first is None or last is None else (first, last)


def _common(texts: Sequence[str]) -> str:
    """Return how all texts begin."""
    first, *others = texts
    length = 0
    while length < len(first) and all(other.startswith(first[: length + 1]) for other in others):
        length += 1
    return first[:length]


def _values_of(served: Served) -> str:
    return " and ".join(
        str(each.right) for each in served.conditions if isinstance(each, Comparison) and isinstance(each.right, Value)
    )
