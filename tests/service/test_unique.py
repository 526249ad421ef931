"""Unique values on real engines: one owner for each, and after every call exactly the guards of what is stored."""

import asyncio
from collections import Counter
from random import Random
from uuid import uuid4

import pytest
import pytest_asyncio

from dynamap_async import (
    Attr,
    CapacityPolicy,
    ExactlyOnce,
    Model,
    PartitionKey,
    RetryPolicy,
    SortKey,
    Unique,
    Version,
    attr,
)
from dynamap_async.errors import (
    BatchError,
    ConditionalCheckFailedError,
    DynamapError,
    ItemNotFoundError,
    OperationError,
    OutOfRangeError,
    TransactionCanceledError,
    UniqueViolationError,
    VersionConflictError,
)
from dynamap_async.models import definition_of
from dynamap_async.operations import Save
from dynamap_async.operations.library_table import OwnItem
from dynamap_async.testing.faults import Faults

pytestmark = pytest.mark.asyncio
PATIENT = RetryPolicy(max_attempts=20, base_delay_seconds=0.001, max_delay_seconds=0.01, budget=10_000)
UNPACED = CapacityPolicy(enabled=False)  # refusals come at random here, whatever the rate


class User(Model, table="users"):
    id: PartitionKey[str]
    at: SortKey[int] = attr(default=1)
    email: Attr[str | None] = attr(default=None, name="e")
    tenant: Attr[str] = attr(default="acme")
    nick: Attr[str | None] = attr(default=None)
    likes: Attr[int] = attr(default=0)

    by_email = Unique("email")
    by_nick = Unique("tenant", "nick")


class Page(Model, table="pages"):
    id: PartitionKey[int] = attr(autoincrement=True)
    slug: Attr[str]
    version: Version[int] = attr(default=0)

    by_slug = Unique("slug")


@pytest.fixture
def prefix():
    return f"t{uuid4().hex[:12]}-"


@pytest_asyncio.fixture
async def users(engine, prefix):
    """A session that no fault reaches, with the tables."""
    async with engine.session(table_prefix=prefix) as opened:
        await opened.tables.create(User, Page)
        yield opened


async def stored_guards(session):
    return Counter([item.pk async for item in session.scan(OwnItem) if item.pk.startswith("unique#")])


async def wanted_guards(session):
    """The guards of what is stored."""
    wanted = Counter()
    for model in (User, Page):
        definition = definition_of(model)
        async for item in session.scan(model):
            stored = definition.items.encode(item)
            wanted.update(filter(None, (constraint.guard(stored) for constraint in definition.uniques)))
    return wanted


@pytest_asyncio.fixture(autouse=True)
async def exact_guards(users):
    yield
    assert await stored_guards(users) == await wanted_guards(users)


async def taken_by_ann(session):
    return await session.create(User(id="ann", email="ann@x", nick="a"))


async def test_a_value_has_one_owner_and_the_error_names_model_field_value_and_owner(users):
    await taken_by_ann(users)
    with pytest.raises(UniqueViolationError) as refused:
        await users.create(User(id="bob", email="ann@x"))
    error = refused.value
    assert (error.model, error.constraint, error.fields) == ("User", "by_email", ("email",))
    assert (error.values, error.owner) == ({"email": "ann@x"}, {"id": "ann", "at": 1})
    assert "User.by_email: email='ann@x' is taken by the item with id='ann', at=1" in str(error)
    assert await users.find(User, "bob", 1) is None


async def test_of_several_fields_the_combination_is_unique(users):
    await taken_by_ann(users)
    await users.create(User(id="bob", tenant="other", nick="a"))
    with pytest.raises(UniqueViolationError, match="tenant='acme', nick='a' is taken"):
        await users.create(User(id="eve", nick="a"))


async def test_any_number_of_items_have_none(users):
    for name in ("ann", "bob"):
        await users.create(User(id=name))
    assert await stored_guards(users) == Counter()


