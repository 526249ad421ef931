"""The libraries under measure: name -> where its subject is. Imported only in the process that measures it."""

import importlib

from benchmarks.subjects.subject import CannotError, Subject

FLOOR = "floor"
LEAN = "lean"
OURS = "dynamap_async"
APART = "aiodynamodb"
"""Pins another aiobotocore, so it has an environment of its own."""

_CLASSES = {
    FLOOR: "floor:Floor",
    LEAN: "lean:Lean",
    OURS: "ours:Ours",
    "aiobotocore": "aiobotocore:Aiobotocore",
    "aiodynamo": "aiodynamo:Aiodynamo",
    "dynamoxy": "dynamoxy:Dynamoxy",
    "dynamoxy-pydantic": "dynamoxy_pydantic:DynamoxyPydantic",
    "pydynox": "pydynox:Pydynox",
    "pynamodb": "pynamodb:Pynamodb",
    APART: "aiodynamodb:Aiodynamodb",
}
NAMES = tuple(_CLASSES)
PEERS = tuple(name for name in NAMES if name not in (FLOOR, LEAN, OURS))

__all__ = ["APART", "FLOOR", "LEAN", "NAMES", "OURS", "PEERS", "CannotError", "Subject", "load"]


def load(name: str) -> type[Subject]:
    """Import the library and return its subject."""
    module, _, made = _CLASSES[name].partition(":")
    found: type[Subject] = getattr(importlib.import_module(f"benchmarks.subjects.{module}"), made)
    return found
