"""Tickets, settlement and refusals, with the time passed in."""

from dataclasses import replace

import pytest

from dynamap_async import CapacityPolicy, Priority, Throughput
from dynamap_async.executor.consumed import TableOrIndex
from dynamap_async.executor.pacing.governor import Governor
from dynamap_async.request import Request, Target

INTERACTIVE = Priority.INTERACTIVE
TABLE, INDEX = TableOrIndex("t", None, True), TableOrIndex("t", "i", True)
PUT = Request(operation="PutItem", body={}, table="t", target=Target({}, "", 1000), writes=True, batchable=True)


def governor(**policy):
    return Governor(CapacityPolicy(**policy))


def known(limit=100.0, **policy):
    made = governor(**policy)
    made.know("t", {(None, True): limit}, 0.0)
    return made


def asked(made, now, priority=INTERACTIVE):
    ticket = made.ticket(PUT, priority, now)
    return ticket, made.ask(ticket, now)


def test_a_table_of_which_nothing_is_known_is_not_governed():
    assert not governor().governs(["t"])


@pytest.mark.parametrize(("names", "governs"), [("t", True), ("u", False), ("tu", True), ("uv", False)])
def test_a_request_to_several_tables_is_governed_if_one_of_them_is(names, governs):
    assert known().governs(names) is governs


def test_an_on_demand_table_is_not_governed_any_more():
    made = known()
    waiting, _ = asked(made, 0.0)
    made.know("t", {(None, True): None}, 0.0)
    assert made.admit(0.0) == [waiting]
    assert not made.governs(["t"])


@pytest.mark.parametrize(
    ("policy", "rate"),
    [
        ({}, 100),
        ({"share": 1 / 8}, 12.5),
        ({"share": 0.8}, 80),
        ({"share": 0.25}, 25),
    ],
    ids=["all of it", "a share", "a target", "both"],
)
def test_a_session_spends_its_part_of_a_limit(policy, rate):
    assert known(**policy).bucket(TABLE, 0.0).pace.rate == rate


def test_the_same_throughput_counts_for_each_table_and_index():
    made = governor(limits=Throughput(read=30, write=10))
    assert [made.bucket(place, 0.0).pace.rate for place in (TABLE, INDEX, TableOrIndex("u", None, False))] == [
        10,
        10,
        30,
    ]


def test_what_was_taken_too_much_is_given_back_when_the_answer_comes():
    made = known()
    ticket, admitted = asked(made, 1.0)
    assert admitted == [ticket]
    made.record_spent([ticket], {TABLE: 0.5}, 1, 1.0)
    assert made.bucket(TABLE, 1.0).tokens == 99.5


def test_what_was_spent_besides_is_taken_afterwards_and_expected_from_then_on():
    made = known()
    made.know("t", {(None, True): 100.0, ("i", True): 10.0}, 0.0)
    ticket, _ = asked(made, 1.0)
    made.record_spent([ticket], {TABLE: 1.0, INDEX: 4.0}, 1, 1.0)
    assert made.bucket(INDEX, 1.0).tokens == 6
    assert dict(made.ticket(PUT, INTERACTIVE, 1.0).draws) == {made.bucket(TABLE, 1.0): 1, made.bucket(INDEX, 1.0): 4}


def test_an_answer_that_does_not_say_what_it_took_took_what_was_expected():
    made = known()
    ticket, _ = asked(made, 1.0)
    made.record_spent([ticket], None, 1, 1.0)
    made.leave(ticket, 1.0)
    assert made.bucket(TABLE, 1.0).tokens == 99


def flood(made, place, now):
    """Let so much be refused at once that the rate must be the reason."""
    return made.refuse([], [place], 25, now) + made.refuse([], [place], 25, now + 0.01)


def test_a_table_that_refuses_nearly_everything_is_governed_from_then_on():
    made = governor()
    assert made.refuse([], [TABLE], 1, 1.0) == []
    assert not made.governs(["t"])
    assert flood(made, TABLE, 1.1) == ["t"]
    assert made.governs(["t"])


def test_a_table_whose_learned_rate_nobody_has_needed_for_long_is_not_governed_any_more():
    made = governor()
    flood(made, TABLE, 1.0)
    made.record_spent([], {TABLE: 1.0}, 1, 20.0)
    assert not made.governs(["t"])
    assert made.bucket(TABLE, 20.0).open


def test_that_nothing_is_short_any_more_is_told_with_the_answer_that_shows_it():
    made = governor()
    flood(made, TABLE, 1.0)
    assert made.take_changes()
    made.record_spent([], {TABLE: 1.0}, 1, 20.0)
    [(place, bucket, _before)] = made.take_changes()
    assert (place, bucket.state) == (TABLE, "open")


def test_a_refusal_is_about_the_place_that_was_short_only():
    made = governor()
    flood(made, INDEX, 1.0)
    assert made.bucket(TABLE, 1.0).open
    assert not made.bucket(INDEX, 1.0).open


def test_what_a_batch_left_over_is_blamed_on_the_table_where_no_index_is_known():
    assert governor().blamed([PUT], {TABLE: 1.0}, 1.0) == [TABLE]


def test_what_a_batch_left_over_is_not_blamed_on_the_table_where_an_index_was_written_too():
    made = governor()
    assert made.blamed([PUT], {TABLE: 1.0, INDEX: 1.0}, 1.0) == [INDEX]
    flood(made, INDEX, 1.0)
    assert made.blamed([PUT], {TABLE: 1.0}, 9.0) == [INDEX]


