"""Templated keys: what conditions on the fields that a key is made of select of the key.

Conditions count from the left, as far as ``==`` or ``is_in`` fix each part; then one range or ``begins_with`` on the
part that follows. What the key selects is never less than what the conditions say; which of them it answers exactly,
so that no filter has to ask again, is said with it. A query on several models reads them all by one key condition, so
what their templates make of the conditions has to come to one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import Any, Final, NamedTuple, TypeAlias

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import EncodeError, OperationError
from dynamap_async.expressions import Between, Comparison, Condition, Function, In, Path, Value
from dynamap_async.models import Definition, FieldPlan, bare, definition_of, without_none
from dynamap_async.models.templates import KeyTemplate, OnlyWhen, TemplatePart, after_all
from dynamap_async.planning.key_conditions import (
    MAX_QUERIES,
    answered_by,
    attribute_of,
    distinct,
    equality_among,
    is_sort_condition,
    is_within,
    too_many_queries_error,
)
from dynamap_async.wire import AttributeValue

Leading: TypeAlias = Mapping[str, Any]
_End: TypeAlias = tuple[Value, bool]
_SIGMA: Final = "Σ"


@dataclass(frozen=True, slots=True)
class ModelTemplate:
    """How one model makes a key attribute."""

    definition: Definition[Any]
    template: KeyTemplate
    path: Path
    """The key attribute, as conditions on it name it."""
    others: tuple[ModelTemplate, ...] = ()
    """How other models that are read make it."""
    unclear: frozenset[str] = frozenset()
    """The stored names of parts of other models' keys that stand at the places of several fields of this one."""

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.definition.model.__name__

    @property
    def signature(self) -> tuple[object, ...]:
        """The parts that two models have in common if they make the same keys from the same conditions."""
        fields = [self.field(part) for part in self.template.parts]
        stored = [(field.stored, field.annotation, field.converter.label, field.converter.tags) for field in fields]
        return self.template.pattern, [part.escaping for part in self.template.parts], stored

    def field(self, part: TemplatePart) -> FieldPlan:
        """Return the field that a part is."""
        return self.definition.fields[part.name]

    def conditions_on(self, part: TemplatePart, conditions: Sequence[Condition]) -> list[Condition]:
        """Return the conditions that compare a part with constants other than NULL.

        They name it, or what another model has in the same place of the key.
        """
        names = {self.field(part).stored, *self._names_elsewhere(part)}
        return [each for each in conditions if attribute_of(each) in names and not _is_null(each)]

    def _names_elsewhere(self, part: TemplatePart) -> Iterator[str]:
        """Yield the stored names of what other models have in the place of a part, and this one under no such name."""
        for other in self.others:
            for mine, theirs in parts_at_same_position(self, other):
                stored = other.field(theirs).stored
                if mine is part and stored not in self.definition.field_names and stored not in self.unclear:
                    yield stored

    def value(self, part: TemplatePart, constant: Value) -> Any:
        """Return the Python value of a constant that a part is compared with."""
        return self.field(part).converter.decode(constant.stored)


def parts_at_same_position(one: ModelTemplate, other: ModelTemplate) -> Iterator[tuple[TemplatePart, TemplatePart]]:
    """Yield the parts of two models' keys that stand at the same position, from the left.

    Nothing but such parts stands before them, between the same constants, and they have the same form.
    """
    for mine, theirs in zip(one.template.parts, other.template.parts, strict=False):
        first, second = one.field(mine), other.field(theirs)
        if (
            (mine.before, mine.form, mine.escaping) != (theirs.before, theirs.form, theirs.escaping)
            or bare(without_none(bare(first.annotation))) != bare(without_none(bare(second.annotation)))
            or first.converter.tags != second.converter.tags
        ):
            return
        yield mine, theirs


def _unclear_names(model: ModelTemplate) -> Iterator[str]:
    """Yield the stored names of other models' parts that stand at the places of several fields of a model."""
    for other in model.others:
        fields: dict[str, set[str]] = {}
        for mine, theirs in _pairs_of_templates(model.definition, other.definition):
            for here, there in parts_at_same_position(mine, theirs):
                fields.setdefault(theirs.field(there).stored, set()).add(here.name)
        yield from (name for name, places in fields.items() if len(places) > 1)


