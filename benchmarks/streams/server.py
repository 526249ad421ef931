"""The engine's server, with a stream whose shards split, and what writes to its table: python benchmarks streaming."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time

from benchmarks.streams.items import Reading
from dynamap_async.testing import LocalEngine, StreamShards


async def write(engine: LocalEngine, *, changes: int, keys: int, seconds: float, text: str) -> None:
    """Write as many changes in so many seconds, round by round over the keys."""
    async with engine.session() as session:
        await session.tables.create(Reading)
        print(engine.endpoint_url, flush=True)
        began = time.monotonic()
        for value in range(changes // keys):
            for first in range(0, keys, 100):
                await session.put_many(
                    [Reading(sensor=f"s{key}", value=value, text=text) for key in range(first, min(keys, first + 100))]
                )
                await asyncio.sleep(0)
            ahead = began + seconds * (value + 1) / (changes // keys) - time.monotonic()
            await asyncio.sleep(max(0.0, ahead))
        print("written", flush=True)


def main() -> None:
    """Serve until standard input ends."""
    options = argparse.ArgumentParser()
    options.add_argument("--shards", type=int, default=4)
    options.add_argument("--splits", type=int, default=0)
    options.add_argument("--changes", type=int, default=200_000)
    options.add_argument("--keys", type=int, default=2_000)
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--bytes", type=int, default=10)
    given = options.parse_args(sys.argv[2:])
    splits = tuple((number + 1) * given.seconds / (given.splits + 1) for number in range(given.splits))
    rules = StreamShards(shards=given.shards, splits=splits)
    with LocalEngine(streams=rules) as engine:

        async def run() -> None:
            writing = asyncio.create_task(
                write(engine, changes=given.changes, keys=given.keys, seconds=given.seconds, text="x" * given.bytes)
            )
            await asyncio.to_thread(sys.stdin.read)
            writing.cancel()

        asyncio.run(run())
        for each in engine.stream_calls:
            print(each.operation, each.shard_id, each.calls, each.refused, each.most_per_second, each.most_readers)
