"""PynamoDB: its batch writer in a thread, and its calls in as many threads as it opens connections."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from pynamodb.exceptions import PutError

from benchmarks.acceptance.clients.client import Client
from benchmarks.acceptance.items import plain_item, sort_key
from benchmarks.subjects.pynamodb import Place, Post


def _post(name: str) -> Post:
    item = plain_item(name)
    return Post(**{**item, "place": Place(**item["place"])})


class Pynamodb(Client):
    """Its own models, through threads."""

    distributions = ("pynamodb", "botocore")

    async def open(self) -> None:
        Post.Meta.host = self._endpoint
        self._threads = ThreadPoolExecutor(11)

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _in_thread(self, call: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *arguments)

    async def load(self, names: list[str], *, background: bool) -> None:
        """Call `Model.batch_write`, which gives up soon; beside handlers, load what it has not tried."""
        waiting = iter(names)

        def write() -> None:
            with Post.batch_write() as batch:
                for name in waiting:
                    batch.save(_post(name))

        while True:
            try:
                return await self._in_thread(write)
            except PutError:
                if not background:
                    raise

    async def get(self, name: str) -> object:
        def read() -> object:
            try:
                return Post.get(name, sort_key())
            except Post.DoesNotExist:
                return None

        return await self._in_thread(read)

    async def put(self, name: str) -> object:
        return await self._in_thread(_post(name).save)
