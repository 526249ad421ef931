"""Numbers and times that the session gives, on real engines."""

import asyncio
from datetime import UTC, datetime, timedelta
from itertools import count
from uuid import uuid4

import pytest
import pytest_asyncio

from dynamap_async import Attr, Create, ExactlyOnce, Model, PartitionKey, Put, RetryPolicy, SortKey, Version, attr
from dynamap_async.errors import (
    BatchError,
    ConditionalCheckFailedError,
    EncodeError,
    ExpressionError,
    ItemNotFoundError,
    ModelDefinitionError,
    OperationError,
    Outcome,
    OutOfRangeError,
    ResourceNotFoundError,
    TransactionCanceledError,
    TransportError,
)
from dynamap_async.testing.faults import Faults

pytestmark = pytest.mark.asyncio

_hours = count()


def next_hour():
    return datetime(2024, 1, 1, tzinfo=UTC) + timedelta(hours=next(_hours))


class Ticket(Model, table="tickets"):
    number: PartitionKey[int] = attr(autoincrement=True, default=..., name="no")
    title: Attr[str]
    votes: Attr[int] = attr(default=0)
    weights: Attr[dict[str, float]] = attr(default_factory=dict)


class Comment(Model, table="comments"):
    post: PartitionKey[str]
    number: SortKey[int] = attr(autoincrement=True, default=...)


class Note(Model, table="notes"):
    id: PartitionKey[str] = attr(on_create=lambda: uuid4().hex)
    text: Attr[str]
    created_at: Attr[datetime] = attr(on_create=next_hour, default=...)
    updated_at: Attr[datetime | None] = attr(on_update=next_hour)
    version: Version[int] = attr(default=0)


class Visits(Model, table="visits"):
    page: PartitionKey[str]
    count: Attr[int] = attr(default=0)


class Unmade(Model, table="unmade"):
    number: PartitionKey[int] = attr(autoincrement=True)


@pytest.fixture
def prefix():
    return f"t{uuid4().hex[:12]}-"


@pytest_asyncio.fixture
async def session(engine, prefix):
    async with engine.session(table_prefix=prefix) as opened:
        await opened.tables.create(Ticket, Comment, Note, Visits)
        yield opened


async def numbers_of(session):
    return sorted(ticket.number for ticket in await session.scan(Ticket))


async def test_200_tasks_of_two_sessions_get_200_numbers(engine, prefix, session):
    async with engine.session(table_prefix=prefix) as other:
        tickets = [Ticket(title=str(i)) for i in range(200)]
        async with asyncio.TaskGroup() as group:
            for i, ticket in enumerate(tickets):
                group.create_task((session, other)[i % 2].create(ticket))
    assert sorted(ticket.number for ticket in tickets) == list(range(1, 201))
    assert {ticket.number: ticket.title for ticket in await session.scan(Ticket)} == {
        ticket.number: ticket.title for ticket in tickets
    }


async def test_200_saves_with_made_keys_make_200_items(session):
    notes = [Note(text=str(i)) for i in range(200)]
    await session.gather(*(session.save(note) for note in notes))
    assert len({note.id for note in notes}) == 200
    assert await session.scan(Note).count() == 200


@pytest.mark.parametrize("write", ["put", "create", "save"])
async def test_each_write_of_a_new_item_numbers_it(session, write):
    ticket = Ticket(title="a")
    assert await getattr(session, write)(ticket) is ticket
    assert ticket == await session.get(Ticket, 1)
    assert ticket.model_dump() == {"number": 1, "title": "a", "votes": 0, "weights": {}}
    assert list(ticket.model_dump()) == ["number", "title", "votes", "weights"]


async def test_a_numbered_item_keeps_its_number(session):
    ticket = await session.create(Ticket(title="a"))
    ticket.title = "b"
    await session.put(ticket)
    ticket.title = "c"
    await session.save(ticket)
    assert await session.scan(Ticket) == [Ticket(number=1, title="c")]


async def test_many_items_are_numbered(session):
    tickets = [Ticket(title=str(i)) for i in range(60)]
    assert await session.put_many(tickets) == 60
    assert sorted(ticket.number for ticket in tickets) == await numbers_of(session) == list(range(1, 61))


async def test_a_batch_numbers_items_beside_others(session):
    async with session.batch() as batch:
        await batch.put(Ticket(title="new"))
        await batch.put(Ticket(number=1000, title="given"))
        await batch.put(Note(id="a", text="other"))
    assert await numbers_of(session) == [1, 1000]
    assert batch.done == 3


async def test_a_numbered_item_that_cannot_be_stored_fails_alone(session):
    bad = Ticket.model_construct(title=object())
    with pytest.raises(BatchError) as caught:
        await session.put_many([Ticket(title="a"), bad, Ticket(title="b")])
    [failure] = caught.value.failures
    assert (failure.position, type(failure.error)) == (1, EncodeError)
    assert await session.scan(Ticket).count() == 2


