"""The benchmarks are no part of the package that is installed: these tests find them beside the tests.

Their folder comes last, so that `dynamap_async` stays the one that is installed.
"""

import asyncio
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from dynamap_async.errors import ConnectionFailedError, Outcome
from dynamap_async.transport.translate import service_error

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:
    sys.path.append(ROOT)


class Wire:
    """The simulated service at the end of a line on which answers get lost, and requests too."""

    max_connections = 64

    def __init__(self, service, *, lost=0.0, unsent=0.0, seed=1):
        self.service, self.lost, self.unsent = service, lost, unsent
        self.chance = random.Random(seed)

    async def open(self): ...

    async def close(self): ...

    async def send(self, request):
        from benchmarks.simulated.faults import ServiceError

        if self.chance.random() < self.unsent:
            raise broken(request, Outcome.NOT_SENT)
        try:
            answer = self.service.answer(request.operation, request.body)
        except ServiceError as error:
            code = error.code
            await asyncio.sleep(0.005)
            raise service_error(request, code=code, status=error.status, facts=error.body, request_id=None) from None
        await asyncio.sleep(self.chance.uniform(0.002, 0.008))
        if self.chance.random() < self.lost:
            raise broken(request, Outcome.UNKNOWN)
        return answer


def broken(request, outcome):
    return ConnectionFailedError("broken", outcome=outcome, operation=request.operation, table=request.table)


@pytest.fixture
def wire():
    return Wire


class StillClock:
    """A clock that only a test moves."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return StillClock()


@pytest.fixture
def service(clock):
    """A service with one table: key ``id``, 10 write units and 10 read units, and a global index of 5 on ``city``."""
    from benchmarks.simulated.service import Service

    made = Service(clock)
    made.answer("CreateTable", definition("things", read=10, write=10, index=5))
    return made


def definition(name: str, *, read: int, write: int, index: int | None = None) -> dict[str, Any]:
    made: dict[str, Any] = {
        "TableName": name,
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "ProvisionedThroughput": {"ReadCapacityUnits": read, "WriteCapacityUnits": write},
    }
    if index is not None:
        made["AttributeDefinitions"].append({"AttributeName": "city", "AttributeType": "S"})
        made["GlobalSecondaryIndexes"] = [
            {
                "IndexName": "by_city",
                "KeySchema": [{"AttributeName": "city", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["note"]},
                "ProvisionedThroughput": {"ReadCapacityUnits": index, "WriteCapacityUnits": index},
            }
        ]
    return made
