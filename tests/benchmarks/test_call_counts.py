"""How many Python calls one operation takes, which tells what it costs without a clock.

A call is what `sys.setprofile` reports of the package's own code, and of what dataclasses make for it: a Python
function that begins, or a coroutine that goes on. The bounds are a tenth above what the dearer of Python 3.11 and 3.13
takes, so a change that adds a call here and there passes. Where a bound is passed on purpose, it is raised in the same
change; where much was gained, it is lowered.
"""

import asyncio
import functools
import gc
import os
import sys
from collections import Counter
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
from pydantic_core import from_json, to_json

import dynamap_async
from benchmarks import subjects
from benchmarks.items import wire
from benchmarks.subjects import OURS
from dynamap_async import BatchPolicy, Session
from dynamap_async.transport.pieces import leave_items

ITEM = wire("user-000000")
PAGE = {"Count": 100, "ScannedCount": 100, "Items": [wire("user-000000", number) for number in range(100)]}
REST = {name: value for name, value in ITEM.items() if name not in {"user_id", "posted_at"}}


PACKAGE = str(Path(dynamap_async.__file__).parent) + os.sep


ANSWERS = {"GetItem": {"Item": ITEM}, "UpdateItem": {"Attributes": ITEM}, "Query": PAGE}
JSON = {operation: to_json(answer) for operation, answer in ANSWERS.items()}


class AtOnce:
    """Answers every request at once: with items as their JSON where the wire transport leaves them so."""

    max_connections = 64

    async def open(self):
        pass

    async def close(self):
        pass

    async def send(self, request):
        if request.operation == "BatchGetItem":
            ((table, asked),) = request.body["RequestItems"].items()
            answer = {"Responses": {table: [{**key, **REST} for key in asked["Keys"]]}, "UnprocessedKeys": {}}
            return left(to_json(answer))
        if request.operation == "UpdateItem":
            return ANSWERS["UpdateItem"]
        return left(JSON[request.operation]) if request.operation in JSON else {}


def left(text):
    """Return an answer as the wire transport gives it: without the native codec, all of it is parsed."""
    return leave_items(text) or from_json(text)


async def together(call, count):
    async with asyncio.TaskGroup() as group:
        for number in range(count):
            group.create_task(call(number))


async def profiled(work, calls):
    """Count what one piece of work calls, by module; it has been done twice before."""
    await work()
    await work()

    def note(frame, event, _):
        if event == "call":
            calls[frame.f_code.co_filename.removeprefix(PACKAGE).replace("\\", "/")] += 1

    gc.disable()  # what a collection calls depends on the tests that ran before
    sys.setprofile(note)
    try:
        await work()
    finally:
        sys.setprofile(None)
        gc.enable()


@functools.cache
def calls_of(question):
    """Return module -> calls, of a question that is put to this library; other modules by their whole path."""
    ask, _ = ASKED[question]

    async def run(calls):
        subject = subjects.load(OURS)()
        subject.prepare(400)
        async with (
            Session(transport=AtOnce()) as shared,
            Session(transport=AtOnce(), batching=BatchPolicy(enabled=False)) as unshared,
        ):
            subject._session, subject._unshared = shared, unshared
            await profiled(lambda: ask(subject), calls)

    calls, looks = Counter(), count()
    clock = SimpleNamespace(perf_counter=lambda: next(looks) / 100_000)  # the machine's load must not make work pause
    with (
        mock.patch("dynamap_async.stored.flow.time", clock),
        mock.patch("dynamap_async.turns.time", clock),
        asyncio.Runner(debug=False) as runner,  # the debug mode of other tests calls more
    ):
        runner.run(run(calls))
    return calls


def calls_for_each(question):
    """Return the calls of the package's own functions, for each item, get or put."""
    own = [count for module, count in calls_of(question).items() if not Path(module).is_absolute()]
    return sum(own) / ASKED[question][1]


ASKED = {
    "get": (lambda subject: subject.get_alone(0), 1),
    "put": (lambda subject: subject.put_alone(0), 1),
    "update": (lambda subject: subject.update(0), 1),
    "query-of-100": (lambda subject: subject.query(), 100),
    "stream-of-100": (lambda subject: subject.stream(100), 100),
    "transaction-of-10": (lambda subject: subject.transact(0), 10),
    "100-gets": (lambda subject: together(subject.get, 100), 100),
    "100-puts": (lambda subject: together(subject.put, 100), 100),
    "batch-get-of-100": (lambda subject: subject.batch_get(100), 100),
    "batch-write-of-100": (lambda subject: subject.batch_write(100), 100),
    "400-gets": (lambda subject: together(subject.get, 400), 400),
    "400-puts": (lambda subject: together(subject.put, 400), 400),
    "batch-get-of-400": (lambda subject: subject.batch_get(400), 400),
    "batch-write-of-400": (lambda subject: subject.batch_write(400), 400),
}
BOUNDS = {
    "get": 66,
    "put": 95,
    "update": 213,
    "query-of-100": 3.5,
    "stream-of-100": 4.6,
    "transaction-of-10": 51,
    "400-gets": 59,
    "400-puts": 79.5,
    "batch-get-of-400": 10.3,
    "batch-write-of-400": 28.7,
}
"""Question -> Python calls for each item, get or put."""


@pytest.mark.parametrize("question", BOUNDS)
def test_an_operation_takes_no_more_calls_than_it_may(question):
    assert calls_for_each(question) <= BOUNDS[question]


@pytest.mark.parametrize("question", ["{}-gets", "{}-puts", "batch-get-of-{}", "batch-write-of-{}"])
def test_four_times_the_work_takes_no_more_calls_for_each_item(question):
    assert calls_for_each(question.format(400)) <= 1.05 * calls_for_each(question.format(100))


COMPILES = {f"models/{name}.py" for name in ("compiler", "compiling", "fields", "checks", "indexes", "tables")}


@pytest.mark.parametrize("question", BOUNDS)
def test_what_a_model_means_is_worked_out_once(question):
    calls = calls_of(question)
    assert calls.keys() & COMPILES == set()
    assert [module for module in calls if "pydantic/_internal/_generate_schema" in module] == []


def test_a_query_of_a_shape_that_was_met_before_is_not_planned_again():
    calls = calls_of("query-of-100")
    assert calls.keys() & {"planning/planner.py", "planning/key_conditions.py", "expressions/render.py"} == set()
