"""What a request will take is learned from what others of its kind took."""

import random

import pytest

from dynamap_async.executor.consumed import Spending, TableOrIndex
from dynamap_async.executor.pacing.estimates import Estimate, Estimates, spent_units, supposed_units
from dynamap_async.request import Request, Target, about_tables

TABLE, INDEX, READS = TableOrIndex("t", None, True), TableOrIndex("t", "by_city", True), TableOrIndex("t", None, False)


def put(size, table="t"):
    return Request(operation="PutItem", body={}, table=table, target=Target({}, "", size), writes=True)


def get(**body):
    return Request(operation="GetItem", body=body, table="t", target=Target({}, ""))


def transaction(*tables):
    return Request(
        operation="TransactWriteItems",
        body={"TransactItems": [{"Put": {"TableName": table}} for table in tables]},
        **about_tables(tables),
        targets=tuple(Target({}, table, 100) for table in tables),
        writes=True,
    )


@pytest.mark.parametrize(
    ("request_", "units"),
    [
        (get(), {READS: 0.5}),
        (get(ConsistentRead=True), {READS: 1.0}),
        (put(2500), {TABLE: 3.0}),
        (Request(operation="DeleteItem", body={}, table="t", writes=True), {TABLE: 1.0}),
        (Request(operation="Query", body={"Limit": 8}, table="t", index="i"), {TableOrIndex("t", "i", False): 1.0}),
        (Request(operation="Scan", body={"ConsistentRead": True}, table="t"), {READS: 25.0}),
        (transaction("t", "u", "t"), {TABLE: 4.0, TableOrIndex("u", None, True): 2.0}),
    ],
    ids=lambda value: value.operation if isinstance(value, Request) else "",
)
def test_before_anything_is_known_a_request_is_taken_for_what_it_takes_at_the_least(request_, units):
    assert supposed_units(request_) == units


def test_the_units_of_a_local_index_are_its_tables():
    spent = (
        Spending(TABLE, 4),
        Spending(TABLE, 2, local_index="by_time"),
        Spending(INDEX, 1),
    )
    assert spent_units(spent) == {TABLE: 3.0, INDEX: 0.5}


def test_after_the_first_answer_the_indexes_that_a_write_touches_are_known():
    estimates = Estimates()
    estimates.learn([estimates.of(put(1000))], {TABLE: 1.0, INDEX: 2.0})
    assert estimates.of(put(3000)).units == {TABLE: 3.0, INDEX: 6.0}


def test_after_a_hundred_requests_what_is_expected_is_near_to_what_is_spent():
    estimates, chance = Estimates(), random.Random(1)
    expected = spent = 0.0
    for number in range(300):
        estimate = estimates.of(get())
        taken = chance.choice([0.5, 0.5, 1.0, 3.5])
        if number >= 100:
            expected += estimate.units[READS]
            spent += taken
        estimates.learn([estimate], {READS: taken})
    assert expected == pytest.approx(spent, rel=0.1)


def test_what_changes_is_followed():
    estimates = Estimates()
    for units in (1.0, 8.0):
        for _ in range(300):
            estimates.learn([estimates.of(get())], {READS: units})
    assert estimates.of(get()).units[READS] == pytest.approx(8.0, rel=0.05)


def test_a_batch_is_divided_among_its_kinds_as_was_expected_of_them():
    estimates = Estimates()
    delete = Request(operation="DeleteItem", body={}, table="t", target=Target({}, ""), writes=True)
    estimates.learn([estimates.of(put(3000)), estimates.of(delete)], {TABLE: 8.0})
    assert estimates.of(put(3000)).units == {TABLE: 6.0}
    assert estimates.of(delete).units == {TABLE: 2.0}


def test_of_a_batch_each_table_learns_its_own():
    estimates, other = Estimates(), TableOrIndex("u", None, True)
    estimates.learn([estimates.of(put(1000)), estimates.of(put(1000, "u"))], {TABLE: 5.0, other: 1.0})
    assert estimates.of(put(1000)).units == {TABLE: 5.0}
    assert estimates.of(put(1000, "u")).units == {other: 1.0}


def test_items_of_a_load_share_one_estimate_until_the_next_answer():
    estimates = Estimates()
    estimates.learn([estimates.of(put(1000))], {TABLE: 1.0})
    first, other = estimates.of(put(1000)), estimates.of(put(2000))
    again = [estimates.of(put(1000)) for _ in range(2)]
    assert again[0] is again[1]
    assert (again[0].units, other.units) == (first.units, {TABLE: 2.0})
    estimates.learn(again, {TABLE: 4.0})
    assert estimates.of(put(1000)).units[TABLE] == pytest.approx(5 / 3, rel=0.02)
    assert first.units == {TABLE: 1.0}


def test_an_answer_that_took_what_was_expected_leaves_the_estimate_as_it_is():
    estimates = Estimates()
    estimates.learn([estimates.of(put(1000))], {TABLE: 1.0})
    before = estimates.of(put(1000))
    estimates.learn([before], {TABLE: 1.0})
    assert estimates.of(put(1000)) is before


def test_a_larger_request_that_took_as_much_as_a_smaller_one_changes_the_estimate():
    estimates = Estimates()
    estimates.learn([estimates.of(put(1000))], {TABLE: 1.0})
    before = estimates.of(put(1000))
    estimates.learn([Estimate(before.kind, 2 * before.weight, {TABLE: 2.0})], {TABLE: 1.0})
    assert estimates.of(put(1000)).units[TABLE] == pytest.approx(2 / 3, rel=0.02)


def test_what_was_learned_fades_by_a_sixty_fourth_with_each_answer():
    estimates = Estimates()
    for units in (1.0, 3.0):
        for _ in range(64):
            estimates.learn([estimates.of(put(100))], {TABLE: units})
    faded = (63 / 64) ** 64
    assert estimates.of(put(100)).units[TABLE] == pytest.approx((faded * 1.0 + 3.0) / (faded + 1))
