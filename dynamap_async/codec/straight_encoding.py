"""Straight encoding: one function for all fields of a model, made when its first item is encoded.

Calling the encoder of each field, and of each part of its value, costs more than what they do. A reader would write
``{"user_id": {"S": value} if type(value) is str else encode(value), "likes": ...}``, so that is what is written here,
as ``dataclasses`` and ``attrs`` write constructors. It takes a third off encoding an item (benchmarks: encode,
encode_small, encode_wide, encode_deep, encode_large), and writing the functions takes less than a millisecond for a
model of 10 fields, when its first item is encoded.

Each converter says by ``usual`` what its usual values are. All others, and values of types without any, go through its
``encode``. A model in a model has a function of its own, called by name, so that types may contain themselves. Where a
value cannot be stored, or is missing, the function only raises, without saying where: the caller asks the converters
then, who know. They make no use of what is written here, so that nothing is encoded more than twice, however deep it
is.

Written are names, by their ``repr``, and what converters say of their types; nothing of values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeAlias, cast
from uuid import UUID

import orjson

from dynamap_async.codec.containers import only_text
from dynamap_async.codec.converter import Converter, FieldEncoding, Usual, UsualKind
from dynamap_async.codec.deferred import target_of
from dynamap_async.codec.instants import utc_text
from dynamap_async.codec.numbers import USUAL_INTEGER, decimal_text
from dynamap_async.codec.plain import binary_text
from dynamap_async.wire import WireItem

StraightEncoder: TypeAlias = Callable[[Mapping[str, Any]], WireItem]
"""Name -> value, to stored name -> attribute value; raises EncodeError without a path, or KeyError for no value."""

_DEEPEST: Final = 5
"""How many expressions stand inside each other; a value that is nested deeper is encoded by a call."""
_MOST: Final = 500
"""How many parts are written, in all functions of a model; unions of lists and maps multiply."""
_AT_ONCE: Final = 15
"""How many members Python puts into a dict at once; a larger display is slower than assignments (encode_wide)."""

_USED: Final[Mapping[str, Any]] = {
    "Decimal": Decimal,
    "UTC": UTC,
    "UUID": UUID,
    "binary_text": binary_text,
    "date": date,
    "datetime": datetime,
    "decimal_text": decimal_text,
    "dumps": orjson.dumps,
    "only_text": only_text,
    "utc_text": utc_text,
}
"""What expressions use beside Python's own functions."""


class _Expression(NamedTuple):
    made: str
    """The expression of the attribute value."""
    test: str = ""
    """The expression that tells whether a value is a usual one; empty where the other one encodes all values."""


_WITHOUT_PARTS: Final[Mapping[UsualKind, _Expression]] = {
    "text": _Expression("{'S': $}", "type($) is str"),
    "integer": _Expression("{'N': f'{$}'}", f"type($) is int and {-USUAL_INTEGER} < $ < {USUAL_INTEGER}"),
    "decimal": _Expression("{'N': decimal_text($)}", "type($) is Decimal"),
    # Within these limits orjson, which takes a third of the time of repr(), writes the same digits, and no exponent.
    "floating": _Expression(
        "{'N': f'{int($)}' if $.is_integer() else dumps($).decode()}",
        "type($) is float and (1e-4 < $ < 1e15 or -1e15 < $ < -1e-4 or not $)",
    ),
    "boolean": _Expression("{'BOOL': $}", "type($) is bool"),
    "binary": _Expression("{'B': binary_text($)}", "type($) is bytes"),
    "date": _Expression("{'S': $.isoformat()}", "type($) is date"),
    "uuid": _Expression("{'S': dumps($)[1:-1].decode()}", "type($) is UUID"),
    "instant": _Expression("{'S': utc_text($)}", "type($) is datetime and $.tzinfo is UTC"),
}
"""How values without parts are encoded; ``$`` stands for the value."""


def straight_encoder(label: str, parts: Sequence[FieldEncoding]) -> StraightEncoder:
    """Return the function that encodes the parts of a value at once.

    Args:
        label: what the function belongs to, for tracebacks.
        parts: the fields.
    """
    writer = _FunctionWriter()
    name = writer.function(parts)
    exec(compile(writer.source(), f"<straight encoding of {label}>", "exec"), writer.names)  # noqa: S102 - see above
    return cast("StraightEncoder", writer.names[name])


