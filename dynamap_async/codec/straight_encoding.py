"""Straight encoding: one function for all fields of a model, made when its first item is encoded.

Calling the encoder of each field, and of each part of its value, costs more than what they do. A reader would write
``{"user_id": {"S": value} if type(value) is str else encode(value), "likes": ...}``, so that is what is written here,
as ``dataclasses`` and ``attrs`` write constructors. It takes a third off encoding an item (benchmarks: encode,
encode_small, encode_wide, encode_deep, encode_large), and writing the functions takes less than a millisecond for a
model of 10 fields, when its first item is encoded.

Each converter says by ``inline`` how its usual values are encoded, and how to tell them. All others, and values of
types without such a form, go through its ``encode``. A model in a model has a function of its own, called by name, so
that types may contain themselves. Where a value cannot be stored, or is missing, the function only raises, without
saying where: the caller asks the converters then, who know. They make no use of what is written here, so that nothing
is encoded more than twice, however deep it is.

Written are names, by their ``repr``, and what converters say of their types; nothing of values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from dynamap_async.codec.converter import Converter, Part, Usual
from dynamap_async.codec.deferred import Deferred
from dynamap_async.wire import WireItem

StraightEncoder: TypeAlias = Callable[[Mapping[str, Any]], WireItem]
"""Name -> value, to stored name -> attribute value; raises EncodeError without a path, or KeyError for no value."""

_DEEPEST: Final = 5
"""How many expressions stand inside each other; a value that is nested deeper is encoded by a call."""
_MOST: Final = 500
"""How many parts are written, in all functions of a model; unions of lists and maps multiply."""
_AT_ONCE: Final = 15
"""How many members Python puts into a dict at once; a larger display is slower than assignments (encode_wide)."""


def straight_encoder(label: str, parts: Sequence[Part]) -> StraightEncoder:
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
        self.names: dict[str, Any] = {}
        self._named: dict[int, str] = {}  # by id(): what has a name is kept
        self._functions: list[tuple[str, Sequence[Part]]] = []
        self._depth = self._parts = 0

    def use(self, **things: Any) -> None:
        """Let expressions use things under names that mean the same everywhere."""
        self.names.update(things)

    def name(self, thing: Any) -> str:
        """Return a name for something that an expression uses."""
        name = self._named.setdefault(id(thing), f"_{len(self._named)}")
        self.names[name] = thing
        return name

    def function(self, parts: Sequence[Part]) -> str:
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
        call = f"{self.name(encode or _target(converter).encode)}({value})"
        usual = self.usual(converter, value)
        if usual is None:
            return call
        return f"{usual.made} if {usual.test} else {call}" if usual.test else usual.made

    def usual(self, converter: Converter, value: str) -> Usual | None:
        """Return how a converter's usual values are encoded; None where it has none."""
        converter = _target(converter)
        if converter.inline is None or self._depth >= _DEEPEST or self._parts >= _MOST:
            return None
        self._depth += 1
        self._parts += 1
        try:
            return converter.inline(value, self)
        finally:
            self._depth -= 1

    def source(self) -> str:
        """Return the text of all functions; more of them may be asked for while they are written."""
        texts = [self._text(name, parts) for name, parts in self._functions]
        return "\n".join(texts)

    def _text(self, name: str, parts: Sequence[Part]) -> str:
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


def _target(converter: Converter) -> Converter:
    while isinstance(converter, Deferred):
        converter = converter.target
    return converter
