"""The processes of a run: the server on a core of its own, and fresh workers on another."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchmarks import subjects

ENTRY = Path(__file__).with_name("__main__.py")


class WorkerError(Exception):
    """A worker printed no figures; the message says why."""


@dataclass(frozen=True, slots=True)
class Server:
    """The stub server that runs."""

    plain: str
    """Its address for HTTP."""
    tls: str
    """Its address for HTTPS."""
    trusted: str
    """The file with the authority that its certificate is from, made for this run."""

    @property
    def environment(self) -> dict[str, str]:
        """What lets a client of any library trust it: botocore's variable, and that of OpenSSL and Rust."""
        return {"AWS_CA_BUNDLE": self.trusted, "SSL_CERT_FILE": self.trusted}


@dataclass(frozen=True, slots=True)
class Programs:
    """Which Python runs a program, and on which cores."""

    aiodynamodb: str | None
    server_cores: frozenset[int]
    client_cores: frozenset[int]

    @classmethod
    def found(cls) -> "Programs":
        """Return the Pythons and cores of this machine."""
        return cls(os.environ.get("DYNAMAP_BENCH_APART"), *_cores())

    def python(self, subject: str) -> str:
        """Return the Python of the library's environment.

        Raises:
            WorkerError: it was not installed.
        """
        python = self.aiodynamodb if subject == subjects.APART else sys.executable
        if python is None:
            raise WorkerError("cannot: its environment is not there; DYNAMAP_BENCH_APART names its Python")
        return python

    def work(
        self,
        mode: str,
        subject: str,
        arguments: Sequence[str],
        *,
        seconds: float,
        environment: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Run one worker to its end and return its result.

        Args:
            mode: what ``python benchmarks`` is asked to do.
            arguments: what follows it on the command line.
            environment: variables that it is given in addition.

        Raises:
            WorkerError: it took longer, failed, or cannot be run here.
        """
        line = [self.python(subject), str(ENTRY), mode, subject, *arguments]
        return self._told(line, self.client_cores, seconds=seconds, environment=environment or {})

    def load(self, arguments: Sequence[str], *, seconds: float) -> dict[str, Any]:
        """Put load on a service, from the server's cores, and return the latencies.

        Args:
            arguments: the command line of ``python benchmarks load``.

        Raises:
            WorkerError: it took longer, or failed.
        """
        return self._told([sys.executable, str(ENTRY), "load", *arguments], self.server_cores, seconds=seconds)

    def _told(
        self,
        line: Sequence[str],
        cores: frozenset[int],
        *,
        seconds: float,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> dict[str, Any]:
        env = {**os.environ, **environment}
        try:
            with pinned(cores):
                ran = subprocess.run(line, capture_output=True, text=True, check=False, timeout=seconds, env=env)
        except subprocess.TimeoutExpired as error:
            raise WorkerError(f"failed: no end after {seconds:.0f} seconds") from error
        if ran.returncode:
            words = [line.strip(" |+-") for line in ran.stderr.splitlines()]  # an exception group's have a frame
            last = next(filter(None, reversed(words)), "the process ended without a word")
            raise WorkerError(f"failed: {last}")
        told: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
        return told

    @contextmanager
    def server(self, *, scanned: int) -> Iterator[Server]:
        """Start the stub server, with a certificate of its own; end it afterwards."""
        import trustme  # here, since tests that start no server have no need of it

        with tempfile.TemporaryDirectory() as folder:
            trusted, certificate = (str(Path(folder, name)) for name in ("authority.pem", "server.pem"))
            authority = trustme.CA()
            authority.cert_pem.write_to_path(trusted)
            authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(certificate)
            line = ["server", "--scanned", str(scanned), "--certificate", certificate]
            with self._serving(line, self.server_cores) as ports:
                plain, tls = ports.split()
                yield Server(f"http://127.0.0.1:{plain}", f"https://127.0.0.1:{tls}", trusted)

    @contextmanager
    def service(self, library: str, endpoint: str) -> Iterator[str]:
        """Start the web service of a library on the clients' cores, and give its port; end it afterwards."""
        with self._serving(["serving", library, "--endpoint", endpoint], self.client_cores) as port:
            yield port

    @contextmanager
    def _serving(self, arguments: Sequence[str], cores: frozenset[int]) -> Iterator[str]:
        """Start a server and give the line that it prints; end it afterwards."""
        line = [sys.executable, str(ENTRY), *arguments]
        with pinned(cores):
            process = subprocess.Popen(line, stdout=subprocess.PIPE, text=True)
        with process:
            try:
                assert process.stdout is not None
                yield process.stdout.readline().strip()
            finally:
                process.terminate()


def _cores() -> tuple[frozenset[int], frozenset[int]]:
    """Return the cores of the server and those of the clients: apart, where there are two."""
    allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
    if len(allowed) < 2:
        return frozenset(allowed), frozenset(allowed)
    return frozenset(allowed[-1:]), frozenset(allowed[:-1])


@contextmanager
def pinned(cores: frozenset[int]) -> Iterator[None]:
    """Pin processes that are started in the block to cores, where the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