async def test_creating_an_item_that_exists_is_the_usual_error_and_keeps_its_guards(users):
    ann = await taken_by_ann(users)
    with pytest.raises(ConditionalCheckFailedError) as refused:
        await users.create(User(id="ann", email="new@x"))
    assert refused.value.item == ann


async def change_email(session):
    ann = await session.get(User, "ann", 1)
    ann.email = "new@x"
    await session.save(ann)


async def forget_email(session):
    ann = await session.get(User, "ann", 1)
    ann.email = None
    await session.save(ann)


async def save_after_another_writer(session):
    ann = await session.get(User, "ann", 1)
    other = await session.get(User, "ann", 1)
    other.email = "other@x"
    await session.save(other)
    ann.email = "new@x"
    await session.save(ann)


async def change_half_of_a_pair_after_another_writer(session):
    ann = await session.get(User, "ann", 1)
    other = await session.get(User, "ann", 1)
    other.nick = "b"
    await session.save(other)
    ann.tenant = "new"
    await session.save(ann)


async def delete_a_stale_item(session):
    ann = await session.get(User, "ann", 1)
    await change_email(session)
    await session.delete(ann)


async def delete_twice(session):
    ann = await session.get(User, "ann", 1)
    await session.delete(ann)
    await session.delete(ann)


async def delete_and_give_away(session):
    await session.delete(await session.get(User, "ann", 1))
    await session.create(User(id="bob", email="ann@x", nick="a"))


async def in_a_transaction(session):
    ann = await session.get(User, "ann", 1)
    ann.email = "new@x"
    async with session.transaction() as tx:
        tx.save(ann)
        tx.create(User(id="bob", email="bob@x"))
        tx.update(User, "eve", 1).set(User.email, "eve@x").upsert().read_first()
        tx.put(User(id="joe", email="joe@x"), read_first=True)
        tx.create(Page(slug="first"))


async def exactly_once(session):
    ann = await session.get(User, "ann", 1)
    ann.email = "new@x"
    await session.execute(ExactlyOnce(Save(ann)))


WRITES = [
    (change_email, {"ann": ("new@x", "a")}),
    (forget_email, {"ann": (None, "a")}),
    (save_after_another_writer, {"ann": ("new@x", "a")}),
    (change_half_of_a_pair_after_another_writer, {"ann": ("ann@x", "b")}),
    (delete_a_stale_item, {}),
    (delete_twice, {}),
    (delete_and_give_away, {"bob": ("ann@x", "a")}),
    (in_a_transaction, {"ann": ("new@x", "a"), "bob": ("bob@x", None), "eve": ("eve@x", None), "joe": ("joe@x", None)}),
    (exactly_once, {"ann": ("new@x", "a")}),
    (lambda session: session.put(User(id="ann", email="new@x"), read_first=True), {"ann": ("new@x", None)}),
    (lambda session: session.put(User(id="bob", email="bob@x"), read_first=True), {"ann": 0, "bob": ("bob@x", None)}),
    (lambda session: session.replace(User(id="ann", email="new@x"), read_first=True), {"ann": ("new@x", None)}),
    (lambda session: session.delete(User, "ann", 1, read_first=True), {}),
    (lambda session: session.delete(User, "bob", 1, read_first=True), {"ann": 0}),
    (lambda session: session.update(User, "ann", 1).set(User.nick, "z").read_first(), {"ann": ("ann@x", "z")}),
    (lambda session: session.update(User, "ann", 1).remove(User.email).read_first(), {"ann": (None, "a")}),
    (lambda session: session.update(User, "ann", 1).set(User.likes, 5), {"ann": 0}),
    (
        lambda session: session.update(User, "ann", 1).set(User.email, User.email.if_not_exists("no@x")).read_first(),
        {"ann": 0},
    ),
    (
        lambda session: session.put_many([User(id="ann"), User(id="ann", nick="2")], read_first=True),
        {"ann": (None, "2")},
    ),
    (lambda session: session.delete_many(User, [("ann", 1), ("bob", 1)], read_first=True), {}),
]


