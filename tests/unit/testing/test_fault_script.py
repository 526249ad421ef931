"""Which request a rule applies to, and what the script tells afterwards."""

import re
from collections import Counter

import botocore.session
import pytest

from dynamap_async.errors import ConfigurationError
from dynamap_async.testing.faults import Faults, LogEntry
from dynamap_async.testing.faults.scripted_calls import OPERATIONS, call_of


@pytest.fixture
def play(faults):
    """Let requests through the script; return the fault of each."""

    def through(*operations, table="tweets", index=None, script=faults):
        body = {"TableName": table} | ({"IndexName": index} if index else {})
        for operation in operations:
            script.decide(call_of(operation, body))
        return [entry.fault for entry in script.log[-len(operations) :]]

    return through


def test_without_rules_everything_goes_through(play):
    assert play("GetItem", "PutItem") == [None, None]


def test_rule_without_a_number_applies_to_every_request_of_its_operation(faults, play):
    faults.on("GetItem").throttle()
    assert play("GetItem", "PutItem", "GetItem") == ["throttle", None, "throttle"]


def test_rule_without_an_operation_applies_to_any(faults, play):
    faults.on().reset()
    assert play("GetItem", "CreateTable") == ["reset", "reset"]


def test_nth_is_one_request_counted_from_1(faults, play):
    faults.on("GetItem", nth=3).throttle()
    assert play("GetItem", "PutItem", *["GetItem"] * 3) == [None, None, None, "throttle", None]


def test_times_is_that_many_requests_from_the_first(faults, play):
    faults.on("GetItem", times=2).throttle()
    assert play(*["GetItem"] * 3) == ["throttle", "throttle", None]


def test_nth_and_times_are_that_many_requests_from_the_nth(faults, play):
    faults.on("GetItem", nth=2, times=2).throttle()
    assert play(*["GetItem"] * 4) == [None, "throttle", "throttle", None]


def test_first_rule_whose_turn_it_is_decides_and_the_next_waits_for_its_turn(faults, play):
    faults.on("GetItem", times=2).throttle()
    faults.on("GetItem", times=1).lose_answer()
    faults.on("GetItem", nth=5).reset()
    assert play(*["GetItem"] * 5) == ["throttle", "throttle", "lose_answer", None, "reset"]


def test_delays_go_together_with_other_faults_and_add_up(faults, play):
    faults.on("GetItem").delay(0.2)
    faults.on("GetItem", nth=1).throttle()
    faults.on("GetItem").delay(0.1, applied=True)
    assert play("GetItem", "GetItem") == ["throttle", "delay"]
    assert [entry.delay_seconds for entry in faults.log] == [pytest.approx(0.3)] * 2
    verdict = faults.decide(call_of("GetItem", {}))
    assert (verdict.before_seconds, verdict.after_seconds, verdict.dripped_seconds) == (0.2, 0.1, 0)


@pytest.mark.parametrize("pattern", ["shop-tweets", "*-tweets", "shop-*"])
def test_table_is_a_whole_name_or_a_pattern(faults, play, pattern):
    faults.on("GetItem", table=pattern).throttle()
    assert play("GetItem", table="shop-tweets") == ["throttle"]
    assert play("GetItem", table="tweets") == [None]


def test_index_is_the_one_that_is_read(faults, play):
    faults.on("Query", index="by_author").throttle()
    assert play("Query", index="by_author") == ["throttle"]
    assert play("Query") == [None]


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("BatchGetItem", {"RequestItems": {"users": {"Keys": [{}]}, "tweets": {"Keys": [{}, {}]}}}),
        ("BatchWriteItem", {"RequestItems": {"users": [{}], "tweets": [{}, {}]}}),
        (
            "TransactWriteItems",
            {"TransactItems": [{"Put": {"TableName": "users"}}, *[{"Delete": {"TableName": "tweets"}}] * 2]},
        ),
    ],
)
def test_batch_matches_by_each_of_its_tables_and_is_logged_with_its_items(faults, operation, body):
    faults.on(table="tweets").throttle()
    faults.decide(call_of(operation, body))
    assert faults.log == (LogEntry(operation=operation, table="users, tweets", items=3, fault="throttle"),)


@pytest.mark.parametrize(
    "body", [{}, {"RequestItems": 3}, {"RequestItems": {"t": {}}}, {"TransactItems": [{"Put": {}}]}]
)
def test_body_that_means_nothing_names_no_table(body):
    call = call_of("BatchGetItem", body)
    assert (call.tables, call.items) == ((), 1)


def test_leaving_items_unprocessed_counts_batches_only(faults, play):
    faults.on(nth=1).leave_unprocessed(1)
    assert play("GetItem", "BatchGetItem", "BatchWriteItem") == [None, "leave_unprocessed", None]


