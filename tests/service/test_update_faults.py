"""Updates whose answers get lost: what is sent again, what is not, and what the table holds then."""

from collections import Counter
from uuid import uuid4

import pytest
import pytest_asyncio

from dynamap_async import Attr, CapacityPolicy, Model, PartitionKey, RetryPolicy, Version, attr
from dynamap_async.errors import (
    ConditionalCheckFailedError,
    InternalServerError,
    ItemNotFoundError,
    Outcome,
    TransportError,
    VersionConflictError,
)
from dynamap_async.testing.faults import Faults

PATIENT = RetryPolicy(max_attempts=5, base_delay_seconds=0.001, max_delay_seconds=0.01, budget=10_000)
UNPACED = CapacityPolicy(enabled=False)  # refusals come at random here, whatever the rate
WAYS = ("transport", "own connections", "aiohttp")


class Note(Model, table="notes"):
    id: PartitionKey[str]
    text: Attr[str] = attr(default="")
    likes: Attr[int] = attr(default=0)
    tags: Attr[set[str]] = attr(default_factory=set)
    words: Attr[list[str]] = attr(default_factory=list)


class Job(Model, table="jobs"):
    id: PartitionKey[str]
    tries: Attr[int] = attr(default=0)
    version: Version[int] = attr(default=0)


@pytest.fixture
def faults():
    return Faults()


@pytest_asyncio.fixture
async def plain(engine):
    """A session that no fault reaches, with a note and a job of version 1."""
    async with engine.session(table_prefix=f"t{uuid4().hex[:12]}-") as opened:
        await opened.tables.create(Note, Job)
        await opened.put(Note(id="a", words=["x", "y"]))
        await opened.put(Job(id="a"))
        yield opened


@pytest_asyncio.fixture
async def faulty(engine, faults, faulty_session, plain):
    """A session on the same tables, whose requests go through the script, and that is patient."""
    async with faulty_session(
        engine, faults, table_prefix=plain._runner.context.tables.prefix, retry=PATIENT, capacity=UNPACED
    ) as opened:
        yield opened


LOSSES = [
    pytest.param(lambda rule: rule.lose_answer(), id="lost"),
    pytest.param(lambda rule: rule.fail(applied=True), id="failed"),
]

ONCE = [
    (lambda s: s.update(Note, "a").add(Note.likes, 1), {"likes": 1}),
    (lambda s: s.update(Note, "a").add(Note.likes, 1).where(Note.likes == 0), {"likes": 1}),
    (lambda s: s.update(Note, "a").add(Note.likes, 1).upsert(), {"likes": 1}),
    (lambda s: s.update(Note, "a").set(Note.likes, Note.likes + 1), {"likes": 1}),
    (lambda s: s.update(Note, "a").set(Note.words, Note.words.append(["z"])), {"words": ["x", "y", "z"]}),
    (lambda s: s.update(Note, "a").set(Note.words, Note.words.prepend(["z"])), {"words": ["z", "x", "y"]}),
    (lambda s: s.update(Note, "a").remove(Note.words[0]), {"words": ["y"]}),
    (lambda s: s.update(Note, "a").set(Note.words[2], "z"), {"words": ["x", "y", "z"]}),
    (lambda s: s.update(Note, "a").set(Note.text, "x").returning("old"), {"text": "x"}),
    (lambda s: s.update(Job, "a").set(Job.tries, 3), {"tries": 3, "version": 2}),
]
AGAIN = [
    (lambda s: s.update(Note, "a").set(Note.text, "x"), {"text": "x"}),
    (lambda s: s.update(Note, "a").set(Note.text, "x").where(Note.likes == 0), {"text": "x"}),
    (lambda s: s.update(Note, "a").set(Note.text, "x").upsert().returning("nothing"), {"text": "x"}),
    (lambda s: s.update(Note, "a").set(Note.text, Note.text.if_not_exists("x")), {}),
    (lambda s: s.update(Note, "a").remove(Note.words), {"words": []}),
    (lambda s: s.update(Note, "a").add(Note.tags, {"t"}), {"tags": {"t"}}),
    (lambda s: s.update(Note, "a").delete(Note.tags, {"t"}), {}),
]


async def item_of(session, changed):
    return await session.get(Job if "version" in changed else Note, "a", consistent_read=True)


@pytest.mark.parametrize("lose", LOSSES)
@pytest.mark.parametrize(("make", "changed"), ONCE)
@pytest.mark.asyncio
async def test_what_would_count_twice_is_sent_once_and_says_that_it_may_be_done(
    faults, plain, faulty, lose, make, changed
):
    before = await item_of(plain, changed)
    lose(faults.on("UpdateItem"))
    with pytest.raises((TransportError, InternalServerError)) as caught:
        await make(faulty)
    error = caught.value
    assert error.attempts == len(faults.log) == 1
    assert error.outcome_unknown if isinstance(error, InternalServerError) else error.outcome is Outcome.UNKNOWN
    assert await item_of(plain, changed) == before.model_copy(update=changed)


