"""Which table or index a query goes through, what becomes its key condition and its filter, and what is refused."""

from datetime import UTC, datetime

import pytest

from dynamap_async import (
    ALL,
    KEYS_ONLY,
    Attr,
    GlobalIndex,
    LocalIndex,
    Model,
    PartitionKey,
    Query,
    Scan,
    Session,
    SortKey,
    attr,
    include,
)
from dynamap_async.errors import (
    AmbiguousIndexError,
    EncodeError,
    ExpressionError,
    ModelDefinitionError,
    NoIndexError,
    OperationError,
    OutOfRangeError,
    UnprojectedAttributeError,
)
from dynamap_async.planning import Context

DAY = datetime(2024, 1, 1, tzinfo=UTC)


def planned(query):
    plan = query.explain()
    return plan.index, [*map(str, plan.key_conditions)], [*map(str, plan.filters)]


CHOSEN = [
    # conditions -> index, key condition, filter
    (lambda t: [t.user_id == "a"], None, ["user_id == 'a'"], []),
    (lambda t: [t.user_id == "a", t.tweet_id > 5], None, ["user_id == 'a'", "tweet_id > 5"], []),
    (lambda t: [t.tweet_id > 5, t.user_id == "a"], None, ["user_id == 'a'", "tweet_id > 5"], []),
    (lambda t: [(t.user_id == "a") & (t.tweet_id == 5)], None, ["user_id == 'a'", "tweet_id == 5"], []),
    (lambda t: [t.user_id == "a", t.likes.exists()], None, ["user_id == 'a'"], ["likes.exists()"]),
    (lambda t: [t.user_id == "a", t.reads > 5], "by_reads", ["user_id == 'a'", "reads > 5"], []),
    (lambda t: [t.user_id == "a", t.reads != 5], None, ["user_id == 'a'"], ["reads != 5"]),
    (lambda t: [t.user_id == "a", t.reads.is_in(5, 6)], None, ["user_id == 'a'"], ["reads.is_in(5, 6)"]),
    (
        lambda t: [t.user_id == "a", (t.reads == 5) | (t.reads == 6)],
        None,
        ["user_id == 'a'"],
        ["(reads == 5) | (reads == 6)"],
    ),
    (lambda t: [t.user_id == "a", ~(t.reads == 5)], None, ["user_id == 'a'"], ["~(reads == 5)"]),
    (lambda t: [t.user_id == "a", t.reads == t.likes], None, ["user_id == 'a'"], ["reads == Tweet.likes"]),
    # The table before its local indexes, which serve the sort key's conditions as filters only.
    (
        lambda t: [t.user_id == "a", t.tweet_id > 5, t.reads > 5],
        None,
        ["user_id == 'a'", "tweet_id > 5"],
        ["reads > 5"],
    ),
    # like-index and city-index do not hold whole items, which are then completed: their keys count all the same.
    (lambda t: [t.user_id == "a", t.likes > 5], "like-index", ["user_id == 'a'", "likes > 5"], []),
    (lambda t: [t.user_id == "a", t.likes > 5, t.reads != 5], None, ["user_id == 'a'"], ["likes > 5", "reads != 5"]),
    (lambda t: [t.city == "x"], "by_city_likes", ["city == 'x'"], []),
    (lambda t: [t.city == "x", t.likes.between(1, 5)], "by_city_likes", ["city == 'x'", "likes.between(1, 5)"], []),
    (
        lambda t: [t.city == "x", t.posted_at > DAY],
        "city-index",
        ["city == 'x'", f"posted_at > '{DAY:%Y-%m-%d}T00:00:00.000000Z'"],
        [],
    ),
    (lambda t: [t.city == "x", t.user_id == "a"], None, ["user_id == 'a'"], ["city == 'x'"]),
    (
        lambda t: [t.city == "x", t.likes == 3, t.user_id == "a"],
        "by_city_likes",
        ["city == 'x'", "likes == 3"],
        ["user_id == 'a'"],
    ),
    # Merging.
    (
        lambda t: [t.user_id == "a", t.tweet_id >= 1, t.tweet_id <= 9],
        None,
        ["user_id == 'a'", "tweet_id.between(1, 9)"],
        [],
    ),
    (
        lambda t: [t.user_id == "a", t.tweet_id <= 9, t.tweet_id >= 1],
        None,
        ["user_id == 'a'", "tweet_id.between(1, 9)"],
        [],
    ),
    (lambda t: [t.user_id == "a", t.tweet_id > 1, t.tweet_id > 1], None, ["user_id == 'a'", "tweet_id > 1"], []),
    (lambda t: [t.user_id == "a", t.user_id == "a"], None, ["user_id == 'a'"], []),
]


