"""Saving, refreshing and retrying: which requests are made, and what becomes of the instance."""

import asyncio

import pytest

from dynamap_async import Attr, Model, PartitionKey, Session, Version, attr
from dynamap_async.errors import OperationError, OutOfRangeError, TransactionCanceledError, VersionConflictError


class Page(Model, table="pages"):
    name: PartitionKey[str]
    text: Attr[str] = attr(default="")
    links: Attr[list[str]] = attr(default_factory=list)
    version: Version[int] = attr(default=0)


class Photo(Model, table="photos", frozen=True):
    name: PartitionKey[str]


def conflict(*, unknown=False, name="p"):
    error = VersionConflictError(
        "conflict", service_code="ConditionalCheckFailedException", operation="UpdateItem", table="pages", status=400
    )
    error.outcome_unknown = unknown
    error.item = Page(name=name)
    return error


class Answers:
    """A transport that keeps requests and answers nothing of interest."""

    max_connections = 8

    def __init__(self):
        self.requests = []
        self.items = {}
        self.changed = None

    async def open(self):
        pass

    async def close(self):
        pass

    async def send(self, request):
        self.requests.append(request)
        if request.operation == "UpdateItem" and self.changed is not None:
            return {"Attributes": self.changed}
        return {"Item": self.items[request.table]} if request.operation == "GetItem" else {}


@pytest.fixture
def answers():
    return Answers()


@pytest.fixture
def open_session(answers):
    return lambda: Session(transport=answers)


STORED = {"name": {"S": "p"}, "text": {"S": "old"}, "version": {"N": "4"}, "unknown": {"S": "kept"}}


async def test_nothing_changed_sends_nothing(answers, open_session):
    answers.items["pages"] = STORED
    async with open_session() as session:
        page = await session.get(Page, "p")
        page.text = "new"
        page.text = "old"
        assert await session.save(page) is page
    assert [request.operation for request in answers.requests] == ["GetItem"]
    assert page.version == 4


async def test_only_what_changed_is_sent(answers, open_session):
    answers.items["pages"] = STORED
    async with open_session() as session:
        page = await session.get(Page, "p")
        page.links.append("a")
        await session.save(page)
        await session.save(page)
        page.text = "new"
        await session.save(page)
    _, first, second = answers.requests
    assert set(first.body["ExpressionAttributeNames"].values()) == {"links", "version"}
    assert sorted(map(str, first.body["ExpressionAttributeValues"].values())) == [
        "{'L': [{'S': 'a'}]}",
        "{'N': '4'}",
        "{'N': '5'}",
    ]
    assert set(second.body["ExpressionAttributeNames"].values()) == {"text", "version"}
    assert page.version == 6


async def test_a_change_made_while_the_save_is_under_way_is_left_for_the_next(answers, open_session):
    answers.items["pages"] = STORED
    async with open_session() as session:
        page = await session.get(Page, "p")
        page.text = "first"
        saving = asyncio.ensure_future(session.save(page))
        await asyncio.sleep(0)
        page.text = "second"
        await saving
        await session.save(page)
    assert [
        value
        for request in answers.requests[1:]
        for value in request.body["ExpressionAttributeValues"].values()
        if "S" in value
    ] == [{"S": "first"}, {"S": "second"}]


async def test_an_instance_has_its_old_version_until_the_answer(answers, open_session):
    answers.items["pages"] = STORED
    async with open_session() as session:
        page = await session.get(Page, "p")
        page.text = "new"
        saving = asyncio.ensure_future(session.save(page))
        await asyncio.sleep(0)
        assert page.version == 4
        await saving
    assert page.version == 5


async def test_refreshing_a_frozen_instance_is_refused(answers, open_session):
    async with open_session() as session:
        with pytest.raises(OperationError, match=r"session\.get\(Photo"):
            await session.refresh(Photo(name="p"))
    assert answers.requests == []


async def test_refreshing_reads_consistently(answers, open_session):
    answers.items["pages"] = STORED
    page = Page(name="p", text="unsaved")
    async with open_session() as session:
        await session.refresh(page)
    [request] = answers.requests
    assert request.body["ConsistentRead"] is True
    assert (page.text, page.version) == ("old", 4)


async def test_conflicts_are_tried_again_until_the_change_succeeds(open_session):
    outcomes = [conflict(), conflict(), "done"]

    async def change():
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async with open_session() as session:
        assert await session.retry_on_conflict(change) == "done"


@pytest.mark.parametrize("attempts", [1, 2, 5])
async def test_the_last_conflict_is_raised_with_the_number_of_attempts(open_session, attempts):
    raised = []

    async def change():
        raised.append(conflict())
        raise raised[-1]

    async with open_session() as session:
        with pytest.raises(VersionConflictError) as caught:
            await session.retry_on_conflict(change, attempts=attempts)

    assert len(raised) == attempts
    assert caught.value is raised[-1]
    assert caught.value.__notes__ == [f"not tried again: retry_on_conflict allows {attempts} attempts"]


