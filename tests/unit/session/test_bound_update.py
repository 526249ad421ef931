"""Updates bound to a session: coroutines that run once, and that are missed when they never run."""

import asyncio
import gc
import inspect
import warnings
from collections.abc import Coroutine

import pytest

from dynamap_async import Attr, BoundUpdate, Model, PartitionKey, Session, Update, attr
from dynamap_async.errors import EncodeError, ExpressionError, OperationError


class Counter(Model, table="counters"):
    name: PartitionKey[str]
    value: Attr[int] = attr(default=0)
    words: Attr[list[str]] = attr(default_factory=list)
    note: Attr[str | None] = attr(default=None)


class Service:
    """Answers every update with the same item."""

    max_connections = 4

    def __init__(self):
        self.bodies = []

    async def open(self):
        pass

    async def close(self):
        pass

    async def send(self, request):
        self.bodies.append(request.body)
        return {"Attributes": {"name": {"S": "a"}, "value": {"N": "1"}}}


@pytest.fixture
def service():
    return Service()


def run(service, program):
    async def main():
        async with Session(transport=service) as session:
            return await program(session)

    return asyncio.run(main())


def never_awaited(caught):
    return [str(each.message) for each in caught if "was never awaited" in str(each.message)]


async def dropped(make):
    """Return the warnings of an update that is made and dropped."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make()
        gc.collect()
    return never_awaited(caught)


@pytest.mark.parametrize(
    "start",
    [
        lambda update: update,
        asyncio.create_task,
        lambda update: asyncio.wait_for(update, 5),
        asyncio.gather,  # noqa: TID251 - users do
        asyncio.shield,
        asyncio.ensure_future,
    ],
)
def test_every_way_to_await_an_update_sends_it_once(service, start):
    async def program(session):
        return await start(session.update(Counter, "a").add(Counter.value, 1))

    found = run(service, program)
    assert found in (Counter(name="a", value=1), [Counter(name="a", value=1)])
    assert len(service.bodies) == 1


def test_task_groups_and_the_session_gather_updates(service):
    async def program(session):
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(session.update(Counter, "a").add(Counter.value, 1))
        return await session.gather(*(session.update(Counter, "a").add(Counter.value, 1) for _ in range(2)))

    assert run(service, program) == (Counter(name="a", value=1),) * 2
    assert len(service.bodies) == 5


def test_an_update_is_a_coroutine(service):
    async def program(session):
        update = session.update(Counter, "a").add(Counter.value, 1)
        assert isinstance(update, Coroutine)
        assert inspect.isawaitable(update)
        await update

    run(service, program)


def test_an_update_is_awaited_once(service):
    async def program(session):
        update = session.update(Counter, "a").add(Counter.value, 1)
        await update
        with pytest.raises(RuntimeError, match=r"<BoundUpdate Counter name='a': add value> was awaited before"):
            await update
        with pytest.raises(RuntimeError, match="was awaited before"):
            await asyncio.create_task(update)

    run(service, program)
    assert len(service.bodies) == 1


def test_an_update_of_a_task_can_be_cancelled(service):
    async def program(session):
        task = asyncio.create_task(session.update(Counter, "a").add(Counter.value, 1))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await dropped(lambda: None)

    assert run(service, program) == []
    assert service.bodies == []


def test_a_dropped_update_warns(service):
    async def program(session):
        return await dropped(lambda: session.update(Counter, "a").add(Counter.value, 1).set(Counter.words, ["x"]))

    assert run(service, program) == ["the update of Counter name='a': add value, set words was never awaited"]


def test_one_update_is_missed_and_none_of_those_on_its_way(service):
    async def program(session):
        return await dropped(
            lambda: session.update(Counter, "a").set(Counter.value, 1).remove(Counter.words, Counter.note)
        )

    assert run(service, program) == [
        "the update of Counter name='a': set value, remove words, remove note was never awaited"
    ]


@pytest.mark.parametrize(
    "make",
    [
        lambda session: session.update(Counter, "a").add(Counter.value, 1).close(),
        lambda session: repr(Update(Counter, "a").add(Counter.value, 1)),
    ],
)
def test_what_is_closed_or_belongs_to_no_session_does_not_warn(service, make):
    async def program(session):
        return await dropped(lambda: make(session))

    assert run(service, program) == []


@pytest.mark.parametrize(
    ("spoil", "error"),
    [
        (lambda update: update.set("value", 1), ExpressionError),
        (lambda update: update.add(Counter.words, 1), ExpressionError),
        (lambda update: update.remove(Counter.words, "value"), ExpressionError),
        (lambda update: update.where(None), ExpressionError),
        (lambda update: update.returning("all"), OperationError),
        (lambda update: update.expect_version(1), OperationError),
    ],
)
def test_an_error_of_the_builder_is_the_only_complaint(service, spoil, error):
    async def program(session):
        def make():
            with pytest.raises(error):
                spoil(session.update(Counter, "a").set(Counter.value, 1))

        return await dropped(make)

    assert run(service, program) == []


REFINING = sorted(
    name for name in dir(BoundUpdate) if not name.startswith("_") and name not in {*dir(Coroutine), "spec"}
)


@pytest.mark.parametrize("method", REFINING)
def test_an_argument_that_raises_is_the_only_complaint(service, method):
    async def program(session):
        def make():
            with pytest.raises(ZeroDivisionError):
                getattr(session.update(Counter, "a").set(Counter.value, 1), method)(1 / 0)

        return await dropped(make)

    assert run(service, program) == []


def test_an_argument_of_a_wrong_type_is_the_only_complaint(service):
    async def program(session):
        async def update():
            await session.update(Counter, "a").set(Counter.value, Counter.value + "x").where(Counter.value > "x")

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with pytest.raises(EncodeError):
                await update()
            gc.collect()
        return never_awaited(caught)

    assert run(service, program) == []


def test_a_bound_update_asks_what_its_value_asks(service):
    def asked(begin):
        return (
            begin(Counter, "a")
            .set(Counter.words, Counter.words.append(["x"]))
            .add(Counter.value, 1)
            .where(Counter.value < 5)
            .upsert()
            .returning("changed")
        )

    async def program(session):
        await asked(session.update)
        await session.execute(asked(Update))

    run(service, program)
    assert service.bodies[0] == service.bodies[1]


def test_updates_that_are_refined_from_one_are_apart(service):
    async def program(session):
        first = session.update(Counter, "a").add(Counter.value, 1)
        second = first.set(Counter.words, ["x"])
        await first
        await second

    run(service, program)
    assert [body["UpdateExpression"] for body in service.bodies] == ["ADD #n0 :v0", "SET #n0 = :v0 ADD #n1 :v1"]
