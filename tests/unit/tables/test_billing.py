"""Billing of tables and their indexes: what may be declared, what is a difference, and what requests say of it."""

import json

import pytest

from dynamap_async import Attr, GlobalIndex, Model, OnDemand, PartitionKey, Table, TableSettings, Throughput
from dynamap_async.errors import ModelDefinitionError
from dynamap_async.models import definition_of
from dynamap_async.tables import (
    declared_tables,
    plan_of,
    read_description,
    to_cloudformation,
    to_description,
    to_terraform,
)
from dynamap_async.tables.applying import is_reached
from dynamap_async.tables.requests import create_request

UNITS = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}
WARM = {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 4_000, "Status": "ACTIVE"}
BOUNDED = OnDemand(max_read=2000, max_write=500, warm_read=15_000, warm_write=5000)
NONE = {"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": -1}


def table(billing=None, index=None, **more):
    indexes = [] if index is None else [GlobalIndex("by-city", partition_key="city", **index)]
    settings = TableSettings(billing=billing)
    [schema] = declared_tables(Table("orders", partition_key="id", indexes=indexes, settings=settings, **more))
    return schema


def found(index=None, **members):
    names = ["id"] if index is None else ["id", "city"]
    described = {
        "TableName": "orders",
        "TableStatus": "ACTIVE",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in names],
        "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
        "WarmThroughput": WARM,
        **members,
    }
    if index is not None:
        built = {
            "IndexName": "by-city",
            "IndexStatus": "ACTIVE",
            "KeySchema": [{"AttributeName": "city", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
            "WarmThroughput": WARM,
        }
        described["GlobalSecondaryIndexes"] = [built | index]
    return read_description({"Table": described}, {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}})


def provisioned(**units):
    return {"BillingModeSummary": {"BillingMode": "PROVISIONED"}, "ProvisionedThroughput": UNITS | units}


def planned(schema, there):
    plan = plan_of([schema], [there])
    assert type(plan).from_json(plan.to_json()) == plan
    return plan


def bodies(plan):
    return [{key: value for key, value in step.request.items() if key != "TableName"} for step in plan.steps]


@pytest.mark.parametrize("name", ["max_read", "max_write", "warm_read", "warm_write"])
@pytest.mark.parametrize("units", [0, -2, 1.5, True, "5"])
def test_units_that_make_no_sense_are_refused(name, units):
    with pytest.raises(ValueError, match=f"{name}={units!r}: write a number of units per second from 1 on"):
        OnDemand(**{name: units})


def test_only_a_maximum_can_be_taken_away():
    assert OnDemand(max_read=-1).max_read == -1
    with pytest.raises(ValueError, match="warm_read=-1"):
        OnDemand(warm_read=-1)


def test_billing_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"billing='on-demand': write billing=OnDemand\(max_write=500\)"):
        TableSettings(billing="on-demand")


def test_limits_of_an_index_that_make_no_sense_name_the_model_and_the_index():
    with pytest.raises(ModelDefinitionError, match=r"Order\.by_city.*max_read=0"):

        class Order(Model, table="orders"):
            id: PartitionKey[str]
            city: Attr[str]

            by_city = GlobalIndex(partition_key="city", max_read=0)

    with pytest.raises(ModelDefinitionError, match=r"Table\('orders'\).*warm_write=0"):
        table(index={"warm_write": 0})


def test_provisioned_units_may_be_said_in_either_place():
    units = Throughput(read=7, write=3)

    class Order(Model, table="orders", settings=TableSettings(billing=units)):
        id: PartitionKey[str]

    assert definition_of(Order).require_table("compared").throughput == units
    assert table(billing=units).throughput == table(throughput=units).throughput == units
    assert table(billing=units, throughput=units).throughput == units


