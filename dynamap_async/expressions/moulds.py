"""Moulds: the members of a request that its expressions make, rendered once for a shape and filled with values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dynamap_async import limits
from dynamap_async.codec import value_size
from dynamap_async.expressions.shapes import Values

_VALUES: Final = "ExpressionAttributeValues"
_NAMES: Final = "ExpressionAttributeNames"
_PLACE_BYTES: Final = 200
"""What a placeholder takes, and its value's place in the shape."""


@dataclass(frozen=True)
class Mould:
    """The members of a request whose expressions have one shape, without their values."""

    members: Mapping[str, Any]
    places: tuple[tuple[str, int], ...]
    """Placeholder -> the place of its value among those of the shape."""
    fixed_bytes: int
    """The size of the names, and of all placeholders."""

    @property
    def kept_bytes(self) -> int:
        """About how much memory it takes."""
        return len(repr(self.members)) + _PLACE_BYTES * len(self.places)

    @classmethod
    def of(cls, members: Mapping[str, Any], values: Values) -> "Mould":
        """Return the mould of rendered members; it holds none of the values, which are the program's and may be large.

        Args:
            members: the members, placeholders and values among them.
            values: the values that they were rendered with, in the order of the shape.
        """
        names: dict[str, str] = members.get(_NAMES, {})
        used: dict[str, Any] = members.get(_VALUES, {})
        spelled = [repr(value) for value in values]
        return cls(
            {**members, _VALUES: {}} if used else members,
            tuple([(placeholder, spelled.index(repr(stored))) for placeholder, stored in used.items()]),
            sum(len(key) + len(name.encode()) for key, name in names.items()) + sum(map(len, used)),
        )

    def filled(self, values: Values) -> dict[str, Any] | None:
        """Return the members with these values; None where they are more than DynamoDB accepts, or nearly."""
        members = dict(self.members)
        if self.places:
            if self.fixed_bytes + sum(map(value_size, values)) > limits.EXPRESSION_SUBSTITUTIONS_BYTES:
                return None
            members[_VALUES] = {placeholder: values[place] for placeholder, place in self.places}
        return members