@pytest.mark.parametrize(
    ("conditions", "index", "key", "filters"), CHOSEN, ids=[" and ".join(each[2] + each[3]) for each in CHOSEN]
)
def test_the_planner_chooses(tweet, conditions, index, key, filters):
    found_index, found_key, found_filters = planned(Query(tweet).where(*conditions(tweet)))
    assert found_index == index
    assert [each.removeprefix("Tweet.") for each in found_key] == key
    assert [each.replace("(Tweet.", "(").removeprefix("Tweet.") for each in found_filters] == filters


def test_a_selection_opens_the_way_through_an_index_that_holds_it(tweet):
    query = Query(tweet).where(tweet.user_id == "a", tweet.likes > 5)
    assert planned(query.select(tweet.text, tweet.likes))[0] == "like-index"
    assert planned(query.select(tweet.text, tweet.reads))[0] is None


def test_a_count_needs_no_attribute_of_the_index(tweet):
    count = Query(tweet).where(tweet.city == "x", tweet.posted_at > DAY).count()
    assert count.reading(Context()).plan.index == "city-index"


def test_equal_candidates_are_ranked_by_table_local_global():
    class Ranked(Model, table="ranked"):
        a: PartitionKey[str]
        b: SortKey[str]
        c: Attr[str]
        global_first = GlobalIndex(partition_key="a", sort_key="b")
        local = LocalIndex(sort_key="c")
        global_same = GlobalIndex(partition_key="a", sort_key="c")

    assert planned(Query(Ranked).where(Ranked.a == "x", Ranked.b == "y"))[0] is None
    assert planned(Query(Ranked).where(Ranked.a == "x", Ranked.c == "y"))[0] == "local"


def test_equal_candidates_are_ranked_by_projection():
    class Ranked(Model, table="ranked"):
        a: PartitionKey[str]
        c: Attr[str]
        narrow = GlobalIndex(partition_key="c", projection=KEYS_ONLY)
        wide = GlobalIndex(partition_key="c", projection=ALL)

    assert planned(Query(Ranked).where(Ranked.c == "x").select(Ranked.a))[0] == "wide"


def test_an_index_of_all_attributes_is_preferred_to_one_of_some_that_suffices():
    class Ranked(Model, table="ranked"):
        id: PartitionKey[str]
        city: Attr[str]
        size: Attr[int]
        by_some = GlobalIndex(partition_key="city", projection=include("size"))
        by_all = GlobalIndex(partition_key="city")

    assert Query(Ranked).where(Ranked.city == "x").select(Ranked.size).explain().index == "by_all"


def test_most_conditions_in_the_key_win():
    class Ranked(Model, table="ranked"):
        a: PartitionKey[str]
        b: SortKey[str]
        c: Attr[str]
        d: Attr[str]
        wide = GlobalIndex(partition_key=("c", "d"), sort_key="b")

    query = Query(Ranked).where(Ranked.a == "x", Ranked.c == "y", Ranked.d == "z")
    assert planned(query)[0] == "wide"
    assert planned(query.where(Ranked.b == "v"))[0] == "wide"


MULTI = [
    (lambda m: [m.tournament == "t", m.region == "r"], ["tournament == 't'", "region == 'r'"], []),
    (
        lambda m: [m.region == "r", m.tournament == "t", m.round > 1],
        ["tournament == 't'", "region == 'r'", "round > 1"],
        [],
    ),
    (
        lambda m: [m.tournament == "t", m.region == "r", m.round == 1, m.bracket == "b", m.player.begins_with("p")],
        ["tournament == 't'", "region == 'r'", "round == 1", "bracket == 'b'", "player.begins_with('p')"],
        [],
    ),
    (
        lambda m: [m.tournament == "t", m.region == "r", m.round >= 1, m.round <= 3],
        ["tournament == 't'", "region == 'r'", "round.between(1, 3)"],
        [],
    ),
]