@pytest.mark.parametrize("error", [conflict(unknown=True), ValueError("mine"), asyncio.CancelledError()])
async def test_whatever_is_no_certain_conflict_is_raised_at_once(open_session, error):
    calls = []

    async def change():
        calls.append(1)
        raise error

    async with open_session() as session:
        with pytest.raises(type(error)):
            await session.retry_on_conflict(change)
    assert len(calls) == 1


async def test_a_transaction_that_failed_for_another_reason_is_not_tried_again(open_session):
    error = TransactionCanceledError(
        "no", service_code="TransactionCanceledException", operation="TransactWriteItems", table="pages", status=400
    )
    calls = []

    async def change():
        calls.append(1)
        raise error

    async with open_session() as session:
        with pytest.raises(TransactionCanceledError):
            await session.retry_on_conflict(change)
    assert len(calls) == 1


async def test_tasks_that_met_a_conflict_on_one_item_take_turns(open_session):
    version, attempts = 0, 0

    async def change():
        nonlocal version, attempts
        attempts += 1
        read = version
        await asyncio.sleep(0.01)
        if read != version:
            raise conflict()
        version += 1

    async with open_session() as session:
        await session.gather(*(session.retry_on_conflict(change, attempts=2) for _ in range(50)))

    assert version == 50
    assert attempts == 99


async def test_turns_inside_turns_do_not_wait_for_each_other(open_session):
    async def once_conflicting(name, then):
        state = [conflict(name=name)]

        async def change():
            await asyncio.sleep(0.01)
            if state:
                raise state.pop()
            return await then()

        return await session.retry_on_conflict(change)

    async def nothing():
        return "done"

    async with open_session() as session:
        results = await session.gather(
            once_conflicting("a", lambda: once_conflicting("b", nothing)),
            once_conflicting("b", lambda: once_conflicting("a", nothing)),
        )
    assert results == ("done", "done")


async def test_a_cancelled_attempt_gives_its_turn_to_the_next(open_session):
    conflicts = [conflict(), conflict()]

    async def change(wait):
        if conflicts:
            raise conflicts.pop()
        await asyncio.sleep(wait)
        return "done"

    async with open_session() as session:
        slow = asyncio.ensure_future(session.retry_on_conflict(lambda: change(100)))
        quick = asyncio.ensure_future(session.retry_on_conflict(lambda: change(0)))
        await asyncio.sleep(1)
        slow.cancel()
        assert await quick == "done"
        assert slow.cancelled() or await asyncio.wait([slow])


@pytest.mark.parametrize(
    ("attempts", "error"), [(0, OutOfRangeError), (-1, OutOfRangeError), (True, OperationError), ("3", OperationError)]
)
async def test_a_wrong_number_of_attempts_is_refused(open_session, attempts, error):
    async with open_session() as session:
        with pytest.raises(error, match="attempts"):
            await session.retry_on_conflict(lambda: None, attempts=attempts)


async def test_copies_of_a_session_take_turns_after_a_conflict(open_session):
    under_way, most = set(), 0

    def change_of(name):
        attempts = []

        async def change():
            nonlocal most
            attempts.append(1)
            if len(attempts) == 1:
                raise conflict()
            under_way.add(name)
            most = max(most, len(under_way))
            await asyncio.sleep(0)
            under_way.remove(name)

        return change

    async with open_session() as session:
        copies = [session, session.without_hooks(), session.without_hooks()]
        await session.gather(*(copy.retry_on_conflict(change_of(at)) for at, copy in enumerate(copies)))
    assert most == 1


class Print(Model, table="prints", frozen=True):
    name: PartitionKey[str]
    text: Attr[str] = attr(default="")
    version: Version[int] = attr(default=0)


@pytest.mark.parametrize("verb", ["put", "create", "save", "put_many"])
async def test_frozen_instance_gets_its_version_and_stays_in_its_set(open_session, verb):
    item = Print(name="p")
    kept = {item}
    async with open_session() as session:
        await getattr(session, verb)([item] if verb == "put_many" else item)
    assert item.version == 1
    assert item in kept


async def test_update_of_a_frozen_instance_gives_a_new_one_and_leaves_it_as_it_is(answers, open_session):
    item = Print(name="p", version=1)
    answers.changed = {"name": {"S": "p"}, "text": {"S": "new"}, "version": {"N": "2"}}
    async with open_session() as session:
        found = await session.update(item).set(Print.text, "new")
        await session.update(item).set(Print.text, "new").returning("nothing")
    assert found == Print(name="p", text="new", version=2)
    assert item == Print(name="p", version=1)
