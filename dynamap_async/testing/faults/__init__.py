"""Faults on purpose: throttling, lost and damaged answers, items left unprocessed, for tests of programs.

No engine produces them, and DynamoDB only when it hurts. A script in a few lines says what happens to which request;
it is played by a transport inside the program, or by an HTTP server between the program and an engine. The server
brings aiohttp, and is loaded by who uses it: the pytest plugin loads the rest for every run.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dynamap_async.testing.faults.injection import Faults
from dynamap_async.testing.faults.rule import Rule
from dynamap_async.testing.faults.script import LogEntry
from dynamap_async.testing.faults.transport import FaultyTransport

if TYPE_CHECKING:
    from dynamap_async.testing.faults.server import FaultyServer

__all__ = ["Faults", "FaultyServer", "FaultyTransport", "LogEntry", "Rule"]

if not TYPE_CHECKING:  # checkers would take any name for it

    def __getattr__(name: str) -> Any:
        if name != "FaultyServer":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return import_module(f"{__name__}.server").FaultyServer