@pytest.mark.parametrize(("conditions", "key", "filters"), MULTI)
def test_keys_of_several_attributes_are_used_from_the_left(match, conditions, key, filters):
    found_index, found_key, found_filters = planned(Query(match).where(*conditions(match)))
    assert found_index == "by_round"
    assert [each.removeprefix("Match.") for each in found_key] == key
    assert found_filters == filters


REFUSED = [
    (lambda t: [], NoIndexError, "no equality condition on a partition key.*the table needs user_id.*session.scan"),
    (lambda t: [t.likes > 5], NoIndexError, "the index 'city-index' needs city"),
    (lambda t: [t.user_id > "a"], NoIndexError, "no equality condition"),
    (lambda t: [t.user_id.begins_with("a")], NoIndexError, "no equality condition"),
    (lambda t: [t.user_id.is_in("a", "b"), t.tweet_id != 5], OperationError, "Tweet.tweet_id is part of the key"),
    (lambda t: [t.user_id.is_in("a", "b"), t.user_id == "a"], OperationError, "Tweet.user_id is part of the key"),
    (lambda t: [(t.user_id == "a") | (t.user_id == "b")], NoIndexError, "no equality condition"),
    (
        lambda t: [t.user_id == "a", t.tweet_id != 5],
        OperationError,
        r"\(Tweet.tweet_id != 5\) cannot be checked.*the table",
    ),
    (lambda t: [t.user_id == "a", t.tweet_id.is_in(1, 2)], OperationError, "Tweet.tweet_id is part of the key"),
    (lambda t: [t.user_id == "a", ~(t.tweet_id > 5)], OperationError, "Tweet.tweet_id is part of the key"),
    (
        lambda t: [t.user_id == "a", (t.tweet_id > 5) | (t.likes > 5)],
        OperationError,
        "Tweet.tweet_id is part of the key",
    ),
    (lambda t: [t.user_id == "a", t.tweet_id == t.likes], OperationError, "Tweet.tweet_id is part of the key"),
    (
        lambda t: [t.user_id == "a", t.tweet_id > 1, t.tweet_id < 9],
        OperationError,
        "takes one condition on the sort key",
    ),
    (
        lambda t: [t.user_id == "a", t.tweet_id > 1, t.tweet_id <= 9],
        OperationError,
        r"ask for Tweet.tweet_id.between\(1, 9\), and keep of its items those with Tweet.tweet_id > 1",
    ),
    (
        lambda t: [t.user_id == "a", t.tweet_id < 9, t.tweet_id > 1],
        OperationError,
        r"between\(1, 9\), and keep of its items those with Tweet.tweet_id > 1 and Tweet.tweet_id < 9",
    ),
    (lambda t: [t.user_id == "a", t.tweet_id >= 1, t.tweet_id >= 2], OperationError, "takes one condition"),
    (lambda t: [t.user_id == "a", t.tweet_id.between(1, 9), t.tweet_id >= 2], OperationError, "takes one condition"),
    (lambda t: [t.user_id == ""], EncodeError, "Tweet.user_id: a partition key cannot be empty"),
    (lambda t: [t.user_id == "x" * 2049], EncodeError, "Tweet.user_id: a partition key may have 2,048 bytes"),
    (lambda t: [t.city == ""], EncodeError, "Tweet.city: a partition key cannot be empty"),
]


@pytest.mark.parametrize(("conditions", "kind", "message"), REFUSED, ids=[str(i) for i in range(len(REFUSED))])
def test_the_planner_refuses(tweet, conditions, kind, message):
    with pytest.raises(kind, match=message) as caught:
        Query(tweet).where(*conditions(tweet)).explain()
    assert type(caught.value) is kind


@pytest.mark.parametrize(
    "conditions",
    [
        lambda t: [t.user_id == "a", t.user_id == "b"],
        lambda t: [t.user_id == "x" * 90 + "1", t.user_id == "x" * 90 + "2"],
        lambda t: [t.user_id.is_in()],
        lambda t: [t.user_id.is_in(), t.tweet_id > 5],
        lambda t: [t.city.is_in()],
        lambda t: [t.user_id == "a", t.tweet_id == 1, t.tweet_id == 2],
        lambda t: [t.user_id == "a", t.tweet_id >= 9, t.tweet_id <= 1],
        lambda t: [t.user_id == "a", t.tweet_id.between(9, 1)],
        lambda t: [t.user_id == "a", t.likes.between(9, 1)],
        lambda t: [t.user_id == "a", t.text.is_in()],
        lambda t: [t.user_id == "a", (t.likes > 5) & t.text.is_in()],
    ],
)
def test_what_no_item_can_meet_is_answered_without_a_request(tweet, conditions):
    query = Query(tweet).where(*conditions(tweet))
    assert query.reading(Context()).exhausted
    assert "so nothing is read, and no request is sent" in str(query.explain())


