"""aiobotocore's client. It has no batch writer: this one does what boto3's does, which its users copy."""

import asyncio
from collections.abc import Iterator

from aiobotocore.config import AioConfig
from aiobotocore.session import get_session

from benchmarks.acceptance.clients.client import Client
from benchmarks.acceptance.items import SHELVED, shelf_of, wire_item
from benchmarks.items import TABLE, wire_key


class Aiobotocore(Client):
    """The AWS client itself, with its default retries."""

    distributions = ("aiobotocore", "botocore", "aiohttp")

    async def open(self) -> None:
        self._context = get_session().create_client(
            "dynamodb",
            region_name="eu-west-1",
            endpoint_url=self._endpoint,
            aws_access_key_id="AKIAEXAMPLE",
            aws_secret_access_key="secret",
            config=AioConfig(max_pool_connections=64),
        )
        self._client = await self._context.__aenter__()
        self._table = SHELVED if self._shelved else TABLE

    async def close(self) -> None:
        await self._context.__aexit__(None, None, None)

    async def load(self, names: list[str], *, background: bool) -> None:
        """Fill requests with 25 items; what comes back unprocessed joins the next one."""
        waiting = iter(names)
        async with asyncio.TaskGroup() as group:
            for _ in range(self._writers):
                group.create_task(self._write(waiting, shelved=self._shelved and background))

    async def _write(self, waiting: Iterator[str], *, shelved: bool) -> None:
        left: list[dict[str, object]] = []
        while True:
            while len(left) < 25 and (name := next(waiting, None)) is not None:
                shelf = {"shelf": {"S": shelf_of(name)}} if shelved else {}
                left.append({"PutRequest": {"Item": {**wire_item(name), **shelf}}})
            if not left:
                return
            answer = await self._client.batch_write_item(RequestItems={self._table: left})
            left = answer["UnprocessedItems"].get(self._table, [])

    async def get(self, name: str) -> object:
        return await self._client.get_item(TableName=self._table, Key=wire_key(name))

    async def put(self, name: str) -> object:
        return await self._client.put_item(TableName=self._table, Item=wire_item(name))

    async def count(self, name: str) -> object:
        return await self._client.update_item(
            TableName=TABLE,
            Key=wire_key(name),
            UpdateExpression="ADD likes :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
        )

    async def scan(self, segments: int) -> None:
        async def read(segment: int) -> None:
            pages = self._client.get_paginator("scan").paginate(
                TableName=TABLE, Segment=segment, TotalSegments=segments, Limit=100
            )
            async for _ in pages:
                pass

        async with asyncio.TaskGroup() as group:
            for segment in range(segments):
                group.create_task(read(segment))
