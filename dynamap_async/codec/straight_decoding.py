"""Straight decoding: one expression for all items of a page, made once for each set of attributes that is met.

Calling the decoder of each attribute, and of each part of its value, costs more than what they do, and the items of a
page are mostly alike. Where they have the same attributes, one comprehension decodes them, with the lists and maps in
them, as a reader would write it: ``[{"user_id": stored["user_id"]["S"], ...} for stored in items]``. That takes 40 %
off what comes before Pydantic (benchmarks: decode, decode_small, decode_deep, query_100, stream).

What a decoder of a type with parts does is known from its form; any other is called. Where a value is not as expected,
an expression raises one of ``DECODE_ERRORS``, as the decoder does, and each attribute is decoded alone.

Written are names, by their ``repr``, and the tags of values; nothing that was stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from dynamap_async.codec.converter import DECODE_ERRORS
from dynamap_async.codec.decoder_forms import Form, form_of, tag_of
from dynamap_async.codec.deferred import Deferred
from dynamap_async.wire import AttributeValue

_DecodeValue: TypeAlias = Callable[[Any], Any]
_Item: TypeAlias = Mapping[str, AttributeValue]
_DecodeItems: TypeAlias = Callable[[Sequence[_Item]], list[dict[str, Any]]]

_DEEPEST: Final = 16
"""How many expressions stand inside each other; Python parses no more than some 100 brackets."""
_MOST: Final = 400
"""How many parts are written; models in models multiply."""
_LONGEST: Final = 4_000
"""How many characters the names of attributes may have together, where some are unknown: users may have made those."""
_VARIANTS: Final = 32
"""For how many sets of attributes an expression is made: items of many optional fields have many, in many orders."""


class Expressions:
    """Writes what decodes values, and knows the names of what that uses."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self._within: list[int] = []
        self._variables = self._parts = 0

    def of(self, decode: Callable[[Any], Any], value: str) -> str:
        """Return the expression that decodes an attribute value.

        Args:
            decode: its decoder.
            value: the expression of it: a name, or a part of one.
        """
        if (tag := tag_of(decode)) is not None:
            return f"{value}[{tag!r}]"
        deferred = getattr(decode, "__self__", None)
        if isinstance(deferred, Deferred):
            decode = deferred.target.decode
        write = _WRITERS.get((form := form_of(decode)).kind)
        self._parts += 1
        # A type that contains itself is called where it does.
        if (
            write is None
            or form.function is not None
            or id(decode) in self._within
            or len(self._within) >= _DEEPEST
            or self._parts > _MOST
        ):
            return f"{self.name(decode)}({value})"
        self._within.append(id(decode))
        try:
            return write(self, form, decode, value)
        finally:
            self._within.pop()

    def name(self, thing: Any) -> str:
        """Return the name of something that an expression uses."""
        name = f"given_{len(self.names)}"
        self.names[name] = thing
        return name

    def variable(self) -> str:
        """Return the name of a variable that nothing else uses."""
        self._variables += 1
        return f"part_{self._variables}"


def _list(expressions: Expressions, form: Form, _: _DecodeValue, value: str) -> str:
    element = expressions.variable()
    return f"[{expressions.of(_inner(form), element)} for {element} in {value}['L']]"


def _map(expressions: Expressions, form: Form, _: _DecodeValue, value: str) -> str:
    name, member = expressions.variable(), expressions.variable()
    return f"{{{name}: {expressions.of(_inner(form), member)} for {name}, {member} in {value}['M'].items()}}"


def _fields(expressions: Expressions, form: Form, decode: _DecodeValue, value: str) -> str:
    """Return the expression that decodes a map with all of its members, and no others; it calls for any other map."""
    found = expressions.variable()
    members = [f"{name!r}: {expressions.of(each, f'{found}[{stored!r}]')}" for stored, name, each in form.fields]
    other = f'{expressions.name(decode)}({{"M": {found}}})'
    return f"({{{', '.join(members)}}} if len({found} := {value}['M']) == {len(members)} else {other})"


def _optional(expressions: Expressions, form: Form, _: _DecodeValue, value: str) -> str:
    found = expressions.variable()
    return f"(None if 'NULL' in ({found} := {value}) else {expressions.of(_inner(form), found)})"


