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
from typing import Any

from benchmarks import subjects

ENTRY = Path(__file__).with_name("__main__.py")


class WorkerError(Exception):
    """A worker gave no figures; the text says why."""


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
    """Which Python runs what, and on which cores."""

    aiodynamodb: str | None
    server_cores: frozenset[int]
    client_cores: frozenset[int]

    @classmethod
    def found(cls) -> "Programs":
        """Return what this machine has."""
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
        """Run one worker to its end and return what it tells.

        Args:
            mode: what ``python benchmarks`` is asked to do.
            subject: the library.
            arguments: what follows it on the command line.
            seconds: how long it may take.
            environment: variables that it is given in addition.

        Raises:
            WorkerError: it took longer, failed, or cannot be run here.
        """
        line = [self.python(subject), str(ENTRY), mode, subject, *arguments]
        try:
            with _pinned(self.client_cores):
                ran = subprocess.run(
                    line,
                    capture_output=True,
                    text=True,
                    check=False,
                    timeout=seconds,
                    env={**os.environ, **(environment or {})},
                )
        except subprocess.TimeoutExpired as error:
            raise WorkerError(f"failed: no end after {seconds:.0f} seconds") from error
        if ran.returncode:
            last = (ran.stderr.strip().splitlines() or ["the process ended without a word"])[-1]
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
            line = [sys.executable, str(ENTRY), "server", "--scanned", str(scanned), "--certificate", certificate]
            with _pinned(self.server_cores), subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
                try:
                    assert process.stdout is not None
                    plain, tls = process.stdout.readline().split()
                    yield Server(f"http://127.0.0.1:{plain}", f"https://127.0.0.1:{tls}", trusted)
                finally:
                    process.terminate()


def _cores() -> tuple[frozenset[int], frozenset[int]]:
    """Return the cores of the server and those of the clients: apart, where there are two."""
    allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
    if len(allowed) < 2:
        return frozenset(allowed), frozenset(allowed)
    return frozenset(allowed[-1:]), frozenset(allowed[:-1])


@contextmanager
def _pinned(cores: frozenset[int]) -> Iterator[None]:
    """Let processes that are started here run on these cores only, where the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
