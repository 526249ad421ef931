"""The process that measures one version: it is told a question, and tells the nanoseconds of CPU of one operation."""

import asyncio
import gc
import json
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any, cast

_SLICE_NS = 2_000_000
"""About how long one measurement takes: so short that neighbours find the machine alike."""
Work = Callable[[], Awaitable[object]]


def main() -> int:
    """Answer until there are no more questions."""
    sys.path.insert(0, sys.argv[2])  # the version that is asked for, before the one that is installed
    from benchmarks.compare.stub_loop import StubLoop
    from benchmarks.subjects.ours import Ours

    with asyncio.Runner(loop_factory=StubLoop) as runner:
        loop = cast("StubLoop", runner.get_loop())
        subject = Ours()
        subject.prepare(200)
        runner.run(subject.open(f"http://127.0.0.1:{loop.port}"))
        runner.run(subject.get(0))
        asked = works(subject)
        counts: dict[str, int] = {}
        print(json.dumps({"start": time.process_time_ns(), "questions": list(asked)}), flush=True)
        for line in sys.stdin:
            work, per = asked[line.strip()]
            told = runner.run(_measured(work, per, loop, counts, line))
            print(json.dumps(told), flush=True)
        runner.run(subject.close())
    return 0


async def _measured(work: Work, per: int, loop: Any, counts: dict[str, int], name: str) -> float:
    """Return the nanoseconds of CPU that one operation took, without what the stub took."""

    async def times(count: int) -> int:
        begin, stub = time.process_time_ns(), loop.stub_ns
        for _ in range(count):
            await work()
        return time.process_time_ns() - begin - (loop.stub_ns - stub)

    if name not in counts:
        await times(3)
        counts[name] = max(1, _SLICE_NS // max(await times(1), 1))
        gc.collect()
        gc.freeze()
    return await times(counts[name]) / counts[name] / per


def works(subject: Any) -> dict[str, tuple[Work, int]]:
    """Return question -> what is done, and how many operations that is."""
    from benchmarks.nested_shapes import SHAPES
    from benchmarks.questions.decode import page

    def together(call: Callable[[int], Awaitable[object]], count: int) -> tuple[Work, int]:
        async def work() -> None:
            async with asyncio.TaskGroup() as group:
                for number in range(count):
                    group.create_task(cast("Any", call(number)))

        return work, count

    def plainly(call: Callable[[], object], per: int = 1) -> tuple[Work, int]:
        async def work() -> object:
            return call()

        return work, per

    whole = page(subject.zone)
    found: dict[str, tuple[Work, int]] = {
        "get_one": together(subject.get_alone, 16),
        "put_one": together(subject.put_alone, 16),
        "update_one": together(subject.update, 16),
        "query_100": (subject.query, 1),
        "concurrent_gets": together(subject.get, 200),
        "concurrent_puts": together(subject.put, 200),
        "batch_get": (lambda: subject.batch_get(200), 200),
        "batch_write": (lambda: subject.batch_write(200), 200),
        "transaction_10": (lambda: subject.transact(0), 1),
        "scan_segments": (subject.scan, 800),
        "stream": (lambda: subject.stream(500), 500),
        "encode": plainly(subject.encode, 100),
        "decode": plainly(lambda: subject.decode(whole), 100),
    }
    for name, shape in SHAPES.items():
        decode, body = subject.decoder(shape), shape.page()
        found[f"encode_{name}"] = plainly(subject.encoder(shape), shape.count)
        found[f"decode_{name}"] = plainly(lambda decode=decode, body=body: decode(body), shape.count)  # type: ignore[misc]
    return {**found, "render": plainly(subject.render), "define": plainly(subject.define)}