@pytest.mark.parametrize(("write", "left"), WRITES)
async def test_each_write_leaves_exactly_the_guards_of_what_is_stored(users, write, left):
    await taken_by_ann(users)
    await write(users)
    found = {user.id: (user.email, user.nick) async for user in users.scan(User)}
    assert found == {name: values or ("ann@x", "a") for name, values in left.items()}


async def save_a_taken_email(session):
    bob = await session.create(User(id="bob", email="bob@x"))
    bob.email = "ann@x"
    await session.save(bob)


async def put_a_taken_email_in_a_batch(session):
    try:
        await session.put_many([User(id="bob", email="ann@x"), User(id="eve", email="eve@x")], read_first=True)
    except BatchError as error:
        [failure] = error.failures
        assert failure.position == 0
        raise failure.error from None


async def create_in_a_transaction(session):
    try:
        async with session.transaction() as tx:
            tx.create(Page(slug="first"))
            tx.create(User(id="bob", email="ann@x"))
    except TransactionCanceledError as error:
        [reason] = error.failures
        told = "email='ann@x' is taken" in str(error)
        raise reason.error if told else error from None


@pytest.mark.parametrize(
    "write",
    [
        save_a_taken_email,
        put_a_taken_email_in_a_batch,
        create_in_a_transaction,
        lambda session: session.save(User(id="bob", email="ann@x")),
        lambda session: session.put(User(id="bob", email="ann@x"), read_first=True),
        lambda session: session.update(User, "bob", 1).set(User.email, "ann@x").upsert().read_first(),
        lambda session: session.execute(ExactlyOnce(Save(User(id="bob", email="ann@x")))),
    ],
)
async def test_each_write_is_refused_a_value_that_another_item_has(users, write):
    await taken_by_ann(users)
    with pytest.raises(UniqueViolationError, match="email='ann@x' is taken"):
        await write(users)
    assert await users.find(User, "eve", 1) is None or write is put_a_taken_email_in_a_batch


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda session: session.put(User(id="ann")), "write put(..., read_first=True) to read them first"),
        (lambda session: session.replace(User(id="ann")), "write replace(..., read_first=True) to read them first"),
        (lambda session: session.delete(User, "ann", 1), "write delete(..., read_first=True)"),
        (lambda session: session.delete(User(id="ann")), "write delete(..., read_first=True)"),
        (
            lambda session: session.update(User, "ann", 1).set(User.email, "b"),
            "write .read_first() to read them first",
        ),
        (
            lambda session: session.update(User, "ann", 1).set(User.email, User.nick).read_first(),
            "User.email is unique, so the update needs its value",
        ),
        (
            lambda session: session.update(User, "ann", 1).remove(User.email).read_first().returning("old"),
            "is a transaction, which returns nothing",
        ),
    ],
)
async def test_a_write_that_cannot_know_the_old_value_is_refused_before_anything_is_sent(users, write, message):
    await taken_by_ann(users)
    with pytest.raises(OperationError) as refused:
        await write(users)
    assert message in str(refused.value)


async def test_an_update_gives_back_the_item_and_moves_the_instance_on(users):
    ann = await taken_by_ann(users)
    assert await users.update(User, "ann", 1).set(User.nick, "b").read_first() == User(
        id="ann", email="ann@x", nick="b"
    )
    assert await users.update(ann).set(User.email, "new@x") is ann
    assert (ann.email, ann.nick) == ("new@x", "b")
    with pytest.raises(ItemNotFoundError):
        await users.update(User, "bob", 1).set(User.email, "b").read_first()


async def test_items_from_before_the_constraint_are_claimed_by_putting_them(users):
    class Older(Model, table="users"):
        id: PartitionKey[str]
        at: SortKey[int] = attr(default=1)
        email: Attr[str] = attr(name="e")

    await users.put_many([Older(id="ann", email="ann@x"), Older(id="bob", email="ann@x")])
    await users.put(await users.get(User, "ann", 1), read_first=True)
    bob = await users.get(User, "bob", 1)
    with pytest.raises(UniqueViolationError):
        await users.put(bob, read_first=True)
    bob.email = "bob@x"
    await users.save(bob)  # the guard of its old value is ann's, and stays