def test_two_kinds_of_billing_are_refused():
    with pytest.raises(ModelDefinitionError, match="give one of them"):
        table(billing=OnDemand(), throughput=Throughput(read=1, write=1))
    with pytest.raises(ModelDefinitionError, match="give one of them"):

        class Order(
            Model, table="orders", throughput=Throughput(read=1, write=1), settings=TableSettings(billing=BOUNDED)
        ):
            id: PartitionKey[str]


def test_models_of_one_table_have_to_agree_on_billing():
    class Order(Model, table="orders", settings=TableSettings(billing=OnDemand())):
        id: PartitionKey[str]

    class Invoice(Model, table="orders", throughput=Throughput(read=1, write=1)):
        id: PartitionKey[str]

    class Refund(Model, table="orders"):
        id: PartitionKey[str]

    [merged] = declared_tables(Refund, Order)
    assert merged.settings.billing == OnDemand()
    with pytest.raises(ModelDefinitionError, match="disagree on its throughput"):
        declared_tables(Order, Invoice)


def test_a_table_and_its_indexes_are_created_with_their_limits():
    schema = table(BOUNDED, index={"max_write": 100, "warm_read": 13_000})
    body = create_request(schema, throughput=None, tags={}).body
    assert body["BillingMode"] == "PAY_PER_REQUEST"
    assert body["OnDemandThroughput"] == {"MaxReadRequestUnits": 2000, "MaxWriteRequestUnits": 500}
    assert body["WarmThroughput"] == {"ReadUnitsPerSecond": 15_000, "WriteUnitsPerSecond": 5000}
    [index] = body["GlobalSecondaryIndexes"]
    assert index["OnDemandThroughput"] == {"MaxWriteRequestUnits": 100}
    assert index["WarmThroughput"] == {"ReadUnitsPerSecond": 13_000}


def test_what_every_new_table_has_is_not_asked_for():
    body = create_request(table(OnDemand(max_read=-1, warm_read=12_000)), throughput=None, tags={}).body
    assert body.keys().isdisjoint(("OnDemandThroughput", "WarmThroughput"))


def test_a_provisioned_table_has_no_limits_of_requests():
    schema = table(Throughput(read=5, write=5), index={"max_write": 100, "warm_read": 13_000})
    body = create_request(schema, throughput=schema.throughput, tags={}).body
    assert body["ProvisionedThroughput"] == UNITS
    [index] = body["GlobalSecondaryIndexes"]
    assert index.keys().isdisjoint(("OnDemandThroughput", "WarmThroughput"))


def test_limits_that_are_there_are_no_difference():
    there = found(
        {"OnDemandThroughput": {"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": 100}},
        OnDemandThroughput={"MaxReadRequestUnits": 2000, "MaxWriteRequestUnits": 500},
        WarmThroughput={"ReadUnitsPerSecond": 90_000, "WriteUnitsPerSecond": 5000},
    )
    plan = planned(table(BOUNDED, index={"max_read": -1, "max_write": 100, "warm_read": 12_000}), there)
    assert plan.is_empty
    assert plan.not_managed == ()


def test_limits_that_are_not_declared_are_left_alone_and_told():
    there = found(OnDemandThroughput={"MaxReadRequestUnits": 2000, "MaxWriteRequestUnits": -1})
    for schema in (table(), table(OnDemand(max_write=-1))):
        plan = planned(schema, there)
        assert plan.is_empty
        assert plan.not_managed == (f"{schema.name}: table, at most 2,000 read",)


def test_a_maximum_is_raised_first_and_lowered_last_which_is_a_hazard():
    there = found({}, OnDemandThroughput={"MaxReadRequestUnits": 100, "MaxWriteRequestUnits": 800})
    plan = planned(table(OnDemand(max_read=2000, max_write=500), index={"max_write": 9}), there)
    assert bodies(plan.expand) == [{"OnDemandThroughput": {"MaxReadRequestUnits": 2000}}]
    assert bodies(plan.contract) == [
        {
            "OnDemandThroughput": {"MaxWriteRequestUnits": 500},
            "GlobalSecondaryIndexUpdates": [
                {"Update": {"IndexName": "by-city", "OnDemandThroughput": {"MaxWriteRequestUnits": 9}}}
            ],
        }
    ]
    assert plan.expand.hazards == ()
    assert [(hazard.code, hazard.index) for hazard in plan.contract.hazards] == [
        ("throughput-lowered", None),
        ("throughput-lowered", "by-city"),
    ]
    assert (
        plan.contract.steps[0].summary
        == "table at most 800 write; by-city at most any write -> table at most 500 write; by-city at most 9 write"
    )


