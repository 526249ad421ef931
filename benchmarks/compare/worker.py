"""The process that measures one version: it is told a question, and tells the nanoseconds of CPU of one operation."""

import asyncio
import gc
import json
import sys
import time
from collections.abc import Awaitable, Callable
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any, cast

from benchmarks.shapes import Shape

_SLICE_NS = 2_000_000
"""About how long one measurement takes: so short that neighbours find the machine alike."""
Work = Callable[[], Awaitable[object]]


def main() -> int:
    """Answer questions until there are no more."""
    _mode, _word, package, source = sys.argv
    sys.path.insert(0, package)  # the version that is asked for, before the one that is installed
    from benchmarks.compare.stub_loop import StubLoop

    with asyncio.Runner(loop_factory=StubLoop) as runner:
        loop = cast("StubLoop", runner.get_loop())
        subject = _subject(source)
        subject.prepare(200)
        runner.run(subject.open(f"http://127.0.0.1:{loop.port}"))
        runner.run(subject.get(0))
        started = time.process_time_ns()
        asked: dict[str, tuple[Work, int]] = {}
        for name, make in questions_to(subject).items():
            try:
                asked[name] = make()
                runner.run(_measured(*asked[name], loop, {}, name))
            except Exception as error:  # noqa: BLE001 - another version may have no such thing
                asked.pop(name, None)
                print(f"{name} cannot be asked of {package}: {error!r}", file=sys.stderr)
        print(json.dumps({"start": started, "questions": list(asked)}), flush=True)
        counts: dict[str, int] = {}
        for line in sys.stdin:
            work, per = asked[line.strip()]
            told = runner.run(_measured(work, per, loop, counts, line))
            print(json.dumps(told), flush=True)
        runner.run(subject.close())
    return 0


def _subject(source: str) -> Any:
    """Return this library as a subject, as its own version knows it."""
    spec = spec_from_file_location("ours", source)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["ours"] = module  # where the annotations of its models are looked up
    spec.loader.exec_module(module)
    return module.Ours()


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


def questions_to(subject: Any) -> dict[str, Callable[[], tuple[Work, int]]]:
    """Return question -> what makes the work of it, and how many operations that is."""
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

    def encoding(shape: Shape) -> tuple[Work, int]:
        return plainly(subject.encoder(shape), shape.count)

    def decoding(shape: Shape) -> tuple[Work, int]:
        decode, body = subject.decoder(shape), shape.page()
        return plainly(lambda: decode(body), shape.count)

    whole = page(subject.zone)
    return {
        "get_one": lambda: together(subject.get_alone, 16),
        "put_one": lambda: together(subject.put_alone, 16),
        "update_one": lambda: together(subject.update, 16),
        "query_100": lambda: (subject.query, 1),
        "concurrent_gets": lambda: together(subject.get, 200),
        "concurrent_puts": lambda: together(subject.put, 200),
        "batch_get": lambda: (partial(subject.batch_get, 200), 200),
        "batch_write": lambda: (partial(subject.batch_write, 200), 200),
        "transaction_10": lambda: (partial(subject.transact, 0), 1),
        "scan_segments": lambda: (subject.scan, 800),
        "stream": lambda: (partial(subject.stream, 500), 500),
        "encode": lambda: plainly(subject.encode, 100),
        "decode": lambda: plainly(partial(subject.decode, whole), 100),
        **{f"encode_{name}": partial(encoding, shape) for name, shape in SHAPES.items()},
        **{f"decode_{name}": partial(decoding, shape) for name, shape in SHAPES.items()},
        "render": lambda: plainly(subject.render),
        "define": lambda: plainly(subject.define),
    }
