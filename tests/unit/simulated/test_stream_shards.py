"""Streams in many shards: hashes choose the shard, lineages keep the order, and the service's limits hold."""

import json
from base64 import b64encode
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dynamap_async.simulated import SimulatedDynamoDB, StreamShards

DAY, HOUR = 86_400.0, 3600.0
TABLE = {
    "TableName": "things",
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
}


class Engine:
    """A simulated service with a table whose stream has shards, and a clock that a test moves."""

    def __init__(self, *, seed=7, modes=None, **rules):
        self.now = 1_700_000_000.0
        self.service = SimulatedDynamoDB(lambda: self.now, seed=seed, shards=StreamShards(**rules), **(modes or {}))
        self.arn = self.ask("CreateTable", **TABLE)["TableDescription"]["LatestStreamArn"]

    def answer(self, operation, **body):
        status, answer = self.service.execute(operation, json.dumps(body).encode())
        return status, json.loads(answer)

    def ask(self, operation, **body):
        status, answer = self.answer(operation, **body)
        assert status == 200, answer
        return answer

    def refusal(self, operation, **body):
        status, answer = self.answer(operation, **body)
        assert status == 400
        return answer["__type"].partition("#")[2]

    def put(self, key, value=0):
        self.ask("PutItem", TableName="things", Item={"pk": {"S": str(key)}, "n": {"N": str(value)}})

    def shards(self, arn=None, **more):
        """Return the description of all shards, page by page."""
        found, start = [], {}
        while True:
            told = self.ask("DescribeStream", StreamArn=arn or self.arn, **more, **start)["StreamDescription"]
            found += told["Shards"]
            if "LastEvaluatedShardId" not in told:
                return found
            start = {"ExclusiveStartShardId": told["LastEvaluatedShardId"]}

    def iterator(self, shard, kind="TRIM_HORIZON", arn=None, **more):
        where = {"StreamArn": arn or self.arn, "ShardId": shard["ShardId"], "ShardIteratorType": kind, **more}
        return self.ask("GetShardIterator", **where)["ShardIterator"]

    def get(self, iterator, **more):
        page = self.ask("GetRecords", ShardIterator=iterator, **more)
        return page["Records"], page.get("NextShardIterator")

    def read(self, shard, arn=None):
        """Return the records of a shard, and whether it has ended."""
        found, iterator, quiet = [], self.iterator(shard, arn=arn), 0
        while iterator is not None and quiet < 50:
            records, iterator = self.get(iterator)
            found += records
            quiet = 0 if records else quiet + 1
        return found, iterator is None


def unlimited(**rules):
    return {"reads_per_second": None, "descriptions_per_second": None, "readers": None, "empty_pages": 0, **rules}


def parents_first(shards):
    """Yield shards, none before its parent."""
    left = {shard["ShardId"]: shard for shard in shards}
    while left:
        for name, shard in list(left.items()):
            if shard.get("ParentShardId") not in left:
                del left[name]
                yield shard


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 9), st.integers(0, 2)),
        st.tuples(st.just("delete"), st.integers(0, 9), st.just(0)),
        st.tuples(st.just("wait"), st.just(0), st.integers(1, 400)),
    ),
    max_size=60,
)
RULES = st.fixed_dictionaries(
    {
        "shards": st.integers(1, 5),
        "splits": st.lists(st.floats(0, 3000), max_size=12),
        "lifetime": st.sampled_from([100.0, 700.0, 4 * HOUR]),
        "split_load": st.sampled_from([None, 1, 5]),
        "empty_pages": st.sampled_from([0, 0.5]),
    }
)


