"""Faults on purpose: throttling, lost and damaged answers, items left unprocessed, for tests of programs.

No engine produces them, and DynamoDB only when it hurts. A script in a few lines says what happens to which request;
it is played by a transport inside the program, or by an HTTP server between the program and an engine.
"""

from dynamap_async.testing.faults.injection import Faults
from dynamap_async.testing.faults.rule import Rule
from dynamap_async.testing.faults.script import LogEntry
from dynamap_async.testing.faults.server import FaultyServer
from dynamap_async.testing.faults.transport import FaultyTransport

__all__ = ["Faults", "FaultyServer", "FaultyTransport", "LogEntry", "Rule"]
