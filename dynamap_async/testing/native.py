"""A native engine: dynoxide, run as a child process of this one."""

import os
import re
import socket
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import ClassVar

from dynamap_async.errors import ConfigurationError
from dynamap_async.limits import SORT_KEY_BYTES
from dynamap_async.models import Model, Table
from dynamap_async.request import Request
from dynamap_async.testing.engine import Engine
from dynamap_async.testing.native_program import EXECUTABLE, find_program
from dynamap_async.testing.ports import listen
from dynamap_async.testing.probe import HOST, answers
from dynamap_async.transport import WireTransport
from dynamap_async.wire import Body

_START_ATTEMPTS = 5
_POLL_SECONDS = 0.005
_PROBE_SECONDS = 0.25
_GUARD = "trap '' HUP INT QUIT TERM; read -r _; kill -9 \"$1\""
"""Waits for the end of its standard input, which comes when the process that holds the other end is gone, however that
ended, and then ends the engine. What a closed terminal sends to all of its processes does not end it before."""


_PREFIX = re.compile(r"begins_with\((\S+), (:\w+)\)")
_LAST = ":dynamap_last"
_LAST_CHARACTER = "\U0010ffff"


class NativeTransport(WireTransport, sends_json=True):
    """Asks the native engine for the keys between a prefix and the last key that begins with it.

    The engine's own ``begins_with`` on a sort key that is text takes ASCII letters of either case.
    """

    async def send(self, request: Request) -> Body:
        """Send the request; see ``WireTransport.send``.

        Args:
            request: the operation with its body in wire form.
        """
        return await super().send(_by_range(request) if request.operation == "Query" else request)