@pytest.mark.parametrize("lose", LOSSES)
@pytest.mark.parametrize(("make", "changed"), AGAIN)
@pytest.mark.asyncio
async def test_what_is_the_same_each_time_is_sent_again(faults, plain, faulty, lose, make, changed):
    before = await item_of(plain, changed)
    lose(faults.on("UpdateItem", times=2))
    await make(faulty)
    assert len(faults.log) == 3
    assert await item_of(plain, changed) == before.model_copy(update=changed)


@pytest.mark.parametrize(("make", "changed"), ONCE + AGAIN)
@pytest.mark.parametrize(
    ("faulty_session", "pass_by"),
    [
        *(pytest.param(way, lambda rule: rule.throttle(), id=f"throttled-{way}") for way in WAYS),
        pytest.param("transport", lambda rule: rule.refuse_connection(), id="not sent"),  # a server has been reached
    ],
    indirect=["faulty_session"],
)
@pytest.mark.asyncio
async def test_what_was_surely_not_done_is_always_sent_again(faults, plain, faulty, pass_by, make, changed):
    before = await item_of(plain, changed)
    pass_by(faults.on("UpdateItem", times=2))
    await make(faulty)
    assert len(faults.log) == 3
    assert await item_of(plain, changed) == before.model_copy(update=changed)


@pytest.mark.asyncio
async def test_a_version_lets_anything_be_sent_again_and_a_success_that_got_lost_is_a_conflict(faults, plain, faulty):
    item = await plain.get(Job, "a")
    faults.on("UpdateItem", times=1).lose_answer()
    with pytest.raises(VersionConflictError) as caught:
        await faulty.update(item).add(Job.tries, 1)
    assert caught.value.outcome_unknown
    assert caught.value.attempts == 2
    assert (caught.value.expected, caught.value.stored, caught.value.item.tries) == (1, 2, 1)
    assert (item.version, item.tries) == (1, 0)
    assert (await plain.get(Job, "a")).tries == 1


@pytest.mark.parametrize("faulty_session", ["transport"], indirect=True)  # a server would be waited for
@pytest.mark.asyncio
async def test_a_versioned_update_that_was_not_done_is_done_by_the_next_attempt(faults, plain, faulty):
    item = await plain.get(Job, "a")
    faults.on("UpdateItem", times=2).time_out(applied=False)
    await faulty.update(item).add(Job.tries, 1)
    assert (item.version, item.tries) == (2, 1)
    assert item == await plain.get(Job, "a")


@pytest.mark.asyncio
async def test_a_condition_that_fails_after_a_lost_answer_may_be_the_own_success(faults, plain, faulty):
    faults.on("UpdateItem", times=1).lose_answer()
    with pytest.raises(ConditionalCheckFailedError) as caught:
        await faulty.update(Note, "a").set(Note.text, "x").where(Note.text == "")
    assert caught.value.outcome_unknown
    assert caught.value.item.text == "x"


@pytest.mark.asyncio
async def test_an_item_that_vanishes_between_two_attempts_is_not_found_and_may_have_been_updated(faults, plain, faulty):
    faults.on("UpdateItem", times=1).lose_answer()
    await plain.delete(Note, "a")
    with pytest.raises(ItemNotFoundError) as caught:
        await faulty.update(Note, "a").set(Note.text, "x")
    assert caught.value.outcome_unknown
    with pytest.raises(ItemNotFoundError) as caught:
        await faulty.update(Note, "a").set(Note.text, "x")
    assert not caught.value.outcome_unknown


@pytest.mark.asyncio
async def test_counting_through_a_bad_network_is_never_done_twice(engine, plain):
    faults = Faults(seed=7)
    faults.on("UpdateItem", share=0.1).lose_answer()
    faults.on("UpdateItem", share=0.1).throttle()
    prefix = plain._runner.context.tables.prefix
    outcomes = Counter()
    async with faults.session(engine, table_prefix=prefix, retry=PATIENT, capacity=UNPACED) as session:
        for _ in range(100):
            try:
                await session.update(Note, "a").add(Note.likes, 1)
            except TransportError as error:
                outcomes[error.outcome] += 1
            else:
                outcomes["done"] += 1
    assert outcomes.keys() == {"done", Outcome.UNKNOWN}
    assert (await plain.get(Note, "a")).likes == 100
