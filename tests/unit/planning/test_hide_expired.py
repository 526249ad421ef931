"""Hiding expired items: what each read and a create add to their requests, and what they drop from answers."""

from datetime import UTC, datetime

import pytest

from dynamap_async import (
    KEYS_ONLY,
    Attr,
    Create,
    Find,
    Get,
    GlobalIndex,
    Model,
    PartitionKey,
    Put,
    Query,
    Scan,
    SortKey,
    TimeToLive,
    Version,
    attr,
)
from dynamap_async.errors import CursorError, ItemNotFoundError, OperationError, UnprojectedAttributeError
from dynamap_async.planning import Context
from dynamap_async.planning.plan_cache import plan_reading

NOW = 1_800_000_000


class Login(Model, table="logins", hide_expired=True):
    user: PartitionKey[str]
    number: SortKey[int]
    device: Attr[str] = attr(default="tv")
    ends: TimeToLive[datetime | None] = attr(name="ttl", default=None)

    by_device = GlobalIndex(partition_key="device")
    by_end = GlobalIndex(partition_key="device", sort_key="ends")
    keys_only = GlobalIndex(partition_key="device", projection=KEYS_ONLY)


class Visible(Model, table="logins"):
    user: PartitionKey[str]
    number: SortKey[int]
    ends: TimeToLive[datetime | None] = attr(name="ttl", default=None)


class Versioned(Model, table="logins", hide_expired=True):
    user: PartitionKey[str]
    ends: TimeToLive[datetime | None] = attr(name="ttl", default=None)
    version: Version[int] = attr(default=0)


def at(now: float) -> Context:
    return Context(clock=lambda: now)


def reading(query: Query, now: float = NOW, *, counting: bool = False):
    return plan_reading(query.spec, at(now), counting=counting)


def stored(ttl: object, number: int = 1) -> dict:
    item = {"user": {"S": "ada"}, "number": {"N": str(number)}}
    return item if ttl is None else {**item, "ttl": ttl}


@pytest.mark.parametrize(
    "query",
    [
        Query(Login).where(Login.user == "ada"),
        Query(Login).where(Login.user == "ada").select(Login.number),
        Query(Login).where(Login.device == "tv").index(Login.by_device),
        Scan(Login),
        Scan(Login).index(Login.by_end),
        Scan(Login).segments(4),
    ],
    ids=["query", "select", "index", "scan", "scan of an index that it is a key of", "segments"],
)
def test_a_read_filters_by_the_time_to_live(query):
    plan = reading(query, NOW + 0.9).plan
    assert [str(each) for each in plan.filters] == [f"~(Login.ends < {NOW})"]
    assert "NOT " in plan.body["FilterExpression"]
    assert {"N": str(NOW)} in plan.body["ExpressionAttributeValues"].values()


def test_the_filter_stands_beside_the_querys_own():
    plan = reading(Query(Login).where(Login.user == "ada", Login.device == "tv")).plan
    assert [str(each) for each in plan.filters] == ["Login.device == 'tv'", f"~(Login.ends < {NOW})"]


def test_each_of_several_partitions_is_filtered():
    planned = reading(Query(Login).where(Login.user.is_in("ada", "bob")))
    assert ["FilterExpression" in branch.body for branch in planned.branches] == [True, True]


def test_a_model_that_hides_nothing_is_read_as_before():
    planned = reading(Query(Visible).where(Visible.user == "ada"))
    assert (planned.plan.filters, planned.answer_filter) == ((), None)


def test_a_limit_is_not_sent_because_it_would_count_expired_items():
    assert "Limit" not in reading(Query(Login).where(Login.user == "ada").limit(3)).request(None, 3).body


def test_a_count_counts_with_the_filter():
    body = reading(Query(Login).where(Login.user == "ada"), counting=True).plan.body
    assert body["Select"] == "COUNT"
    assert "FilterExpression" in body


def test_the_plan_tells_what_is_hidden():
    assert "filter         ~(Login.ends < " in str(Query(Login).where(Login.user == "ada").explain())


def test_the_plan_tells_what_is_hidden_after_reading():
    text = str(Query(Login).where(Login.device == "tv").index(Login.by_end).explain())
    assert "expired items are read, paid for and sent, and left out here: ttl is part of the key" in text


def test_an_index_without_the_time_to_live_is_refused():
    with pytest.raises(UnprojectedAttributeError, match="'ttl', which says when an item of Login expires") as caught:
        reading(Query(Login).where(Login.device == "tv").index(Login.keys_only).select(Login.number))
    assert (caught.value.attributes, caught.value.index) == (("ttl",), "keys_only")


EXPIRED = {
    "long ago": ({"N": "0"}, True),
    "over five years ago": ({"N": str(NOW - 200_000_000)}, True),
    "a second ago": ({"N": str(NOW - 1)}, True),
    "a moment ago": ({"N": f"{NOW - 1}.9"}, True),
    "in this second": ({"N": str(NOW)}, False),
    "later": ({"N": str(NOW + 1)}, False),
    "in milliseconds": ({"N": f"{NOW - 9}000"}, False),
    "never": (None, False),
    "no number": ({"S": "0"}, False),
    "NULL": ({"NULL": True}, False),
}