def test_what_a_batch_left_over_is_blamed_on_the_table_where_it_has_no_entry_in_the_index():
    made, elsewhere = governor(), replace(PUT, unindexed=lambda: ("i",))
    flood(made, INDEX, 1.0)
    assert made.blamed([elsewhere], {TABLE: 1.0}, 1.1) == [TABLE]
    assert made.blamed([elsewhere, PUT], {TABLE: 1.0}, 1.1) == [INDEX]


def test_reads_that_a_batch_left_over_are_blamed_on_the_table_though_its_index_is_read_too():
    made, get = governor(), Request(operation="GetItem", body={}, table="t", target=Target({}, ""), batchable=True)
    made.refuse([], [TableOrIndex("t", "i", False)], 1, 1.0, named=True)
    assert made.blamed([get], {}, 1.1) == [TableOrIndex("t", None, False)]


def test_what_a_batch_left_over_is_blamed_on_the_index_that_a_refusal_has_named_last_and_lately():
    made, other = governor(), TableOrIndex("t", "other", True)
    made.refuse([], [INDEX], 1, 1.0, named=True)
    made.refuse([], [other], 1, 2.0, named=True)
    made.refuse([], [TABLE], 1, 3.0, named=True)
    assert made.blamed([PUT], {}, 6.9) == [other]
    flood(made, INDEX, 7.0)
    assert made.blamed([PUT], {}, 7.1) == [INDEX]


def test_what_a_batch_left_over_is_blamed_on_all_indexes_where_nothing_tells_them_apart():
    made, other = governor(), TableOrIndex("t", "other", True)
    assert made.blamed([PUT], {TABLE: 2.0, INDEX: 1.0, other: 1.0}, 1.0) == [INDEX, other]


def test_what_is_lifted_goes_before_what_came_earlier():
    made = known()
    first, _ = asked(made, 0.0, Priority.BATCH)
    second, _ = asked(made, 0.0, Priority.BACKGROUND)
    assert made.lift(second, INTERACTIVE, 0.0) == []
    assert made.admit(0.02) == [second]
    assert made.lift(first, INTERACTIVE, 0.1) == [first]


def test_the_tables_that_are_waited_for_are_told():
    made = known()
    assert made.tables_waited_for() == set()
    asked(made, 0.0)
    assert made.tables_waited_for() == {"t"}


def test_an_urgent_one_does_not_take_along_whoever_waits_for_others_to_share_a_call_with():
    made = known()
    waiting = [asked(made, 0.0, Priority.BACKGROUND)[0] for _ in range(3)]
    now = 0.125  # the units of one are there, and soon those of all
    assert made.next_at(now) > now
    urgent, admitted = asked(made, now)
    assert admitted == [urgent]
    assert made.admit(made.next_at(now)) == waiting


def test_what_shares_no_call_waits_for_no_others():
    made, update = known(), replace(PUT, operation="UpdateItem", batchable=False)
    for _ in range(3):
        made.ask(made.ticket(update, Priority.BACKGROUND, 0.0), 0.0)
    now = 0.125  # the units of one are there, and soon those of all
    assert made.next_at(now) == now


def test_refusals_of_what_waited_for_another_place_count_from_the_first_one():
    made = governor()
    made.know("t", {("i", True): 10.0}, 0.0)
    assert made.governs(["t"])
    made.record_spent([], {TABLE: 1.0}, 1, 0.0)
    tickets = [asked(made, 1.0)[0] for _ in range(5)]
    for ticket in tickets:
        made.refuse([ticket], [TABLE], 1, 1.005)
    assert made.bucket(TABLE, 1.005).pace.rate == 100


@pytest.mark.parametrize(("limit", "soon"), [(10.0, False), (249.0, False), (250.0, True), (40_000.0, True)])
def test_requests_that_travel_together_wait_together_where_their_units_come_within_a_tenth_of_a_second(limit, soon):
    assert known(limit).brings_soon(PUT, 25, 2_500) == (soon, False)


@pytest.mark.parametrize(
    ("table", "index", "soon"),
    [
        (10_000.0, 250.0, True),
        (10_000.0, 100.0, False),
        (100.0, 10_000.0, False),
        (None, 250.0, True),
        (None, None, False),
    ],
)
def test_units_of_an_index_for_requests_that_travel_together_have_to_come_as_soon(table, index, soon):
    made = known()
    made.know("t", {(None, True): table, ("i", True): index}, 0.0)
    ticket = made.chunk_ticket(PUT, 25, 2_500, INTERACTIVE, 1.0)
    made.record_spent([ticket], {TABLE: 25.0, INDEX: 20.0}, 25, 1.0)
    assert made.brings_soon(PUT, 25, 2_500) == (soon, True)


def test_requests_that_travel_together_do_not_wait_together_while_it_is_found_out_why_most_is_refused():
    made = known(20_000.0)
    pace = made.bucket(TABLE, 0.0).pace
    for step in range(30):
        pace.served(10.0, 10, step / 100, step / 100)
        pace.refused(10, step / 100, step / 100)
    assert (pace.trying, pace.rate) == (True, 100)
    assert made.brings_soon(PUT, 5, 500) == (False, False)
    pace.know(100.0)
    assert not pace.trying
    assert made.brings_soon(PUT, 5, 500) == (True, False)
