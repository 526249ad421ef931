"""What plans print for each kind of change and each hazard, and the requests of their steps, compared with a file.

To renew it after a change: ``DYNAMAP_RENEW=1 pytest tests/unit/tables/test_printed_plans.py``, and review the changes.
"""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from dynamap_async import (
    KEYS_ONLY,
    Attr,
    ContributorInsights,
    Encryption,
    GlobalIndex,
    Model,
    OnDemand,
    PartitionKey,
    Recovery,
    StoredItem,
    Table,
    TableSettings,
    Throughput,
    attr,
    include,
    upgrade,
)
from dynamap_async.tables import PlanPrices, TablePlan, declared_tables, plan_of, read_description
from dynamap_async.tables.build_samples import BuildSample, estimated
from dynamap_async.tables.declared import versions_of
from dynamap_async.tables.table_plan import HazardCode, StepKind

FILE = Path(__file__).with_suffix(".txt")
RENEW = "DYNAMAP_RENEW"
OF_APPLY = {"index-not-ready-for-code"}
"""The hazards that no plan has, but what ``apply`` is asked for."""
KEY = "arn:aws:kms:eu-west-1:000000000000:key/1234"
UNITS = {"ReadCapacityUnits": 50, "WriteCapacityUnits": 20}
PROVISIONED = {"BillingModeSummary": {"BillingMode": "PROVISIONED"}, "ProvisionedThroughput": UNITS}
WARM = {"WarmThroughput": {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 4_000, "Status": "ACTIVE"}}
STREAM = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}}
BOTH_IMAGES = {"StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}}
IRELAND = {"RegionName": "eu-west-1", "ReplicaStatus": "ACTIVE"}
OREGON = {"RegionName": "us-west-2", "ReplicaStatus": "ACTIVE"}
BY_CITY = GlobalIndex("by-city", partition_key="city")
BY_DAY = GlobalIndex("by-day", partition_key="day", projection=include("total", "city"))
BY_CITY_V2 = GlobalIndex("by-city-v2", partition_key="city", sort_key="day", replaces="by-city")
ALL = TableSettings(
    billing=OnDemand(max_read=2000, warm_read=15_000),
    stream="new-and-old",
    recovery=Recovery(days=7),
    deletion_protection=True,
    table_class="infrequent-access",
    encryption=Encryption(kms_key=KEY),
    tags={"team": "shop"},
    replicas=["us-west-2"],
)


class Guest(Model, table="orders", schema_version=2):
    id: PartitionKey[str]
    city: Attr[str | None] = attr(default=None)

    by_city = GlobalIndex("by-city", partition_key="city")

    @upgrade(to=2)
    @staticmethod
    def city_for_town(item: StoredItem) -> None:
        item["city"] = item.pop("town")


def table(*indexes, **more):
    [schema] = declared_tables(Table("orders", partition_key="id", indexes=indexes, **more))
    return schema


def built(name, *keys, **members):
    schema = [{"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, ("HASH", "RANGE"), strict=False)]
    made = {"IndexName": name, "IndexStatus": "ACTIVE", "KeySchema": schema, "Projection": {"ProjectionType": "ALL"}}
    return made | members


def found(*indexes, ttl=None, others=(), recovery=None, tags=None, insights=None, **members):
    """Return a table as it is."""
    names = {"id", *(key["AttributeName"] for index in indexes for key in index["KeySchema"])}
    described = {
        "TableName": "orders",
        "TableStatus": "ACTIVE",
        "TableArn": "arn:aws:dynamodb:eu-west-1:000000000000:table/orders",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in sorted(names)],
        "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
        "GlobalSecondaryIndexes": [*indexes],
        **members,
    }
    on = {"TimeToLiveStatus": "DISABLED"} if ttl is None else {"TimeToLiveStatus": "ENABLED", "AttributeName": ttl}
    told = read_description({"Table": described}, {"TimeToLiveDescription": on})
    asked = {"recovery": recovery, "tags": tags, "insights": insights}
    return replace(told, others=others, settings=replace(told.settings, **asked))


def planned(there, *indexes, delete_unknown_indexes=False, throughput=None, time_to_live=None, **settings):
    """Return the plan that makes a table what is declared."""
    declared = table(*indexes, throughput=throughput, time_to_live=time_to_live, settings=TableSettings(**settings))
    return plan_of([declared], [there], delete_unknown_indexes=delete_unknown_indexes)


def sampled(items, *, times=1, units=None, prices=None):
    """Return a plan of a new index, with an estimate from some items, of which the table has so many times more."""
    [declared] = declared_tables(Guest)
    declared = replace(declared, throughput=units)
    there = found(ItemCount=len(items) * times, TableSizeBytes=0, **({} if units is None else PROVISIONED))
    sample = BuildSample(declared, declared.index("by-city"), versions_of({"orders": [Guest]})["orders"])
    sample.take(items)
    plan = plan_of([declared], [there])
    return estimated(plan, {("orders", "by-city"): sample}, {"orders": there}, prices)


def guest(number, **attributes):
    return {"id": {"S": f"g{number}"}, "schema_version": {"N": "2"}} | attributes


IN_YORK = {"city": {"S": "York"}}
CITY, DAY = built("by-city", "city"), built("by-day", "day")
PLANS = {
    "nothing to change": lambda: planned(found(CITY), BY_CITY),
    "a new table with everything": lambda: plan_of(
        [table(BY_CITY, BY_DAY, settings=ALL, time_to_live="expires_at")], [None]
    ),
    "a new provisioned table": lambda: planned(None, BY_CITY, throughput=Throughput(read=5, write=5)),
    "two new indexes": lambda: planned(found(), BY_CITY, BY_DAY),
    "a new index of a provisioned table": lambda: planned(
        found(**PROVISIONED),
        GlobalIndex("by-city", partition_key="city", throughput=Throughput(read=5, write=5)),
    ),
    "a new index with warm throughput": lambda: planned(
        found(**WARM), GlobalIndex("by-city", partition_key="city", warm_read=20_000)
    ),
    "a new index with an estimate": lambda: sampled([guest(n, **IN_YORK) for n in range(3)], times=2),
    "a new index that costs much": lambda: sampled(
        [guest(n, **IN_YORK) for n in range(3)],
        times=1_000_000,
        prices=PlanPrices(write_million=0.625, storage_gb_month=0.25),
    ),
    "a new provisioned index that takes long": lambda: sampled(
        [guest(n, **IN_YORK) for n in range(3)], times=1000, units=Throughput(read=50, write=20)
    ),
    "a new index that leaves items out": lambda: sampled([guest(1, **IN_YORK), guest(2, city={"N": "7"})]),
    "a new index of items that are not upgraded": lambda: sampled([{"id": {"S": "g1"}, "town": {"S": "York"}}]),
    "an index that is being built": lambda: planned(
        found(built("by-city", "city", IndexStatus="CREATING", Backfilling=True)), BY_CITY
    ),
    "a table that is being created": lambda: planned(found(TableStatus="CREATING")),
    "an index that is replaced": lambda: planned(found(CITY), BY_CITY_V2),
    "an index that is replaced, expand": lambda: planned(found(CITY), BY_CITY_V2).expand,
    "an index that is replaced, contract": lambda: planned(found(CITY), BY_CITY_V2).contract,
    "an unknown index": lambda: planned(found(CITY, DAY), BY_CITY),
    "an unknown index that is deleted": lambda: planned(found(CITY, DAY), BY_CITY, delete_unknown_indexes=True),
    "an unknown index that is being deleted": lambda: planned(
        found(CITY, built("by-day", "day", IndexStatus="DELETING")), BY_CITY, delete_unknown_indexes=True
    ),
    "an index under another name": lambda: planned(found(CITY), GlobalIndex("city", partition_key="city")),
    "another key of an index": lambda: planned(found(CITY), GlobalIndex("by-city", partition_key="day")),
    "another projection": lambda: planned(
        found(CITY), GlobalIndex("by-city", partition_key="city", projection=KEYS_ONLY)
    ),
    "another key of the table": lambda: planned(
        found(
            KeySchema=[{"AttributeName": "number", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "number", "AttributeType": "N"}],
        )
    ),
    "to provisioned": lambda: planned(found(CITY), BY_CITY, throughput=Throughput(read=5, write=5)),
    "to on-demand": lambda: planned(
        found(built("by-city", "city", ProvisionedThroughput=UNITS), **PROVISIONED),
        BY_CITY,
        billing=OnDemand(max_read=100),
    ),
    "throughput raised": lambda: planned(found(**PROVISIONED), throughput=Throughput(read=80, write=20)),
    "throughput lowered": lambda: planned(found(**PROVISIONED), throughput=Throughput(read=5, write=20)),
    "throughput lowered for the fifth time today": lambda: planned(
        found(**PROVISIONED | {"ProvisionedThroughput": {**UNITS, "NumberOfDecreasesToday": 4}}),
        throughput=Throughput(read=5, write=20),
    ),
    "a maximum lowered": lambda: planned(
        found(OnDemandThroughput={"MaxReadRequestUnits": 500, "MaxWriteRequestUnits": -1}),
        billing=OnDemand(max_read=100),
    ),
    "warm throughput raised": lambda: planned(found(**WARM), billing=OnDemand(warm_read=20_000)),
    "time to live on": lambda: planned(found(), time_to_live="expires_at"),
    "time to live on another attribute": lambda: planned(found(ttl="at"), time_to_live="expires_at"),
    "a stream on": lambda: planned(found(), stream="keys"),
    "a stream of another view": lambda: planned(found(**STREAM), stream="new-and-old"),
    "recovery on": lambda: planned(found(recovery=False), recovery=Recovery(days=7)),
    "recovery of fewer days": lambda: planned(found(recovery=Recovery(days=35)), recovery=Recovery(days=7)),
    "recovery off": lambda: planned(found(recovery=Recovery(days=35)), recovery=False),
    "protection on": lambda: planned(found(), deletion_protection=True),
    "protection off": lambda: planned(found(DeletionProtectionEnabled=True), deletion_protection=False),
    "another class": lambda: planned(found(), table_class="infrequent-access"),
    "another key of encryption": lambda: planned(found(), encryption=Encryption(kms_key=KEY)),
    "tags": lambda: planned(found(tags={"team": "web", "stage": "test"}), tags={"team": "shop"}),
    "replicas": lambda: planned(found(Replicas=[IRELAND, OREGON], **BOTH_IMAGES), replicas=["us-east-1"]),
    "replicas of a table with another stream": lambda: planned(found(**STREAM), replicas=["us-east-1"]),
    "strong consistency between regions": lambda: planned(
        found(Replicas=[IRELAND, OREGON], MultiRegionConsistency="STRONG"),
        time_to_live="expires_at",
        replicas=["us-east-1"],
    ),
    "what is not managed": lambda: planned(
        found(
            CITY,
            ttl="at",
            others=("its resource policy", "its Kinesis stream arn:aws:kinesis:eu-west-1:000000000000:stream/changes"),
            DeletionProtectionEnabled=True,
            GlobalTableVersion="2017.11.29",
            **PROVISIONED,
            **STREAM,
        )
    ),
    "contributor insights": lambda: planned(
        found(CITY, insights=ContributorInsights(table="off", indexes={"by-city": "throttled"})),
        BY_CITY,
        insights=ContributorInsights(indexes={"by-city": "off"}),
    ),
    "what nobody may ask for": lambda: planned(found(), recovery=Recovery(days=7), tags={"team": "shop"}),
}


def text_of(plan):
    """Return what a plan prints, and under it the request of each of its steps."""
    requests = [f"> {step.operation} {json.dumps(step.request, sort_keys=True)}" for step in plan.steps if step.request]
    return "\n".join([str(plan), *requests, ""])


@pytest.fixture(scope="module")
def sections():
    """Return the name of a plan -> what the file says of it."""
    if os.environ.get(RENEW):
        FILE.write_text("\n".join(f"=== {name}\n{text_of(make())}" for name, make in PLANS.items()), "utf-8")
    parts = [part.partition("\n") for part in f"\n{FILE.read_text('utf-8')}".split("\n=== ")[1:]]
    return {name: f"{text.rstrip()}\n" for name, _, text in parts}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_prints_what_the_file_says(sections, name):
    plan = PLANS[name]()
    assert text_of(plan) == sections[name]
    assert max(map(len, str(plan).splitlines())) <= 100
    assert TablePlan.from_json(plan.to_json()) == plan


def test_the_file_has_each_plan_once(sections):
    assert [*sections] == [*PLANS]


def test_each_kind_of_change_and_each_hazard_is_among_them():
    steps = [step for make in PLANS.values() for step in make().steps]
    assert {step.kind for step in steps} == {*get_args(StepKind)}
    assert {hazard.code for step in steps for hazard in step.hazards} == {*get_args(HazardCode)} - OF_APPLY
