"""Saving on real engines: only what changed is written, nothing that others wrote is lost, versions hold."""

import asyncio

import pytest
import pytest_asyncio

from dynamap_async import (
    Attr,
    Create,
    Delete,
    ExactlyOnce,
    Model,
    PartitionKey,
    Put,
    Save,
    Session,
    SortKey,
    Version,
    attr,
)
from dynamap_async.errors import (
    BatchError,
    ConditionalCheckFailedError,
    ItemExistsError,
    ItemNotFoundError,
    OperationError,
    TransactionCanceledError,
    VersionConflictError,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Place(Model):
    city: str = ""
    zip: str = ""


class Widerplace(Place):
    country: str = ""


class Profile(Model, table="profiles"):
    name: PartitionKey[str]
    born: SortKey[int]
    likes: Attr[int] = attr(default=0)
    nick: Attr[str | None] = attr(default=None)
    tags: Attr[set[str]] = attr(default_factory=set)
    place: Attr[Place] = attr(default_factory=Place)


class WiderProfile(Model, table="profiles"):
    name: PartitionKey[str]
    born: SortKey[int]
    likes: Attr[int] = attr(default=0)
    place: Attr[Widerplace] = attr(default_factory=Widerplace)
    motto: Attr[str] = attr(default="")


class Page(Model, table="pages"):
    name: PartitionKey[str]
    text: Attr[str] = attr(default="")
    edits: Attr[int] = attr(default=0)
    version: Version[int] = attr(default=0)


class Note(Model, table="pages"):
    name: PartitionKey[str]
    text: Attr[str] = attr(default="")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def session(engine):
    async with engine.session(table_prefix="saving-") as opened:
        await opened.tables.create(Profile, Page)
        yield opened


@pytest.fixture
def ada(request):
    return Profile(name=request.node.name, born=1815, tags={"a"}, place=Place(city="London", zip="W1"), nick="A")


async def _outcomes(writes):
    tasks = [asyncio.ensure_future(write) for write in writes]
    await asyncio.wait(tasks)
    return [task.exception() or task.result() for task in tasks]


async def test_saved_changes_are_what_is_read(session, ada):
    await session.put(ada)
    read = await session.get(Profile, ada.name, 1815)
    read.likes, read.nick, read.place.zip = 3, None, "W2"
    read.tags |= {"b"}

    assert await session.save(read) is read

    assert await session.get(Profile, ada.name, 1815) == read


async def test_writers_of_different_attributes_do_not_overwrite_each_other(session, ada):
    await session.put(ada)
    one, other = [await session.get(Profile, ada.name, 1815) for _ in range(2)]
    one.likes = 5
    other.nick = "B"

    await session.gather(session.save(one), session.save(other))

    found = await session.get(Profile, ada.name, 1815)
    assert (found.likes, found.nick) == (5, "B")


async def test_unknown_attributes_and_members_survive_a_save(session, request):
    await session.put(
        WiderProfile(name=request.node.name, born=1, motto="go", place=Widerplace(city="London", country="GB"))
    )
    narrow = await session.get(Profile, request.node.name, 1)
    narrow.place.city = "Leeds"
    await session.save(narrow)
    narrow.place.zip = "LS1"
    await session.save(narrow)

    found = await session.get(WiderProfile, request.node.name, 1)
    assert found.motto == "go"
    assert found.place == Widerplace(city="Leeds", country="GB", zip="LS1")


async def test_a_removed_value_is_removed_from_the_table(session, ada):
    await session.put(ada)
    ada.nick, ada.tags = None, set()
    await session.save(ada)
    assert await session.query(Profile).where(Profile.name == ada.name).where(Profile.nick.missing()).count() == 1


async def test_a_new_item_is_created_by_save(session, ada):
    await session.save(ada)
    assert await session.get(Profile, ada.name, 1815) == ada


async def test_saving_a_new_item_refuses_one_that_exists(session, ada):
    await session.put(ada.model_copy(deep=True))
    with pytest.raises(ItemExistsError) as caught:
        await session.save(ada)
    assert caught.value.item == ada


async def test_saving_an_item_that_was_deleted_says_so_and_resurrects_nothing(session, ada):
    await session.put(ada)
    await session.delete(Profile, ada.name, 1815)
    ada.likes = 1
    with pytest.raises(ItemNotFoundError) as caught:
        await session.save(ada)
    assert caught.value.key == {"name": ada.name, "born": 1815}
    assert await session.find(Profile, ada.name, 1815) is None


async def test_a_failed_condition_of_save_brings_the_stored_item(session, ada):
    await session.put(ada)
    ada.nick = "C"
    with pytest.raises(ConditionalCheckFailedError) as caught:
        await session.save(ada, where=Profile.likes > 5)
    assert caught.value.item is not None
    assert caught.value.item.nick == "A"


async def test_refresh_takes_over_the_stored_values_and_drops_unsaved_ones(session, ada):
    await session.put(ada)
    await session.put(ada.model_copy(update={"likes": 9}))
    ada.nick = "unsaved"

    assert await session.refresh(ada) is ada

    assert (ada.likes, ada.nick) == (9, "A")
    ada.likes = 10
    await session.save(ada)
    assert (await session.get(Profile, ada.name, 1815)).likes == 10


async def test_refreshing_an_item_that_is_gone_says_so(session, ada):
    with pytest.raises(ItemNotFoundError):
        await session.refresh(ada)


async def test_each_kind_of_write_counts_the_version(session, request):
    page = Page(name=request.node.name)
    await session.create(page)
    page.text = "put"
    await session.put(page)
    page.text = "saved"
    await session.save(page)
    assert page.version == 3
    assert (await session.get(Page, page.name)).version == 3


async def test_saving_a_version_that_was_replaced_conflicts_and_tells_both(session, request):
    page = await session.save(Page(name=request.node.name))
    mine, theirs = [await session.get(Page, page.name) for _ in range(2)]
    theirs.text = "theirs"
    await session.save(theirs)

    mine.text = "mine"
    with pytest.raises(VersionConflictError) as caught:
        await session.save(mine)

    assert (caught.value.expected, caught.value.stored, mine.version) == (1, 2, 1)
    assert caught.value.item == theirs
    assert caught.value.outcome_unknown is False


@pytest.mark.parametrize("operation", [Put, Delete])
async def test_writing_an_item_that_was_deleted_conflicts_with_no_version(session, request, operation):
    page = await session.create(Page(name=request.node.name + operation.__name__))
    await session.delete(Page, page.name)
    with pytest.raises(VersionConflictError) as caught:
        await session.execute(operation(page))
    assert (caught.value.expected, caught.value.stored, caught.value.item) == (1, None, None)


async def test_saving_a_versioned_item_that_was_deleted_says_so(session, request):
    page = await session.create(Page(name=request.node.name))
    await session.delete(page)
    page.text = "x"
    with pytest.raises(ItemNotFoundError):
        await session.save(page)


async def test_a_new_versioned_item_conflicts_with_one_that_exists(session, request):
    await session.save(Page(name=request.node.name))
    for write in (session.save, session.put):
        with pytest.raises(VersionConflictError) as caught:
            await write(Page(name=request.node.name))
        assert (caught.value.expected, caught.value.stored) == (0, 1)


@pytest.mark.parametrize("engine", ["native"], indirect=True)  # moto takes one request at a time
async def test_one_of_many_saves_from_one_read_wins(session, request):
    await session.save(Page(name=request.node.name))
    read = [await session.get(Page, request.node.name) for _ in range(200)]
    for number, page in enumerate(read):
        page.text = str(number)

    outcomes = await _outcomes(map(session.save, read))

    won = [page for page in outcomes if isinstance(page, Page)]
    assert len(won) == 1
    assert sum(isinstance(outcome, VersionConflictError) for outcome in outcomes) == 199
    assert await session.get(Page, request.node.name) == won[0]
    assert won[0].version == 2


async def test_one_of_many_creates_of_one_key_wins(session, request):
    pages = [Page(name=request.node.name, text=str(number)) for number in range(200)]
    outcomes = await _outcomes(map(session.save, pages))
    assert sum(isinstance(outcome, Page) for outcome in outcomes) == 1
    assert (await session.get(Page, request.node.name)).version == 1


@pytest.mark.parametrize("engine", ["native"], indirect=True)  # moto takes one request at a time
async def test_200_tasks_saving_one_item_with_retries_lose_no_change(session, request):
    await session.save(Page(name=request.node.name))

    async def edit():
        page = await session.get(Page, request.node.name, consistent_read=True)
        page.edits += 1
        return await session.save(page)

    await session.gather(*(session.retry_on_conflict(edit, attempts=5) for _ in range(200)))

    found = await session.get(Page, request.node.name)
    assert (found.edits, found.version) == (200, 201)


async def test_an_item_that_others_wrote_without_a_version_can_be_saved_once_by_one(session, request):
    await session.put(Note(name=request.node.name, text="old"))
    first, second = [await session.get(Page, request.node.name) for _ in range(2)]
    first.text, second.text = "first", "second"
    await session.save(first)
    assert first.version == 1
    with pytest.raises(ConditionalCheckFailedError):
        await session.save(second)


async def test_replace_ignores_the_version_and_sets_it_past_the_stored_one(session, request):
    page = await session.save(Page(name=request.node.name, text="old"))
    for text in "abc":
        page.text = text
        await session.save(page)

    mine = await session.replace(Page(name=request.node.name, text="mine"))

    assert mine.version == 5
    mine.text = "more"
    await session.save(mine)
    found = await session.get(Page, request.node.name)
    assert (found.text, found.version) == ("more", 6)
    page.text = "late"
    with pytest.raises(VersionConflictError):
        await session.save(page)


async def test_replace_creates_what_is_not_there(session, request):
    assert (await session.replace(Page(name=request.node.name))).version == 1
    await session.replace(Profile(name=request.node.name, born=1, likes=3))
    assert (await session.get(Profile, request.node.name, 1)).likes == 3


async def test_versions_are_checked_and_counted_in_transactions(session, request):
    page = await session.save(Page(name=request.node.name))
    stale = await session.get(Page, page.name)
    page.text = "first"
    async with session.transaction() as tx:
        tx.add(Save(page))
        tx.put(Page(name=request.node.name + "-other"))
    assert page.version == 2

    stale.text = "second"
    with pytest.raises(TransactionCanceledError) as caught:
        await session.transact_write([Save(stale), Create(Page(name=request.node.name + "-third"))])

    [failure] = caught.value.failures
    assert isinstance(failure.error, VersionConflictError)
    assert (failure.error.expected, failure.error.stored, stale.version) == (1, 2, 1)
    assert await session.find(Page, request.node.name + "-third") is None


async def test_an_unchanged_item_saved_in_a_transaction_is_only_checked(session, request):
    page = await session.save(Page(name=request.node.name))
    await session.transact_write([Save(page), Put(Note(name=request.node.name + "-note"))])
    assert page.version == 1
    await session.put(await session.get(Page, page.name))
    with pytest.raises(TransactionCanceledError):
        await session.transact_write([Save(page), Put(Note(name=request.node.name + "-again"))])


async def test_retries_work_around_transactions(session, request):
    page = await session.save(Page(name=request.node.name))

    async def edit():
        found = await session.get(Page, page.name, consistent_read=True)
        found.edits += 1
        async with session.transaction() as tx:
            tx.add(Save(found))

    await session.gather(*(session.retry_on_conflict(edit, attempts=5) for _ in range(8)))
    assert (await session.get(Page, page.name)).edits == 8


async def test_a_change_that_is_saved_exactly_once_is_written_once(session, request):
    page = await session.save(Page(name=request.node.name))
    page.text = "once"
    await session.execute(ExactlyOnce(Save(page)))
    assert (await session.get(Page, page.name)) == page
    assert page.version == 2


async def test_many_versioned_items_are_each_checked(session: Session, request):
    pages = [Page(name=f"{request.node.name}-{number}") for number in range(30)]
    assert await session.put_many(pages) == 30
    assert {page.version for page in pages} == {1}
    await session.put(await session.get(Page, pages[7].name))

    with pytest.raises(BatchError) as caught:
        await session.put_many(pages)

    [failure] = caught.value.failures
    assert failure.subject is pages[7]
    assert isinstance(failure.error, VersionConflictError)
    assert [page.version for page in pages] == [2] * 7 + [1] + [2] * 22
    with pytest.raises(BatchError) as caught:
        await session.delete_many(pages)
    assert [each.subject for each in caught.value.failures] == [pages[7]]
    assert [page is not None for page in await session.get_many(Page, [page.name for page in pages])].count(True) == 1


async def test_a_write_by_key_checks_no_version(session, request):
    page = await session.save(Page(name=request.node.name))
    page.text = "x"
    await session.save(page)
    await session.delete(Page, page.name)
    assert await session.find(Page, page.name) is None


async def test_a_changed_key_is_refused_with_the_remedy(session, ada):
    await session.put(ada)
    ada.born = 1816
    with pytest.raises(OperationError, match=r"tx.create\(Profile"):
        await session.save(ada)