def _pairs_of_templates(one: Definition[Any], other: Definition[Any]) -> Iterator[tuple[ModelTemplate, ModelTemplate]]:
    """Yield how two models make each attribute that both make from templates."""
    for attribute in {*one.field_names} & {*other.field_names}:
        first, second = (each.fields[each.field_names[attribute]].template for each in (one, other))
        if first is not None and second is not None:
            path = one.path(one.field_names[attribute])
            yield ModelTemplate(one, first, path), ModelTemplate(other, second, path)


def is_same_part_of_key(one: Definition[Any], stored: str, other: Definition[Any]) -> bool:
    """Return whether a model's field is a part of a key at a position where the other model has a part too.

    Args:
        stored: the stored name of the field.
    """
    return any(
        mine.field(part).stored == stored
        for mine, theirs in _pairs_of_templates(one, other)
        for part, _ in parts_at_same_position(mine, theirs)
    )


def _is_null(condition: Condition) -> bool:
    return isinstance(condition, Comparison) and isinstance(condition.right, Value) and "NULL" in condition.right.stored


class _Closed(NamedTuple):
    """A condition that all keys with a certain beginning answer exactly, whichever model made them."""

    condition: Condition
    begun: str
    form: str = ""
    """The form of the part that is compared, where it is not in the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRange:
    """The keys that conditions on the parts of a template select."""

    conditions: tuple[Condition, ...]
    """On the key attribute: one, or one for each combination of ``is_in`` values."""
    part_conditions: tuple[Condition, ...] = ()
    """The conditions on parts that these are made of."""
    exact: tuple[Condition, ...] = ()
    """Those of them that need no further check."""
    used_parts: int = 0
    """How many parts they fix or bound; 0 for a constant."""
    fixed_parts: int = 0
    """How many leading parts have one value in all of the result."""
    alternatives: tuple[tuple[str, ...], ...] = ()
    """The texts of each part that has several, in order."""
    closed: tuple[_Closed, ...] = ()
    """The conditions that stay exact where a range is made of those of several models."""
    empty: tuple[Condition, ...] = ()
    """The conditions that no key can meet."""
    stem: _Stem | None = None
    """What the keys have in common up to the last fixed part, where each fixed part has one text."""


class _Stem(NamedTuple):
    """The beginning of keys, up to the end of a part."""

    text: str
    closing: str
    """What follows in each of them; empty where nothing does."""
    longer: str | None
    """The least character with which another value of the part could go on; None where none does."""


class _Bound(NamedTuple):
    """One end of a range."""

    text: bytes
    inclusive: bool
    value: Any
    impossible: bool = False
    """Whether no value of the form lies behind it."""


_OPEN: Final = _Bound(b"", True, None)


@dataclass(frozen=True, slots=True)
class _NextPart:
    """The keys that conditions on the part behind the fixed ones select."""

    make: Callable[[Leading], Condition]
    """Makes the condition on the key, given the values of the fixed parts."""
    part_conditions: tuple[Condition, ...]
    exact: tuple[Condition, ...]
    empty: tuple[Condition, ...] = ()
    """The conditions that no key can meet."""
    survives: bool = False
    """Whether it stays exact where a range is made of those of several models."""


def key_range(
    model: ModelTemplate, conditions: Sequence[Condition], *, expanded: Sequence[Condition] = (), whole: bool = False
) -> KeyRange | None:
    """Return the keys that conditions on the parts select; None where they select all keys.

    Args:
        expanded: the ``is_in`` conditions that make several queries already.
        whole: whether nothing less than the whole key will do.

    Raises:
        EncodeError: a value cannot be part of the key; the error names the model and the field.
        OperationError: no item can satisfy the conditions, or they take too many queries.
    """
    try:
        return _key_range(model, conditions, expanded, whole=whole)
    except EncodeError as error:
        raise error.at(model=model.name) from error.__cause__


def _key_range(
    model: ModelTemplate, conditions: Sequence[Condition], expanded: Sequence[Condition], *, whole: bool
) -> KeyRange | None:
    template, path = model.template, model.path
    equalities = _leading_equalities(model, conditions, expanded)
    complete = len(equalities) == len(template.parts)
    if whole and not complete:
        return None
    # Only the first part that is not fixed can have a range: behind it, keys are sorted by its values first.
    next_part = None if complete else _next_part_range(model, template.parts[len(equalities)], conditions)
    if not (complete or equalities or next_part):
        return None
    fixed = [*zip(template.parts, equalities, strict=False)]
    texts = [_texts_of_values(model, part, condition) for part, condition in fixed]
    if prod(map(len, texts)) > MAX_QUERIES:
        raise too_many_queries_error(str(path), prod(map(len, texts)))
    made: list[Condition] = []
    for values in product(*(each.values() for each in texts)):
        leading = dict(zip(template.names, values, strict=False))
        if next_part is not None:
            made.append(next_part.make(leading))
        elif complete:
            made.append(Comparison("=", path, Value({"S": template.prefix(leading)})))
        else:
            made.append(Function("begins_with", path, (Value({"S": template.prefix(leading)}),)))
    if not made:  # a part has no value that it may have
        made.append(In(path, ()))
    single = [not isinstance(each, In) for each in equalities]
    # Behind a part that is not closed, keys of another value may go on alike.
    is_told = complete or all(part.is_closed for part, _ in fixed)
    exact = [
        each
        for part, condition in fixed
        if not part.format.lossy and is_told
        for each in answered_by(condition, model.conditions_on(part, conditions))
    ]
    return KeyRange(
        conditions=tuple(made),
        part_conditions=(*equalities, *(next_part.part_conditions if next_part else ())),
        exact=(*exact, *(next_part.exact if next_part and is_told else ())),
        used_parts=len(equalities) + (next_part is not None),
        fixed_parts=single.index(False) if False in single else len(single),
        alternatives=tuple(tuple(each) for each, alone in zip(texts, single, strict=True) if not alone),
        closed=_closed(model, fixed, texts, next_part),
        empty=next_part.empty if next_part else (),
        stem=None if next_part is not None else _stem(fixed, texts),
    )


def _stem(fixed: Sequence[tuple[TemplatePart, Condition]], texts: Sequence[Mapping[str, Any]]) -> _Stem | None:
    """Return what keys have in common up to the last fixed part; None where they have several texts, or it is open."""
    if not fixed or any(len(each) != 1 for each in texts):
        return None
    found = [next(iter(each)) for each in texts]
    text = "".join(part.before + each for (part, _), each in zip(fixed, found, strict=True))
    part, last = fixed[-1][0], found[-1]
    form = part.format
    if form.texts is not None:
        behind = [each[len(last)] for each in form.texts if each.startswith(last) and each != last]
        return _Stem(text, part.closing, min(behind, default=None))
    if form.width is not None or form.alphabet is None:  # what follows it, or nothing, tells where it ends
        return None
    # Only the digits of a number, and its point, go on behind a digit.
    return _Stem(text, part.closing, min(form.alphabet.replace("-", "")))


def _closed(
    model: ModelTemplate,
    fixed: Sequence[tuple[TemplatePart, Condition]],
    texts: Sequence[Mapping[str, Any]],
    next_part: _NextPart | None,
) -> tuple[_Closed, ...]:
    """Return the conditions that stay exact where the ranges of several models are merged."""
    found: list[_Closed] = []
    begun = ""
    for (part, condition), values in zip(fixed, texts, strict=True):
        if len(values) != 1 or not part.is_closed:
            return tuple(found)
        [text] = values
        begun += part.before + text
        # A text without a fixed width ends where its separator stands, and only then is it known to be whole.
        end = "" if part.format.width is not None else part.closing
        if not part.format.lossy and (end or part.format.width is not None):
            found.append(_Closed(condition, begun + end))
    if next_part is not None and next_part.survives:
        part = model.template.parts[len(fixed)]
        form = f"{part.format.label} {part.form}"
        found += [_Closed(condition, begun + part.before, form) for condition in next_part.exact]
    return tuple(found)


def _leading_equalities(
    model: ModelTemplate, conditions: Sequence[Condition], expanded: Sequence[Condition]
) -> list[Comparison | In]:
    """Return the conditions that give the values of the leading parts."""
    found: list[Comparison | In] = []
    for part in model.template.parts:
        equality = equality_among(model.conditions_on(part, conditions))
        if equality is None or (isinstance(equality, In) and equality in expanded):
            break
        found.append(equality)
    return found


def _texts_of_values(model: ModelTemplate, part: TemplatePart, condition: Comparison | In) -> dict[str, Any]:
    """Return text in the key -> value, for each distinct text."""
    constants = condition.values if isinstance(condition, In) else (condition.right,)
    texts: dict[str, Any] = {}
    for constant in constants:
        if isinstance(constant, Value):
            value = model.value(part, constant)
            texts.setdefault(part.text(value), value)
    return texts


def _next_part_range(model: ModelTemplate, part: TemplatePart, conditions: Sequence[Condition]) -> _NextPart | None:
    found = model.conditions_on(part, conditions)
    return _range(model, part, found) or _begins_with_range(model, part, found)


def _range(model: ModelTemplate, part: TemplatePart, found: Sequence[Condition]) -> _NextPart | None:
    """Return the tightest range that comparisons on a part select; None where its text does not sort as its values."""
    ends = [(condition, _range_ends(condition)) for condition in distinct(found)]
    asked = tuple(condition for condition, (low, high) in ends if low or high)
    if not (asked and part.format.sorts):
        return None
    # What follows the part in the key can sort before characters of its values, so that a range in the key is not
    # exactly the range of the values.
    if not part.closes:
        return _rough_range(model, part, asked, ends) if part.watched and part.escaping is None else None
    lows = [_bound(model, part, low, up=True) for _, (low, _) in ends if low is not None]
    highs = [_bound(model, part, high, up=False) for _, (_, high) in ends if high is not None]
    # Compared as bytes, since that is how DynamoDB sorts text.
    low = max(lows, key=lambda each: (each.text, not each.inclusive), default=_OPEN)
    high = min(highs, key=lambda each: (each.text, each.inclusive), default=_OPEN)
    if any(each.impossible for each in (*lows, *highs)):
        return _NextPart(lambda leading: _around(model, leading), asked, asked, empty=asked)

    def make(leading: Leading) -> Condition:
        first, last = model.template.bounds(
            leading,
            part.name,
            low=low.value,
            high=high.value,
            low_inclusive=low.inclusive,
            high_inclusive=high.inclusive,
        )
        return _between(model.path, first, last)

    survives = part.format.width is not None and low.inclusive and high.inclusive
    return _NextPart(make, asked, () if part.format.lossy else asked, survives=survives)


def _around(model: ModelTemplate, leading: Leading) -> Condition:
    """Return the key condition of a range that no value can meet: all keys with the leading parts."""
    text = model.template.prefix(leading)
    return _begins_with(model.path, text) if text else Comparison("<", model.path, Value({"S": "0"}))


def _rough_range(
    model: ModelTemplate,
    part: TemplatePart,
    asked: tuple[Condition, ...],
    ends: Sequence[tuple[Condition, tuple[_End | None, _End | None]]],
) -> _NextPart | None:
    """Return a range that includes all keys whose part lies between bounds, and perhaps some more.

    "Ann#b" stands after "Ann Lee#a", because the separator stands after the space. So what a text is followed by leaves
    it above a bound that it is above, and below one of which no character stands before the separator.
    """
    lows = [part.format.write(model.value(part, low[0])) for _, (low, _) in ends if low is not None]
    highs = [(part.format.write(model.value(part, high[0])), high[1]) for _, (_, high) in ends if high is not None]
    above = max(lows, key=str.encode, default="")
    below, inclusive = min(highs, key=lambda each: (each[0].encode(), each[1]), default=(None, True))
    if not (above or part.before or part is not model.template.parts[0]) and not (below and below[0] > part.closing[0]):
        return None  # the keys begin with the text, and nothing is known of how

    def make(leading: Leading) -> Condition:
        start = model.template.prefix(leading)
        last = after_all(start) if start else None
        if below is not None:
            certain = next((at for at, each in enumerate(below) if each <= part.closing[0]), len(below))
            text = start + below[:certain]
            if certain < len(below):
                last = after_all(text) if text else None
            else:
                last = after_all(text + part.closing) if inclusive else text or part.closing
        return _between(model.path, (start + above) or None, last)

    return _NextPart(make, asked, ())


def _range_ends(condition: Condition) -> tuple[_End | None, _End | None]:
    """Return the low and the high end of a range, each with whether it is included."""
    match condition:
        case Comparison(comparator=">" | ">=" as comparator, right=Value() as low):
            return (low, comparator == ">="), None
        case Comparison(comparator="<" | "<=" as comparator, right=Value() as high):
            return None, (high, comparator == "<=")
        case Between(low=low, high=high):
            return (low, True), (high, True)
        case _:
            return None, None


def _bound(model: ModelTemplate, part: TemplatePart, end: _End, *, up: bool) -> _Bound:
    """Return an end of a range, moved to the next value that the part can write if it cannot write this one."""
    constant, inclusive = end
    value = model.value(part, constant)
    if part.format.nearest is not None:
        value, inclusive = part.format.nearest(value, up=up, itself=inclusive), True
        if value is None:
            return _Bound(b"", True, None, impossible=True)
    return _Bound(part.text(value).encode(), inclusive, value)


def _between(path: Path, first: str | None, last: str | None) -> Condition:
    if last is None:
        return Comparison(">=", path, Value({"S": first or ""}))
    if first is None:
        return Comparison("<=", path, Value({"S": last}))
    return Between(path, Value({"S": first}), Value({"S": last}))


def _begins_with_range(model: ModelTemplate, part: TemplatePart, found: Sequence[Condition]) -> _NextPart | None:
    """Return the keys that the first ``begins_with`` on a text part selects; None without one."""
    for condition in found:
        match condition:
            case Function(name="begins_with", arguments=(Value(stored={"S": str(prefix)}),)):
                return _prefix_range(model, part, condition, _prefix_in_key(model, part, prefix))
            case _:
                continue
    return None


def _prefix_range(model: ModelTemplate, part: TemplatePart, condition: Condition, text: str | None) -> _NextPart | None:
    if text is None or not (text or part.before or part is not model.template.parts[0]):
        return None  # nothing is known of the keys, or they all begin with no text at all

    def make(leading: Leading) -> Condition:
        return Function("begins_with", model.path, (Value({"S": model.template.prefix(leading) + text}),))

    exact = part.is_closed and not part.format.lossy
    exact = exact and (part.escaping is not None or not _may_match_more(text, part.closing))
    return _NextPart(make, (condition,), (condition,) if exact else ())


def _prefix_in_key(model: ModelTemplate, part: TemplatePart, prefix: str) -> str | None:
    """Return how a prefix of a part's value is written in the key; None where that is not known."""
    form = part.format
    plain = form.label == "str" and form.texts is None
    # "Σ" at the end of a word has a small letter of its own, so that a prefix of a text is none of its small letters.
    if not plain or (form.lossy and _SIGMA in prefix):
        return None
    try:
        if model.field(part).converter.encode(prefix) != {"S": prefix}:
            return None
    except EncodeError:
        return None
    text = form.write(prefix)
    return text if part.escaping is None else part.escaping.escaped(text)


