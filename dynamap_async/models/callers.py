"""The statement of the user's program that makes or first uses a class."""

from __future__ import annotations

import sys
import warnings
from types import FrameType
from typing import Any, Final, get_origin

_NOT_THE_USER: Final = (
    "pydantic",
    "types",
    "typing",
    "typing_extensions",
    "contextlib",
    "functools",
    "dynamap_async.codec",
    "dynamap_async.expressions",
    "dynamap_async.models",
    "dynamap_async.operations",
    "dynamap_async.session",
    "dynamap_async.tables",
)


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn about the statement of the user's program that led here, however deep it is in the stack."""
    frame = _calling_frame()
    if frame is None:
        warnings.warn(message, category, stacklevel=2)
        return
    names = frame.f_globals
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=names.get("__name__"),
        registry=names.setdefault("__warningregistry__", {}),
    )


def caller_names() -> dict[str, Any]:
    """Return the local names where the user's statement stands, which forward references may mean."""
    frame = _calling_frame()
    return {} if frame is None else dict(frame.f_locals)


def local_classes() -> dict[str, Any]:
    """Return the types among the local names of the function where the user's statement stands; none of a module."""
    frame = _calling_frame()
    if frame is None or frame.f_locals is frame.f_globals:
        return {}
    found: dict[str, Any] = dict(frame.f_locals)
    return {name: each for name, each in found.items() if isinstance(each, type) or get_origin(each) is not None}


def _calling_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - documented, if CPython's own
    while frame is not None and _is_library(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    return frame


def _is_library(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in _NOT_THE_USER)
