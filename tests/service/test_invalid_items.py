"""Items that do not fit their model: they are not written, and reads can leave out, or collect, what others wrote."""

from typing import Annotated, Any

import httpx
import pytest
from fastapi import FastAPI
from pydantic import AfterValidator, BaseModel, Field
from pydantic_core import PydanticOmit

from dynamap_async import (
    KEYS_ONLY,
    Attr,
    Collection,
    GlobalIndex,
    InvalidItem,
    InvalidItemsSkipped,
    Model,
    PartitionKey,
    Put,
    Query,
    SortKey,
    StoredForm,
    Table,
    after_read,
    attr,
)
from dynamap_async.errors import BatchError, ConditionalCheckFailedError, EncodeError, ItemValidationError
from dynamap_async.integrations.fastapi import add_error_handlers

pytestmark = pytest.mark.asyncio

Text = Annotated[str, Field(min_length=1)]


class Loose(Model, table="notes"):
    author: PartitionKey[str]
    number: SortKey[int]
    title: Attr[str] = attr(default="t")
    colour: Attr[str] = attr(default="red")


class Note(Model, table="notes"):
    author: PartitionKey[str]
    number: SortKey[int]
    title: Attr[Text] = attr(default="t")
    colour: Attr[str] = attr(default="red")

    by_colour = GlobalIndex(partition_key="colour", sort_key="number", projection=KEYS_ONLY)


class Card(Model):
    title: Attr[Text]


class MuteError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


REFUSED = [KeyError("word"), ZeroDivisionError("none"), RuntimeError("odd"), OSError("no file"), TypeError("type")]


def checked(title: str) -> str:
    """Return a title; a digit raises what Pydantic lets through."""
    if title.isdigit():
        raise REFUSED[int(title)]
    return title


class Validated(Model, table="notes"):
    author: PartitionKey[str]
    number: SortKey[int]
    title: Attr[Annotated[str, AfterValidator(checked)]] = attr(default="t")


class AfterInit(Model, table="notes"):
    author: PartitionKey[str]
    number: SortKey[int]
    title: Attr[str] = attr(default="t")

    def model_post_init(self, _context: Any) -> None:
        checked(self.title)


class InForm(Model, table="notes"):
    author: PartitionKey[str]
    number: SortKey[int]
    title: Attr[str] = attr(default="t", stored_as=StoredForm(name="checked", tag="S", encode=str, decode=checked))


class Part(BaseModel):
    title: Annotated[str, AfterValidator(checked)]


async def stored(session: Any, *titles: str) -> None:
    """Store notes of these titles, past their model."""
    await session.tables.create(Note)
    await session.put_many([Loose(author="ada", number=n, title=title) for n, title in enumerate(titles)])


def numbers(items: Any) -> list[int]:
    return [item.number for item in items]


NOTES = Query(Note).where(Note.author == "ada")


# --- writing -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", ["put", "create", "save", "replace"])
async def test_what_could_not_be_read_is_not_sent(session, write):
    await stored(session)
    note = Note(author="ada", number=1)
    note.title = ""
    before = session.statistics().requests
    with pytest.raises(EncodeError, match=r"Note\.title"):
        await getattr(session, write)(note)
    assert session.statistics().requests == before


async def test_in_a_bulk_load_it_fails_alone(session):
    await stored(session)
    notes = [Note(author="ada", number=number) for number in range(3)]
    notes[1].title = ""
    with pytest.raises(BatchError) as caught:
        await session.put_many(notes)
    assert [(each.position, type(each.error)) for each in caught.value.failures] == [(1, EncodeError)]
    assert numbers(await session.execute(NOTES)) == [0, 2]


async def test_in_a_batch_its_own_caller_gets_the_error(session):
    await stored(session)
    bad = Note(author="ada", number=1).model_copy(update={"title": ""})
    async with session.batch() as batch:
        await batch.put(Note(author="ada", number=0))
        with pytest.raises(EncodeError):
            await batch.put(bad)
    assert numbers(await session.execute(NOTES)) == [0]


async def test_it_ends_a_transaction_before_it_is_sent(session):
    await stored(session)
    bad = Note(author="ada", number=1)
    bad.title = ""
    with pytest.raises(EncodeError):
        await session.transact_write([*map(Put, [Note(author="ada", number=0), bad])])
    assert await session.execute(NOTES) == []