def test_a_maximum_that_is_taken_away_is_raised():
    there = found(OnDemandThroughput={"MaxReadRequestUnits": 100})
    plan = planned(table(OnDemand(max_read=-1)), there)
    assert bodies(plan) == [{"OnDemandThroughput": {"MaxReadRequestUnits": -1}}]
    assert plan.hazards == ()


def test_warm_throughput_is_raised_and_its_cost_is_a_hazard_with_the_units():
    plan = planned(table(OnDemand(warm_read=15_000, warm_write=5_000), index={"warm_write": 6_000}), found({}))
    assert bodies(plan) == [
        {
            "WarmThroughput": {"ReadUnitsPerSecond": 15_000, "WriteUnitsPerSecond": 5_000},
            "GlobalSecondaryIndexUpdates": [
                {"Update": {"IndexName": "by-city", "WarmThroughput": {"WriteUnitsPerSecond": 6_000}}}
            ],
        }
    ]
    assert [(hazard.code, hazard.index, hazard.message.partition(" units")[0]) for hazard in plan.hazards] == [
        ("warm-throughput-cost", None, "3,000 read and 1,000 write"),
        ("warm-throughput-cost", "by-city", "2,000 write"),
    ]


def test_a_warm_throughput_above_the_declared_one_is_no_difference():
    there = found(WarmThroughput={"ReadUnitsPerSecond": 40_000, "WriteUnitsPerSecond": 4_100})
    assert bodies(planned(table(OnDemand(warm_read=15_000, warm_write=5_000)), there)) == [
        {"WarmThroughput": {"WriteUnitsPerSecond": 5_000}}
    ]


def test_a_warm_throughput_that_the_engine_does_not_tell_is_unknown():
    plan = planned(table(OnDemand(warm_read=15_000)), found(WarmThroughput=None))
    assert plan.is_empty
    assert plan.not_managed == ("orders: table, warm throughput, which is unknown: the engine does not tell it",)


def test_a_plan_stays_valid_while_warm_throughput_rises_by_itself():
    risen = found({}, WarmThroughput={"ReadUnitsPerSecond": 13_000, "WriteUnitsPerSecond": 4_000})
    schema = table(OnDemand(warm_read=15_000), index={})
    assert planned(schema, found({})).fingerprint == planned(schema, risen).fingerprint


def test_a_plan_is_of_no_use_once_a_maximum_was_changed():
    other = found({"OnDemandThroughput": {"MaxReadRequestUnits": 7}})
    schema = table(OnDemand(max_read=100), index={})
    assert planned(schema, found({})).fingerprint != planned(schema, other).fingerprint


def test_a_provisioned_table_becomes_on_demand_and_then_gets_its_limits():
    there = found({"ProvisionedThroughput": UNITS, "WarmThroughput": None}, **provisioned(), WarmThroughput=None)
    plan = planned(table(OnDemand(max_write=500)), there)
    assert bodies(plan) == [
        {"BillingMode": "PAY_PER_REQUEST"},
        {"OnDemandThroughput": {"MaxWriteRequestUnits": 500}},
    ]
    assert [hazard.code for hazard in plan.hazards] == ["billing-switched", "throughput-lowered"]
    assert plan.steps[0].summary == "5 read, 5 write -> on-demand"
    assert [is_reached(step, there) for step in plan.steps] == [False, False]
    assert is_reached(plan.steps[0], found({}))


