"""The benchmarks are no part of the package that is installed: these tests find them beside the tests.

Their folder comes last, so that `dynamap_async` stays the one that is installed.
"""

import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:
    sys.path.append(ROOT)


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
