"""A worker of the group, which writes down what it handles: python benchmarks streamer URL FILE LEASE_SECONDS."""

from __future__ import annotations

import asyncio
import os
import sys
import time

from benchmarks.streams.items import GROUP, Reading
from dynamap_async import Credentials, Session
from dynamap_async.errors import TransportError
from dynamap_async.events import Event
from dynamap_async.streams import ItemChange
from dynamap_async.streams.events import LeaseLost, LeaseTaken


async def run(url: str, file: int, lease_seconds: float) -> None:
    """Handle changes until the process is killed, or told to stop."""

    def tell(*what: object) -> None:
        os.write(file, (" ".join(map(str, (time.monotonic_ns(), *what))) + "\n").encode())

    async def handle(change: ItemChange[Reading]) -> None:
        image = change.wire_record["dynamodb"]["NewImage"]
        tell("did", image["sensor"]["S"], image["value"]["N"], change.shard_id)

    def observe(event: Event) -> None:
        if isinstance(event, LeaseTaken | LeaseLost):
            tell(type(event).__name__, event.shard_id, event.fence)

    keys = Credentials(access_key_id="AKID", secret_access_key="secret")
    async with Session(region="eu-west-1", endpoint_url=url, credentials=keys, observer=observe) as session:
        tell("began")
        try:
            await session.consumer(Reading, group=GROUP, lease_seconds=lease_seconds).run(handle)
        except TransportError:
            tell("the server is gone")


def main() -> None:
    """Run a worker until it is killed."""
    url, path, lease_seconds = sys.argv[2:5]
    file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    asyncio.run(run(url, file, float(lease_seconds)))