async def test_a_transaction_numbers_its_items_first(session):
    first, second = Ticket(title="a"), Ticket(title="b")
    async with session.transaction() as tx:
        tx.put(first)
        tx.create(second)
    assert {first.number, second.number} == {1, 2}
    assert await numbers_of(session) == [1, 2]


async def test_a_number_that_is_taken_is_left_out(session):
    for number in (1, 2, 4):
        await session.create(Ticket(number=number, title="given"))
    assert (await session.put(Ticket(title="a"))).number == 3
    assert (await session.create(Ticket(title="b"))).number == 5
    assert {ticket.number: ticket.title for ticket in await session.scan(Ticket)}[4] == "given"


async def test_a_transaction_takes_other_numbers_for_those_that_are_taken(session):
    await session.create(Ticket(number=1, title="given"))
    async with session.transaction() as tx:
        tx.put(Ticket(title="a"))
        tx.put(Note(id="a", text="b"))
    assert await numbers_of(session) == [1, 2] or await numbers_of(session) == [1, 3]
    assert (await session.get(Note, "a")).text == "b"


async def test_a_replacement_and_a_transaction_of_one_write_number_their_item(session):
    await session.create(Ticket(number=1, title="given"))
    first, second = Ticket(title="a"), Ticket(title="b")
    await session.execute(ExactlyOnce(Create(first)))
    await session.replace(second)
    assert [first.number, second.number] == [2, 3]
    assert await numbers_of(session) == [1, 2, 3]


async def test_hooks_run_once_however_many_numbers_are_taken(engine, prefix, session):
    seen = []
    async with engine.session(table_prefix=prefix, before_write=[lambda item, write: seen.append(item.title)]) as other:
        await session.put_many(Ticket(number=number, title="given") for number in (1, 2))
        ticket = await other.create(Ticket(title="a"))
    assert (ticket.number, seen) == (3, ["a"])


async def test_another_obstacle_ends_a_transaction(session):
    await session.create(Note(id="a", text="old"))
    ticket = Ticket(title="a")
    with pytest.raises(TransactionCanceledError):
        await session.transact_write([Put(ticket), Create(Note(id="a", text="new"))])
    assert await session.scan(Ticket).count() == 0
    assert not hasattr(ticket, "number")


async def test_an_explicit_value_is_used_as_given_and_does_not_move_the_counter(session):
    await session.put(Ticket(number=42, title="a"))
    await session.put(Ticket(number=42, title="b"))
    assert (await session.create(Ticket(title="c"))).number == 1
    with pytest.raises(ConditionalCheckFailedError):
        await session.create(Ticket(number=42, title="d"))


async def test_too_many_taken_numbers_end_the_search_with_the_remedy(session):
    await session.put_many(Ticket(number=number, title="given") for number in range(1, 61))
    with pytest.raises(ConditionalCheckFailedError) as caught:
        await session.create(Ticket(title="a"))
    assert "session.reserve(Ticket, count)" in "".join(caught.value.__notes__)
    await session.reserve(Ticket, 60)
    assert (await session.create(Ticket(title="a"))).number > 60


async def test_a_reserved_block_is_nobody_elses(session):
    await session.create(Ticket(title="a"))
    block = await session.reserve(Ticket, 5)
    assert block == range(2, 7)
    assert (await session.create(Ticket(title="b"))).number == 7
    await session.put_many(Ticket(number=number, title="of the block") for number in block)
    assert await numbers_of(session) == list(range(1, 8))


async def test_each_partition_counts_for_itself(session):
    comments = [Comment(post=post) for post in "aab"]
    await session.gather(*map(session.create, comments))
    assert sorted((comment.post, comment.number) for comment in comments) == [("a", 1), ("a", 2), ("b", 1)]
    assert await session.reserve(Comment, 2, "b") == range(2, 4)
    assert (await session.put(Comment(post="b" * 2000))).number == 1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((Ticket, 0), OutOfRangeError, "from 1 up"),
        ((Ticket, 1, "a"), OperationError, "there is one counter"),
        ((Comment, 1), OperationError, "give the value of post"),
        ((Comment, 1, 5), EncodeError, "post"),
        ((Note, 1), ModelDefinitionError, "no field with attr"),
    ],
)
async def test_a_wrong_reservation_is_refused_before_sending(session, arguments, error, message):
    with pytest.raises(error, match=message):
        await session.reserve(*arguments)


async def test_without_the_own_table_the_error_says_how_to_make_it(engine, prefix):
    async with engine.session(table_prefix=prefix) as session:
        with pytest.raises(ResourceNotFoundError) as caught:
            await session.create(Unmade())
        assert "session.tables.create(Unmade)" in "".join(caught.value.__notes__)
        await session.tables.create(Ticket)
        await session.tables.create(Unmade)  # the library's own table exists already
        assert (await session.create(Unmade())).number == 1


async def test_a_failed_write_leaves_the_instance_without_a_number(session):
    ticket = Ticket(title="a")
    with pytest.raises(ConditionalCheckFailedError):
        await session.put(ticket, where=Ticket.title == "b")
    assert not hasattr(ticket, "number")