class _FunctionWriter:
    """Writes functions, and knows the names of what they use."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = dict(_USED)
        self._named: dict[int, str] = {}  # by id(): what has a name is kept
        self._functions: list[tuple[str, Sequence[FieldEncoding]]] = []
        self._depth = self._parts = 0

    def name(self, thing: Any) -> str:
        """Return a name for something that an expression uses."""
        name = self._named.setdefault(id(thing), f"_{len(self._named)}")
        self.names[name] = thing
        return name

    def function(self, parts: Sequence[FieldEncoding]) -> str:
        """Return the name of the function that encodes the parts of a value; it is written once."""
        name = self._named.get(id(parts))
        if name is None:
            name = self.name(parts)  # the parts stand for the function until it exists
            self._functions.append((name, parts))
        return name

    def variable(self) -> str:
        """Return the name of a variable for the members of a list or map."""
        return f"each_{self._depth}"

    def of(self, converter: Converter, value: str, encode: Callable[[Any], Any] | None = None) -> str:
        """Return the expression that encodes a value.

        Args:
            converter: the converter of the value.
            value: the name of the variable that holds it.
            encode: what encodes unusual values; without it the converter does.
        """
        call = f"{self.name(encode or target_of(converter).encode)}({value})"
        usual = self.usual(converter, value)
        if usual is None:
            return call
        return f"{usual.made} if {usual.test} else {call}" if usual.test else usual.made

    def usual(self, converter: Converter, value: str) -> _Expression | None:
        """Return how a converter's usual values are encoded; None where it has none."""
        usual = target_of(converter).usual
        if usual is None or self._depth >= _DEEPEST or self._parts >= _MOST:
            return None
        self._depth += 1
        self._parts += 1
        try:
            expression = _WITHOUT_PARTS.get(usual.kind)
            if expression is None:
                write = _WRITERS.get(usual.kind)
                return None if write is None else write(self, usual, value)
            made, test = (text.replace("$", value) for text in expression)
            return _Expression(made, test if usual.among is None else f"{test} and {value} in {self.name(usual.among)}")
        finally:
            self._depth -= 1

    def source(self) -> str:
        """Return the text of all functions; more of them may be asked for while they are written."""
        texts = [self._text(name, parts) for name, parts in self._functions]
        return "\n".join(texts)

    def _text(self, name: str, parts: Sequence[FieldEncoding]) -> str:
        before: list[str] = []
        members: list[tuple[str, str]] = []
        after: list[str] = []
        for number, part in enumerate(parts):
            value = f"value_{number}"
            before.append(f"{value} = values[{part.name!r}]")
            made = self.of(part.converter, value, part.encode)
            if part.nullable:
                made = f"{self.name(part.none)} if {value} is None else {made}"
            if part.encode is not None:
                before.append(f"{value} = {made}")
                after.append(f"if {value} is None: del stored[{part.stored!r}]")
                made = value
            members.append((part.stored, made))
        first = ", ".join(f"{stored!r}: {made}" for stored, made in members[:_AT_ONCE])
        rest = [f"stored[{stored!r}] = {made}" for stored, made in members[_AT_ONCE:]]
        return "\n    ".join([f"def {name}(values):", *before, f"stored = {{{first}}}", *rest, *after, "return stored"])


def _is_type(writer: _FunctionWriter, usual: Usual, value: str) -> str:
    """Return the expression that is true for a value of exactly the type that usual values have."""
    return f"type({value}) is {writer.name(usual.of)}"


def _list(writer: _FunctionWriter, usual: Usual, value: str) -> _Expression:
    each = writer.variable()
    elements = f"[{writer.of(usual.inner[0], each)} for {each} in {value}]"
    return _Expression(f"{{'L': {elements}}}", _is_type(writer, usual, value))


def _texts(writer: _FunctionWriter, usual: Usual, value: str) -> _Expression:
    test = f"{_is_type(writer, usual, value)} and {value} and only_text({value})"
    return _Expression(f"{{'SS': sorted({value})}}", test)


def _set(writer: _FunctionWriter, usual: Usual, value: str) -> _Expression:
    [member] = usual.inner
    [tag] = member.tags
    each = writer.variable()
    members = f"{{({writer.of(member, each)})[{tag!r}] for {each} in {value}}}"
    return _Expression(f"{{'{tag}S': sorted({members})}}", f"{_is_type(writer, usual, value)} and {value}")


def _map(writer: _FunctionWriter, usual: Usual, value: str) -> _Expression:
    each = writer.variable()
    members = f"{{{each}_key: {writer.of(usual.inner[0], each)} for {each}_key, {each} in {value}.items()}}"
    return _Expression(f"{{'M': {members}}}", f"type({value}) is dict and only_text({value})")


def _fields(writer: _FunctionWriter, usual: Usual, value: str) -> _Expression:
    members = f"{writer.function(usual.parts)}({value}.__dict__)"
    return _Expression(f"{{'M': {members}}}", _is_type(writer, usual, value))


def _optional(writer: _FunctionWriter, usual: Usual, value: str) -> _Expression:
    return _Expression(f"{{'NULL': True}} if {value} is None else {writer.of(usual.inner[0], value)}")


def _either(writer: _FunctionWriter, usual: Usual, value: str) -> _Expression | None:
    """Return how the usual values of alternatives are encoded of which no two take values of one type."""
    found = [each for member in usual.inner if (each := writer.usual(member, value)) is not None and each.test]
    if not found:
        return None
    *others, last = found
    made = "".join(f"{each.made} if {each.test} else " for each in others)
    return _Expression(made + last.made, last.test)


def _enum(writer: _FunctionWriter, usual: Usual, value: str) -> _Expression | None:
    found = writer.usual(usual.inner[0], f"{value}._value_")  # a third of the time of .value
    if found is None:
        return None
    return _Expression(found.made, f"{_is_type(writer, usual, value)} and {found.test}")


_WRITERS: Final[Mapping[UsualKind, Callable[[_FunctionWriter, Usual, str], _Expression | None]]] = {
    "list": _list,
    "texts": _texts,
    "set": _set,
    "map": _map,
    "fields": _fields,
    "optional": _optional,
    "either": _either,
    "enum": _enum,
}