@given(STEPS, RULES, st.integers(0, 1000))
@settings(max_examples=500, deadline=None)
def test_each_change_is_in_one_shard_and_lineages_replay_to_the_table(steps, rules, seed):
    engine = Engine(seed=seed, **unlimited(child_delay=0, **rules))
    table, changes = {}, 0
    for kind, key, value in steps:
        if kind == "put":
            engine.put(key, value)
            changes += table.get(key) != value
            table[key] = value
        elif kind == "delete":
            engine.ask("DeleteItem", TableName="things", Key={"pk": {"S": str(key)}})
            changes += table.pop(key, None) is not None
        else:
            engine.now += value
    replayed, seen, told_by, lineages = {}, set(), {}, {None: set()}
    for shard in parents_first(engine.shards(Limit=3)):
        name = shard["ShardId"]
        lineages[name] = {name} | lineages[shard.get("ParentShardId")]
        records, ended = engine.read(shard)
        assert ended == ("EndingSequenceNumber" in shard["SequenceNumberRange"])
        numbers = [int(record["dynamodb"]["SequenceNumber"]) for record in records]
        assert all(one < other for one, other in pairwise(numbers))
        seen.update(record["eventID"] for record in records)
        for record in records:
            told = record["dynamodb"]
            key = told["Keys"]["pk"]["S"]
            assert told_by.get(key, name) in lineages[name]
            told_by[key] = name
            assert replayed.get(key) == told.get("OldImage")
            replayed[key] = told.get("NewImage")
    assert len(seen) == changes
    left = {int(key): int(image["n"]["N"]) for key, image in replayed.items() if image is not None}
    assert left == table


def test_one_seed_gives_one_story_and_another_one_another():
    stories = []
    for seed in (1, 1, 2):
        engine = Engine(seed=seed, **unlimited(splits=(5,)))
        for key in range(30):
            engine.put(key)
            engine.now += 1
        stories.append([(shard["ShardId"], engine.read(shard)) for shard in engine.shards()])
    assert stories[0] == stories[1] != stories[2]


def test_which_shard_a_key_goes_to_depends_on_the_seed():
    counts = []
    for seed in (1, 2):
        engine = Engine(seed=seed, **unlimited())
        for key in range(30):
            engine.put(key)
        counts.append(sorted(len(engine.read(shard)[0]) for shard in engine.shards()))
    assert counts[0] != counts[1]


def test_a_shard_closes_after_four_hours_and_its_child_appears_late():
    engine = Engine(**unlimited(shards=1, child_delay=30))
    engine.put("a")
    engine.now += 4 * HOUR
    engine.put("b")
    [parent] = engine.shards()
    records, ended = engine.read(parent)
    assert (len(records), ended) == (1, True)
    engine.now += 30
    _parent, child = engine.shards()
    assert child["ParentShardId"] == parent["ShardId"]
    assert engine.shards(ShardFilter={"Type": "CHILD_SHARDS", "ShardId": parent["ShardId"]}) == [child]
    assert [record["dynamodb"]["Keys"] for record in engine.read(child)[0]] == [{"pk": {"S": "b"}}]


def test_descriptions_show_some_closed_parents_as_open_beside_their_children():
    seen = set()
    for seed in range(20):
        engine = Engine(seed=seed, **unlimited(shards=1, child_delay=30))
        engine.now += 4 * HOUR + 31
        parent, _child = engine.shards()
        seen.add("EndingSequenceNumber" in parent["SequenceNumberRange"])
        engine.now += 30
        assert "EndingSequenceNumber" in engine.shards()[0]["SequenceNumberRange"]
    assert seen == {True, False}


def test_a_scripted_split_halves_the_fullest_shard():
    engine = Engine(**unlimited(shards=3, splits=(60,)))
    for key in range(50):
        engine.put(key)
    counts = {shard["ShardId"]: len(engine.read(shard)[0]) for shard in engine.shards()}
    engine.now += 70
    children = [shard for shard in engine.shards() if "ParentShardId" in shard]
    assert [child["ParentShardId"] for child in children] == [max(counts, key=counts.get)] * 2


