"""Stretches: which keys of one template some conditions on its parts select, as conditions on the key attribute.

Conditions count from the left, as far as ``==`` or ``is_in`` fix each part; then one range or ``begins_with`` on the
part that follows. What the key selects is never less than what the conditions say; which of them it answers exactly,
so that no filter has to ask again, is said with it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, Final, NamedTuple, TypeAlias

from dynamap_async.errors import EncodeError
from dynamap_async.expressions import Between, Comparison, Condition, Function, In, Path, Value
from dynamap_async.models import Definition, FieldPlan
from dynamap_async.models.templates import KeyTemplate, Part
from dynamap_async.planning.clauses import distinct, empty_range, fixing_of, named
from dynamap_async.planning.route import QUERIES, too_many_queries

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
