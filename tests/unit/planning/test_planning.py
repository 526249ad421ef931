"""A query is planned once for each shape, and filled with its values each time."""

from typing import Any
from unittest.mock import patch

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Query, Scan, SortKey, attr
from dynamap_async.errors import EncodeError, OutOfRangeError
from dynamap_async.models import definition_of
from dynamap_async.planning import TableNames
from dynamap_async.planning import plan_cache as planning
from dynamap_async.planning.context import Context
from dynamap_async.planning.plan_cache import plan_reading
from dynamap_async.planning.reading import plan_uncached


class Tweet(Model, table="tweets"):
    user: PartitionKey[str]
    number: SortKey[int]
    text: Attr[str] = attr(default="")
    city: Attr[str | None] = attr(default=None)
    words: Attr[list[str]] = attr(default_factory=list)

    by_city = GlobalIndex(partition_key="city", sort_key="number")


@pytest.fixture(autouse=True)
def fresh() -> None:
    definition_of(Tweet).compiled.clear()


def plans_made(*queries: Any, context: Context | None = None) -> int:
    with patch.object(planning, "plan_uncached", side_effect=plan_uncached) as anew:
        for query in queries:
            plan_reading(query.spec, context or Context())
    return anew.call_count


def of(user: str, number: int) -> Any:
    return Query(Tweet).where(Tweet.user == user, Tweet.number > number)


def test_queries_that_differ_in_values_are_planned_once() -> None:
    assert plans_made(*(of(f"user-{number}", number).limit(number + 1) for number in range(50))) == 1


def test_the_values_of_each_query_are_its_own() -> None:
    for user, number in (("ada", 1), ("bob", 2)):
        plan = of(user, number).explain()
        assert plan.body["ExpressionAttributeValues"] == {":v0": {"S": user}, ":v1": {"N": str(number)}}
        assert [str(each) for each in plan.key_conditions] == [f"Tweet.user == '{user}'", f"Tweet.number > {number}"]


@pytest.mark.parametrize(
    "other",
    [
        of("ada", 1).descending(),
        of("ada", 1).consistent(),
        of("ada", 1).select(Tweet.text),
        of("ada", 1).where(Tweet.text == "x"),
        of("ada", 1).index(Tweet.by_city).where(Tweet.city == "Rome").select(Tweet.text),
        Query(Tweet).where(Tweet.user == "ada", Tweet.number >= 1),
        Query(Tweet).where(Tweet.number > 1, Tweet.user == "ada"),
        Scan(Tweet).where(Tweet.text == "x"),
    ],
    ids=range(8),
)
def test_queries_of_another_form_have_plans_of_their_own(other: Any) -> None:
    assert plans_made(of("ada", 1), other, other) == 2


def test_a_plan_serves_every_prefix_of_tables() -> None:
    assert plans_made(of("ada", 1)) == 1
    assert plans_made(of("ada", 1), context=Context(tables=TableNames("dev-"))) == 0
    for prefix in ("dev-", ""):
        reading = plan_reading(of("ada", 1).spec, Context(tables=TableNames(prefix)))
        assert reading.plan == plan_uncached(of("ada", 1).spec, Context(tables=TableNames(prefix))).plan
        assert reading.request(None, None).table == f"{prefix}tweets"
        assert reading.binding() == plan_uncached(of("ada", 1).spec, Context(tables=TableNames(prefix))).binding()


def test_equal_values_share_a_placeholder_as_in_a_plan_made_for_them() -> None:
    def query(text: str, city: str) -> Any:
        return Query(Tweet).where(Tweet.user == "ada", (Tweet.text == text) | (Tweet.city == city))

    assert plans_made(query("a", "b"), query("c", "d"), query("e", "e"), query("f", "f")) == 2
    assert len(query("g", "h").explain().body["ExpressionAttributeValues"]) == 3
    assert len(query("g", "g").explain().body["ExpressionAttributeValues"]) == 2


def test_a_range_in_two_conditions_is_planned_each_time_because_its_ends_may_exclude_each_other() -> None:
    def query(low: int) -> Any:
        return Query(Tweet).where(Tweet.user == "ada", Tweet.number >= low, Tweet.number <= 9)

    assert plans_made(query(1), query(2)) == 2


def test_a_key_value_that_no_item_has_is_refused_in_a_kept_plan_too() -> None:
    of("ada", 1).explain()
    with pytest.raises(EncodeError, match="user"):
        of("", 1).explain()


def test_values_that_are_too_large_together_are_refused_in_a_kept_plan_too() -> None:
    def query(text: str) -> Any:
        return Query(Tweet).where(Tweet.user == "ada", Tweet.text == text)

    query("short").explain()
    with pytest.raises(OutOfRangeError, match="bytes"):
        query("x" * 2**21).explain()


def test_kept_plans_hold_no_values() -> None:
    Query(Tweet).where(Tweet.user == "secret", Tweet.text == "hush").explain()
    kept = repr(definition_of(Tweet).compiled)
    assert "secret" not in kept
    assert "hush" not in kept


def test_the_number_of_kept_plans_is_bounded() -> None:
    for number in range(600):
        Query(Tweet).where(Tweet.user == "ada", Tweet.words[number] == "x").explain()
    assert len(definition_of(Tweet).compiled) <= 512


def test_a_plan_shows_the_limit_that_is_sent(tweet):
    query = Query(tweet).where(tweet.user_id == "ada")
    assert query.limit(5).explain().body["Limit"] == 5
    assert query.page_size(7).limit(9).explain().body["Limit"] == 7
    assert query.where(tweet.text == "a").limit(5).explain().body.get("Limit") is None
    assert "Limit" not in query.explain().body
