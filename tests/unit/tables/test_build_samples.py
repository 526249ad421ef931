"""What building an index is expected to take, from items that were looked at."""

import pytest

from dynamap_async import (
    KEYS_ONLY,
    Attr,
    GlobalIndex,
    Model,
    PartitionKey,
    StoredItem,
    Table,
    Throughput,
    attr,
    template,
    upgrade,
)
from dynamap_async.capacity import item_size
from dynamap_async.errors import OperationError
from dynamap_async.models import definition_of
from dynamap_async.tables import BuildEstimate, PlanPrices, TablePlan, plan_of, read_description
from dynamap_async.tables.build_samples import BuildSample, estimated
from dynamap_async.tables.declared import versions_of

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


ANSWER = {
    "TableName": "visits",
    "TableStatus": "ACTIVE",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
}
NO_TTL = {"TimeToLiveDescription": {"TimeToLiveStatus": "DISABLED"}}


def described(item_count=0, size_bytes=0, **more):
    answer = {**ANSWER, "ItemCount": item_count, "TableSizeBytes": size_bytes, **more}
    return read_description({"Table": answer}, NO_TTL)


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
    with pytest.raises(OperationError, match="is not a price"):
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


class Guest(Model, table="guests", schema_version=2):
    id: PartitionKey[str]
    city: Attr[str | None] = attr(default=None)
    place: Attr[str] = template("at#{id}")

    by_city = GlobalIndex("city-index", partition_key="city")
    by_place = GlobalIndex("place-index", partition_key="place")

    @upgrade(to=2)
    @staticmethod
    def city_for_town(item: StoredItem) -> None:
        item["city"] = item.pop("town").strip()


OLD_GUEST = {"id": {"S": "1"}, "town": {"S": "York"}}
BROKEN_GUEST = {"id": {"S": "2"}}
PRESENT_GUEST = {"id": {"S": "3"}, "schema_version": {"N": "2"}}
HOUSE = Table(
    "house",
    partition_key="id",
    discriminator="kind",
    indexes=[GlobalIndex("name-index", partition_key="name")],
)


class Cat(Model, table=HOUSE, schema_version=2):
    id: PartitionKey[str]
    name: Attr[str | None] = attr(default=None)

    @upgrade(to=2)
    @staticmethod
    def named(item: StoredItem) -> None:
        item["name"] = "Tom"


class Dog(Model, table=HOUSE):
    id: PartitionKey[str]
    name: Attr[str | None] = attr(default=None)


def not_upgraded(models, table, index, *items):
    sample = BuildSample(table, table.index(index), versions_of({table.name: models})[table.name])
    sample.take(items)
    return sample.not_upgraded


@pytest.mark.parametrize("index", ["city-index", "place-index"])
def test_items_that_come_into_an_index_only_when_they_are_upgraded_are_told(index):
    table = definition_of(Guest).require_table("tested")
    told = not_upgraded([Guest], table, index, OLD_GUEST, BROKEN_GUEST, PRESENT_GUEST)
    assert told is not None
    assert told.startswith("1 of 3 items that were looked at are of an older version")
    assert told.endswith("`dynamap upgrade Guest`")
    assert not_upgraded([Guest], table, index, BROKEN_GUEST, PRESENT_GUEST) is None


def test_such_items_are_a_hazard_of_the_index():
    table = definition_of(Guest).require_table("tested")
    found = described()
    plan = plan_of([table], [read_description({"Table": {**ANSWER, "TableName": "guests"}}, NO_TTL)])
    sample = BuildSample(table, table.index("city-index"), versions_of({"guests": [Guest]})["guests"])
    sample.take([OLD_GUEST])
    [hazard] = estimated(plan, {("guests", "city-index"): sample}, {"guests": found}, None).hazards
    assert (hazard.code, hazard.index) == ("items-not-upgraded", "city-index")


@pytest.mark.parametrize("models", [[HOUSE], [Cat, Dog], [Cat]])
def test_of_a_shared_table_items_of_other_models_are_not_taken_for_older_ones(models):
    items = [{"id": {"S": "1"}, "kind": {"S": "Cat"}}, {"id": {"S": "2"}, "kind": {"S": "Dog"}}, {"id": {"S": "3"}}]
    told = not_upgraded(models, HOUSE.schema, "name-index", *items)
    assert told is not None
    assert told.startswith("1 of 3 items")


@pytest.mark.parametrize(("count", "codes"), [(499_999, []), (500_000, ["backfill-cost"])])
def test_an_index_that_takes_a_million_units_is_a_hazard(count, codes):
    plan = planned(described(item_count=count), {"day-index": sampled(FITS, complete=False)})
    assert [hazard.code for hazard in plan.hazards] == codes
