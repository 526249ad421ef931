"""Writes that store an id: after a lost answer they know themselves in the stored item, on every engine."""

from collections import Counter
from uuid import uuid4

import pytest
import pytest_asyncio

from dynamap_async import (
    Attr,
    CapacityPolicy,
    Create,
    Model,
    Old,
    PartitionKey,
    Put,
    RetryPolicy,
    TransactWrite,
    Unique,
    Update,
    Version,
    attr,
)
from dynamap_async.errors import (
    ConditionalCheckFailedError,
    InternalServerError,
    ItemNotFoundError,
    Outcome,
    TransportError,
    VersionConflictError,
)
from dynamap_async.testing.faults import Faults

PATIENT = RetryPolicy(max_attempts=8, base_delay_seconds=0.001, max_delay_seconds=0.01, budget=10_000)
UNPACED = CapacityPolicy(enabled=False)  # refusals come at random here, whatever the rate


class Note(Model, table="notes"):
    id: PartitionKey[str]
    text: Attr[str] = attr(default="")
    likes: Attr[int] = attr(default=0)
    words: Attr[list[str]] = attr(default_factory=list)
    counts: Attr[dict[str, int]] = attr(default_factory=dict)
    scores: Attr[list[int]] = attr(default_factory=list)
    by: Attr[str | None] = attr(write_id=True)


class Job(Model, table="jobs"):
    id: PartitionKey[str]
    tries: Attr[int] = attr(default=0)
    version: Version[int] = attr(default=0)
    by: Attr[str | None] = attr(write_id=True)


class Ticket(Model, table="tickets"):
    number: PartitionKey[int] = attr(autoincrement=True)
    title: Attr[str] = attr(default="")
    by: Attr[str | None] = attr(write_id=True)


class User(Model, table="users"):
    id: PartitionKey[str]
    mail: Attr[str]
    by: Attr[str | None] = attr(write_id=True)
    one_mail = Unique("mail")


@pytest.fixture
def faults():
    return Faults(seed=14)


@pytest_asyncio.fixture
async def plain(engine):
    """A session that no fault reaches, with a note and a job of version 1."""
    async with engine.session(table_prefix=f"t{uuid4().hex[:12]}-") as opened:
        await opened.tables.create(Note, Job, Ticket, User)
        await opened.put(Note(id="a", words=["x", "y"], counts={"k": 1}, scores=[1, 2, 3]))
        await opened.put(Job(id="a"))
        yield opened


@pytest_asyncio.fixture
async def faulty(engine, faults, plain):
    """A session on the same tables, whose requests go through the script, and that is patient."""
    async with faults.session(
        engine, table_prefix=plain._runner.context.tables.prefix, retry=PATIENT, capacity=UNPACED
    ) as opened:
        yield opened


async def note(session):
    return await session.get(Note, "a", consistent_read=True)


async def job(session):
    return await session.get(Job, "a", consistent_read=True)


LOSSES = [
    pytest.param(lambda rule: rule.lose_answer(), id="lost"),
    pytest.param(lambda rule: rule.fail(applied=True), id="failed"),
    pytest.param(lambda rule: rule.wrong_checksum(), id="damaged"),
]


async def create(session):
    return await session.create(Note(id="new", text="x"))


async def save_new(session):
    return await session.save(Note(id="new", text="x"))


async def put_where(session):
    return await session.put(Note(id="a", text="x"), where=Note.text == "")


async def save_where(session):
    item = await note(session)
    item.text = "x"
    return await session.save(item, where=Note.text == "")


async def replace_where(session):
    return await session.replace(Note(id="a", text="x"), where=Note.text == "")


async def update_where(session):
    return await session.update(Note, "a").set(Note.text, "x").where(Note.text == "")


@pytest.mark.parametrize("lose", LOSSES)
@pytest.mark.parametrize("write", [create, save_new, put_where, save_where, replace_where, update_where])
@pytest.mark.asyncio
async def test_a_conditional_write_whose_answer_was_lost_ends_as_the_success_that_it_is(
    faults, plain, faulty, write, lose
):
    lose(faults.on("PutItem", times=1))
    lose(faults.on("UpdateItem", times=1))

    item = await write(faulty)

    assert sum(faults.requests[each] for each in ("PutItem", "UpdateItem")) == 2
    assert item.text == "x"
    assert item == await plain.get(Note, item.id, consistent_read=True)


