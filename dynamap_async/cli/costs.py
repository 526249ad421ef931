"""The line that tells at the end of a command what it took: units, requests, time."""

import time
from collections.abc import Generator
from contextlib import contextmanager

import typer

from dynamap_async.cli.output import number_of, tell, units_of
from dynamap_async.cli.place import Place


@contextmanager
def told_cost(place: Place, *, quiet: bool) -> Generator[None]:
    """Print on standard error what the block's requests cost, unless it fails or sends none.

    Args:
        place: its sessions are those that count.
    """
    began = time.perf_counter()
    try:
        yield
    except typer.Exit:
        # A command that ends with a status, such as "different", has done its work all the same; one that fails has its
        # error.
        _tell(place, time.perf_counter() - began, quiet=quiet)
        raise
    _tell(place, time.perf_counter() - began, quiet=quiet)


def _tell(place: Place, seconds: float, *, quiet: bool) -> None:
    requests = sum(session.statistics().requests for session in place.sessions)
    if quiet or not requests:
        return
    read = sum(session.usage.read_units for session in place.sessions)
    written = sum(session.usage.write_units for session in place.sessions)
    units = [units_of(count, kind) for count, kind in ((read, "read"), (written, "write")) if count]
    took = f"{seconds * 1000:,.0f} ms" if seconds < 1 else f"{seconds:,.1f} s"
    tell(", ".join([*(units or ["no units"]), number_of(requests, "request"), took]))