def test_a_shard_splits_under_load():
    engine = Engine(**unlimited(shards=1, split_load=10))
    for key in range(10):
        engine.put(key)
    assert engine.service.streams.find(engine.arn).open[0].parent is None
    engine.put("one more")
    assert len(engine.service.streams.find(engine.arn).open) == 2


def test_children_of_a_split_under_load_live_as_long_as_others():
    engine = Engine(**unlimited(shards=1, split_load=1))
    engine.now += HOUR
    for number in range(2):
        engine.put("a", number)
    engine.now += 3.5 * HOUR
    assert len(engine.shards()) == 3
    engine.now += HOUR
    assert len(engine.shards()) == 5


def test_descriptions_have_a_hundred_shards_a_page():
    engine = Engine(**unlimited(shards=150))
    first = engine.ask("DescribeStream", StreamArn=engine.arn)["StreamDescription"]
    assert len(first["Shards"]) == 100
    assert first["LastEvaluatedShardId"] == first["Shards"][-1]["ShardId"]
    assert len({shard["ShardId"] for shard in engine.shards()}) == 150


def test_a_page_has_at_most_a_thousand_records():
    engine = Engine(**unlimited(shards=1))
    for number in range(1001):
        engine.put("a", number)
    records, after = engine.get(engine.iterator(*engine.shards()))
    assert len(records) == 1000
    assert len(engine.get(after)[0]) == 1


def test_a_page_has_at_most_a_megabyte():
    engine = Engine(**unlimited(shards=1))
    for number in range(5):
        engine.ask("PutItem", TableName="things", Item={"pk": {"S": str(number)}, "t": {"S": "x" * 300_000}})
    records, after = engine.get(engine.iterator(*engine.shards()))
    assert len(records) == 3
    assert len(engine.get(after)[0]) == 2


def test_iterators_expire_after_fifteen_minutes():
    engine = Engine(**unlimited(shards=1))
    iterator = engine.iterator(*engine.shards(), kind="LATEST")
    engine.now += 900
    _records, after = engine.get(iterator)
    engine.now += 901
    assert engine.refusal("GetRecords", ShardIterator=after) == "ExpiredIteratorException"


def test_records_are_trimmed_after_a_day():
    engine = Engine(**unlimited(shards=1, lifetime=3 * DAY, iterator_lifetime=2 * DAY))
    engine.put("a")
    [shard] = engine.shards()
    old = engine.iterator(shard)
    number = engine.get(old)[0][0]["dynamodb"]["SequenceNumber"]
    engine.now += HOUR
    engine.put("b")
    engine.now += 23 * HOUR
    assert [record["dynamodb"]["Keys"]["pk"]["S"] for record in engine.read(shard)[0]] == ["b"]
    assert engine.refusal("GetRecords", ShardIterator=old) == "TrimmedDataAccessException"
    where = {"StreamArn": engine.arn, "ShardId": shard["ShardId"], "SequenceNumber": number}
    for kind in ("AT_SEQUENCE_NUMBER", "AFTER_SEQUENCE_NUMBER"):
        refused = engine.refusal("GetShardIterator", ShardIteratorType=kind, **where)
        assert refused == "TrimmedDataAccessException"