def _may_match_more(prefix: str, closing: str) -> bool:
    """Return whether a key could begin with the prefix because of what stands behind a shorter value."""
    return bool(closing) and any(
        closing.startswith(prefix[at:]) or prefix.startswith(closing, at) for at in range(len(prefix))
    )


@dataclass(frozen=True, slots=True)
class TemplatedKey:
    """A key attribute that is made of fields."""

    models: tuple[ModelTemplate, ...]
    """How the models make it; those that make it in the same way, once."""

    @property
    def path(self) -> Path:
        """Its path, as the first model has it."""
        return self.models[0].path

    @property
    def parts(self) -> str:
        """The names of the fields that it is made of, for messages; empty for a constant."""
        return " and ".join(self.models[0].template.names)

    @property
    def namespace(self) -> Condition | None:
        """The condition that all keys of the templates meet; None where they have nothing in common."""
        texts = [model.template.prefix({}) for model in self.models]
        if not any(model.template.parts for model in self.models) and len(set(texts)) == 1:
            return Comparison("=", self.path, Value({"S": texts[0]}))
        if text := _common_prefix(texts):
            return _begins_with(self.path, text)
        lasts = [
            text if not model.template.parts else after_all(text)
            for model, text in zip(self.models, texts, strict=True)
        ]
        known = [last for last in lasts if last is not None]
        if not all(texts) or len(known) < len(lasts):
            return None
        # One range around all beginnings; keys of other models may lie between, and are filtered.
        return Between(self.path, Value({"S": min(texts, key=str.encode)}), Value({"S": max(known, key=str.encode)}))

    def part_number(self, condition: Condition) -> int | None:
        """Return the number of the part that a condition compares with constants; None if it does not name one."""
        model, name = self.models[0], attribute_of(condition)
        numbers = (i for i, part in enumerate(model.template.parts) if model.field(part).stored == name)
        return next(numbers, None)

    def partition(self, conditions: Sequence[Condition]) -> KeyRange | None:
        """Return the equalities on the partition key that conditions on all its parts make; None where they do not.

        Raises:
            EncodeError: a value cannot be part of the key.
            OperationError: the models make different keys of the values.
        """
        found: list[KeyRange] = []
        for model in self.models:
            selected = key_range(model, conditions, whole=True)
            if selected is None:
                return None
            found.append(selected)
        for model, selected in zip(self.models, found, strict=True):
            if selected.conditions != found[0].conditions:
                # The models' constants differ, so no key value has the items of both; another key may.
                if not found[0].used_parts:
                    return None
                raise OperationError(
                    f"{self.models[0].name} and {model.name} make different keys from the same values, "
                    f"{_key_values(found[0])} and {_key_values(selected)}, so one query cannot read both; query each "
                    "of them"
                )
        return _common_range(found)

    def sort(self, conditions: Sequence[Condition], expanded: Sequence[Condition] = ()) -> KeyRange | None:
        """Return the range of sort keys that conditions on parts select; None for all sort keys.

        Args:
            expanded: the ``is_in`` conditions that make several queries already.

        Raises:
            EncodeError: a value cannot be part of the key.
            OperationError: no item can satisfy the conditions.
        """
        found: list[KeyRange] = []
        for model in self.models:
            # Which of several fields a part of another model's key stands for, only the partition key tells.
            unclear = frozenset(_unclear_names(model)) if model.others else model.unclear
            selected = key_range(replace(model, unclear=unclear), conditions, expanded=expanded)
            if selected is None:
                return None
            found.append(selected)
        if all(selected.conditions == found[0].conditions for selected in found):
            return _common_range(found)
        used = min(selected.used_parts for selected in found)
        siblings = self._range_of_siblings(found)
        condition = siblings
        if condition is None and used:
            condition = self._covering_condition(found)
        if condition is None:
            return None
        # Where the keys go on differently, another value of a part could begin alike: the filter checks most of them.
        closed = [each for each in found[0].closed if all(each in selected.closed for selected in found)]
        exact = tuple(each.condition for each in closed if is_within(condition, each.begun))
        if siblings is not None:
            exact = tuple(each for each in found[0].exact if all(each in selected.exact for selected in found))
        return KeyRange(
            conditions=(condition,),
            part_conditions=found[0].part_conditions,
            exact=exact,
            used_parts=used,
            empty=found[0].empty if all(selected.empty for selected in found) else (),
        )

    def _range_of_siblings(self, found: Sequence[KeyRange]) -> Condition | None:
        """Return the range from a key to the last that goes on behind it, if no other value of the last part is in it.

        So ``O#5`` and ``O#5#L#1`` are in one range without ``O#50``, because the separator sorts before the digits.
        """
        stems = [selected.stem for selected in found if selected.stem is not None]
        if len(stems) < len(found) or len({stem.text for stem in stems}) > 1:
            return None
        text, closings = stems[0].text, [stem.closing for stem in stems]
        longer = min((stem.longer for stem in stems if stem.longer is not None), default=None)
        if longer is not None and any(closing[:1] >= longer for closing in closings):
            return None
        lasts = [after_all(text + closing) if closing else text for closing in closings]
        last = None if None in lasts else max((each for each in lasts if each is not None), key=str.encode)
        return _between(self.path, text, last)

    def _covering_condition(self, found: Sequence[KeyRange]) -> Condition | None:
        """Return one key condition that selects every key of several ranges; None where it would select all keys."""
        texts = [_known_prefix(selected) for selected in found]
        if None not in texts:
            text = _common_prefix([each for each in texts if each is not None])
            # Longer than what all keys have in common anyway, so that it narrows what is read.
            if len(text) > len(_common_prefix([model.template.prefix({}) for model in self.models])):
                return _begins_with(self.path, text)
        ends = [_first_and_last_key(condition) for selected in found for condition in selected.conditions]
        lows, highs = [low for low, _ in ends if low is not None], [high for _, high in ends if high is not None]
        low = min(lows, key=str.encode) if len(lows) == len(ends) else None
        high = max(highs, key=str.encode) if len(highs) == len(ends) else None
        if low is None:
            return None if high is None else Comparison("<=", self.path, Value({"S": high}))
        if high is None:
            return Comparison(">=", self.path, Value({"S": low}))
        return Between(self.path, Value({"S": low}), Value({"S": high}))