@pytest.mark.parametrize("attempts", [1, 20])
async def test_lost_answers_of_the_counter_skip_numbers_and_never_give_one_twice(engine, prefix, session, attempts):
    faults = Faults(seed=7)
    faults.on("UpdateItem", share=0.5).lose_answer()
    retry = RetryPolicy(max_attempts=attempts, base_delay_seconds=0.001, max_delay_seconds=0.01, budget=10_000)
    written = []
    async with faults.session(engine, table_prefix=prefix, retry=retry) as shaky:
        for i in range(20):
            try:
                written.append(await shaky.create(Ticket(title=str(i))))
            except TransportError:
                assert attempts == 1
    assert len(written) == 20 or attempts == 1
    assert await numbers_of(session) == sorted({ticket.number for ticket in written})
    assert len({ticket.number for ticket in written}) == len(written)


async def test_a_lost_answer_of_the_item_never_writes_it_twice(engine, prefix, session):
    faults = Faults()
    faults.on("PutItem", times=1).lose_answer()
    async with faults.session(engine, table_prefix=prefix) as shaky:
        with pytest.raises(ConditionalCheckFailedError) as caught:
            await shaky.create(Ticket(title="a"))
    assert caught.value.outcome_unknown
    assert caught.value.item == Ticket(number=1, title="a")
    assert await numbers_of(session) == [1]


async def test_times_are_set_when_the_item_is_written(session):
    note = Note(text="a")
    await session.create(note)
    created, updated = note.created_at, note.updated_at
    assert updated is not None
    note.text = "b"
    await session.put(note)
    assert note.created_at == created
    assert note.updated_at > updated
    assert note == await session.get(Note, note.id)


async def test_a_given_creation_time_is_stored_as_given(session):
    long_ago = datetime(2000, 1, 1, tzinfo=UTC)
    note = await session.put(Note(text="a", created_at=long_ago))
    assert (await session.get(Note, note.id)).created_at == long_ago


async def test_a_save_without_changes_does_not_touch_the_time(session):
    note = await session.create(Note(text="a"))
    updated = note.updated_at
    await session.save(note)
    assert note.updated_at == updated
    note.text = "b"
    await session.save(note)
    assert note.updated_at > updated
    assert note == await session.get(Note, note.id)


async def test_an_update_touches_the_time_unless_it_sets_it(session):
    note = await session.create(Note(text="a"))
    found = await session.update(Note, note.id).set(Note.text, "b")
    assert found.updated_at > note.updated_at
    assert found.created_at == note.created_at
    long_ago = datetime(2000, 1, 1, tzinfo=UTC)
    assert (await session.update(Note, note.id).set(Note.updated_at, long_ago)).updated_at == long_ago


async def test_an_upsert_gives_a_new_item_its_times_and_keeps_those_of_another(session):
    made = await session.update(Note, "a").set(Note.text, "x").upsert()
    again = await session.update(Note, "a").set(Note.text, "y").upsert()
    assert made.created_at == again.created_at
    assert made.updated_at < again.updated_at


async def test_a_refused_write_changes_no_time(session):
    note = await session.create(Note(text="a"))
    before = note.model_dump()
    with pytest.raises(ConditionalCheckFailedError):
        await session.put(note, where=Note.text == "b")
    assert note.model_dump() == before


async def test_200_increments_all_count(session):
    await session.create(Ticket(title="a"))
    counted = await session.gather(*(session.increment(Ticket, 1, Ticket.votes) for _ in range(200)))
    assert sorted(counted) == list(range(1, 201))
    assert (await session.get(Ticket, 1)).votes == 200


async def test_an_increment_takes_amounts_and_parts_of_fields(session):
    await session.create(Ticket(title="a", weights={"x": 0.5}))
    assert await session.increment(Ticket, 1, Ticket.votes, by=-3) == -3
    assert await session.increment(Ticket, 1, Ticket.weights["x"], by=0.25) == 0.75


async def test_an_increment_of_nothing_is_an_error_unless_it_may_make_the_item(session):
    with pytest.raises(ItemNotFoundError):
        await session.increment(Visits, "a", Visits.count)
    assert await session.increment(Visits, "a", Visits.count, by=2, upsert=True) == 2
    assert await session.get(Visits, "a") == Visits(page="a", count=2)


@pytest.mark.parametrize("arguments", [("a", Note.text), ("a", Ticket.votes), ("a",)])
async def test_an_increment_of_no_number_of_the_model_is_refused(session, arguments):
    with pytest.raises(ExpressionError):
        await session.increment(Note, *arguments)


async def test_an_increment_whose_answer_was_lost_is_not_sent_again(engine, prefix, session):
    await session.create(Ticket(title="a"))
    faults = Faults()
    faults.on("UpdateItem", times=1).lose_answer()
    async with faults.session(engine, table_prefix=prefix) as shaky:
        with pytest.raises(TransportError) as caught:
            await shaky.increment(Ticket, 1, Ticket.votes)
    assert caught.value.outcome is Outcome.UNKNOWN
    assert (await session.get(Ticket, 1)).votes == 1
