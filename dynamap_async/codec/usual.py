"""How the usual values of types are encoded in an expression: see ``codec.straight_encoding``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dynamap_async.codec.converter import Converter, Inline, Usual, Writer
from dynamap_async.wire import Tag


def inline(tag: Tag, content: str, test: str, **uses: Any) -> Inline:
    """Return how the usual values of a type without parts are encoded.

    Args:
        tag: the stored type.
        content: the expression of what is stored; ``$`` stands for the value.
        test: the expression that tells whether a value is a usual one.
        uses: what the expressions use beside Python's own functions, under the name that they give it.
    """

    def write(value: str, writer: Writer) -> Usual:
        writer.use(**uses)
        return Usual(f"{{{tag!r}: {content}}}".replace("$", value), test.replace("$", value))

    return write


def inline_list(member: Converter, kind: type[Any]) -> Inline:
    """Return how a list, or another sequence of one type, is encoded."""

    def write(value: str, writer: Writer) -> Usual:
        each = writer.variable()
        elements = f"[{writer.of(member, each)} for {each} in {value}]"
        return Usual(f"{{'L': {elements}}}", f"type({value}) is {writer.name(kind)}")

    return write


def inline_set(member: Converter, kind: type[Any], tag: str, set_tag: str, *, texts: bool) -> Inline:
    """Return how a set that is stored as a set is encoded.

    Args:
        member: the converter of the members.
        kind: set or frozenset.
        tag: the stored type of a member.
        set_tag: the stored type of the set.
        texts: whether text is stored as it is.
    """

    def write(value: str, writer: Writer) -> Usual:
        test = f"type({value}) is {writer.name(kind)} and {value}"
        if texts:
            writer.use(only_text=only_text)
            return Usual(f"{{'SS': sorted({value})}}", f"{test} and only_text({value})")
        each = writer.variable()
        members = f"{{({writer.of(member, each)})[{tag!r}] for {each} in {value}}}"
        return Usual(f"{{{set_tag!r}: sorted({members})}}", test)

    return write


def inline_map(member: Converter) -> Inline:
    """Return how a dict whose keys are text is encoded."""

    def write(value: str, writer: Writer) -> Usual:
        writer.use(only_text=only_text)
        each = writer.variable()
        members = f"{{{each}_key: {writer.of(member, each)} for {each}_key, {each} in {value}.items()}}"
        return Usual(f"{{'M': {members}}}", f"type({value}) is dict and only_text({value})")

    return write


def only_text(members: Iterable[Any]) -> bool:
    """Return whether all members are text, and not of a subclass of it."""
    for each in members:  # noqa: SIM110 - a third of what all() costs for sets of the usual size (benchmarks: encode)
        if type(each) is not str:
            return False
    return True