@pytest.mark.parametrize("lose", LOSSES)
@pytest.mark.parametrize("verb", ["save", "put", "replace", "update"])
@pytest.mark.asyncio
async def test_a_versioned_write_gets_the_number_that_its_lost_answer_acknowledged(faults, plain, faulty, verb, lose):
    item = await job(plain)
    item.tries = 5
    lose(faults.on("PutItem", times=1))
    lose(faults.on("UpdateItem", times=1))

    await (faulty.update(item).set(Job.tries, 5) if verb == "update" else getattr(faulty, verb)(item))

    # Replacing asks nothing of the stored item, so it is done twice: its version is known all the same.
    assert item.version == (3 if verb == "replace" else 2)
    assert item == await job(plain)
    item.tries = 6
    await plain.save(item)  # the instance is that of its item


COUNTERS = [
    (lambda s: s.update(Note, "a").add(Note.likes, 2), {"likes": 2}),
    (lambda s: s.update(Note, "a").add(Note.likes, 2).where(Note.likes == 0), {"likes": 2}),
    (lambda s: s.update(Note, "a").add(Note.likes, 2).upsert(), {"likes": 2}),
    (lambda s: s.update(Note, "a").set(Note.likes, Note.likes + 2), {"likes": 2}),
    (lambda s: s.update(Note, "a").set(Note.words, Note.words.append(["z"])), {"words": ["x", "y", "z"]}),
    (lambda s: s.update(Note, "a").set(Note.words, Note.words.prepend(["z"])), {"words": ["z", "x", "y"]}),
    (lambda s: s.update(Note, "a").remove(Note.words[0]), {"words": ["y"]}),
    (lambda s: s.update(Note, "a").set(Note.words[2], "z"), {"words": ["x", "y", "z"]}),
]


@pytest.mark.parametrize("lose", LOSSES)
@pytest.mark.parametrize(("make", "changed"), COUNTERS)
@pytest.mark.asyncio
async def test_what_must_not_be_done_twice_is_recognised_and_done_once(faults, plain, faulty, make, changed, lose):
    before = await note(plain)
    lose(faults.on("UpdateItem", times=1))

    item = await make(faulty)

    assert faults.requests["UpdateItem"] == 2
    assert item == await note(plain)
    assert item == before.model_copy(update={**changed, "by": item.by})


@pytest.mark.asyncio
async def test_an_update_that_makes_its_item_is_recognised_in_it(faults, plain, faulty):
    faults.on("UpdateItem", times=1).lose_answer()
    item = await faulty.update(Note, "new").add(Note.likes, 1).upsert()
    assert (item.likes, await plain.get(Note, "new")) == (1, item)


@pytest.mark.asyncio
async def test_a_counter_named_by_an_instance_moves_it_on(faults, plain, faulty):
    item = await note(plain)
    faults.on("UpdateItem", times=1).lose_answer()
    await faulty.update(item).add(Note.likes, 1)
    assert item == await note(plain)
    assert item.likes == 1


@pytest.mark.asyncio
async def test_a_version_counted_by_key_is_counted_once(faults, plain, faulty):
    faults.on("UpdateItem", times=1).lose_answer()
    item = await faulty.update(Job, "a").set(Job.tries, 3)
    assert (item.tries, item.version) == (3, 2)
    assert item == await job(plain)


@pytest.mark.asyncio
async def test_an_increment_whose_answer_was_lost_gives_the_number_that_it_made(faults, plain, faulty):
    made = []
    for field in (Note.likes, Note.counts["k"], Note.scores[1]):
        faults.on("UpdateItem", times=1).lose_answer()
        made.append(await faulty.increment(Note, "a", field, by=10))
    assert made == [10, 11, 12]
    assert faults.requests["UpdateItem"] == 6


RESULTS = [
    (lambda u: u.add(Note.likes, 1), {"likes"}),
    (lambda u: u.add(Note.counts["k"], 1).set(Note.text, "x"), {"counts", "text"}),
    (lambda u: u.add(Note.likes, 1).remove(Note.words), {"likes"}),
]


@pytest.mark.parametrize(("change", "names"), RESULTS)
@pytest.mark.asyncio
async def test_what_was_changed_is_told_as_dynamodb_would_have(faults, plain, faulty, change, names):
    first = await note(plain)
    undisturbed = await change(plain.update(Note, "a")).returning("changed")
    await plain.put(first)
    faults.on("UpdateItem", times=1).lose_answer()

    disturbed = await change(faulty.update(Note, "a")).returning("changed")

    assert undisturbed.keys() - {"by"} == names
    assert undisturbed.pop("by") != disturbed.pop("by")
    assert disturbed == undisturbed


