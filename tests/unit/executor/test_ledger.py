"""What the ledger counts and tells, and that nothing an observer does reaches a request."""

import asyncio
import logging
import math
from dataclasses import FrozenInstanceError, asdict

import pytest

from dynamap_async import OperationStatistics, Session, Statistics
from dynamap_async.errors import ConfigurationError
from dynamap_async.events import Event
from dynamap_async.executor.calls import Call, CallState, Waiter
from dynamap_async.executor.ledger import Ledger, Observers
from dynamap_async.request import Request, Target, about_tables

QUERY = Request(operation="Query", body={}, table="orders", index="by-day")
GET = Request(operation="GetItem", body={}, table="users", target=Target({"id": {"S": "a"}}, "users\0Sa"))
BATCH = Request(operation="BatchGetItem", body={}, **about_tables(["orders", "users"]))
TRANSACTION = Request(
    operation="TransactWriteItems", body={}, **about_tables(["orders", "users"]), targets=(GET.target, GET.target)
)


class Failing:
    """An observer that raises whatever it is given."""

    def __init__(self, error):
        self.error = error
        self.told = 0

    def __call__(self, event):
        self.told += 1
        raise self.error


class Waiting:
    """The future of somebody who waits."""

    def done(self):
        return False


def call_for(request, number=0, **facts):
    call = Call(request, [Waiter(Waiting(), math.inf, number)])
    vars(call).update(facts)
    return call


def exchanged(ledger, request, answer, *asked):
    """Carry out an exchange for what was asked for."""

    async def run():
        carried = [call_for(each, number=ledger.queued(each)) for each in asked]
        exchange = ledger.sent(request, carried)
        ledger.answered(exchange, request, carried, answer)

    asyncio.run(run())


def test_a_new_ledger_has_nothing_to_tell():
    assert Ledger().statistics([]) == Statistics()


def test_a_batch_of_two_tables_is_one_request_in_total_and_one_for_each_of_them():
    ledger = Ledger()
    exchanged(ledger, BATCH, {}, GET, GET)
    statistics = ledger.statistics([])
    assert statistics.requests == 1
    assert statistics.of("BatchGetItem", "orders").requests == statistics.of("BatchGetItem", "users").requests == 1


def test_a_transaction_counts_once_in_total_and_once_for_each_of_its_tables():
    ledger = Ledger()
    ledger.queued(TRANSACTION)
    statistics = ledger.statistics([call_for(TRANSACTION)])
    assert (statistics.accepted, statistics.queued) == (1, 1)
    assert [(entry.table, entry.accepted, entry.queued) for entry in statistics.by_operation] == [
        ("orders", 1, 1),
        ("users", 1, 1),
    ]


def test_what_is_on_the_wire_is_in_flight_and_everything_else_that_is_unfinished_is_queued():
    ledger = Ledger()
    statistics = ledger.statistics([call_for(QUERY), call_for(QUERY, state=CallState.ON_THE_WIRE), call_for(QUERY)])
    assert (statistics.queued, statistics.in_flight) == (2, 1)


def test_statistics_are_values_that_do_not_change_and_become_plain_data():
    ledger = Ledger()
    ledger.queued(QUERY)
    before = ledger.statistics([])
    ledger.queued(QUERY)
    assert before.accepted == 1
    assert hash(before) == hash(before)
    with pytest.raises(FrozenInstanceError):
        before.accepted = 3
    assert asdict(before)["by_operation"][0]["table"] == "orders"


def test_the_counts_of_what_never_happened_are_zero():
    assert Statistics().of("Scan", "users") == OperationStatistics(operation="Scan", table="users")


@pytest.mark.parametrize(
    ("capacity", "told"),
    [
        ({"TableName": "orders", "CapacityUnits": 0.5}, ({"TableName": "orders", "CapacityUnits": 0.5},)),
        ([{"TableName": "orders"}, {"TableName": "users"}], ({"TableName": "orders"}, {"TableName": "users"})),
        (None, ()),
        ("damaged", ()),
    ],
    ids=["of one operation", "of a batch", "none", "of no form"],
)
def test_the_consumed_capacity_of_an_answer_is_told_with_an_entry_for_each_table(capacity, told):
    events = []
    exchanged(Ledger(Observers(events.append)), QUERY, {"ConsumedCapacity": capacity}, QUERY)
    assert events[-1].consumed_capacity == told