def _dated(expressions: Expressions, _: Form, decode: _DecodeValue, value: str) -> str:
    found = expressions.variable()
    return f"({found} if ({found} := {value}['S'])[4:5] == '-' else {expressions.name(decode)}({value}))"


def _inner(form: Form) -> _DecodeValue:
    assert form.inner is not None, f"{form.kind} has no inner form"  # noqa: S101 - whoever describes it gives one
    return form.inner


_WRITERS: Final[Mapping[str, Callable[[Expressions, Form, _DecodeValue, str], str]]] = {
    "dated": _dated,
    "list": _list,
    "map": _map,
    "fields": _fields,
    "optional": _optional,
}


class _Straight(NamedTuple):
    decode: _DecodeItems
    """Raises one of ``DECODE_ERRORS`` where an item does not have its usual form."""
    alike: Callable[[_Item], object]
    """Gives what all items must have in common: where each attribute is looked up, their number will do."""


class StraightPages:
    """Decodes the items of one model, or maps of one type, those together that have the same attributes."""

    def __init__(
        self,
        members: Mapping[str, tuple[Any, ...]],
        absent: Iterable[tuple[str, str, Callable[[], Any]]],
        *,
        drops: bool,
        passed_over: str | None = None,
    ) -> None:
        """Describe the attributes; nothing is made before items are met.

        Args:
            members: stored name -> the name in Python, the decoder, and whatever else.
            absent: the name in Python, the stored name, and what makes the value of an item without the attribute.
            drops: whether attributes that are unknown are left out, and nobody has to know.
            passed_over: the stored name of an attribute that is known, and left out.
        """
        self._members = members
        self._passed_over = frozenset(() if passed_over is None else (passed_over,))
        self._absent = list(absent)
        self._drops = drops
        self._made: dict[tuple[str, ...], _Straight | None] = {}

    def decode(self, items: Sequence[_Item]) -> list[dict[str, Any]] | None:
        """Return the decoded values of each item; None where they are not alike, or have unusual forms."""
        if not items:
            return []
        straight = self._straight(items[0])
        if straight is None or (len(items) > 1 and len(set(map(straight.alike, items))) > 1):
            return None
        try:
            return straight.decode(items)
        except DECODE_ERRORS:
            return None

    def decode_one(self, item: _Item) -> dict[str, Any] | None:
        """Return the decoded values of an item; None for one of attributes that nothing is made for.

        Raises one of ``DECODE_ERRORS`` where a value is not as expected.
        """
        straight = self._straight(item)
        return None if straight is None else straight.decode((item,))[0]

    def give_up(self, item: _Item) -> None:
        """Decode items with these attributes no more: the next may be as unusual as this one, and decoded twice."""
        if (names := tuple(item)) in self._made:
            self._made[names] = None

    def _straight(self, item: _Item) -> _Straight | None:
        names = tuple(item)
        if names in self._made:
            return self._made[names]
        if len(self._made) >= _VARIANTS or not self._keeps(names):
            return None  # what is not kept is not worth making
        made = self._made[names] = self._written(names)
        return made

    def _keeps(self, names: tuple[str, ...]) -> bool:
        """Return whether something may be kept for attributes of these names; not for extra ones, which are users'."""
        unknown = not self._members.keys() >= {*names} - self._passed_over
        return not unknown or (self._drops and sum(map(len, names)) <= _LONGEST)

    def _written(self, names: tuple[str, ...]) -> _Straight | None:
        known = [(name, *self._members[name][:2]) for name in names if name in self._members]
        all_known = len(known) + len(self._passed_over.intersection(names)) == len(names)
        if not all_known and not self._drops:
            return None
        expressions = Expressions()
        parts = [f"{name!r}: {expressions.of(decode, f'stored[{stored!r}]')}" for stored, name, decode in known]
        parts += [f"{name!r}: {expressions.name(make)}()" for name, stored, make in self._absent if stored not in names]
        text = f"lambda items: [{{{', '.join(parts)}}} for stored in items]"
        decode: _DecodeItems = eval(text, expressions.names)  # noqa: S307 - see above
        # What is not looked up may be another attribute in another item, which nobody misses who leaves out any.
        looks_up_all = len(known) == len(names) or (all_known and self._drops)
        return _Straight(decode, len if looks_up_all else tuple)
