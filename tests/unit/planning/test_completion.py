"""Which reads are completed from the table, what their plans say of it, and what is asked of index and table."""

from datetime import UTC, datetime

import pytest

from dynamap_async import (
    KEYS_ONLY,
    Attr,
    GlobalIndex,
    LocalIndex,
    Model,
    PartitionKey,
    Query,
    Scan,
    SortKey,
    TimeToLive,
    attr,
)
from dynamap_async.errors import AmbiguousIndexError, OperationError, UnprojectedAttributeError
from dynamap_async.planning import Context, TableNames
from dynamap_async.planning.plan_cache import plan_reading

DAY = datetime(2024, 1, 1, tzinfo=UTC)

COMPLETED = {
    "a KEYS_ONLY index": (lambda t: Query(t).where(t.city == "x").index(t.by_city), True),
    "a local INCLUDE index": (lambda t: Query(t).where(t.user_id == "a").index(t.by_likes), True),
    "several partitions": (lambda t: Query(t).where(t.city.is_in("x", "y")).index(t.by_city), True),
    "a scan": (lambda t: Scan(t).index(t.by_city), True),
    "a scan in segments": (lambda t: Scan(t).index(t.by_likes).segments(3), True),
    "an ALL index": (lambda t: Query(t).where(t.user_id == "a").index(t.by_time), False),
    "the table": (lambda t: Query(t).where(t.user_id == "a"), False),
    "a selection of what is held": (lambda t: Query(t).where(t.user_id == "a", t.likes > 3).select(t.text), False),
    "a selection of keys": (lambda t: Query(t).where(t.city == "x").index(t.by_city).select(t.user_id), False),
}


@pytest.mark.parametrize(("query", "completed"), COMPLETED.values(), ids=COMPLETED.keys())
def test_whole_items_of_an_index_that_does_not_hold_them_are_completed(tweet, query, completed):
    reading = plan_reading(query(tweet).spec, Context())
    assert (reading.completion is not None, reading.plan.completion is not None) == (completed, completed)


def test_a_count_is_not_completed(tweet):
    counting = Query(tweet).where(tweet.city == "x").index(tweet.by_city).count().reading(Context())
    assert (counting.completion, counting.plan.completion) == (None, None)


def test_extra_attributes_are_completed_too():
    class Open(Model, table="open", extra="allow"):
        a: PartitionKey[str]
        b: Attr[str]
        narrow = GlobalIndex(partition_key="b", projection=KEYS_ONLY)

    assert Query(Open).where(Open.b == "x").explain().completion is not None
    assert Query(Open).where(Open.b == "x").select(Open.a).explain().completion is None


def test_of_equal_indexes_the_one_without_completion_is_chosen():
    class Ranked(Model, table="ranked"):
        a: PartitionKey[str]
        b: Attr[str]
        c: Attr[str]
        narrow = GlobalIndex(partition_key="b", projection=KEYS_ONLY)
        wide = GlobalIndex(partition_key="b")

    assert Query(Ranked).where(Ranked.b == "x").explain().index == "wide"


def test_completion_does_not_hide_that_two_indexes_fit_equally_well():
    class Torn(Model, table="torn"):
        a: PartitionKey[str]
        b: Attr[str]
        c: Attr[str]
        d: Attr[str]
        by_c = GlobalIndex(partition_key="b", sort_key=("c", "d"), projection=KEYS_ONLY)
        by_d = GlobalIndex(partition_key="b", sort_key=("d", "c"), projection=KEYS_ONLY)

    with pytest.raises(AmbiguousIndexError, match="by_c, by_d"):
        Query(Torn).where(Torn.b == "x", Torn.c == "y", Torn.d == "z").explain()


ASKED = {
    "KEYS_ONLY: what there is": (lambda t: Query(t).where(t.city == "x").index(t.by_city), set()),
    "INCLUDE: the keys": (
        lambda t: Query(t).where(t.user_id == "a").index(t.by_likes),
        {"user_id", "tweet_id", "likes"},
    ),
}


@pytest.mark.parametrize(("query", "names"), ASKED.values(), ids=ASKED.keys())
def test_an_index_is_asked_for_no_more_than_the_keys(tweet, query, names):
    body = query(tweet).explain().body
    asked = body.get("ProjectionExpression", "").replace(",", " ").split()
    assert {body["ExpressionAttributeNames"][each] for each in asked} == names


