"""What ``template(...)`` says, as it stands in a field's metadata, and the error of a pattern that cannot work."""

from dataclasses import dataclass


class PatternError(ValueError):
    """A pattern is wrong; the model's definition turns this into a ModelDefinitionError."""


@dataclass(frozen=True, slots=True)
class DeclaredTemplate:
    """The pattern of a computed key, before the types of its fields are known."""

    pattern: str
    escape: bool = False
    """Whether separators inside of values are escaped; otherwise such values are refused."""
