"""Faults on purpose: throttling, lost and damaged answers, items left unprocessed, for tests of programs.

No engine produces them, and DynamoDB only when it hurts. A script in a few lines says what happens to which request;
it is played by a transport inside the program, or by an HTTP server between the program and an engine. The server
brings aiohttp, and is loaded by who uses it: the pytest plugin loads the rest for every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamap_async.lazy_names import lazy_names
from dynamap_async.testing.faults.injection import Faults
from dynamap_async.testing.faults.rule import Rule
from dynamap_async.testing.faults.script import LogEntry
from dynamap_async.testing.faults.transport import FaultyTransport

if TYPE_CHECKING:
    from dynamap_async.testing.faults.server import FaultyServer

__all__ = ["Faults", "FaultyServer", "FaultyTransport", "LogEntry", "Rule"]

if not TYPE_CHECKING:  # checkers would take any name for it
    __getattr__ = lazy_names(__name__, {"server": "FaultyServer"})
