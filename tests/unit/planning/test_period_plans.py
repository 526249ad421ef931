"""One table per period in queries and scans: which tables are read, in which order, and what is refused."""

from datetime import UTC, datetime, timedelta

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Put, Query, Scan, SortKey, attr, template
from dynamap_async.errors import EncodeError, OperationError, OutOfRangeError
from dynamap_async.planning import Context

DAY = datetime(2026, 11, 21, tzinfo=UTC)


class Reading(Model, table="readings_{at:day}"):
    device_id: PartitionKey[str]
    at: SortKey[datetime]
    place: Attr[str] = attr(default="lab")
    value: Attr[int] = attr(default=0)

    by_place = GlobalIndex(partition_key="place", sort_key="value")


class Log(Model, table="log_{at:month}"):
    host: PartitionKey[str]
    at: Attr[datetime]
    line: Attr[int]
    sk: SortKey[str] = template("log#{at}#{line:03d}")


class Order(Model, table="orders_{tenant}"):
    tenant: PartitionKey[str]
    number: SortKey[int]


class Season(Model, table="season_{year:04d}"):
    year: PartitionKey[int]
    name: SortKey[str]


class Plain(Model, table="plain"):
    id: PartitionKey[str]


def tables(query):
    plan = query.explain()
    return list(plan.tables) or [plan.table]


def days(*numbers):
    return [f"readings_2026-11-{number}" for number in numbers]


READINGS = Query(Reading).where(Reading.device_id == "d1")


@pytest.mark.parametrize(
    ("conditions", "numbers"),
    [
        ([Reading.at == DAY], [21]),
        ([Reading.at.between(DAY, DAY + timedelta(days=2))], [21, 22, 23]),
        ([Reading.at.between(DAY, DAY + timedelta(hours=23))], [21]),
        ([Reading.at >= DAY, Reading.at <= DAY + timedelta(days=1)], [21, 22]),
    ],
)
def test_a_query_reads_the_tables_that_its_conditions_cover(conditions, numbers):
    assert tables(READINGS.where(*conditions)) == days(*numbers)


def test_several_partitions_of_one_table_are_told_as_one_table():
    plan = Query(Reading).where(Reading.device_id.is_in("d1", "d2"), Reading.at == DAY).explain()
    assert (plan.queries, plan.tables) == (2, ())
    assert str(plan).startswith("Query Reading in 'readings_2026-11-21', through the table, in 2 queries, merged\n")


def test_a_descending_query_begins_with_the_last_table():
    assert tables(READINGS.where(Reading.at.between(DAY, DAY + timedelta(days=1))).descending()) == days(22, 21)


@pytest.mark.parametrize(
    ("conditions", "numbers"),
    [
        ([Reading.at >= DAY, Reading.at < DAY + timedelta(days=1)], [21]),
        ([Reading.at > DAY, Reading.at < DAY + timedelta(days=2), Reading.at >= DAY + timedelta(days=1)], [22]),
        ([Reading.at.is_in(DAY + timedelta(days=2), DAY, DAY + timedelta(hours=1))], [21, 23]),
        ([Reading.at.is_in(DAY, DAY + timedelta(days=2)), Reading.at == DAY], [21]),
    ],
)
def test_a_scan_reads_the_tables_that_its_conditions_cover(conditions, numbers):
    assert tables(Scan(Reading).where(*conditions)) == days(*numbers)


def test_an_index_is_read_in_each_table():
    query = Query(Reading).where(Reading.place == "lab", Reading.at.between(DAY, DAY + timedelta(days=1)))
    assert query.explain().index == "by_place"
    assert tables(query) == days(21, 22)
    assert not query.explain().in_turn


def test_a_part_of_a_template_tells_the_tables():
    query = Query(Log).where(Log.host == "h", Log.at.between(DAY, DAY + timedelta(days=20)))
    assert tables(query) == ["log_2026-11", "log_2026-12"]
    assert query.explain().sort_conditions


def test_each_partition_is_looked_for_in_its_own_table():
    query = Query(Season).where(Season.year.is_in(2027, 2025), Season.name >= "m")
    plan = query.explain()
    assert (plan.tables, plan.queries) == (("season_2027", "season_2025"), 2)


