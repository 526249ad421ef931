"""Sampling of a large table: rare kinds are found, and more is read of them where an index holds many."""

import os
import random
from collections import Counter
from typing import Any

import pytest

from dynamap_async import Session
from dynamap_async.errors import AccessDeniedError, OperationError
from dynamap_async.generate import design_of, take_sample
from dynamap_async.generate.item_kinds import find_kinds

pytestmark = pytest.mark.asyncio

COUNT = 1_000_000
SEEDS = max(4, int(4 * float(os.environ.get("DYNAMAP_EXAMPLES", "1"))))
KEYS = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
INDEX = {
    "IndexName": "alerts",
    "KeySchema": [{"AttributeName": "alert", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
    "IndexStatus": "ACTIVE",
}


class LargeTable:
    """Answers as a table of a million items does; each is worked out from its place.

    One of ``every`` is an alert. These alone are in the index.
    """

    max_connections = 64

    def __init__(self, every: int, name: str = "log") -> None:
        self.every = every
        self.name = name
        self.requests: Counter[str] = Counter()

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        pass

    @property
    def scans(self) -> int:
        return self.requests["Scan"]

    async def send(self, request: Any) -> Any:
        self.requests[request.operation] += 1
        match request.operation:
            case "DescribeTable":
                return {"Table": self.described()}
            case "DescribeContinuousBackups":
                on = {"PointInTimeRecoveryStatus": "ENABLED", "RecoveryPeriodInDays": 7}
                return {"ContinuousBackupsDescription": {"PointInTimeRecoveryDescription": on}}
            case "ListTagsOfResource":
                assert "TableName" not in request.body
                first = "NextToken" not in request.body
                page = {"Tags": [{"Key": "team" if first else "aws:x", "Value": "shop"}]}
                return {**page, "NextToken": "1"} if first else page
            case "DescribeTimeToLive":
                return {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}
            case "Scan":
                return self.page(request.body)
        raise AssertionError(request.operation)

    def described(self) -> dict[str, Any]:
        names = ("pk",) if self.name == "dynamap" else ("pk", "sk")
        return {
            "TableName": self.name,
            "TableArn": "arn:log",
            "KeySchema": KEYS[: len(names)],
            "AttributeDefinitions": [{"AttributeName": n, "AttributeType": "S"} for n in (*names, "alert")],
            "GlobalSecondaryIndexes": [INDEX],
            "TableStatus": "ACTIVE",
            "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
            "OnDemandThroughput": {"MaxReadRequestUnits": 500, "MaxWriteRequestUnits": -1},
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
            "ItemCount": COUNT,
        }

    def page(self, body: dict[str, Any]) -> dict[str, Any]:
        total, segment, limit = body["TotalSegments"], body["Segment"], body["Limit"]
        step = self.every if body.get("IndexName") else 1
        count = COUNT // step
        places = range(count * segment // total, count * (segment + 1) // total)[:limit]
        items = [self.item(place * step) for place in places]
        consumed = {"TableName": self.name, "CapacityUnits": 0.5}
        return {"Items": items, "Count": len(items), "ScannedCount": len(items), "ConsumedCapacity": consumed}

    def item(self, place: int) -> dict[str, Any]:
        """Return the item at a place in the order of hashes; alerts stand far apart."""
        if place % self.every == 0:
            return {
                "pk": {"S": f"U#{place % 997}"},
                "sk": {"S": f"ALERT#{place}"},
                "alert": {"S": "1"},
                "why": {"S": "x"},
            }
        return {"pk": {"S": f"U#{place % 997}"}, "sk": {"S": f"EVENT#{place}"}, "size": {"N": "1"}, "by": {"S": "x"}}


async def counts(table: LargeTable, seed: int, **bounds: Any) -> dict[str | None, int]:
    async with Session(transport=table) as session:
        sample = await take_sample(session, table.name, chance=random.Random(seed), **bounds)
    return {kind.kind: len(kind.items) for kind in find_kinds(sample).kinds}


PARTITION = [*(f"EVENT#{n:03d}" for n in range(200)), *(f"NOTE#{n:02d}" for n in range(49)), "PROFILE"]
"""The sort keys of a large partition, in their order."""


class LargePartitions(LargeTable):
    """Answers as a table of 4,000 such partitions does, in the order of their hashes."""

    def __init__(self, *, is_queried: bool = True) -> None:
        super().__init__(every=0)
        self.is_queried = is_queried

    async def send(self, request: Any) -> Any:
        if request.operation != "Query":
            return await super().send(request)
        self.requests["Query"] += 1
        if not self.is_queried:
            facts = {"operation": "Query", "table": self.name, "status": 400}
            raise AccessDeniedError("no", service_code="AccessDeniedException", **facts)
        assert request.body["KeyConditionExpression"] == "#p = :p AND #s >= :s"
        assert request.body["ExpressionAttributeNames"] == {"#p": "pk", "#s": "sk"}
        values = request.body["ExpressionAttributeValues"]
        keys = [sk for sk in PARTITION if sk.encode() >= values[":s"]["S"].encode()]
        return self.answer([(values[":p"]["S"], sk) for sk in keys], request.body["Limit"])

    def page(self, body: dict[str, Any]) -> dict[str, Any]:
        total, segment = body["TotalSegments"], body["Segment"]
        partitions = range(4_000 * segment // total, 4_000 * (segment + 1) // total)
        return self.answer([(f"U#{each}", sk) for each in partitions for sk in PARTITION], body["Limit"])

    def answer(self, keys: list[tuple[str, str]], limit: int) -> dict[str, Any]:
        items = [{"pk": {"S": pk}, "sk": {"S": sk}, sk.split("#")[0]: {"S": "x"}} for pk, sk in keys[:limit]]
        consumed = {"TableName": self.name, "CapacityUnits": 0.5}
        answer = {"Items": items, "Count": len(items), "ScannedCount": len(items), "ConsumedCapacity": consumed}
        more = len(keys) > limit
        return {**answer, "LastEvaluatedKey": {name: items[-1][name] for name in ("pk", "sk")}} if more else answer


@pytest.mark.parametrize("seed", range(2))
async def test_kinds_that_sort_behind_a_page_of_each_partition_are_found(seed):
    table = LargePartitions()
    found = await counts(table, seed)
    assert found.keys() == {"EVENT#", "NOTE#", "PROFILE"}
    assert found["PROFILE"] >= 20
    assert sum(found.values()) == 5_000
    assert table.requests["Query"] <= 3 * 25


async def test_policy_that_allows_scans_alone_leaves_the_sample_whole():
    table = LargePartitions(is_queried=False)
    found = await counts(table, 1)
    assert sum(found.values()) == 5_000
    assert table.requests["Query"] == 1


@pytest.mark.parametrize("bound", [20, 56.5, 60])
async def test_read_units_bound_what_is_read_of_large_partitions_too(bound):
    table = LargePartitions()
    await counts(table, 1, max_read_units=bound)
    assert (table.scans + table.requests["Query"]) / 2 == bound


async def test_caller_is_told_after_each_page_how_far_it_is():
    told: list[tuple[int, float]] = []
    table = LargeTable(every=200)
    await counts(table, 1, sample=100, watch=lambda items, read_units: told.append((items, read_units)))
    assert told == [(40, 0.5), (80, 1.0), (100, 1.5)]


class OneItem(LargeTable):
    """Answers as a table of one item does; some engines give an empty position at the end."""

    def described(self) -> dict[str, Any]:
        return {**super().described(), "ItemCount": 1}

    def page(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"Items": [self.item(1)], "Count": 1, "ScannedCount": 1, "LastEvaluatedKey": {}}


async def test_empty_position_is_the_end_of_a_small_table():
    table = OneItem(every=200)
    async with Session(transport=table) as session:
        sample = await take_sample(session, "log")
    assert (len(sample.items), sample.complete, table.scans) == (1, True, 1)


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_kind_of_half_a_percent_is_found(seed):
    table = LargeTable(every=200)
    found = await counts(table, seed)
    assert found.keys() == {"ALERT#", "EVENT#"}
    assert table.scans <= 150


@pytest.mark.parametrize("seed", range(2))
async def test_more_is_read_of_a_rare_kind_where_an_index_holds_many(seed):
    found = await counts(LargeTable(every=1000), seed)
    assert found["ALERT#"] >= 100
    assert sum(found.values()) == 5_000


async def test_read_units_bound_what_is_read_of_rare_kinds_too():
    table = LargeTable(every=1000)
    await counts(table, 1, max_read_units=58)
    assert table.scans == 116  # of which 113 at random places of the table


async def test_settings_that_differ_from_those_of_a_new_table_are_declared(imported):
    table = LargeTable(every=200)
    async with Session(transport=table) as session:
        design = design_of(await take_sample(session, "log", sample=500, chance=random.Random(1)))
    text = design.source()
    assert (
        "    settings=TableSettings(\n        billing=OnDemand(max_read=500),\n"
        '        stream="new",\n        recovery=Recovery(days=7),\n        tags={"team": "shop"},\n    ),\n'
    ) in text
    assert imported(text).LOG.schema.settings == design.schema.settings


async def test_library_s_own_table_is_refused():
    async with Session(transport=LargeTable(every=200, name="dynamap")) as session:
        with pytest.raises(OperationError, match="the library's own"):
            await take_sample(session, "dynamap")