async def test_a_saved_instance_that_failed_can_be_saved_later(session):
    await stored(session, "a")
    note = await session.get(Note, "ada", 0)
    note.title = ""
    with pytest.raises(EncodeError):
        await session.save(note)
    note.title = "b"
    await session.save(note)
    assert (await session.get(Note, "ada", 0)).title == "b"


async def test_a_refreshed_instance_counts_as_validated(session):
    await stored(session, "a")
    note = await session.get(Note, "ada", 0)
    note.title = ""
    await session.refresh(note)
    await session.put(note)
    assert note.title == "a"


async def test_a_web_client_whose_value_does_not_fit_is_answered_422(session):
    await stored(session, "a")
    app = FastAPI()
    add_error_handlers(app)

    @app.patch("/notes/{number}")
    async def change(number: int, body: dict[str, Any]) -> Note:
        note = await session.get(Note, "ada", number)
        for name, value in body.items():
            setattr(note, name, value)
        return await session.save(note)

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as client:
        answer = await client.patch("/notes/0", json={"title": ""})
        assert (answer.status_code, answer.json()["path"]) == (422, ["title"])
        answer = await client.patch("/notes/0", json={"title": "b"})
        assert (answer.status_code, answer.json()["title"]) == (200, "b")


# --- the error of a page -----------------------------------------------------------------------------------------


async def test_the_error_of_a_page_names_each_key(session):
    await stored(session, "a", "", "b", "", "")
    with pytest.raises(ItemValidationError) as caught:
        await session.execute(NOTES)
    assert str(caught.value) == (
        "the stored item {'author': 'ada', 'number': 1} does not fit Note: title: String should have at least 1 "
        "character; nor do {'author': 'ada', 'number': 3}, {'author': 'ada', 'number': 4}"
    )
    assert numbers(caught.value.items) == [0, 2]


async def test_the_error_of_many_items_is_short_and_counts_the_rest(session):
    await stored(session, *[""] * 300)
    with pytest.raises(ItemValidationError, match=r"\} and 2\d\d more$") as caught:
        await session.execute(NOTES)
    assert len(str(caught.value)) < 2_500
    assert len(caught.value.failures) == 300


# --- skipping ----------------------------------------------------------------------------------------------------


async def test_invalid_items_can_be_skipped(session):
    await stored(session, "a", "", "b")
    assert numbers(await session.execute(NOTES.invalid("skip"))) == [0, 2]
    assert numbers(await session.scan(Note).invalid("skip")) == [0, 2]
    assert numbers([note async for note in session.query(Note).where(Note.author == "ada").invalid("skip")]) == [0, 2]


async def test_a_limit_counts_what_is_given_out(session):
    await stored(session, "", "", "a", "", "b", "c", "")
    query = session.query(Note).where(Note.author == "ada").invalid("skip")
    assert numbers(await query.limit(2)) == [2, 4]
    assert numbers([note async for note in query.limit(3)]) == [2, 4, 5]
    assert numbers(await query.limit(9)) == [2, 4, 5]
    assert (await query.first()).number == 2
    assert (await query.descending().first()).number == 5


async def test_pages_are_full_and_cursors_miss_nothing(session):
    await stored(session, "", "a", "", "b", "c", "", "d", "")
    query = session.query(Note).where(Note.author == "ada").invalid("skip")
    found, cursor = [], None
    while True:
        page = await query.page(size=2, after=cursor)
        found.append(numbers(page.items))
        cursor = page.cursor
        if cursor is None:
            break
    assert [each for each in found if each] == [[1, 3], [4, 6]]


async def test_a_query_whose_items_are_all_invalid_is_empty(session):
    await stored(session, "", "")
    query = session.query(Note).where(Note.author == "ada").invalid("skip")
    assert await query == []
    assert await query.first() is None
    assert [note async for note in query] == []


class LooseVisit(Model, table="visits"):
    place: PartitionKey[str] = attr(shards=3)
    number: SortKey[int]
    title: Attr[str] = attr(default="t")


class Visit(Model, table="visits"):
    place: PartitionKey[str] = attr(shards=3)
    number: SortKey[int]
    title: Attr[Text] = attr(default="t")