@pytest.mark.asyncio
async def test_an_update_that_gives_back_nothing_is_recognised_too(faults, plain, faulty):
    faults.on("UpdateItem", times=1).lose_answer()
    assert await faulty.update(Note, "a").add(Note.likes, 1).returning("nothing") is None
    assert (await note(plain)).likes == 1


@pytest.mark.parametrize(
    "write",
    [
        lambda s: s.update(Note, "a").add(Note.likes, 1).returning("old"),
        lambda s: s.update(Note, "a").remove(Note.words[0]).returning("changed"),
        lambda s: s.execute(Old(Put(Note(id="a")))),
    ],
)
@pytest.mark.asyncio
async def test_what_the_stored_item_does_not_tell_stays_unknown_and_is_sent_once(faults, faulty, write):
    faults.on(times=1).lose_answer()
    with pytest.raises(TransportError) as caught:
        await write(faulty)
    assert caught.value.outcome is Outcome.UNKNOWN
    assert len(faults.log) == 1


@pytest.mark.asyncio
async def test_the_old_item_of_a_versioned_put_is_no_success_without_it(faults, plain, faulty):
    item = await job(plain)
    faults.on("PutItem", times=1).lose_answer()
    with pytest.raises(VersionConflictError) as caught:
        await faulty.put(item, returning="old")
    assert caught.value.outcome_unknown


@pytest.mark.asyncio
async def test_another_writer_after_a_lost_answer_leaves_the_outcome_unknown(faults, plain, faulty):
    item = await job(plain)
    item.tries = 5
    faults.on("UpdateItem", times=1).lose_answer()

    async def between(request):
        await plain.update(Job, "a").set(Job.tries, 7)

    await _with_another_writer(faulty, between, faulty.save(item), VersionConflictError)
    assert (item.version, (await job(plain)).tries) == (1, 7)


async def _with_another_writer(session, between, write, kind):
    """Await a write, in whose second attempt another writer comes first; it ends in an unknown outcome."""
    attempts = session._executor._attempts
    post, sent = attempts._transport_send, []

    async def send(request):
        sent.append(request)
        if len(sent) == 2:
            await between(request)
        return await post(request)

    attempts._transport_send = send
    with pytest.raises(kind) as caught:
        await write
    error = caught.value
    assert error.outcome is Outcome.UNKNOWN if isinstance(error, TransportError) else error.outcome_unknown
    assert len(sent) == 2
    return error


@pytest.mark.asyncio
async def test_a_counter_is_never_counted_twice_where_another_writer_counts_in_between(faults, plain, faulty):
    faults.on("UpdateItem", times=1).lose_answer()

    async def between(request):
        await plain.increment(Note, "a", Note.likes)

    error = await _with_another_writer(faulty, between, faulty.increment(Note, "a", Note.likes), TransportError)
    assert (await note(plain)).likes == 2
    assert "the stored item was last written by another write" in error.__notes__[0]


@pytest.mark.asyncio
async def test_a_created_item_that_another_writer_replaced_may_have_been_created(faults, plain, faulty):
    faults.on("PutItem", times=1).lose_answer()

    async def between(request):
        await plain.put(Note(id="new", text="other"))

    error = await _with_another_writer(faulty, between, create(faulty), ConditionalCheckFailedError)
    assert error.item.text == "other"
    assert "Nothing was written" not in str(error)
    assert "another write: it is unknown whether this write was done before" in error.__notes__[0]


@pytest.mark.parametrize(
    ("write", "kind"),
    [
        (lambda s: s.increment(Note, "a", Note.likes), TransportError),
        (lambda s: s.update(Note, "a").set(Note.text, "x").where(Note.text == ""), ItemNotFoundError),
        (put_where, ConditionalCheckFailedError),
        (save_where, ItemNotFoundError),
    ],
)
@pytest.mark.asyncio
async def test_an_item_that_is_gone_tells_nothing(faults, plain, faulty, write, kind):
    faults.on("UpdateItem", times=1).lose_answer()
    faults.on("PutItem", times=1).lose_answer()

    post, writes = faulty._executor._attempts._transport_send, []

    async def send(request):
        writes.extend([request.operation] if request.writes else [])
        if len(writes) == 2:
            await plain.delete(Note, "a")
        return await post(request)

    faulty._executor._attempts._transport_send = send
    with pytest.raises(kind) as caught:
        await write(faulty)
    error = caught.value
    assert error.outcome is Outcome.UNKNOWN if isinstance(error, TransportError) else error.outcome_unknown
    assert await plain.find(Note, "a", consistent_read=True) is None


