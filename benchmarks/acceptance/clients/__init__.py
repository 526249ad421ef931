"""The libraries that are asked: name -> where its client is. Imported only in the process that runs it."""

import importlib

from benchmarks.acceptance.clients.client import Client

OURS = "dynamap_async"
_CLASSES = {
    OURS: "ours:Ours",
    "aiobotocore": "aiobotocore:Aiobotocore",
    "PynamoDB": "pynamodb:Pynamodb",
    "pydynox": "pydynox:Pydynox",
}
NAMES = tuple(_CLASSES)

__all__ = ["NAMES", "OURS", "Client", "load"]


def load(name: str) -> type[Client]:
    """Import the library and return its client."""
    module, _, made = _CLASSES[name].partition(":")
    found: type[Client] = getattr(importlib.import_module(f"benchmarks.acceptance.clients.{module}"), made)
    return found
