"""How one run is measured: many calls from concurrent callers, or one piece of work, with the CPU that it took."""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Run:
    """The figures of one run of a question."""

    cost: float
    """The figure that is compared, in the question's unit."""
    rate: float | None = None
    """Operations in a second."""
    p50_ms: float | None = None
    """The time that half of the calls took at most, in milliseconds."""
    p99_ms: float | None = None
    peak_mib: float | None = None
    """The most memory that the process held."""
    blocked_ms: float | None = None
    """The longest time in which the event loop did nothing else."""


@dataclass(frozen=True, slots=True)
class Effort:
    """The amount of work in one run."""

    seconds: float
    """How long a run lasts, about."""
    many: int
    """How many items a bulk question has."""
    scanned: int
    """How many items a scan finds."""
    streamed: int
    """How many items the long query finds."""
    million: int = 1_000_000
    """How many the longest one finds."""
    loaded: int = 10_000
    """How many items are kept in memory."""


FULL = Effort(seconds=0.3, many=10_000, scanned=100_000, streamed=50_000)
QUICK = Effort(seconds=0.04, many=500, scanned=1_600, streamed=2_000, million=20_000)


async def calls(
    call: Callable[[int], Awaitable[object]],
    *,
    callers: int,
    seconds: float,
    distinct: int,
    per: int = 1,
    least: int = 1,
) -> Run:
    """Measure a call that many callers make again and again.

    Args:
        call: the call; it is given a number below ``distinct``.
        callers: how many tasks call, each one call after the other.
        seconds: about how long to measure.
        distinct: the numbers begin again after so many.
        per: how many operations one call is.
        least: how many calls to measure at least, however long they take.
    """
    times: list[float] = []

    async def caller(numbers: range, given: list[int]) -> None:
        while given[0] < len(numbers):
            number = given[0]
            given[0] += 1
            begin = time.perf_counter()
            await call(number % distinct)
            times.append(time.perf_counter() - begin)

    async def all_callers(total: int) -> float:
        given = [0]
        begin = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(min(callers, total)):
                group.create_task(caller(range(total), given))
        return time.perf_counter() - begin

    # Twice, since the first round may end with fewer connections than callers: a TLS handshake costs ten requests.
    for warm in (1,) if per > 1 else (64, 64):
        each = await all_callers(warm) / warm
    total = max(callers, least, int(seconds / each))
    times.clear()
    gc.collect()
    # The garbage of what came before is not to be collected on this run's account.
    before = time.process_time()
    elapsed = await all_callers(total)
    used = time.process_time() - before
    times.sort()
    return Run(
        cost=used / (total * per) * 1e6,
        rate=total * per / elapsed,
        **_percentiles(times),
    )


async def once(work: Callable[[], Awaitable[object]], *, operations: int) -> Run:
    """Measure one piece of work of many operations, without warming up."""
    gc.collect()
    before, begin = time.process_time(), time.perf_counter()
    await work()
    elapsed, used = time.perf_counter() - begin, time.process_time() - before
    return Run(cost=used / operations * 1e6, rate=operations / elapsed, p50_ms=elapsed * 1e3, p99_ms=elapsed * 1e3)


def plainly(work: Callable[[], object], *, seconds: float, per: int = 1) -> Run:
    """Measure a function without I/O that is called again and again; ``per`` is the number of operations of a call."""
    work()
    begin = time.perf_counter()
    work()
    total = max(3, int(seconds / max(time.perf_counter() - begin, 1e-7)))
    gc.collect()
    before, begin = time.process_time(), time.perf_counter()
    for _ in range(total):
        work()
    elapsed, used = time.perf_counter() - begin, time.process_time() - before
    times = sorted(_times(work, max(3, total // 5)))  # apart, since looking at the clock costs too
    return Run(cost=used / (total * per) * 1e6, rate=total * per / elapsed, **_percentiles(times))


def _times(work: Callable[[], object], count: int) -> Iterator[float]:
    for _ in range(count):
        begin = time.perf_counter()
        work()
        yield time.perf_counter() - begin


def _percentiles(times: Sequence[float]) -> dict[str, float]:
    """Return p50 and p99 of the times of calls, which are sorted."""
    return {
        "p50_ms": times[len(times) // 2] * 1e3,
        "p99_ms": times[min(len(times) - 1, int(len(times) * 0.99))] * 1e3,
    }