def test_a_range_turned_round_is_answered_without_a_request_though_the_plan_of_its_shape_is_kept(tweet):
    def between(low, high):
        return Query(tweet).where(tweet.user_id == "a", tweet.tweet_id.between(low, high)).reading(Context())

    assert not between(1, 9).exhausted
    assert between(9, 1).exhausted
    assert not between(1, 9).exhausted


def test_a_scan_for_what_no_item_can_meet_is_answered_without_a_request(tweet):
    assert Scan(tweet).where(tweet.likes.between(9, 1)).reading(Context()).exhausted
    assert not Scan(tweet).where(tweet.likes.between(9, 1) | (tweet.likes == 1)).reading(Context()).exhausted


def test_more_than_a_hundred_partitions_are_out_of_range(tweet):
    with pytest.raises(OutOfRangeError, match="has 101 combinations of values, and each needs a query"):
        Query(tweet).where(tweet.user_id.is_in(*map(str, range(101)))).explain()


def test_a_size_beyond_32_bits_asks_for_the_largest_page(tweet):
    reading = Query(tweet).where(tweet.user_id == "a").page(size=10**10).reading(Context())
    assert reading.request(None, reading.want).body["Limit"] == 2_147_483_647


@pytest.mark.parametrize("prefix", ["", "x" * 1025])
def test_a_sort_key_condition_cannot_have_a_value_that_no_sort_key_has(prefix):
    class Sorted(Model, table="sorted"):
        a: PartitionKey[str]
        b: SortKey[str]

    for condition in (Sorted.b == prefix, Sorted.b.begins_with(prefix), Sorted.b.between(prefix, "z" * 1000 + prefix)):
        with pytest.raises(EncodeError, match="Sorted.b: a sort key"):
            Query(Sorted).where(Sorted.a == "x", condition).explain()


def test_a_missing_part_of_a_partition_key_is_named(match):
    with pytest.raises(NoIndexError, match="the index 'by_round' needs tournament and region"):
        Query(match).where(match.tournament == "t").explain()


@pytest.mark.parametrize(
    "conditions",
    [
        lambda m: [m.bracket == "b"],  # a gap: round is free
        lambda m: [m.round > 1, m.bracket == "b"],  # after a range
        lambda m: [m.round == 1, m.player == "p"],
    ],
)
def test_a_gap_in_a_sort_key_of_several_attributes_is_refused(match, conditions):
    with pytest.raises(OperationError, match="is part of the key of the index 'by_round'"):
        Query(match).where(match.tournament == "t", match.region == "r", *conditions(match)).explain()


def test_two_indexes_with_different_sort_conditions_are_ambiguous(tweet):
    query = Query(tweet).where(tweet.user_id == "a", tweet.posted_at > DAY, tweet.reads > 5)
    with pytest.raises(AmbiguousIndexError, match=r"by_time, by_reads.*\.index\(") as caught:
        query.explain()
    assert caught.value.indexes == ("by_time", "by_reads")
    assert planned(query.index(tweet.by_reads)) == (
        "by_reads",
        ["Tweet.user_id == 'a'", "Tweet.reads > 5"],
        ["Tweet.posted_at > '2024-01-01T00:00:00.000000Z'"],
    )


def test_a_filter_on_an_attribute_that_the_index_does_not_hold_is_refused(tweet):
    query = Query(tweet).where(tweet.city == "x", tweet.reads > 1).index(tweet.by_city)
    with pytest.raises(UnprojectedAttributeError, match="'city-index' does not hold 'reads'.*project it") as caught:
        query.select(tweet.city).explain()
    assert (caught.value.attributes, caught.value.index) == (("reads",), "city-index")


def test_an_unprojected_filter_is_refused_on_local_indexes_too(tweet):
    query = Query(tweet).where(tweet.user_id == "a", tweet.likes > 1, tweet.reads > 1).index(tweet.by_likes)
    with pytest.raises(UnprojectedAttributeError, match="'like-index' does not hold 'reads'"):
        query.select(tweet.text).explain()