def test_each_shard_is_looked_for_in_each_table():
    class Sharded(Model, table="sharded_{at:day}"):
        queue: PartitionKey[str] = attr(shards=2)
        at: SortKey[datetime]

    class Own(Model, table="own_{tenant}"):
        tenant: PartitionKey[str] = attr(shards=2)
        number: SortKey[int]

    query = Query(Sharded).where(Sharded.queue == "q", Sharded.at.between(DAY, DAY + timedelta(days=1)))
    assert (query.explain().queries, tables(query)) == (4, ["sharded_2026-11-21", "sharded_2026-11-22"])
    assert not query.explain().in_turn
    assert tables(Query(Own).where(Own.tenant == "acme")) == ["own_acme"]
    assert Put(Own(tenant="acme", number=1)).request(Context()).table == "own_acme"


def test_text_names_the_table_itself():
    assert tables(Query(Order).where(Order.tenant == "acme", Order.number > 7)) == ["orders_acme"]
    assert tables(Scan(Order).period("acme", "umbrella")) == ["orders_acme", "orders_umbrella"]


def test_chosen_periods_decide():
    query = READINGS.where(Reading.at >= DAY).period(DAY + timedelta(days=1), DAY)
    assert tables(query) == days(21, 22)


def test_a_plan_names_the_tables_and_says_that_they_are_read_in_turn():
    text = str(READINGS.where(Reading.at.between(DAY, DAY + timedelta(days=1))).skip_missing_tables().explain())
    assert "in 2 tables, through the table, in 2 queries, merged; with a limit one table after the other" in text
    assert "tables         readings_2026-11-21, readings_2026-11-22" in text
    assert "hazard         a table that does not exist, not yet or no longer, counts as empty" in text


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        (READINGS, r"Reading.at decides the table of an item.*, one for each day, and the conditions leave it open"),
        (
            READINGS.where(Reading.at >= DAY),
            r"bound it at one end only; give both ends, such as Reading.at.between\(first",
        ),
        (Scan(Reading), r"choose the tables with .period\(...\)"),
        (Scan(Order).where(Order.tenant.between("a", "b")), "a range of its stored values does not name the tables"),
        (Scan(Reading).period(DAY, DAY + timedelta(days=1)).segments(2), "a scan in segments reads one table"),
        (Scan(Season).where(Season.year == 2025), None),
    ],
    ids=[
        "open",
        "one end",
        "scan",
        "text",
        "segments",
        "fine",
    ],
)
def test_conditions_that_do_not_tell_the_tables_are_refused(query, problem):
    if problem is None:
        assert tables(query) == ["season_2025"]
        return
    with pytest.raises(OperationError, match=problem):
        query.explain()


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        (READINGS.where(Reading.at.between(DAY, DAY + timedelta(days=100))), "needs 101 queries.* at most 100"),
        (Scan(Season).where(Season.year.between(0, 10**30)), "needs 1,0[0,]*1 queries"),
    ],
)
def test_more_tables_than_are_queried_together_are_out_of_range(query, problem):
    with pytest.raises(OutOfRangeError, match=problem):
        query.explain()


def test_more_periods_than_are_queried_together_are_out_of_range():
    with pytest.raises(OutOfRangeError, match="period.. with 101 periods needs 101 queries.* at most 100"):
        Query(Reading).period(*(DAY + timedelta(days=n) for n in range(101)))


@pytest.mark.parametrize(
    "query",
    [
        Scan(Reading).where(Reading.at >= DAY, Reading.at < DAY),
        Scan(Reading).where(Reading.at == DAY, Reading.at == DAY + timedelta(days=1)),
        Scan(Reading).where(Reading.at.between(DAY, DAY - timedelta(days=1))),
        Scan(Reading).where(Reading.at.is_in()),
    ],
)
def test_conditions_that_leave_no_period_are_answered_without_a_request(query):
    assert query.reading(Context()).exhausted


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: Query(Plain).period(DAY), r"Plain has one table for all time, and .period\(\) is for models"),
        (lambda: Query(Plain).skip_missing_tables(), r".skip_missing_tables\(\) is for models with one per period"),
        (lambda: Query(Reading).period(), "has the period"),
    ],
    ids=["period", "skip", "none"],
)
def test_periods_of_what_has_none_are_refused(call, problem):
    with pytest.raises(OperationError, match=problem):
        call()


def test_a_period_of_another_type_is_refused():
    with pytest.raises(EncodeError, match=r"Reading\.at: "):
        Query(Reading).period("2026-11-21")