def templated_key(definitions: Sequence[Definition[Any]], attribute: str) -> TemplatedKey | None:
    """Return a key attribute that all models, and their subclasses in the same table, make from templates.

    Args:
        attribute: the stored name of the attribute.
    """
    if all(definition.computed is None for definition in definitions):
        return None
    models: list[ModelTemplate] = []
    first = definitions[0]
    path = first.path(first.field_names[attribute]) if attribute in first.field_names else None
    for definition in _definitions_read(definitions):
        field = field_of(definition, attribute)
        if path is None or field is None or field.template is None:
            return None
        model = ModelTemplate(definition, field.template, path)
        # Most of a family inherit what they have.
        if not any(model.signature == other.signature for other in models):
            models.append(model)
    if len(models) > 1:
        models = [replace(each, others=tuple(o for o in models if o is not each)) for each in models]
    return TemplatedKey(tuple(models))


def conditions_of_members(
    definitions: Sequence[Definition[Any]], attributes: Sequence[str], conditions: Sequence[Condition]
) -> list[Condition] | None:
    """Return the conditions that every item in an index meets, because ``when=`` gives a key to no other item.

    None where the conditions may be met by an item that is not in the index.

    Args:
        attributes: the stored names of the index's key attributes.
    """
    common: list[Condition] | None = None
    named = {attribute_of(condition) for condition in conditions}  # such a condition is met where there is a key
    for definition in _definitions_read(definitions):
        met: list[Condition] = []
        for key, each in _required_values(definition, attributes):
            field = definition.fields[each.field]
            if each.values is None:
                if key not in named and not any(
                    _is_of_stored(c) for c in conditions if attribute_of(c) == field.stored
                ):
                    return None
                continue
            allowed = [{"NULL": True} if value is None else field.converter.encode(value) for value in each.values]
            found = [
                (condition, _values_of(condition))
                for condition in conditions
                if attribute_of(condition) == field.stored
            ]
            # The conditions allow only values with which an item has the key; otherwise some of what they ask for is
            # not in the index.
            told = any(values and all(value in allowed for value in values) for _, values in found)
            if not told and key not in named:
                return None
            met += [condition for condition, values in found if all(value in values for value in allowed)]
        common = met if common is None else [condition for condition in common if condition in met]
    return common or []