def test_a_selection_of_unprojected_fields_is_refused(tweet):
    with pytest.raises(UnprojectedAttributeError, match="'body'"):
        Query(tweet).where(tweet.city == "x").index(tweet.by_city).select(tweet.city, tweet.text).explain()


def test_keys_of_table_and_index_are_always_projected(tweet):
    query = Query(tweet).where(tweet.city == "x").index(tweet.by_city)
    plan = query.select(tweet.user_id, tweet.tweet_id, tweet.city, tweet.posted_at).explain()
    assert plan.index == "city-index"


def test_when_every_candidate_is_refused_for_one_reason_that_reason_is_raised():
    class Narrow(Model, table="narrow"):
        a: PartitionKey[str]
        b: Attr[str]
        c: Attr[str]
        first = GlobalIndex(partition_key="b", projection=KEYS_ONLY)
        second = GlobalIndex(partition_key="b", projection=KEYS_ONLY)

    with pytest.raises(UnprojectedAttributeError, match="'first' does not hold 'c'"):
        Query(Narrow).where(Narrow.b == "x").select(Narrow.c).explain()


def test_when_candidates_are_refused_for_different_reasons_each_is_named():
    class Narrow(Model, table="narrow"):
        a: PartitionKey[str]
        b: Attr[str]
        c: Attr[int]
        first = GlobalIndex(partition_key="b", projection=KEYS_ONLY)
        second = GlobalIndex(partition_key="b", sort_key="c")

    reasons = "the index 'first': .*does not hold 'c'.*; the index 'second': .*Narrow.c is part of the key"
    with pytest.raises(NoIndexError, match=reasons):
        Query(Narrow).where(Narrow.b == "x", Narrow.c != 5).explain()


def test_a_part_of_an_attribute_and_its_size_are_never_in_the_key():
    class Parts(Model, table="parts"):
        a: PartitionKey[str]
        b: SortKey[str]
        options: Attr[dict[str, str]] = attr(default_factory=dict)

    conditions = (
        Parts.a == "x",
        Parts.options["b"] == "y",
        Parts.options["a"].begins_with("z"),
        Parts.options.size() == 2,
    )
    assert planned(Query(Parts).where(*conditions))[1:] == (["Parts.a == 'x'"], [*map(str, conditions[1:])])
    with pytest.raises(OperationError, match="Parts.b is part of the key"):
        Query(Parts).where(Parts.a == "x", Parts.b.size() == 5).explain()


def test_a_consistent_read_avoids_global_indexes(tweet):
    query = Query(tweet).where(tweet.user_id == "a", tweet.city == "x", tweet.likes == 1).consistent()
    assert planned(query)[0] is None
    assert query.explain().body["ConsistentRead"] is True


def test_a_consistent_read_of_a_global_index_is_refused(tweet):
    with pytest.raises(OperationError, match="'by_city_likes' is global.*drop .consistent()"):
        Query(tweet).where(tweet.city == "x").index(tweet.by_city_likes).consistent().explain()


def test_a_consistent_read_of_a_local_index_is_allowed(tweet):
    plan = Query(tweet).where(tweet.user_id == "a").index(tweet.by_time).consistent().explain()
    assert (plan.index, plan.body["ConsistentRead"]) == ("by_time", True)


def test_a_refused_condition_of_the_table_does_not_reorder_its_partition(tweet):
    """by_time could filter by tweet_id, but in another order: the program has to say so."""
    query = Query(tweet).where(tweet.user_id == "a", tweet.tweet_id != 5)
    with pytest.raises(OperationError, match="is part of the key of the table"):
        query.explain()
    assert planned(query.index(tweet.by_time)) == ("by_time", ["Tweet.user_id == 'a'"], ["Tweet.tweet_id != 5"])


def test_a_refused_condition_of_the_table_leaves_other_partitions_open(tweet):
    query = Query(tweet).where(tweet.user_id == "a", tweet.tweet_id != 5, tweet.city == "x")
    assert planned(query)[0] == "by_city_likes"


def test_a_query_without_sort_condition_goes_through_the_table_in_its_order(tweet):
    plan = Query(tweet).where(tweet.user_id == "a").explain()
    assert (plan.index, plan.order, plan.descending) == (None, ("tweet_id",), False)


def test_a_condition_of_another_model_is_refused(tweet, plain):
    with pytest.raises(ExpressionError, match="Plain.value is a field of Plain, but the operation is on Tweet"):
        Query(tweet).where(plain.value == 1)