def _by_range(request: Request) -> Request:
    keys: str = request.body["KeyConditionExpression"]
    found = _PREFIX.search(keys)
    if found is None:
        return request
    name, first = found.groups()
    values = request.body["ExpressionAttributeValues"]
    prefix: str | None = values[first].get("S")
    if not prefix:  # bytes are compared as they are, and no key is empty
        return request
    last = prefix + _LAST_CHARACTER * ((SORT_KEY_BYTES - len(prefix.encode())) // len(_LAST_CHARACTER.encode()))
    between = f"{keys[: found.start()]}{name} BETWEEN {first} AND {_LAST}{keys[found.end() :]}"
    members = {"KeyConditionExpression": between, "ExpressionAttributeValues": {**values, _LAST: {"S": last}}}
    return replace(request, body={**request.body, **members})


class NativeEngine(Engine):
    """An in-memory DynamoDB in a child process: the executable of dynoxide, on a port of the loopback address.

    Faster and stricter than ``LocalEngine``; its capacity figures follow the service's rules. It is not DynamoDB
    either: nothing is throttled, nothing expires, all regions and accounts share one set of tables, queries on indexes
    with several attributes per key fail, ``SET list[99]`` or removing two elements at once go wrong, a page that ends
    at 1 MB says that one item more was evaluated than were, a segment of a scan ends early if the item that its last
    page ended with was deleted in the meantime, and ``begins_with`` on a sort key that is text takes ASCII letters of
    either case, so that it may find more items than DynamoDB does (filters, bytes and the other comparisons are right).
    Sessions of ``session()``, of the fixtures for pytest and of ``Faults`` ask for a range of keys instead, and find
    what DynamoDB does; other clients of the engine do not: what ``dynamap local`` serves, and what reaches the engine
    through a ``FaultyServer``.

    Args:
        executable: path of the ``dynoxide`` program; otherwise the one that ``DYNAMAP_NATIVE_ENGINE`` names, or that
            ``dynamap engine install`` has installed.
        models: models with a table, or tables, that are created when the engine is entered, under their own names.
        port: the port of the loopback address to listen on; 0 takes one that is free.
        start_timeout_seconds: how long starting may take.

    Raises:
        ConfigurationError: there is no program at that path, or none is installed; or the port is none.
    """

    transport_class: ClassVar[type[WireTransport]] = NativeTransport

    def __init__(
        self,
        executable: str | os.PathLike[str] | None = None,
        *,
        models: Iterable[type[Model] | Table] = (),
        port: int = 0,
        start_timeout_seconds: float = 10.0,
    ) -> None:
        """Create the engine; it starts when its ``with`` block is entered.

        Args:
            executable: the path of dynoxide; None for the one that is installed.
            models: models whose tables are there when the block begins.
            port: the port to listen on, from 1 to 65535, or 0.
            start_timeout_seconds: how long the engine may take to answer for the first time.
        """
        super().__init__(models=models, port=port)
        program = find_program() if executable is None else Path(executable)
        if program is None:
            raise ConfigurationError(
                f"the native engine is not installed; run `dynamap engine install`, or set {EXECUTABLE} to the path "
                "of dynoxide"
            )
        self._executable = program
        by_variable = executable is None and os.environ.get(EXECUTABLE)
        self._named = f"{EXECUTABLE}={program}" if by_variable else str(program)
        if not os.access(self._executable, os.X_OK) or self._executable.is_dir():
            raise ConfigurationError(
                f"{self._named} is not an executable file; give the path of the dynoxide executable"
            )
        self._start_timeout_seconds = start_timeout_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._port: int | None = None

    def reset(self) -> None:
        """Delete all tables, by a restart on the same port. Requests under way fail; sessions connect again."""
        if self._process is None or self._port is None:
            raise self._not_running()
        self._kill()
        self._launch(self._port)

    def _start(self) -> None:
        if self._wanted_port:
            listen(self._wanted_port).close()  # says who is to blame where it is taken
            self._launch(self._wanted_port)
            self._port = self._wanted_port
            return
        # Between finding a free port and listening on it another program may take it: then the engine exits at once.
        attempts = _START_ATTEMPTS
        while True:
            attempts -= 1
            port = _free_port()
            try:
                self._launch(port)
            except ConfigurationError:
                if not attempts or self._process is not None:
                    raise
            else:
                self._port = port
                return

    def _listening_port(self) -> int:
        if self._port is None:
            raise self._not_running()
        return self._port

    def _stop(self) -> None:
        self._kill()
        self._port = None

    def _kill(self) -> None:
        # The guard first: what it would kill later, by its number, might be another process.
        for process in (self._guard, self._process):
            if process is not None:
                process.kill()
                process.wait()
                if process.stdin is not None:
                    process.stdin.close()
        self._guard = self._process = None

    def _launch(self, port: int) -> None:
        """Start the process and return when it answers; leave ``_process`` None if it ended by itself."""
        with tempfile.TemporaryFile() as output:
            command = [str(self._executable), "serve", "--host", HOST, "--port", str(port)]
            try:
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
            except OSError as error:  # such as a script without its first line, or the program of another machine
                raise ConfigurationError(
                    f"{self._named} cannot be run: {error.strerror}; give the path of the dynoxide executable"
                ) from error
            self._process = process
            self._guard = _guarded(process)
            deadline = monotonic() + self._start_timeout_seconds
            while not answers(port, timeout_seconds=_PROBE_SECONDS):
                if _ended(process):
                    self._kill()
                    output.seek(0)
                    said = output.read().decode(errors="replace").strip()
                    raise ConfigurationError(f"{self._named} ended with status {process.returncode}: {said}")
                if monotonic() > deadline:
                    raise ConfigurationError(
                        f"{self._named} did not answer on port {port} within {self._start_timeout_seconds} s"
                    )
            if _ended(process):
                self._kill()
                raise ConfigurationError(f"another program already listens on port {port}; choose another port")


def _guarded(process: "subprocess.Popen[bytes]") -> "subprocess.Popen[bytes] | None":
    """Start a guard that ends a process once this one is gone; None if there is no shell for it, as on Windows."""
    command = ["/bin/sh", "-c", _GUARD, "guard", str(process.pid)]
    nowhere = subprocess.DEVNULL  # whoever reads the output of this process does not wait for that of the guard
    try:
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=nowhere, stderr=nowhere)
    except FileNotFoundError:
        return None


def _ended(process: "subprocess.Popen[bytes]") -> bool:
    try:
        process.wait(timeout=_POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