@pytest.mark.asyncio
async def test_a_counter_whose_request_got_lost_is_not_sent_again(faults, plain, faulty):
    # It cannot be told from one that was done and then overwritten.
    faults.on("UpdateItem", times=1).reset()
    with pytest.raises(TransportError) as caught:
        await faulty.increment(Note, "a", Note.likes)
    assert caught.value.outcome is Outcome.UNKNOWN
    assert caught.value.attempts == faults.requests["UpdateItem"] == 2
    assert (await note(plain)).likes == 0


@pytest.mark.asyncio
async def test_a_failure_of_dynamodb_itself_stays_that_error_where_nothing_was_counted(faults, plain, faulty):
    faults.on("UpdateItem", times=1).fail()
    with pytest.raises(InternalServerError) as caught:
        await faulty.increment(Note, "a", Note.likes)
    assert caught.value.outcome_unknown
    assert (await note(plain)).likes == 0


@pytest.mark.asyncio
async def test_looking_for_an_item_that_does_not_exist_makes_none(faults, plain, faulty):
    faults.on("UpdateItem", times=1).reset()
    with pytest.raises(TransportError) as caught:
        await faulty.increment(Note, "new", Note.likes, upsert=True)
    assert "there is no item now" in caught.value.__notes__[0]
    assert await plain.find(Note, "new", consistent_read=True) is None


@pytest.mark.asyncio
async def test_a_look_is_tried_again_as_any_request(faults, plain, faulty):
    faults.on("UpdateItem", nth=1).lose_answer()
    faults.on("UpdateItem", nth=2).throttle()
    faults.on("UpdateItem", nth=3).reset()
    faults.on("UpdateItem", nth=4).lose_answer()
    assert await faulty.increment(Note, "a", Note.likes) == 1
    assert faults.requests["UpdateItem"] == 5


@pytest.mark.asyncio
async def test_a_write_that_was_refused_for_its_condition_alone_says_so(faults, plain, faulty):
    await plain.create(Note(id="new"))
    with pytest.raises(ConditionalCheckFailedError) as caught:
        await create(faulty)
    assert not caught.value.outcome_unknown
    assert not hasattr(caught.value, "__notes__")
    assert "Nothing was written" in str(caught.value)


@pytest.mark.asyncio
async def test_an_operation_executed_twice_has_two_ids(faults, plain, faulty):
    operation = Create(Note(id="new"))
    await faulty.execute(operation)
    faults.on("PutItem", times=1).reset()
    with pytest.raises(ConditionalCheckFailedError) as caught:
        await faulty.execute(operation)
    assert caught.value.outcome_unknown


@pytest.mark.asyncio
async def test_a_numbered_item_that_met_itself_keeps_its_number(faults, plain, faulty):
    faults.on("PutItem", times=1).lose_answer()
    ticket = await faulty.create(Ticket(title="a"))
    assert ticket == await plain.get(Ticket, ticket.number)
    assert await plain.scan(Ticket).count() == 1


async def in_transaction(session, *writes):
    await session.execute(TransactWrite(writes))