def test_a_condition_of_a_base_class_is_taken():
    class Base(Model, abstract=True):
        kind: Attr[str] = attr(default="")

    class Child(Base, table="children"):
        id: PartitionKey[str]

    assert planned(Query(Child).where(Child.id == "x", Base.kind == "y"))[2] == ["Base.kind == 'y'"]


@pytest.mark.parametrize("wrong", [True, None, "x", lambda: 1])
def test_what_is_no_condition_is_refused(tweet, wrong):
    with pytest.raises(ExpressionError, match="is not a condition on a field of Tweet"):
        Query(tweet).where(wrong)


def test_an_index_of_another_model_is_refused(tweet, match):
    with pytest.raises(OperationError, match="Match's index 'by_round' cannot answer a query on Tweet"):
        Query(tweet).index(match.by_round)


def test_an_index_that_only_a_subclass_has_is_refused():
    class Base(Model, table="family"):
        id: PartitionKey[str]

    class Child(Base):
        colour: Attr[str]
        by_colour = GlobalIndex(partition_key="colour")

    with pytest.raises(OperationError, match="Child's index 'by_colour' cannot answer a query on Base"):
        Query(Base).index(Child.by_colour)


def test_an_inherited_index_is_taken():
    class Base(Model, abstract=True):
        colour: Attr[str] = attr(default="")
        by_colour = GlobalIndex(partition_key="colour")

    class Child(Base, table="children"):
        id: PartitionKey[str]

    assert planned(Query(Child).where(Child.colour == "red").index(Base.by_colour))[0] == "by_colour"


@pytest.mark.parametrize("wrong", ["by_city", None, 5])
def test_what_is_no_index_is_refused(tweet, wrong):
    with pytest.raises(OperationError, match="needs an index of the model, such as Model.by_city"):
        Query(tweet).index(wrong)


def test_a_model_without_table_cannot_be_queried():
    class Loose(Model):
        value: Attr[int]

    with pytest.raises(ModelDefinitionError, match="has no table, so it cannot be queried"):
        Query(Loose).where(Loose.value == 1).explain()


@pytest.mark.parametrize("wrong", ["Tweet", None, dict, 5])
def test_what_is_no_model_is_refused(wrong):
    for operation in (Query, Scan):
        with pytest.raises(OperationError, match="is not a model"):
            operation(wrong)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (0, OutOfRangeError),
        (-1, OutOfRangeError),
        (1.5, OperationError),
        (True, OperationError),
        ("5", OperationError),
        (None, OperationError),
    ],
)
def test_sizes_are_whole_numbers_from_1_on(tweet, wrong, error):
    query = Query(tweet)
    for refine in (query.limit, query.page_size, lambda size: query.page(size=size)):
        with pytest.raises(error, match="a whole number from 1"):
            refine(wrong)


def test_a_page_says_its_own_size(tweet):
    with pytest.raises(OperationError, match=r"drop .limit\(5\)"):
        Query(tweet).limit(5).page(size=3)


def test_a_selection_names_fields(tweet, plain):
    with pytest.raises(OperationError, match="needs at least one field"):
        Query(tweet).select()
    with pytest.raises(ExpressionError, match="is not a field of a model"):
        Query(tweet).select("text")
    with pytest.raises(ExpressionError, match="Plain.value is a field of Plain"):
        Query(tweet).select(plain.value)
    with pytest.raises(ExpressionError, match="is a number"):
        Query(tweet).select(tweet.text.size())


def test_a_scan_filters_by_any_attribute_and_has_no_order(tweet):
    plan = Scan(tweet).where(tweet.user_id > "a", tweet.tweet_id != 5).explain()
    assert (plan.operation, plan.key_conditions, len(plan.filters)) == ("Scan", (), 2)
    with pytest.raises(OperationError, match="a scan has no order"):
        Scan(tweet).descending()


def test_a_scan_of_an_index_is_checked_as_a_query_is(tweet):
    scan = Scan(tweet).index(tweet.by_city)
    with pytest.raises(UnprojectedAttributeError):
        scan.select(tweet.text).explain()
    with pytest.raises(UnprojectedAttributeError):
        scan.where(tweet.reads > 1).select(tweet.city).explain()
    with pytest.raises(OperationError, match="be read consistently"):
        scan.select(tweet.city).consistent().explain()
    assert scan.select(tweet.city).explain().body["IndexName"] == "city-index"