def test_units_are_told_with_separators():
    large = {"ReadCapacityUnits": 40_000, "WriteCapacityUnits": 5}
    there = found(**{**provisioned(), "ProvisionedThroughput": large})
    assert planned(table(OnDemand()), there).steps[0].before == "40,000 read, 5 write"


def test_a_provisioned_table_that_becomes_on_demand_has_what_new_ones_have_before_it_is_warmed():
    low = {"ReadUnitsPerSecond": 5, "WriteUnitsPerSecond": 90_000}
    plan = planned(table(OnDemand(warm_read=13_000, warm_write=5_000)), found(**provisioned(), WarmThroughput=low))
    [_, warming] = plan.steps
    assert warming.request["WarmThroughput"] == {"ReadUnitsPerSecond": 13_000}
    assert warming.hazards[0].message.startswith("1,000 read units")
    assert warming.summary == "table warm for 12,000 read -> table warm for 13,000 read"


def test_an_index_that_is_added_while_the_table_becomes_on_demand_has_no_units():
    plan = planned(
        table(OnDemand(), index={"max_read": 10, "throughput": Throughput(read=1, write=1)}), found(**provisioned())
    )
    [_, creation] = plan.steps
    entry = creation.request["GlobalSecondaryIndexUpdates"][0]["Create"]
    assert "ProvisionedThroughput" not in entry
    assert entry["OnDemandThroughput"] == {"MaxReadRequestUnits": 10}


def test_a_model_that_is_silent_leaves_a_provisioned_table_alone():
    plan = planned(table(index={"max_read": 10}), found({"ProvisionedThroughput": UNITS}, **provisioned()))
    assert plan.is_empty
    assert plan.not_managed == ("orders: its throughput of 5 read, 5 write",)


def test_a_new_table_or_index_that_is_paid_for_is_a_hazard():
    schema = table(OnDemand(warm_write=5_000), index={"warm_read": 13_000})
    plan = plan_of([schema], [None])
    assert [(hazard.code, hazard.index) for hazard in plan.hazards] == [
        ("warm-throughput-cost", None),
        ("warm-throughput-cost", "by-city"),
    ]
    added = planned(table(index={"warm_read": 13_000}), found())
    assert [(hazard.code, hazard.index) for hazard in added.hazards] == [("warm-throughput-cost", "by-city")]


@pytest.mark.parametrize("wanted", [BOUNDED, OnDemand(max_read=3), OnDemand(warm_write=9_000)])
def test_a_described_table_has_the_billing_that_it_was_described_with(wanted):
    schema = table(wanted, index={"max_read": 10, "warm_read": 13_000})
    assert plan_of([schema], [read_description(to_description(schema))]).is_empty


def test_other_tools_are_told_the_limits():
    schema = table(BOUNDED, index={"max_read": 10, "warm_write": 6_000})
    [resource] = json.loads(to_cloudformation(schema))["Resources"].values()
    properties = resource["Properties"]
    assert properties["OnDemandThroughput"] == {"MaxReadRequestUnits": 2000, "MaxWriteRequestUnits": 500}
    assert properties["WarmThroughput"] == {"ReadUnitsPerSecond": 15_000, "WriteUnitsPerSecond": 5_000}
    [index] = properties["GlobalSecondaryIndexes"]
    assert index["WarmThroughput"] == {"WriteUnitsPerSecond": 6_000}
    text = to_terraform(schema)
    assert (
        "\n    on_demand_throughput {\n      max_read_request_units = 10\n    }\n"
        "\n    warm_throughput {\n      write_units_per_second = 6000\n    }\n  }\n"
    ) in text
    assert (
        "\n  on_demand_throughput {\n    max_read_request_units  = 2000\n    max_write_request_units = 500\n  }\n"
        "\n  warm_throughput {\n    read_units_per_second  = 15000\n    write_units_per_second = 5000\n  }\n"
    ) in text