def test_a_closed_shard_is_forgotten_a_day_later():
    engine = Engine(**unlimited(shards=1))
    [first] = engine.shards()
    engine.now += 4 * HOUR + 2
    assert len(engine.shards()) == 2
    engine.now += DAY - 10
    iterator = engine.iterator(first)
    engine.now += 10
    assert engine.refusal("GetRecords", ShardIterator=iterator) == "TrimmedDataAccessException"
    shards = engine.shards()
    assert first["ShardId"] not in {shard["ShardId"] for shard in shards}
    assert first["ShardId"] in {shard["ParentShardId"] for shard in shards}
    where = {"StreamArn": engine.arn, "ShardId": first["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    assert engine.refusal("GetShardIterator", **where) == "ResourceNotFoundException"


def test_sequence_numbers_have_21_to_40_digits_and_gain_one_within_a_shard():
    lengths, gained = set(), 0
    for seed in range(40):
        engine = Engine(seed=seed, **unlimited(shards=1))
        for number in range(120):
            engine.put("a", number)
        numbers = [record["dynamodb"]["SequenceNumber"] for record in engine.read(*engine.shards())[0]]
        lengths |= set(map(len, numbers))
        gained += len(numbers[0]) < len(numbers[-1])
        assert sorted(numbers, key=int) == numbers
    assert lengths <= set(range(21, 41))
    assert len(lengths) > 10
    assert gained == 40


def test_positions_are_found_by_number_and_by_time():
    engine = Engine(**unlimited(shards=1))
    [shard] = engine.shards()
    numbers = []
    for value in range(3):
        engine.put("a", value)
        engine.now += 10
    numbers = [record["dynamodb"]["SequenceNumber"] for record in engine.read(shard)[0]]
    for kind, more, expected in (
        ("AT_SEQUENCE_NUMBER", {"SequenceNumber": numbers[1]}, numbers[1:]),
        ("AFTER_SEQUENCE_NUMBER", {"SequenceNumber": numbers[1]}, numbers[2:]),
        ("AT_TIMESTAMP", {"Timestamp": engine.now - 20}, numbers[1:]),
        ("LATEST", {}, []),
    ):
        records, _after = engine.get(engine.iterator(shard, kind=kind, **more))
        assert [record["dynamodb"]["SequenceNumber"] for record in records] == expected


def test_a_shard_answers_five_reads_a_second():
    engine = Engine(shards=2, empty_pages=0)
    one, other = engine.shards()
    iterator = engine.iterator(one)
    for _ in range(5):
        _records, iterator = engine.get(iterator)
    assert engine.refusal("GetRecords", ShardIterator=iterator) == "LimitExceededException"
    engine.get(engine.iterator(other))
    engine.now += 1
    engine.get(iterator)
    calls = {(each.operation, each.shard_id): each for each in engine.service.streams.sharding.calls}
    reads = calls["GetRecords", one["ShardId"]]
    assert (reads.calls, reads.refused, reads.most_per_second, reads.most_readers) == (6, 1, 5, 1)


def test_a_shard_has_two_readers_at_a_time():
    engine = Engine(shards=1, empty_pages=0)
    [shard] = engine.shards()
    first, second, third = (engine.iterator(shard) for _ in range(3))
    engine.get(first)
    engine.get(second)
    assert engine.refusal("GetRecords", ShardIterator=third) == "LimitExceededException"
    engine.now += 1
    engine.get(third)


def test_descriptions_and_lists_of_streams_are_limited():
    engine = Engine()
    for operation, most, body in (
        ("DescribeStream", 10, {"StreamArn": engine.arn}),
        ("ListStreams", 5, {}),
    ):
        for _ in range(most):
            engine.ask(operation, **body)
        assert engine.refusal(operation, **body) == "LimitExceededException"


def test_pages_may_be_empty_though_there_are_records():
    engine = Engine(**unlimited(shards=1, empty_pages=0.5))
    for number in range(20):
        engine.put("a", number)
    iterator, pages = engine.iterator(*engine.shards()), []
    while len(pages) < 60:
        records, iterator = engine.get(iterator, Limit=1)
        pages.append(len(records))
    assert 0 in pages[: pages.index(1)] + pages[pages.index(1) :][:15]
    assert sum(pages) == 20


def test_a_stream_that_is_turned_on_again_has_a_new_arn_and_the_old_one_stays_for_a_day():
    engine = Engine(**unlimited())
    old = engine.arn
    engine.put("a")
    engine.ask("UpdateTable", TableName="things", StreamSpecification={"StreamEnabled": False})
    engine.put("b")
    stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    told = engine.ask("UpdateTable", TableName="things", StreamSpecification=stream)["TableDescription"]
    engine.put("c")
    assert told["LatestStreamArn"] != old
    read = [engine.read(shard, arn=old) for shard in engine.shards(old)]
    assert all(ended for _records, ended in read)
    assert [record["dynamodb"]["Keys"]["pk"]["S"] for records, _ended in read for record in records] == ["a"]
    engine.now += DAY
    assert engine.refusal("DescribeStream", StreamArn=old) == "ResourceNotFoundException"
    assert [each["StreamArn"] for each in engine.ask("ListStreams")["Streams"]] == [told["LatestStreamArn"]]


def test_a_put_that_changes_nothing_gives_no_record():
    engine = Engine(**unlimited(shards=1))
    engine.put("a", 1)
    engine.put("a", 1)
    assert len(engine.read(*engine.shards())[0]) == 1


def test_a_snapshot_takes_back_what_the_shards_tell():
    engine = Engine(**unlimited(splits=(5,)))
    engine.put("a")
    snapshot = engine.service.snapshot()
    engine.now += 10
    for key in range(20):
        engine.put(key)
    engine.service.restore(snapshot)
    engine.put("b")
    told = [record for shard in engine.shards() for record in engine.read(shard)[0]]
    assert sorted(record["dynamodb"]["Keys"]["pk"]["S"] for record in told) == ["a", "b"]


def test_a_stream_that_was_turned_off_for_days_goes_on_after_a_restore():
    engine = Engine(**unlimited(shards=2, lifetime=10 * DAY))
    engine.put("a")
    snapshot = engine.service.snapshot()
    engine.ask("UpdateTable", TableName="things", StreamSpecification={"StreamEnabled": False})
    engine.now += 2 * DAY + HOUR
    assert engine.refusal("DescribeStream", StreamArn=engine.arn) == "ResourceNotFoundException"
    engine.service.restore(snapshot)
    engine.put("b")
    told = [record for shard in engine.shards() for record in engine.read(shard)[0]]
    assert [record["dynamodb"]["Keys"]["pk"]["S"] for record in told] == ["b"]


def test_items_that_expired_are_deleted_by_the_service_in_their_shard():
    engine = Engine(modes={"expire": HOUR}, **unlimited())
    spec = {"Enabled": True, "AttributeName": "ends"}
    engine.ask("UpdateTimeToLive", TableName="things", TimeToLiveSpecification=spec)
    for key in range(20):
        ends = {"N": str(int(engine.now) + 60)}
        engine.ask("PutItem", TableName="things", Item={"pk": {"S": str(key)}, "ends": ends})
    engine.now += 2 * HOUR
    for records, _ended in [engine.read(shard) for shard in engine.shards()]:
        deleted = [record for record in records if record["eventName"] == "REMOVE"]
        assert len(deleted) * 2 == len(records) > 0
        assert {record["userIdentity"]["PrincipalId"] for record in deleted} == {"dynamodb.amazonaws.com"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"shards": 0},
        {"lifetime": 0.5},
        {"lifetime": "4h"},
        {"splits": ("x",)},
        {"splits": (-1,)},
        {"child_delay": -1},
        {"split_load": 0},
        {"reads_per_second": 0},
        {"readers": 0},
        {"retention": -1},
        {"empty_pages": 1},
        {"shards": True},
        {"splits": 3.0},
        {"lifetime": True},
    ],
)
def test_values_that_cannot_be_are_named(wrong):
    [name] = wrong
    assert name in StreamShards(**wrong).fault()


def test_the_values_of_the_service_can_be():
    assert StreamShards().fault() is None


def test_an_iterator_that_names_no_record_is_refused():
    engine = Engine()
    iterator = b64encode(b'["a", "b", 1e999, 0, 0]').decode()
    assert engine.refusal("GetRecords", ShardIterator=iterator) == "ValidationException"
