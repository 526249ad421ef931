"""The form of requests: what is required, how long texts may be, and which words an option takes.

The service checks the form first, and tells all that is wrong with it at once. A member that this engine does not know
is refused by its name, since it would be ignored otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeAlias

from dynamap_async.simulated.errors import Refused, invalid
from dynamap_async.simulated.values import wrong_json

Check: TypeAlias = Callable[[Any, str, list[str]], None]
"""Looks at a value at a path of the request, and adds what is wrong."""


def shown(value: Any) -> str:
    """Return a value as the service's errors show it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if value.__class__ is dict:
        members: dict[str, Any] = value
        return f"{{{', '.join(f'{name}={shown(each)}' for name, each in members.items())}}}"
    if value.__class__ is list:
        elements: list[Any] = value
        return f"[{', '.join(map(shown, elements))}]"
    return str(value)


def _fault(value: Any, path: str, constraint: str) -> str:
    quoted = "null" if value is None else f"'{shown(value)}'"
    return f"Value {quoted} at '{path}' failed to satisfy constraint: Member must {constraint}"


def text(least: int = 0, most: int | None = None, pattern: str | None = None) -> Check:
    """Return the check of a text."""
    wanted = re.compile(pattern) if pattern else None

    def check(value: Any, path: str, found: list[str]) -> None:
        if type(value) is not str:
            raise wrong_json(value, "String")
        if len(value) < least:
            found.append(_fault(value, path, f"have length greater than or equal to {least}"))
        elif most is not None and len(value) > most:
            found.append(_fault(value, path, f"have length less than or equal to {most}"))
        if wanted is not None and value and not wanted.fullmatch(value):
            found.append(_fault(value, path, f"satisfy regular expression pattern: {pattern}"))

    return check


def choice(*options: str) -> Check:
    """Return the check of a word that is one of several."""

    def check(value: Any, path: str, found: list[str]) -> None:
        if type(value) is not str:
            raise wrong_json(value, "String")
        if value not in options:
            found.append(_fault(value, path, f"satisfy enum value set: [{', '.join(options)}]"))

    return check


def number(least: int | None = None, most: int | None = None) -> Check:
    """Return the check of a whole number."""

    def check(value: Any, path: str, found: list[str]) -> None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise wrong_json(value, "Integer")
        if least is not None and value < least:
            found.append(_fault(value, path, f"have value greater than or equal to {least}"))
        elif most is not None and value > most:
            found.append(_fault(value, path, f"have value less than or equal to {most}"))

    return check


def flag(value: Any, path: str, found: list[str]) -> None:  # noqa: ARG001 - a check
    """Check a boolean."""
    if type(value) is not bool:
        raise wrong_json(value, "Boolean")


def anything(value: Any, path: str, found: list[str]) -> None:
    """Check nothing: the operation looks at it."""


def listing(each: Check, least: int = 0, most: int | None = None) -> Check:
    """Return the check of a list."""

    def check(value: Any, path: str, found: list[str]) -> None:
        if value.__class__ is not list:
            raise wrong_json(value, "List")
        elements: list[Any] = value
        if len(elements) < least:
            found.append(_fault(value, path, f"have length greater than or equal to {least}"))
        elif most is not None and len(elements) > most:
            found.append(_fault(value, path, f"have length less than or equal to {most}"))
            return
        for number_, element in enumerate(elements, 1):
            each(element, f"{path}.{number_}.member", found)

    return check


def mapping(each: Check = anything) -> Check:
    """Return the check of a map."""

    def check(value: Any, path: str, found: list[str]) -> None:
        if value.__class__ is not dict:
            raise wrong_json(value, "Map")
        members: dict[str, Any] = value
        if each is not anything:
            for name, element in members.items():
                each(element, f"{path}.{name}.member", found)

    return check


class Structure:
    """The check of a structure, and of a whole request.

    Args:
        members: name -> its check; a name that ends in ``!`` must be there.
    """

    def __init__(self, members: Mapping[str, Check]) -> None:
        self.members: dict[str, Check] = {name.rstrip("!"): check for name, check in members.items()}
        self._required = [name.rstrip("!") for name in members if name.endswith("!")]

    def __call__(self, value: Any, path: str, found: list[str]) -> None:
        """Look at a structure inside a request."""
        if value.__class__ is not dict:
            raise wrong_json(value, "Structure")
        before = f"{path}." if path else ""
        members: dict[str, Any] = value
        for name in self._required:
            if members.get(name) is None:
                found.append(_fault(None, before + _small(name), "not be null"))  # noqa: PERF401 - hardly ever
        for name, element in members.items():
            check = self.members.get(name)
            if check is None:
                raise Refused("ValidationException", f"the simulated DynamoDB does not know the member {before}{name}")
            if element is not None:
                check(element, before + _small(name), found)

    def admit(self, body: Any) -> None:
        """Look at a request.

        Raises:
            Refused: its form is wrong.
        """
        found: list[str] = []
        self(body, "", found)
        if found:
            errors = "error" if len(found) == 1 else "errors"
            raise invalid(f"{len(found)} validation {errors} detected: {'; '.join(found)}")


@cache
def _small(name: str) -> str:
    return name[0].lower() + name[1:]