@pytest.mark.parametrize(("ttl", "hidden"), EXPIRED.values(), ids=EXPIRED.keys())
def test_an_item_is_expired_once_its_second_has_passed(ttl, hidden):
    answer_filter = reading(Query(Login).where(Login.device == "tv").index(Login.by_end), NOW + 0.5).answer_filter
    answer = answer_filter({"Items": [stored(ttl)], "Count": 1, "LastEvaluatedKey": {"user": {"S": "x"}}})
    assert answer == {
        "Items": [] if hidden else [stored(ttl)],
        "Count": not hidden,
        "LastEvaluatedKey": {"user": {"S": "x"}},
    }


def test_a_query_by_the_time_to_live_brings_keys_to_count():
    body = reading(Query(Login).where(Login.device == "tv").index(Login.by_end), counting=True).plan.body
    assert "Select" not in body
    assert sorted(body["ExpressionAttributeNames"].values()) == ["device", "number", "ttl", "user"]


def test_a_query_by_the_time_to_live_sends_no_limit():
    query = Query(Login).where(Login.device == "tv").index(Login.by_end).limit(3)
    assert "Limit" not in reading(query).request(None, 3).body


def test_a_cursor_outlives_the_second_in_which_it_was_made():
    query = Query(Login).where(Login.user == "ada")
    cursor = reading(query).cursor({"user": {"S": "ada"}, "number": {"N": "1"}})
    later = query.page(size=1, after=cursor).reading(at(NOW + 60))
    assert later.start == {"user": {"S": "ada"}, "number": {"N": "1"}}


def test_a_cursor_of_another_filter_is_still_refused():
    cursor = reading(Query(Login).where(Login.user == "ada")).cursor({"user": {"S": "ada"}, "number": {"N": "1"}})
    with pytest.raises(CursorError):
        Query(Login).where(Login.user == "ada", Login.device == "tv").page(size=1, after=cursor).reading(at(NOW))


@pytest.mark.parametrize("ttl", [{"N": str(NOW - 1)}, {"N": "0"}])
def test_an_expired_item_is_not_found(ttl):
    find = Find(Login, "ada", 1)
    find.request(at(NOW))
    assert find.result({"Item": stored(ttl)}, at(NOW)) is None


def test_an_expired_item_that_must_exist_is_an_error():
    get = Get(Login, "ada", 1)
    get.request(at(NOW))
    with pytest.raises(ItemNotFoundError, match="there is no Login with user='ada', number=1"):
        get.result({"Item": stored({"N": str(NOW - 1)})}, at(NOW))


@pytest.mark.parametrize("ttl", [None, {"N": str(NOW)}])
def test_an_item_that_is_not_expired_is_found(ttl):
    find = Find(Login, "ada", 1)
    find.request(at(NOW))
    found = find.result({"Item": stored(ttl)}, at(NOW))
    assert found is not None
    assert found.ends == (None if ttl is None else datetime.fromtimestamp(NOW, UTC))


def test_an_expired_item_of_a_model_that_hides_nothing_is_found():
    find = Find(Visible, "ada", 1)
    find.request(at(NOW))
    assert find.result({"Item": stored({"N": "0"})}, at(NOW)) is not None


@pytest.mark.parametrize(
    "write",
    [Create(Login(user="ada", number=1)), Create(Versioned(user="ada")), Put(Versioned(user="ada"))],
    ids=["create", "create of a versioned item", "put of a new versioned item"],
)
def test_a_new_item_may_replace_an_expired_one(write):
    body = write.request(at(NOW)).body
    names = body["ExpressionAttributeNames"]
    spelled = body["ConditionExpression"].replace("#n0", names["#n0"]).replace("#n1", names["#n1"])
    assert spelled == "attribute_not_exists(user) OR ttl < :v0"
    assert body["ExpressionAttributeValues"] == {":v0": {"N": str(NOW)}}


def test_a_new_item_of_a_model_that_hides_nothing_replaces_none():
    body = Create(Visible(user="ada", number=1)).request(at(NOW)).body
    assert body["ConditionExpression"] == "attribute_not_exists(#n0)"


@pytest.mark.parametrize(
    "query",
    [
        Query(Login).where(Login.user == "ada"),
        Query(Login).where(Login.device == "tv").index(Login.by_end),
        Query(Login).where(Login.device == "tv").index(Login.keys_only),
        Query(Login).where(Login.device == "tv").index(Login.keys_only).select(Login.number),
        Scan(Login),
    ],
    ids=["query", "index that it is a key of", "completed", "index without it", "scan"],
)
def test_a_read_with_expired_items_leaves_out_none(query):
    found = reading(query.with_expired())
    assert (found.plan.filters, found.answer_filter) == ((), None)
    if found.completion is not None:
        assert found.completion.item({"Item": stored({"N": "1"})}) is not None


def test_a_cursor_serves_with_and_without_expired_items():
    query = Query(Login).where(Login.user == "ada")
    cursor = reading(query).cursor({"user": {"S": "ada"}, "number": {"N": "1"}})
    assert reading(query.with_expired()).resume(cursor).start == {"user": {"S": "ada"}, "number": {"N": "1"}}


def test_a_model_that_hides_nothing_has_nothing_to_show():
    with pytest.raises(OperationError, match="Visible does not hide expired items, so they are read anyway"):
        Query(Visible).with_expired()