WRITES = {
    "put": lambda s, item: s.put(item),
    "conditional put": lambda s, item: s.put(item, where=Note.id.exists()),
    "replace": lambda s, item: s.replace(item),
    "save": lambda s, item: s.save(item.model_copy(update={"likes": item.likes + 1})),
    "put_many": lambda s, item: s.put_many([item, Note(id="other")]),
    "transaction put": lambda s, item: in_transaction(s, Put(item)),
    "transaction update": lambda s, item: in_transaction(s, Update(Note, "a").set(Note.text, "x")),
    "put exactly once": lambda s, item: s.execute(Put(item).exactly_once()),
    "update by key": lambda s, item: s.update(Note, "a").set(Note.text, "x"),
    "update of an instance": lambda s, item: s.update(item).add(Note.likes, 1),
    "upsert": lambda s, item: s.update(Note, "a").set(Note.text, "x").upsert(),
    "increment": lambda s, item: s.increment(Note, "a", Note.likes),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.asyncio
async def test_every_write_stores_an_id_of_its_own(plain, write):
    ids = [(await note(plain)).by]
    for _ in range(2):
        await write(plain, await note(plain))
        ids.append((await note(plain)).by)
    assert len(set(ids)) == 3
    assert all(len(each) == 22 for each in ids)


@pytest.mark.parametrize("write", ["put", "conditional put", "replace", "put_many", "transaction put"])
@pytest.mark.asyncio
async def test_an_instance_has_the_id_that_it_was_stored_with(plain, write):
    item = await note(plain)
    await WRITES[write](plain, item)
    assert item == await note(plain)
    requests = plain.statistics().requests
    await plain.save(item)  # nothing changed: the id is remembered too
    assert plain.statistics().requests == requests


@pytest.mark.asyncio
async def test_a_statement_leaves_the_id_as_it_is(plain):
    before = await note(plain)
    table = plain.table_name(Note)
    await plain.execute_statement(f'UPDATE "{table}" SET text = ? WHERE id = ?', ["x", "a"])
    assert await note(plain) == before.model_copy(update={"text": "x"})


@pytest.mark.asyncio
async def test_a_unique_value_is_kept_by_a_transaction_and_needs_no_id(faults, plain, faulty):
    await plain.create(User(id="u", mail="a"))
    stored = await plain.get(User, "u")
    stored.mail = "b"
    await faulty.save(stored)
    assert stored == await plain.get(User, "u")
    assert (await plain.get(User, "u")).by is not None


@pytest.mark.asyncio
async def test_retrying_on_conflicts_counts_each_edit_once_through_lost_answers(faults, plain, faulty):
    faults.on("UpdateItem", share=0.3).lose_answer()

    async def edit():
        item = await job(faulty)
        item.tries += 1
        await faulty.save(item)

    for _ in range(40):
        await faulty.retry_on_conflict(edit)
    assert faults.faulty["UpdateItem"] > 5
    item = await job(plain)
    assert (item.tries, item.version) == (40, 41)


@pytest.mark.asyncio
@pytest.mark.parametrize("engine", ["native"], indirect=True)  # moto takes one request at a time
async def test_200_creates_saves_and_counters_through_lost_answers_all_end_as_what_they_are(faults, plain, faulty):
    faults.on("PutItem", share=0.3).lose_answer()
    faults.on("UpdateItem", share=0.3).lose_answer()
    count = 200

    made = await faulty.gather(*(faulty.create(Note(id=f"n{number}")) for number in range(count)))
    for item in made:
        item.text = "saved"
    await faulty.gather(*(faulty.save(item, where=Note.text == "") for item in made))
    counted = await faulty.gather(*(faulty.increment(Note, "a", Note.likes) for _ in range(count)))

    assert min(faults.faulty.values()) > count / 5
    assert sorted(counted) == list(range(1, count + 1))
    stored = {item.id: item for item in await plain.scan(Note).consistent()}
    assert {item.id: item for item in made} == {name: item for name, item in stored.items() if name != "a"}
    assert stored["a"].likes == count


@pytest.mark.asyncio
async def test_200_creates_through_faults_of_every_kind_all_end_as_successes(engine, plain):
    faults, prefix = Faults.random(share=0.3, seed=7), plain._runner.context.tables.prefix
    async with faults.session(engine, table_prefix=prefix, retry=PATIENT, capacity=UNPACED) as session:
        made = [await session.create(Note(id=f"n{number}")) for number in range(200)]
    assert faults.faulty["PutItem"] > 50
    stored = [item for item in await plain.scan(Note).consistent() if item.id != "a"]
    assert sorted(made, key=lambda item: item.id) == sorted(stored, key=lambda item: item.id)


@pytest.mark.asyncio
async def test_a_counter_of_two_sessions_is_exact_or_says_that_it_is_not_known(engine, faults, plain, faulty):
    more = Faults(seed=15)
    faults.on("UpdateItem", share=0.3).lose_answer()
    more.on("UpdateItem", share=0.3).lose_answer()
    ends = Counter()

    async def count(session):
        try:
            await session.increment(Note, "a", Note.likes)
        except TransportError as error:
            ends[error.outcome] += 1
        else:
            ends["done"] += 1

    prefix = plain._runner.context.tables.prefix
    async with more.session(engine, table_prefix=prefix, retry=PATIENT, capacity=UNPACED) as other:
        await plain.gather(*(count(session) for _ in range(60) for session in (faulty, other)))
    # Each that is not known was counted here, for only answers were lost.
    assert ends.keys() <= {"done", Outcome.UNKNOWN}
    assert (await note(plain)).likes == ends.total() == 120
