"""What building an index is expected to take, from items that were looked at."""

import pytest

from dynamap_async import KEYS_ONLY, Attr, GlobalIndex, Model, PartitionKey, Throughput
from dynamap_async.capacity import item_size
from dynamap_async.errors import OperationError
from dynamap_async.models import definition_of
from dynamap_async.tables import BuildEstimate, PlanPrices, TablePlan, plan_of, read_description
from dynamap_async.tables.build_samples import BuildSample, estimated

LOW, HIGH = Throughput(read=5, write=5), Throughput(read=50, write=50)


class Visit(Model, table="visits"):
    id: PartitionKey[str]
    day: Attr[str]
    text: Attr[str]

    by_day = GlobalIndex("day-index", partition_key="day")
    by_text = GlobalIndex("text-index", partition_key="text", projection=KEYS_ONLY)


TABLE = definition_of(Visit).require_table("tested")
FITS = {"id": {"S": "1"}, "day": {"S": "monday"}, "text": {"S": "x" * 1500}}
WRONG, EMPTY, ABSENT = {**FITS, "day": {"N": "1"}}, {**FITS, "day": {"S": ""}}, {"id": {"S": "2"}}


def described(item_count=0, size_bytes=0, **more):
    answer = {
        "TableName": "visits",
        "TableStatus": "ACTIVE",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
        "ItemCount": item_count,
        "TableSizeBytes": size_bytes,
        **more,
    }
    return read_description({"Table": answer}, {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}})


PROVISIONED = {
    "BillingModeSummary": {"BillingMode": "PROVISIONED"},
    "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5},
}


def sampled(*items, index="day-index", complete=True):
    sample = BuildSample(TABLE, TABLE.index(index))
    sample.take(items)
    if complete:
        sample.end()
    return sample


def planned(found, samples, prices=None):
    plan = plan_of([TABLE], [found])
    return estimated(plan, {("visits", name): each for name, each in samples.items()}, {"visits": found}, prices)


def test_every_item_that_fits_is_an_entry():
    estimate = sampled(FITS, FITS, WRONG, ABSENT).estimate(described(), None, None)
    assert estimate == BuildEstimate(
        entries=2,
        write_units=4.0,
        storage_bytes=2 * (item_size(FITS) + 100),
        least_seconds=None,
        sampled_items=4,
        is_complete=True,
    )


def test_an_index_that_holds_keys_only_takes_less():
    item = {**FITS, "text": {"S": "short"}, "day": {"S": "x" * 1500}}
    assert sampled(item, index="text-index").estimate(described(), None, None).write_units == 1.0


@pytest.mark.parametrize("found", [described(item_count=3000), described(size_bytes=3000 * item_size(FITS))])
def test_a_part_of_the_items_stands_for_all(found):
    estimate = sampled(FITS, FITS, complete=False).estimate(found, None, None)
    assert (estimate.entries, estimate.write_units, estimate.is_complete) == (3000, 6000.0, False)
    assert str(estimate) == "3,000 entries, 6,000 write units, 4.6 MB, going by 2 items"


def test_figures_of_the_table_that_are_too_old_count_less_than_items_that_were_seen():
    assert sampled(*[FITS] * 7, complete=False).estimate(described(), None, None).entries == 7


def test_provisioned_units_bound_how_fast_it_is():
    assert sampled(*[FITS] * 300).estimate(described(), 5, None).least_seconds == 120.0


def test_money_is_told_where_there_are_prices():
    prices = PlanPrices(write_million=0.5, storage_gb_month=0.25)
    found = described(item_count=1_000_000)
    estimate = sampled(FITS, complete=False).estimate(found, None, prices)
    assert estimate.price == 1.0
    assert estimate.price_per_month == pytest.approx(1_000_000 * (item_size(FITS) + 100) / 2**30 * 0.25)
    assert "costs 1.00, and 0.38 a month" in str(estimate)


@pytest.mark.parametrize("price", [-1, float("inf"), float("nan"), "free"])
def test_what_is_no_price_is_refused(price):
    with pytest.raises(OperationError, match="is no price"):
        PlanPrices(write_million=price)


def test_a_plan_has_the_sum_and_survives_json():
    samples = {"day-index": sampled(FITS), "text-index": sampled(FITS, index="text-index")}
    plan = planned(described(**PROVISIONED), samples)
    assert plan.estimate.entries == 2
    assert plan.estimate.least_seconds == sum(step.estimate.least_seconds for step in plan.steps) == 0.8
    assert TablePlan.from_json(plan.to_json()) == plan
    assert "      estimate: 1 entry, 2 write units, 1.6 KB, at least 400 ms" in str(plan)
    assert plan_of([TABLE], [described()]).estimate is None


def test_items_that_do_not_fit_are_a_hazard():
    plan = planned(described(), {"day-index": sampled(FITS, WRONG, EMPTY, ABSENT), "text-index": sampled(FITS)})
    [hazard] = plan.hazards
    assert (hazard.code, hazard.index) == ("index-violations", "day-index")
    assert hazard.message.startswith("2 of 4 items that were looked at have a value that does not fit day (S)")


@pytest.mark.parametrize(("count", "codes"), [(499_999, []), (500_000, ["backfill-cost"])])
def test_an_index_that_takes_a_million_units_is_a_hazard(count, codes):
    plan = planned(described(item_count=count), {"day-index": sampled(FITS, complete=False)})
    assert [hazard.code for hazard in plan.hazards] == codes
