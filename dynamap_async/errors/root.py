"""The root of the tree: an error whose facts survive copying and pickling."""

from __future__ import annotations

import re
from typing import Any, ClassVar


def _rebuild(kind: type[DynamapError], args: tuple[Any, ...], facts: dict[str, Any]) -> DynamapError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(facts)
    return error


class DynamapError(Exception):
    """The base of every error of this library. Its text says what is wrong, and what to do about it."""

    code: ClassVar[str] = "dynamap"
    """A stable name of the kind of error; the anchor of its section in the documentation."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.code = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__.removesuffix("Error")).lower()

    def __reduce__(self) -> tuple[Any, ...]:
        # Python would call the constructor with the message alone, which lacks the other facts.
        return _rebuild, (type(self), self.args, self.__dict__)