@pytest.mark.parametrize("consistent", [False, True])
def test_an_item_is_read_by_its_key_and_as_consistently_as_the_index(tweet, consistent):
    query = Query(tweet).where(tweet.user_id == "a").index(tweet.by_likes)
    query = query.consistent() if consistent else query
    completion = plan_reading(query.spec, Context(tables=TableNames("dev-"))).completion
    request = completion.request({"user_id": {"S": "a"}, "tweet_id": {"N": "1"}, "likes": {"N": "9"}})
    key = {"user_id": {"S": "a"}, "tweet_id": {"N": "1"}}
    assert (request.operation, request.body) == (
        "GetItem",
        {"TableName": "dev-tweets", "Key": key, "ConsistentRead": consistent},
    )
    assert (request.target.key, request.batchable) == (key, True)


def test_a_consistent_read_of_a_global_index_is_refused_all_the_same(tweet):
    with pytest.raises(OperationError, match="be read consistently"):
        Query(tweet).where(tweet.city == "x").index(tweet.by_city).consistent().explain()


def test_a_filter_by_what_the_index_does_not_hold_is_refused_all_the_same(tweet):
    with pytest.raises(UnprojectedAttributeError, match="'city-index' does not hold 'reads', so a filter on it"):
        Query(tweet).where(tweet.city == "x", tweet.reads > 1).index(tweet.by_city).explain()


TOLD = {
    "all": (lambda q: q, "one BatchGetItem for each 100 items; half a read unit per 4 KB"),
    "one": (lambda q: q.limit(1), "one GetItem; half a read unit"),
    "a call": (lambda q: q.limit(100), ": 1 BatchGetItem for 100 items; half"),
    "more": (lambda q: q.limit(101), ": 2 BatchGetItem for 101 items; half"),
    "consistent": (lambda q: q.consistent(), "for each 100 items; one read unit per 4 KB"),
}


@pytest.mark.parametrize(("refine", "text"), TOLD.values(), ids=TOLD.keys())
def test_the_plan_tells_how_many_requests_completion_takes(tweet, refine, text):
    plan = refine(Query(tweet).where(tweet.user_id == "a").index(tweet.by_likes)).explain()
    assert text in plan.completion
    assert f"  completion     {plan.completion}\n" in str(plan)


def test_the_plan_warns_of_what_changes_between_index_and_table(tweet):
    plan = Query(tweet).where(tweet.city == "x").index(tweet.by_city).explain()
    assert [hazard for hazard in plan.hazards if "no longer meet the conditions; one that is gone" in hazard]


class Login(Model, table="logins", hide_expired=True):
    user: PartitionKey[str]
    device: Attr[str]
    ends: TimeToLive[datetime | None] = attr(name="ttl", default=None)

    bare = GlobalIndex(partition_key="device", projection=KEYS_ONLY)
    by_end = GlobalIndex(partition_key="device", sort_key="ends", projection=KEYS_ONLY)


def login(index):
    return plan_reading(Query(Login).where(Login.device == "tv").index(index).spec, Context(clock=lambda: 1000.0))


def test_expired_items_of_an_index_without_their_time_are_left_out_once_they_are_completed():
    reading = login(Login.bare)
    assert (reading.plan.filters, reading.answer_filter) == ((), None)
    stored = {"user": {"S": "a"}, "ttl": {"N": "999"}}
    assert reading.completion.item({"Item": stored}) is None
    assert reading.completion.item({"Item": {**stored, "ttl": {"N": "1000"}}}) is not None
    assert reading.completion.item({}) is None


def test_expired_items_of_an_index_with_their_time_are_not_even_asked_for():
    assert login(Login.by_end).answer_filter is not None


def test_a_local_index_of_keys_completes_a_model():
    class Note(Model, table="notes"):
        a: PartitionKey[str]
        n: SortKey[int]
        b: Attr[int]
        c: Attr[str] = attr(default="")
        by_b = LocalIndex(sort_key="b", projection=KEYS_ONLY)

    assert Query(Note).where(Note.a == "x", Note.b > 3).explain().completion is not None