def test_log_and_counters_tell_what_went_through(faults, play):
    faults.on("Query", nth=2).throttle()
    play("Query", "Query", "PutItem", index="by_author")
    assert faults.log == (
        LogEntry(operation="Query", table="tweets", index="by_author"),
        LogEntry(operation="Query", table="tweets", index="by_author", fault="throttle"),
        LogEntry(operation="PutItem", table="tweets", index="by_author"),
    )
    assert faults.requests == Counter(Query=2, PutItem=1)
    assert faults.faulty == Counter(Query=1)


def test_unused_rules_are_named_until_they_are_played_to_their_end(faults, play):
    faults.on("GetItem", times=2).throttle()
    faults.on("GetItem", nth=9).lose_answer()
    faults.on(table="tweets").delay(0)
    play("GetItem")
    assert faults.unused == ("on('GetItem', times=2).throttle()", "on('GetItem', nth=9).lose_answer()")
    play(*["GetItem"] * 8)
    assert faults.unused == ()


def test_cleared_script_lets_everything_through_and_keeps_its_log(faults, play):
    faults.on("GetItem").throttle()
    play("GetItem")
    faults.clear()
    assert play("GetItem") == [None]
    assert [entry.fault for entry in faults.log] == ["throttle", None]


def test_share_is_drawn_and_repeats_itself_with_the_same_seed(play):
    def played(seed):
        script = Faults(seed=seed)
        script.on("GetItem", share=0.3).throttle()
        return play(*["GetItem"] * 1000, script=script)

    assert played(1) == played(1) != played(2)
    assert 240 < played(1).count("throttle") < 360


@pytest.mark.parametrize(("share", "faulty"), [(0, 0), (1, 50)])
def test_share_of_nothing_is_nothing_and_of_all_is_all(play, share, faulty):
    script = Faults.random(share=share, seed=3)
    assert sum(fault is not None for fault in play(*["GetItem"] * 50, script=script)) == faulty


def test_chaos_has_every_kind_for_batches_and_repeats_itself():
    def played(seed):
        script = Faults.random(share=0.5, seed=seed)
        call = call_of("BatchGetItem", {"RequestItems": {"tweets": {"Keys": [{}] * 10}}})
        return [(script.decide(call).fault, script.log[-1])[1] for _ in range(600)]

    assert played(1) == played(1) != played(2)
    assert {entry.fault for entry in played(1)} == {
        None,
        "throttle",
        "fail",
        "refuse_connection",
        "reset",
        "lose_answer",
        "malformed_body",
        "truncate_body",
        "wrong_checksum",
        "delay",
        "leave_unprocessed",
    }


def test_chaos_leaves_tables_alone(play):
    assert set(play(*["CreateTable", "DescribeTable"] * 50, script=Faults.random(share=1, seed=1))) == {None}


def test_rules_added_to_chaos_come_after_it(play):
    script = Faults.random(share=0.5, seed=1)
    script.on("GetItem").deny_access()
    assert "deny_access" in play(*["GetItem"] * 50, script=script)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda faults: faults.on("BatchGet"), "DynamoDB has no operation 'BatchGet': did you mean 'BatchGetItem'?"),
        (lambda faults: faults.on("xyz"), "write it as the API does, such as 'BatchGetItem'"),
        (lambda faults: faults.on("GetItem", nth=0), "nth=0: requests are counted from 1"),
        (
            lambda faults: faults.on("GetItem", times=0),
            "times=0: the rule would never apply; drop it",
        ),
        (lambda faults: faults.on("GetItem", share=1.5), "share=1.5: give a share between 0 and 1"),
        (lambda faults: Faults.random(share=-0.1, seed=1), "share=-0.1: give a share between 0 and 1"),
        (lambda faults: faults.on("GetItem").leave_unprocessed(1), "GetItem is not a batch; only BatchGetItem and"),
        (lambda faults: faults.on("BatchGetItem").leave_unprocessed(0), "give at least 1"),
        (
            lambda faults: faults.on("GetItem").throttle("Slow"),
            "'Slow' is not a throttling code; choose one of Provisioned",
        ),
        (lambda faults: faults.on("GetItem").fail(404), "status 404: expected one from 500 to 599"),
        (lambda faults: faults.on("GetItem").error("X", status=200), "status 200: expected one from 400 to 599"),
        (lambda faults: faults.on("GetItem").delay(-1), "-1 seconds: a time cannot be negative"),
        (lambda faults: faults.on("GetItem").drip_body(-1), "-1 seconds: a time cannot be negative"),
        (lambda faults: faults.on("GetItem").time_out(-1), "-1 seconds: a time cannot be negative"),
    ],
)
def test_misuse_is_refused_where_it_is_written(faults, write, message):
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        write(faults)
    assert faults.unused == ()


def test_every_operation_that_botocore_knows_can_be_named():
    known = botocore.session.get_session().get_service_model("dynamodb").operation_names
    assert set(known) <= OPERATIONS
