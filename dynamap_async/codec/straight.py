"""Straight decoding of one map: one expression for all its members, made once for each set of members that is met.

Looking each member up in a table and calling its function costs twice what the expression does that a reader would
write by hand: ``{"user_id": stored["user_id"]["S"], "likes": stored["likes"]["N"]}``. So that expression is made, as
``dataclasses`` and ``attrs`` make constructors. Maps that are like all of their page never come here: see
``codec.straight_decoding``. What it is made of are names, by their ``repr``, and the tags of values; nothing that was
stored.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from dynamap_async.codec.converter import tag_of
from dynamap_async.codec.deferred import Deferred
from dynamap_async.wire import AttributeValue

Straight: TypeAlias = Callable[[Mapping[str, AttributeValue]], dict[str, Any]]
"""Stored members -> name -> decoded value; raises one of ``MISFITS`` where one does not have its usual form."""

_VARIANTS: Final = 32
"""For how many sets of members, or orders of them, an expression is made: items of many optional fields have many."""


class StraightDecoders(dict[tuple[str, ...], "Straight | None"]):
    """The stored names of a map's members -> what decodes such a map; None where that takes a look at each member."""

    def __init__(self, members: Mapping[str, tuple[Any, ...]]) -> None:
        """Describe the members; nothing is made before a map with them is met.

        Args:
            members: stored name -> the name in Python, and the decoder.
        """
        super().__init__()
        self._members = members

    def __missing__(self, names: tuple[str, ...]) -> Straight | None:
        if len(self) >= _VARIANTS:
            return None  # what is not kept is not worth making
        made = self[names] = _made(names, self._members) if self._members.keys() >= set(names) else None
        return made

    def misfit(self, names: tuple[str, ...]) -> None:
        """Make no more use of an expression that failed: the next map may be like this one, and decoded twice."""
        self[names] = None


def _made(names: Sequence[str], members: Mapping[str, tuple[Any, ...]]) -> Straight:
    decoders: dict[str, Any] = {}
    parts: list[str] = []
    for number, stored in enumerate(names):
        name, decode = members[stored][:2]
        if (tag := tag_of(decode)) is not None:
            parts.append(f"{name!r}: stored[{stored!r}][{tag!r}]")
            continue
        deferred = getattr(decode, "__self__", None)
        decoders[f"decode_{number}"] = deferred.target.decode if isinstance(deferred, Deferred) else decode
        parts.append(f"{name!r}: decode_{number}(stored[{stored!r}])")
    made: Straight = eval(f"lambda stored: {{{', '.join(parts)}}}", decoders)  # noqa: S307 - see above
    return made