async def test_merged_queries_skip_and_keep_their_limits(session):
    await session.tables.create(Visit)
    await session.put_many([LooseVisit(place="a", number=n, title="t" if n % 3 else "") for n in range(12)])
    query = session.query(Visit).where(Visit.place == "a").invalid("skip")
    assert numbers(await query) == [1, 2, 4, 5, 7, 8, 10, 11]
    assert numbers(await query.limit(3)) == [1, 2, 4]
    first = await query.page(size=3)
    rest = await query.page(size=9, after=first.cursor)
    assert (numbers(first.items), numbers(rest.items)) == ([1, 2, 4], [5, 7, 8, 10, 11])


async def test_completed_items_are_skipped_and_replaced(session):
    await stored(session, "", "a", "", "b", "c")
    query = session.query(Note).where(Note.colour == "red").index(Note.by_colour).invalid("skip")
    assert numbers(await query.limit(2)) == [1, 3]
    assert numbers([note async for note in query]) == [1, 3, 4]


async def test_cards_and_tuples_are_skipped_too(session):
    await stored(session, "", "a")
    notes = session.query(Note).where(Note.author == "ada")
    assert [card.title for card in await notes.into(Card).invalid("skip")] == ["a"]
    await session.put(Loose(author="ada", number=2, title="b", colour="x"))
    assert await notes.select(Note.number).invalid("skip") == [(0,), (1,), (2,)]


async def test_a_scan_in_segments_resumes_behind_what_was_given_out(session):
    await stored(session, *["", "a", "b", "", "c", "", "d", "e", ""] * 3)
    whole = sorted(numbers(await session.scan(Note).invalid("skip")))
    for taken in range(len(whole) + 1):
        scan, given = session.scan(Note).segments(2).page_size(5).invalid("skip"), []
        async with scan.stream() as notes:
            given += numbers([await anext(notes) for _ in range(taken)])
            checkpoint = notes.checkpoint()
        given += numbers([note async for note in scan.resume(checkpoint)])
        assert sorted(given) == whole


async def test_a_count_counts_what_is_stored(session):
    await stored(session, "a", "", "b")
    assert await session.query(Note).where(Note.author == "ada").invalid("skip").count() == 3


async def test_a_query_that_skips_is_planned_apart_from_one_that_does_not(session):
    await stored(session, "a", "")
    assert numbers(await session.execute(NOTES.invalid("skip"))) == [0]
    with pytest.raises(ItemValidationError):
        await session.execute(NOTES)
    assert numbers(await session.execute(NOTES.invalid("skip"))) == [0]
    with pytest.raises(ItemValidationError):
        await session.execute(NOTES.invalid("skip").invalid("error"))


async def test_observers_are_told_the_keys_of_skipped_items(engine):
    told: list[Any] = []
    async with engine.session(observer=told.append, table_prefix="told-") as session:
        await stored(session, "a", "", "b", "")
        await session.execute(NOTES.invalid("skip"))
        await session.execute(NOTES.invalid("raw"))
        [event] = [each for each in told if isinstance(each, InvalidItemsSkipped)]
        await session.tables.delete(Note)
    assert event.table == "told-notes"
    assert event.index is None
    assert event.models == ("Note", "Note")
    assert event.keys == ({"author": "ada", "number": 1}, {"author": "ada", "number": 3})
    assert "ada" not in repr(event)


class Heard(Model, table="notes"):
    author: PartitionKey[str]
    number: SortKey[int]
    title: Attr[Text] = attr(default="t")

    @after_read
    def hear(self) -> None:
        heard.append(self.number)


heard: list[int] = []


@pytest.mark.parametrize("become", ["skip", "raw"])
async def test_hooks_run_on_items_that_fit(session, become):
    await stored(session, "a", "", "b")
    heard.clear()
    query = session.query(Heard).where(Heard.author == "ada").invalid(become)
    await query
    _ = [each async for each in query]
    assert heard == [0, 2, 0, 2]


# --- collecting --------------------------------------------------------------------------------------------------


async def test_invalid_items_can_be_collected_in_their_places(session):
    await stored(session, "a", "", "b")
    first, invalid, last = await session.execute(NOTES.invalid("raw"))
    assert isinstance(invalid, InvalidItem)
    assert (first.number, last.number) == (0, 2)
    assert invalid.key == {"author": "ada", "number": 1}
    assert invalid.wire_item["title"] == {"S": ""}
    assert isinstance(invalid.error, ItemValidationError)


