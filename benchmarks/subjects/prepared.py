"""No library at all: bodies that were made beforehand are sent, and orjson parses the answers. How, the floors say."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import orjson
from pydantic import BaseModel

from benchmarks.items import PAGE, TABLE, plain, stored_instant, stream_of, users, wire, wire_key
from benchmarks.shapes import Shape
from benchmarks.subjects.plain_model import PlainPost, plain_model
from benchmarks.subjects.subject import Subject

_CONDITION = {
    "TableName": TABLE,
    "KeyConditionExpression": "#p = :p",
    "ExpressionAttributeNames": {"#p": "user_id"},
}
_RENDERED = {
    **_CONDITION,
    "KeyConditionExpression": "#p = :p AND #s BETWEEN :a AND :b",
    "FilterExpression": "#l > :l AND begins_with(#t, :t)",
    "ExpressionAttributeNames": {"#p": "user_id", "#s": "posted_at", "#l": "likes", "#t": "title"},
    "ExpressionAttributeValues": {
        ":p": {"S": "user-000000"},
        ":a": {"S": stored_instant(0)},
        ":b": {"S": stored_instant(1000)},
        ":l": {"N": "10"},
        ":t": {"S": "An"},
    },
}


class Prepared(Subject, ABC):
    """All that a floor does but sending."""

    returns = "parsed JSON"
    imports = "aiobotocore.session, pydantic.main"  # `import pydantic` alone loads nothing yet

    def prepare(self, distinct: int) -> None:
        names = users(distinct)
        self._gets = [orjson.dumps({"TableName": TABLE, "Key": wire_key(name)}) for name in names]
        self._puts = [orjson.dumps({"TableName": TABLE, "Item": wire(name)}) for name in names]
        self._batch_gets = [
            orjson.dumps({"RequestItems": {TABLE: {"Keys": [wire_key(name) for name in names[at : at + 100]]}}})
            for at in range(0, distinct, 100)
        ]
        self._batch_writes = [
            orjson.dumps({"RequestItems": {TABLE: [{"PutRequest": {"Item": wire(n)}} for n in names[at : at + 25]]}})
            for at in range(0, distinct, 25)
        ]
        self._query = orjson.dumps(
            {**_CONDITION, "ExpressionAttributeValues": {":p": {"S": "user-000000"}}, "Limit": PAGE}
        )
        self._transactions = [
            orjson.dumps(
                {"TransactItems": [{"Put": {"TableName": TABLE, "Item": wire(name)}} for name in names[at : at + 10]]}
            )
            for at in range(0, distinct, 10)
        ]
        self._update = orjson.dumps(
            {
                "TableName": TABLE,
                "Key": wire_key(names[0]),
                "UpdateExpression": "SET #a = :a ADD #b :b",
                "ExpressionAttributeNames": {"#a": "title", "#b": "likes"},
                "ExpressionAttributeValues": {":a": {"S": "new"}, ":b": {"N": "1"}},
                "ReturnValues": "ALL_NEW",
            }
        )
        self._models = [PlainPost(**plain(name)) for name in names[:PAGE]]

    @abstractmethod
    async def _send(self, operation: str, body: bytes) -> Any:
        """Send a body and return the answer, parsed."""

    async def get(self, key: int) -> object:
        return (await self._send("GetItem", self._gets[key]))["Item"]

    async def query(self) -> object:
        return (await self._send("Query", self._query))["Items"]

    async def put(self, number: int) -> object:
        return await self._send("PutItem", self._puts[number])

    async def update(self, key: int) -> object:
        return await self._send("UpdateItem", self._update)

    async def batch_get(self, count: int) -> object:
        """Send full BatchGetItem requests at the same time."""
        return await self._all("BatchGetItem", self._batch_gets[: count // 100])

    async def batch_write(self, count: int) -> object:
        """Send full BatchWriteItem requests at the same time."""
        return await self._all("BatchWriteItem", self._batch_writes[: count // 25])

    async def _all(self, operation: str, bodies: list[bytes]) -> object:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._send(operation, body)) for body in bodies]
        return [task.result() for task in tasks]

    async def transact(self, number: int) -> object:
        return await self._send("TransactWriteItems", self._transactions[number])

    async def scan(self) -> int:
        """Read the segments at the same time."""
        bodies = [{"TableName": TABLE, "Segment": n, "TotalSegments": self.segments} for n in range(self.segments)]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._pages("Scan", body)) for body in bodies]
        return sum(task.result() for task in tasks)

    async def stream(self, count: int) -> int:
        values = {":p": {"S": stream_of(count)}}
        return await self._pages("Query", {**_CONDITION, "ExpressionAttributeValues": values})

    async def _pages(self, operation: str, body: dict[str, Any]) -> int:
        count = 0
        while True:
            page = await self._send(operation, orjson.dumps(body))
            count += sum(1 for _ in page["Items"])
            if "LastEvaluatedKey" not in page:
                return count
            body = {**body, "ExclusiveStartKey": page["LastEvaluatedKey"]}

    def encode(self) -> object:
        """Dump Pydantic models to dicts, no further."""
        return [model.model_dump() for model in self._models]

    def decode(self, page: bytes) -> object:
        """Parse the JSON, no further."""
        return orjson.loads(page)["Items"]

    def encoder(self, shape: Shape) -> Callable[[], object]:
        """Dump Pydantic models to dicts, no further."""
        model = plain_model(shape)
        models = [model(**values) for values in shape.items()]
        return lambda: [each.model_dump() for each in models]

    def decoder(self, shape: Shape) -> Callable[[bytes], object]:
        """Parse the JSON, no further."""
        return self.decode

    def render(self) -> object:
        return orjson.dumps(_RENDERED)

    def define(self) -> object:
        return type("Fresh", (BaseModel,), {"__annotations__": PlainPost.__annotations__, "__module__": __name__})

    def define_shape(self, shape: Shape) -> object:
        return plain_model(shape)