def test_refining_gives_a_new_query_each_time(tweet):
    base = Query(tweet).where(tweet.user_id == "a")
    narrow = base.where(tweet.tweet_id > 5).descending().limit(3).page_size(2).consistent()
    assert planned(base) == (None, ["Tweet.user_id == 'a'"], [])
    assert planned(narrow)[1] == ["Tweet.user_id == 'a'", "Tweet.tweet_id > 5"]
    assert (narrow.spec.limit, narrow.spec.page_size, narrow.spec.descending, narrow.spec.consistent) == (
        3,
        2,
        True,
        True,
    )
    assert narrow.ascending().spec.descending is False
    assert narrow.limit(9).spec.limit == 9


def test_a_plan_prints_everything_that_will_happen(tweet):
    plan = (
        Query(tweet)
        .where(tweet.city == "London", tweet.likes >= 5, tweet.text.contains("x"))
        .descending()
        .select(tweet.text, tweet.likes)
        .explain()
    )
    assert str(plan).splitlines() == [
        "Query Tweet in 'tweets', through the global index 'by_city_likes'",
        "  key condition  Tweet.city == 'London' and Tweet.likes >= 5",
        "  filter         Tweet.text.contains('x')",
        "  projection     text, likes",
        "  order          descending by likes",
        "  cost           0.5 to 128.5 read units a page",
        "  hazard         the filter drops items after they were read and paid for; a page may come back empty",
        "  hazard         a global index is eventually consistent: it may not show the latest writes yet",
        (
            '  request        {"TableName":"tweets","IndexName":"by_city_likes","KeyConditionExpression":"#n0 = :v0 '
            'AND #n1 >= :v1","FilterExpression":"contains(#n2, :v2)","ProjectionExpression":"#n2, #n1, #n3, #n4, #n0",'
            '"ScanIndexForward":false,"ExpressionAttributeNames":{"#n0":"city","#n1":"likes","#n2":"body","#n3":"user_id",'
            '"#n4":"tweet_id"},"ExpressionAttributeValues":{":v0":{"S":"London"},":v1":{"N":"5"},":v2":{"S":"x"}}}'
        ),
    ]


def test_a_plan_of_a_scan_names_its_hazard(plain):
    assert str(Scan(plain).explain()).splitlines()[:7] == [
        "Scan Plain in 'plains', through the table",
        "  key condition  none",
        "  filter         none",
        "  projection     every attribute",
        "  order          none that DynamoDB promises",
        "  cost           0.5 to 128.5 read units a page",
        "  hazard         a scan reads, and pays for, every item of the table or index",
    ]


def test_a_plan_says_which_items_its_index_does_not_hold():
    class Sparse(Model, table="sparse"):
        id: PartitionKey[str]
        city: Attr[str | None] = attr(default=None)
        score: Attr[int | None] = attr(default=None)
        by_city = GlobalIndex(partition_key="city", sort_key="score")

    query = Query(Sparse).where(Sparse.city == "x")
    assert "items without score are not in the index 'by_city'" in query.explain().hazards
    assert not any("items without" in hazard for hazard in query.where(Sparse.score > 1).explain().hazards)
    assert (
        "items without city or score are not in the index 'by_city'"
        in Scan(Sparse).index(Sparse.by_city).explain().hazards
    )


def test_a_plan_of_a_table_without_sort_key_says_so(plain):
    assert "order          none: the key has no sort key" in str(Query(plain).where(plain.id == "x").explain())


def test_queries_and_plans_are_shown_in_words(tweet):
    query = Query(tweet).where(tweet.user_id == "ada", tweet.likes > 3).limit(3)
    asked = "query on Tweet where Tweet.user_id == 'ada' and Tweet.likes > 3, limit 3"
    assert repr(query) == f"<{asked}; await session.execute(it)>"
    assert repr(Scan(tweet).select(tweet.likes)) == "<scan of Tweet, only likes; await session.execute(it)>"
    assert repr(query.count()) == f"Count({asked})"
    plan = query.explain()
    assert repr(plan) == str(plan)
    assert repr(plan.key_conditions) == "(Tweet.user_id == 'ada', Tweet.likes > 3)"
    assert repr(Session().query(tweet).descending()) == "<query on Tweet, descending; await it>"