async def test_collected_items_count_for_limits(session):
    await stored(session, "", "a")
    [invalid] = await session.execute(NOTES.invalid("raw").limit(1))
    assert isinstance(invalid, InvalidItem)


SHOP = Table("shop", partition_key="pk", sort_key="sk")


class Customer(Model, table=SHOP, kind="customer"):
    pk: PartitionKey[str]
    sk: SortKey[str]
    name: Attr[Text] = attr(default="n")


class LooseCustomer(Model, table="shop"):
    pk: PartitionKey[str]
    sk: SortKey[str]
    name: Attr[str] = attr(default="")
    kind: Attr[str] = attr(default="customer")


class Order(Model, table=SHOP, kind="order"):
    pk: PartitionKey[str]
    sk: SortKey[str]


async def test_entity_collections_skip_and_collect_too(session):
    await session.tables.create(SHOP)
    await session.put_many([Customer(pk="a", sk="1"), LooseCustomer(pk="a", sk="2"), Order(pk="a", sk="3")])
    query = session.query(Customer, Order).where(Customer.pk == "a")
    with pytest.raises(ItemValidationError):
        await query
    assert [each.sk for each in await query.invalid("skip")] == ["1", "3"]
    assert isinstance((await query.invalid("raw"))[1], InvalidItem)
    unbound = Collection(Customer, Order).where(Customer.pk == "a").invalid("skip")
    assert [each.sk for each in await session.execute(unbound)] == ["1", "3"]


# --- validators that raise what Pydantic lets through ----------------------------------------------------------------


@pytest.mark.parametrize("model", [Validated, AfterInit, InForm])
@pytest.mark.parametrize("number", range(len(REFUSED)), ids=lambda number: type(REFUSED[number]).__name__)
async def test_an_item_whose_validator_raises_anything_is_one_that_does_not_fit(session, model, number):
    await stored(session, "first", str(number), "last")
    with pytest.raises(ItemValidationError, match=str(REFUSED[number])) as caught:
        await session.query(model).where(model.author == "ada")
    assert caught.value.key == {"author": "ada", "number": 1}
    assert numbers(caught.value.items) == [0, 2]
    ada = session.query(model).where(model.author == "ada")
    assert numbers(await ada.invalid("skip")) == [0, 2]
    assert numbers([item async for item in ada.invalid("skip")]) == [0, 2]
    _, invalid, _ = await ada.invalid("raw")
    assert (type(invalid), invalid.key["number"]) == (InvalidItem, 1)
    with pytest.raises(ItemValidationError, match="does not fit"):
        await session.get(model, "ada", 1)


@pytest.mark.parametrize("error", [MuteError(), PydanticOmit()], ids=lambda error: type(error).__name__)
async def test_an_error_that_says_nothing_hides_no_item(session, monkeypatch, error):
    monkeypatch.setattr(f"{__name__}.REFUSED", [error])
    await stored(session, "first", "0", "last")
    ada = session.query(AfterInit).where(AfterInit.author == "ada")
    with pytest.raises(ItemValidationError, match="MuteError|Omit error") as caught:
        await ada
    assert caught.value.key == {"author": "ada", "number": 1}
    found = await ada.invalid("skip")
    assert numbers(found) == [0, 2]
    found[1].title = "changed"
    await session.save(found[1])
    assert (await session.get(AfterInit, "ada", 2)).title == "changed"


@pytest.mark.parametrize("number", range(len(REFUSED)), ids=lambda number: type(REFUSED[number]).__name__)
async def test_what_is_selected_or_read_into_another_model_is_judged_alike(session, number):
    await stored(session, "first", str(number), "last")
    selected = session.query(InForm).where(InForm.author == "ada").select(InForm.title)
    assert await selected.invalid("skip") == [("first",), ("last",)]
    read = session.query(Loose).where(Loose.author == "ada").into(Part)
    assert [part.title for part in await read.invalid("skip")] == ["first", "last"]
    with pytest.raises(ItemValidationError, match=type(REFUSED[number]).__name__):
        await read


async def test_a_refusal_that_brings_an_item_whose_validator_raises_stays_that_refusal(session):
    await stored(session, "0")
    with pytest.raises(ConditionalCheckFailedError) as caught:
        await session.put(Validated(author="ada", number=0), where=Validated.title == "other")
    assert caught.value.item is None
