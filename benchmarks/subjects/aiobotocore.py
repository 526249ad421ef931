"""aiobotocore's client: wire dicts in and out."""

import asyncio
from typing import Any, ClassVar

from aiobotocore.config import AioConfig
from aiobotocore.session import get_session

from benchmarks.items import PAGE, TABLE, stream_of, users, wire, wire_key
from benchmarks.subjects.subject import Subject


def _query(user_id: str) -> dict[str, Any]:
    return {
        "TableName": TABLE,
        "KeyConditionExpression": "#p = :p",
        "ExpressionAttributeNames": {"#p": "user_id"},
        "ExpressionAttributeValues": {":p": {"S": user_id}},
    }


class Aiobotocore(Subject):
    """The AWS client itself."""

    label = "aiobotocore"
    returns = "wire dicts"
    imports = "aiobotocore.session"
    distributions = ("aiobotocore", "botocore", "aiohttp")
    cannot: ClassVar[dict[str, str]] = {
        "encode": "takes wire dicts",
        "decode": "gives wire dicts",
        "render": "takes rendered expressions",
        "define": "has no models",
    }

    def prepare(self, distinct: int) -> None:
        self._keys = [wire_key(name) for name in users(distinct)]
        self._items = [wire(name) for name in users(distinct)]

    async def open(self, endpoint: str | None) -> None:
        self._context = get_session().create_client(
            "dynamodb",
            region_name="eu-west-1",
            endpoint_url=endpoint,
            aws_access_key_id="AKIAEXAMPLE",
            aws_secret_access_key="secret",
            config=AioConfig(max_pool_connections=64),
        )
        self.client = await self._context.__aenter__()

    async def open_found(self, endpoint: str) -> None:
        config = AioConfig(max_pool_connections=64)
        self._context = get_session().create_client("dynamodb", endpoint_url=endpoint, config=config)
        self.client = await self._context.__aenter__()

    async def close(self) -> None:
        await self._context.__aexit__(None, None, None)

    async def get(self, key: int) -> object:
        return (await self.client.get_item(TableName=TABLE, Key=self._keys[key]))["Item"]

    async def query(self) -> object:
        return (await self.client.query(**_query("user-000000"), Limit=PAGE))["Items"]

    async def put(self, number: int) -> object:
        return await self.client.put_item(TableName=TABLE, Item=self._items[number])

    async def update(self, key: int) -> object:
        answer = await self.client.update_item(
            TableName=TABLE,
            Key=self._keys[key],
            UpdateExpression="SET #a = :a ADD #b :b",
            ExpressionAttributeNames={"#a": "title", "#b": "likes"},
            ExpressionAttributeValues={":a": {"S": "new"}, ":b": {"N": "1"}},
            ReturnValues="ALL_NEW",
        )
        return answer["Attributes"]

    async def batch_get(self, count: int) -> object:
        """Full BatchGetItem requests at the same time."""
        requests = [{TABLE: {"Keys": self._keys[at : at + 100]}} for at in range(0, count, 100)]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self.client.batch_get_item(RequestItems=each)) for each in requests]
        return [item for task in tasks for item in task.result()["Responses"][TABLE]]

    async def batch_write(self, count: int) -> object:
        """Full BatchWriteItem requests at the same time."""
        puts = [{"PutRequest": {"Item": item}} for item in self._items[:count]]
        requests = [{TABLE: puts[at : at + 25]} for at in range(0, count, 25)]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self.client.batch_write_item(RequestItems=each)) for each in requests]
        return len(tasks)

    async def transact(self, number: int) -> object:
        puts = [{"Put": {"TableName": TABLE, "Item": item}} for item in self._items[10 * number : 10 * number + 10]]
        return await self.client.transact_write_items(TransactItems=puts)

    async def scan(self) -> int:
        """One paginator for each segment, at the same time."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._pages("scan", TableName=TABLE, Segment=n, TotalSegments=self.segments))
                for n in range(self.segments)
            ]
        return sum(task.result() for task in tasks)

    async def stream(self, count: int) -> int:
        return await self._pages("query", **_query(stream_of(count)))

    async def _pages(self, operation: str, **parameters: Any) -> int:
        count = 0
        async for page in self.client.get_paginator(operation).paginate(**parameters):
            for _ in page["Items"]:
                count += 1
        return count
