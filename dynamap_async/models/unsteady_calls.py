"""What a function uses that gives another result each time, or reaches beyond its arguments: the clock, chance, I/O.

Only what the function itself names is found, and only where the names mean something already.
"""

from __future__ import annotations

import builtins
import dis
import inspect
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

_ANY: Final[frozenset[str]] = frozenset()
"""Stands for all names of a module."""
_UNSTEADY: Final[Mapping[str, frozenset[str]]] = {
    "aiohttp": _ANY,
    "asyncio": _ANY,
    "boto3": _ANY,
    "builtins": frozenset(("input",)),
    "datetime": frozenset(("now", "today", "utcnow")),
    "httpx": _ANY,
    "io": frozenset(("open",)),
    "_io": frozenset(("open",)),
    "random": _ANY,
    "requests": _ANY,
    "secrets": _ANY,
    "socket": _ANY,
    "subprocess": _ANY,
    "time": frozenset(("monotonic", "monotonic_ns", "perf_counter", "sleep", "time", "time_ns")),
    "uuid": frozenset(("uuid1", "uuid4")),
}
"""Package -> the names of what is unsteady in it."""
_ATTRIBUTE: Final = ("LOAD_ATTR", "LOAD_METHOD")


def unsteady_call(function: FunctionType) -> str | None:
    """Return what a function uses that is unsteady, such as ``datetime.now``; None where nothing is seen.

    Args:
        function: it.
    """
    for code in codes_of(function.__code__):
        steps = list(dis.get_instructions(code))
        for position, step in enumerate(steps):
            if step.opname == "LOAD_GLOBAL":
                value = function.__globals__.get(step.argval, getattr(builtins, step.argval, None))
                after = takewhile(lambda each: each.opname in _ATTRIBUTE, steps[position + 1 :])
                if (found := _unsteady(value, [step.argval, *(each.argval for each in after)])) is not None:
                    return found
    return None


def codes_of(code: CodeType) -> Iterator[CodeType]:
    """Yield the code of a function, and of the functions in it.

    Args:
        code: the function's.
    """
    yield code
    for constant in code.co_consts:
        if inspect.iscode(constant):
            yield from codes_of(constant)


def _unsteady(value: Any, names: Sequence[str]) -> str | None:
    """Return as many of the names, the first that of the value and the others of its attributes, as are unsteady."""
    for number, _ in enumerate(names, 1):
        if _is_unsteady(value):
            return ".".join(names[:number])
        if number == len(names) or not isinstance(value, ModuleType | type):
            return None
        value = getattr(value, names[number], None)
    return None


def _is_unsteady(value: Any) -> bool:
    if isinstance(value, ModuleType):
        return False  # what is used of it is
    owner = getattr(value, "__self__", None)
    module = str(getattr(owner if isinstance(owner, type) else value, "__module__", None))
    names = _UNSTEADY.get(module.partition(".")[0])
    return names is not None and (names is _ANY or getattr(value, "__name__", None) in names)