def _required_values(definition: Definition[Any], attributes: Sequence[str]) -> Iterator[tuple[str, OnlyWhen]]:
    """Yield each key attribute with a ``when=`` of its template, which says which items have the key."""
    for attribute in attributes:
        field = field_of(definition, attribute)
        if field is not None and field.template is not None:
            for each in field.template.when:
                yield attribute, each


def _is_of_stored(condition: Condition) -> bool:
    """Return whether only items that have the attribute, other than as NULL, meet a condition."""
    values = _values_of(condition)
    return (is_sort_condition(condition) or bool(values)) and all("NULL" not in value for value in values)


def _values_of(condition: Condition) -> list[AttributeValue]:
    """Return the stored values that a condition allows; none for one that is no ``==`` or ``is_in``."""
    match condition:
        case Comparison(comparator="=", right=Value(stored=stored)):
            return [stored]
        case In(values=values):
            return [value.stored for value in values]
        case _:
            return []


def field_of(definition: Definition[Any], attribute: str) -> FieldPlan | None:
    """Return the field that is stored under a name; None if there is none."""
    name = definition.field_names.get(attribute)
    return None if name is None else definition.fields[name]


def _definitions_read(definitions: Sequence[Definition[Any]]) -> list[Definition[Any]]:
    """Return the models whose items are read: a base that is abstract has none of its own."""
    found: dict[type[Any], Definition[Any]] = {}
    for definition in definitions:
        members = [definition_of(model) for model in definition.family.values()]
        own = [definition] if definition.kind is not None or not members else []
        for each in (*own, *members):
            found.setdefault(each.model, each)
    return [*found.values()]