async def test_versions_and_numbers_work_with_unique_values(users):
    page = await users.save(Page(slug="a"))
    assert (page.id, page.version) == (1, 1)
    stale = await users.get(Page, 1)
    page.slug = "b"
    await users.save(page)
    stale.slug = "c"
    with pytest.raises(VersionConflictError):
        await users.save(stale)
    with pytest.raises(VersionConflictError):
        await users.delete(stale)
    assert (page.version, stale.version) == (2, 1)
    await users.delete(page)


async def test_the_limit_of_a_transaction_counts_the_guards(users):
    with pytest.raises(OutOfRangeError, match="100 actions, and this one has 102"):
        await users.transact_write([*map(Save, [User(id=str(n), email=f"{n}@x") for n in range(51)])])


async def test_of_200_tasks_that_create_the_same_value_exactly_one_wins(users):
    async def claim(number):
        try:
            return await users.create(User(id=str(number), email="same@x"))
        except UniqueViolationError:
            return None

    won = [user for user in await users.gather(*map(claim, range(200))) if user is not None]
    assert len(won) == 1
    assert [user async for user in users.scan(User)] == won


async def test_writers_that_change_one_item_at_once_leave_one_value(users):
    await taken_by_ann(users)

    async def change(number):
        ann = await users.get(User, "ann", 1)
        ann.email = f"{number}@x"
        try:
            await users.save(ann)
        except ConditionalCheckFailedError:
            await asyncio.sleep(0)

    await users.gather(*map(change, range(20)))


@pytest.mark.parametrize(
    "script",
    [
        lambda rule: rule.throttle(),
        lambda rule: rule.reset(),
        lambda rule: rule.lose_answer(),
        lambda rule: rule.fail(applied=True),
    ],
)
async def test_faults_leave_neither_orphaned_nor_missing_guards(engine, prefix, users, script):
    faults = Faults()
    script(faults.on("TransactWriteItems", times=2))
    async with faults.session(engine, table_prefix=prefix, retry=PATIENT, capacity=UNPACED) as session:
        ann = await taken_by_ann(session)
        ann.email = "new@x"
        await session.save(ann)
    assert await users.get(User, "ann", 1) == ann


async def test_two_items_cannot_exchange_their_values_in_one_transaction(users):
    ann = await taken_by_ann(users)
    bob = await users.create(User(id="bob", email="bob@x"))
    ann.email, bob.email = bob.email, ann.email
    with pytest.raises(OutOfRangeError, match="combine them into one action"):
        await users.transact_write([Save(ann), Save(bob)])


async def do_anything(session, random):
    name, email = random.choice("abcd"), random.choice([None, "1@x", "2@x", "3@x"])
    item = User(id=name, email=email, nick=random.choice([None, "n"]))
    match random.randrange(6):
        case 0:
            await session.create(item)
        case 1:
            await session.put(item, read_first=True)
        case 2:
            found = await session.get(User, name, 1)
            found.email = email
            await session.save(found)
        case 3:
            await session.delete(await session.get(User, name, 1))
        case 4:
            await session.update(User, name, 1).set(User.email, email).upsert().read_first()
        case _:
            async with session.transaction() as tx:
                tx.delete(User, name, 1, read_first=True)
                tx.put(User(id="e", email=email), read_first=True)


@pytest.mark.parametrize("seed", range(3))
async def test_any_writes_at_once_through_a_faulty_network_leave_exactly_the_guards(engine, prefix, users, seed):
    faults, random, done = Faults.random(share=0.2, seed=seed), Random(seed), Counter()

    async def work(session):
        for _ in range(15):
            try:
                await do_anything(session, random)
            except DynamapError as error:
                done[type(error)] += 1
            else:
                done["well"] += 1

    async with faults.session(engine, table_prefix=prefix, retry=PATIENT, capacity=UNPACED) as session:
        await session.gather(*(work(session) for _ in range(8)))
    assert done["well"] > 10
    assert done[UniqueViolationError] > 10