@pytest.mark.parametrize(
    ("request_", "items"), [(GET, 1), (TRANSACTION, 2), (QUERY, None)], ids=lambda each: getattr(each, "operation", "")
)
def test_an_exchange_says_how_many_items_it_is_about(request_, items):
    events = []
    exchanged(Ledger(Observers(events.append)), request_, {}, request_)
    assert [event.items for event in events[1:]] == [items, items]


def test_the_counts_of_a_page_are_told_as_dynamodb_gives_them():
    events = []
    exchanged(Ledger(Observers(events.append)), QUERY, {"Items": [{}], "Count": 1, "ScannedCount": 7}, QUERY)
    answered = events[-1]
    assert (answered.index, answered.count, answered.scanned_count) == ("by-day", 1, 7)


def test_without_observers_no_event_is_made(monkeypatch):
    monkeypatch.setattr(Event, "__init__", None)
    ledger = Ledger()
    exchanged(ledger, QUERY, {}, QUERY)
    ledger.left(call_for(QUERY), 1, None)
    assert ledger.statistics([]).requests == 1


def test_observers_are_told_in_the_order_in_which_they_were_given():
    told = []
    observers = Observers([lambda event: told.append(1), lambda event: told.append(2)])
    observers.tell(Event(at=0.0))
    assert told == [1, 2]


@pytest.mark.parametrize("error", [ValueError("secret"), asyncio.CancelledError()], ids=["error", "cancellation"])
def test_an_observer_that_fails_stops_nobody_and_is_told_of_the_next_event(error):
    told, failing = [], Failing(error)
    observers = Observers([failing, told.append])
    observers.tell(Event(at=0.0))
    observers.tell(Event(at=1.0))
    assert failing.told == len(told) == 2


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_observer_can_end_the_program(error):
    with pytest.raises(error):
        Observers(Failing(error())).tell(Event(at=0.0))


def test_a_failing_observer_is_warned_of_once_for_each_class_of_error_and_never_with_its_message(caplog):
    caplog.set_level(logging.INFO, "dynamap_async")
    failing = Failing(ValueError("secret"))
    observers = Observers(failing)
    for error in (ValueError("secret"), ValueError("secret"), KeyError("secret")):
        failing.error = error
        observers.tell(Event(at=0.0))
    assert [(record.levelname, record.args) for record in caplog.records] == [
        ("WARNING", ("Failing", "ValueError", "Event")),
        ("WARNING", ("Failing", "KeyError", "Event")),
    ]
    assert "secret" not in caplog.text


def test_the_traceback_of_a_failing_observer_is_logged_at_debug(caplog):
    caplog.set_level(logging.DEBUG, "dynamap_async")
    Observers(Failing(ValueError("why"))).tell(Event(at=0.0))
    assert [record.levelname for record in caplog.records if record.exc_info] == ["DEBUG"]


async def _asynchronous(event):
    """Stand for an observer that nobody awaits."""


class _AsynchronousCall:
    async def __call__(self, event):
        """Stand for an observer that nobody awaits."""


@pytest.mark.parametrize(
    "wrong", [_asynchronous, _AsynchronousCall(), [_asynchronous], [3]], ids=("function", "call", "list", "number")
)
def test_what_cannot_observe_is_refused_when_the_session_is_made(wrong):
    with pytest.raises(ConfigurationError, match="plain function"):
        Session(observer=wrong)


def test_the_statistics_of_a_session_can_be_asked_before_it_is_open():
    assert Session(region="eu-west-1").statistics() == Statistics()


def test_the_items_of_a_shared_answer_are_counted_for_the_table_of_each():
    orders = [
        Request(operation="GetItem", body={}, table="orders", target=Target({"id": {"S": name}}, f"orders\0S{name}"))
        for name in "abc"
    ]
    ledger = Ledger()
    exchanged(ledger, BATCH, {}, GET, *orders)
    usage = ledger.usage()
    assert [usage.of("BatchGetItem", table).items for table in ("orders", "users")] == [3, 1]