def _common_range(found: Sequence[KeyRange]) -> KeyRange:
    """Return what the ranges of several models have in common, where their key conditions are the same."""
    first = found[0]
    return KeyRange(
        conditions=first.conditions,
        part_conditions=first.part_conditions,
        exact=tuple(each for each in first.exact if all(each in other.exact for other in found)),
        used_parts=first.used_parts,
        fixed_parts=min(selected.fixed_parts for selected in found),
        alternatives=first.alternatives,
        empty=first.empty if all(selected.empty for selected in found) else (),
    )


def _begins_with(path: Path, text: str) -> Function:
    return Function("begins_with", path, (Value({"S": text}),))


def _known_prefix(selected: KeyRange) -> str | None:
    """Return the text that all keys of a range begin with; None where the condition does not tell."""
    match selected.conditions:
        case [Comparison(comparator="=", right=Value(stored={"S": str(text)}))]:
            return text
        case [Function(arguments=(Value(stored={"S": str(text)}),))]:
            return text
        case _:
            return None


def _first_and_last_key(condition: Condition) -> tuple[str | None, str | None]:
    """Return the first and the last key that meet a key condition; None for an end that is open."""
    match condition:
        case Between(low=Value(stored={"S": str(low)}), high=Value(stored={"S": str(high)})):
            return low, high
        case Comparison(comparator=">=", right=Value(stored={"S": str(low)})):
            return low, None
        case Comparison(comparator="<=", right=Value(stored={"S": str(high)})):
            return None, high
        case Comparison(comparator="=", right=Value(stored={"S": str(text)})):
            return text, text
        case Function(arguments=(Value(stored={"S": str(text)}),)):
            return text, after_all(text)
        case _:
            return None, None


def _common_prefix(texts: Sequence[str]) -> str:
    """Return the longest text with which all texts begin."""
    first, *others = texts
    length = 0
    while length < len(first) and all(other.startswith(first[: length + 1]) for other in others):
        length += 1
    return first[:length]


def _key_values(selected: KeyRange) -> str:
    return " and ".join(
        str(each.right)
        for each in selected.conditions
        if isinstance(each, Comparison) and isinstance(each.right, Value)
    )
