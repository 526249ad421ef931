"""Queries and scans on real engines: everything that can be asked of them, together."""

import itertools
from decimal import Decimal
from uuid import uuid4

import pytest
import pytest_asyncio

from dynamap_async import (
    KEYS_ONLY,
    Attr,
    GlobalIndex,
    LocalIndex,
    Model,
    PartitionKey,
    SortKey,
    attr,
    include,
)
from dynamap_async.errors import (
    CursorError,
    ItemNotFoundError,
    ItemValidationError,
    MultipleItemsFoundError,
    OperationError,
    RequestRejectedError,
    ResourceNotFoundError,
)
from dynamap_async.testing.faults import Faults

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Post(Model, table="posts"):
    author: PartitionKey[str] = attr(name="pk")
    number: SortKey[int] = attr(name="sk")
    city: Attr[str | None] = attr(name="where", default=None)
    likes: Attr[int] = attr(default=0)
    text: Attr[str] = attr(name="body", default="")
    tags: Attr[set[str]] = attr(default_factory=set)
    history: Attr[list[int]] = attr(default_factory=list)

    by_likes = LocalIndex(sort_key="likes", projection=include("text"))
    by_city = GlobalIndex(partition_key="city", sort_key="likes")
    by_city_keys = GlobalIndex(partition_key="city", sort_key="number", projection=KEYS_ONLY)


class Blob(Model, table="blobs"):
    id: PartitionKey[bytes]
    at: SortKey[Decimal]
    kind: Attr[str] = attr(default="small")
    data: Attr[str] = attr(default="")
    by_kind = GlobalIndex(partition_key="kind", sort_key="at")


class Match(Model, table="matches"):
    id: PartitionKey[str]
    tournament: Attr[str]
    region: Attr[str]
    round: Attr[int]
    bracket: Attr[str]
    by_round = GlobalIndex(partition_key=("tournament", "region"), sort_key=("round", "bracket"))


POSTS = [
    Post(
        author="ada",
        number=n,
        city=("London" if n % 2 else None),
        likes=(n * 7) % 10,
        text=f"text {n}",
        tags={"odd"} if n % 2 else set(),
        history=[n, n + 1, n + 2],
    )
    for n in range(12)
]
OTHERS = [Post(author="bob", number=n, city="London", likes=100 + n) for n in range(3)]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def filled(engine):
    async with engine.session(table_prefix=f"q{uuid4().hex[:12]}-", cursor_secret="0123456789abcdef") as session:
        await session.tables.create(Post, Blob)
        for post in POSTS + OTHERS:
            await session.put(post)
        yield session


def adas(session):
    return session.query(Post).where(Post.author == "ada")


SHAPES = {
    "table": (adas, [*POSTS]),
    "filter": (lambda s: adas(s).where(Post.tags.contains("odd")), [post for post in POSTS if post.number % 2]),
    "sort condition": (lambda s: adas(s).where(Post.number >= 3, Post.number <= 9), POSTS[3:10]),
    "range and filter": (
        lambda s: adas(s).where(Post.number.between(2, 8), Post.likes != 1),
        [post for post in POSTS[2:9] if post.likes != 1],
    ),
    "global index": (
        lambda s: s.query(Post).where(Post.city == "London", Post.likes < 100),
        sorted((post for post in POSTS if post.city), key=lambda post: post.likes),
    ),
    "nothing": (lambda s: adas(s).where(Post.number > 1000), []),
    "nothing after the filter": (lambda s: adas(s).where(Post.text == "none of them"), []),
    "no partition": (lambda s: s.query(Post).where(Post.author == "nobody"), []),
}
PAGE_SIZES = [None, 1, 5]
REFINEMENTS = itertools.product(enumerate(SHAPES), [False, True], enumerate([None, 1, 4, 12, 50]))
# Each two of them meet; all together, in every combination, are tried in tests/property.
COMBINATIONS = [
    (shape, descending, limit, PAGE_SIZES[(one + descending + other) % 3])
    for (one, shape), descending, (other, limit) in REFINEMENTS
]


def built(session, shape, descending, limit, page_size):
    make, items = SHAPES[shape]
    query = make(session)
    if descending:
        query, items = query.descending(), items[::-1]
    if limit is not None:
        query, items = query.limit(limit), items[:limit]
    if page_size is not None:
        query = query.page_size(page_size)
    return query, items


@pytest.mark.parametrize(("shape", "descending", "limit", "page_size"), COMBINATIONS)
async def test_every_refinement_works_with_every_other(filled, shape, descending, limit, page_size):
    query, items = built(filled, shape, descending, limit, page_size)
    assert await query == items
    assert [item async for item in query] == items
    assert await query.count() == len(items)
    assert await query.first() == (items[0] if items else None)
    assert await query.select(Post.number, Post.text) == [(item.number, item.text) for item in items]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("size", [1, 3, 6, 12, 100])
async def test_pages_of_every_size_make_up_the_whole(filled, shape, descending, size):
    query, items = built(filled, shape, descending, None, None)
    found, cursor, pages = [], None, 0
    while True:
        page = await query.page(size=size, after=cursor)
        assert len(page.items) == size or page.cursor is None
        found += page.items
        cursor = page.cursor
        pages += 1
        if cursor is None:
            break
    assert found == items
    assert pages <= len(items) // size + 1


@pytest.mark.parametrize("shape", ["table", "filter", "global index"])
async def test_a_page_of_small_requests_is_full_all_the_same(filled, shape):
    query, items = built(filled, shape, False, None, 2)
    page = await query.page(size=5)
    assert page.items == items[:5]
    assert (await query.page(size=5, after=page.cursor)).items == items[5:10]


async def test_a_cursor_resumes_in_the_middle_of_a_selection(filled):
    query = adas(filled).select(Post.text)
    page = await query.page(size=5)
    assert page.items == [(f"text {n}",) for n in range(5)]
    assert (await query.page(size=2, after=page.cursor)).items == [("text 5",), ("text 6",)]


async def test_a_cursor_of_a_selection_of_an_index_holds_the_keys_that_were_not_asked_for(filled):
    query = filled.query(Post).where(Post.city == "London").index(Post.by_city_keys).select(Post.number)
    everything = await query
    page = await query.page(size=3)
    rest = await query.page(size=100, after=page.cursor)
    assert page.items + rest.items == everything
    assert rest.cursor is None


async def test_a_cursor_of_another_query_is_refused(filled):
    page = await adas(filled).page(size=2)
    for other in (adas(filled).descending(), filled.query(Post).where(Post.author == "bob"), filled.scan(Post)):
        with pytest.raises(CursorError):
            await other.page(size=2, after=page.cursor)


async def test_a_cursor_signed_by_another_session_is_refused(filled, engine):
    page = await adas(filled).page(size=2)
    prefix = filled._runner.context.tables.prefix
    async with engine.session(table_prefix=prefix, cursor_secret="fedcba9876543210") as other:
        with pytest.raises(CursorError):
            await adas(other).page(size=2, after=page.cursor)
    async with engine.session(table_prefix=prefix, cursor_secret="0123456789abcdef") as same:
        assert (await adas(same).page(size=2, after=page.cursor)).items == POSTS[2:4]


async def test_binary_and_number_keys_survive_a_cursor(filled):
    blobs = [Blob(id=b"\x00\xff", at=Decimal(n) / 4) for n in range(-3, 4)]
    for blob in blobs:
        await filled.put(blob)
    for query in (filled.query(Blob).where(Blob.id == b"\x00\xff"), filled.query(Blob).where(Blob.kind == "small")):
        found, cursor = [], None
        while True:
            page = await query.page(size=2, after=cursor)
            found, cursor = found + page.items, page.cursor
            if cursor is None:
                break
        assert found == blobs


@pytest.mark.parametrize("limit", [None, 1, 5])
async def test_a_single_item_is_found_or_counted_too_many(filled, limit):
    one = adas(filled).where(Post.number == 3)
    one = one if limit is None else one.limit(limit)
    assert await one.one() == await one.one_or_none() == POSTS[3]
    many = adas(filled)
    with pytest.raises(MultipleItemsFoundError, match="more than one Post"):
        await many.one()
    with pytest.raises(MultipleItemsFoundError):
        await many.one_or_none()
    none = adas(filled).where(Post.number == 1000)
    assert await none.one_or_none() is None
    with pytest.raises(ItemNotFoundError, match="one_or_none"):
        await none.one()


async def test_one_within_a_limit_of_one_is_the_first(filled):
    assert await adas(filled).limit(1).one() == POSTS[0]


async def test_a_local_index_orders_by_its_sort_key_and_may_be_read_consistently(filled):
    query = adas(filled).where(Post.likes >= 0).index(Post.by_likes).select(Post.likes, Post.text).consistent()
    assert query.explain().index == "by_likes"
    found = await query
    assert [likes for likes, _ in found] == sorted(post.likes for post in POSTS)
    assert sorted(found) == sorted((post.likes, post.text) for post in POSTS)


async def test_a_global_index_holds_only_items_with_its_keys(filled):
    found = await filled.query(Post).where(Post.city == "London")
    assert {post.author for post in found} == {"ada", "bob"}
    assert all(post.city for post in found)


async def test_a_consistent_query_gives_what_was_just_written(filled):
    await filled.put(Post(author="eve", number=1, text="before"))
    await filled.put(Post(author="eve", number=1, text="after"))
    assert [post.text for post in await filled.query(Post).where(Post.author == "eve").consistent()] == ["after"]
    await filled.delete(Post, "eve", 1)
    assert await filled.query(Post).where(Post.author == "eve").consistent() == []


async def test_selected_list_positions_come_back_as_selected(filled):
    found = await adas(filled).where(Post.number == 5).select(Post.history[2], Post.history[0], Post.history[7])
    assert found == [(7, 5, None)]


async def test_a_selection_reads_whole_values_and_their_parts(filled):
    found = await adas(filled).where(Post.number == 5).select(Post.history, Post.history[1], Post.city, Post.tags)
    assert found == [([5, 6, 7], 6, "London", {"odd"})]
    found = await adas(filled).where(Post.number == 4).select(Post.city, Post.tags)
    assert found == [(None, set())]


@pytest.mark.parametrize("limit", [None, 1, 7])
@pytest.mark.parametrize("page_size", [None, 2])
async def test_a_scan_gives_every_item_that_fits(filled, limit, page_size):
    scan = filled.scan(Post).where(Post.author.is_in("ada", "bob"))
    scan = scan if page_size is None else scan.page_size(page_size)
    scan = scan if limit is None else scan.limit(limit)
    wanted = {(post.author, post.number) for post in POSTS + OTHERS}
    for found in (await scan, [item async for item in scan]):
        keys = [(post.author, post.number) for post in found]
        assert len(keys) == len(set(keys)) == min(limit or len(wanted), len(wanted))
        assert set(keys) <= wanted
    assert await scan.count() == min(limit or len(wanted), len(wanted))
    assert (await scan.first()).author in ("ada", "bob")


@pytest.mark.parametrize("size", [1, 4, 15, 100])
async def test_pages_of_a_scan_make_up_the_whole(filled, size):
    scan = filled.scan(Post).where(Post.likes >= 0).consistent()
    keys, cursor = [], None
    while True:
        page = await scan.page(size=size, after=cursor)
        keys += [(post.author, post.number) for post in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert sorted(keys) == sorted((post.author, post.number) for post in POSTS + OTHERS)


async def test_a_scan_of_an_index_gives_its_entries(filled):
    found = await filled.scan(Post).index(Post.by_city_keys).select(Post.number, Post.city)
    assert sorted(found) == sorted((post.number, post.city) for post in POSTS + OTHERS if post.city)


async def test_a_query_of_more_than_a_megabyte_gives_everything(filled):
    blobs = [Blob(id=b"large", at=Decimal(n), kind="large", data="x" * 300_000) for n in range(9)]
    for blob in blobs:
        await filled.put(blob)
    query = filled.query(Blob).where(Blob.id == b"large")
    assert [blob.at for blob in await query] == [blob.at for blob in blobs]
    assert await query.count() == 9
    assert [blob.at async for blob in query.limit(7)] == [blob.at for blob in blobs[:7]]
    page = await query.page(size=5)
    assert [blob.at for blob in (await query.page(size=9, after=page.cursor)).items] == [blob.at for blob in blobs[5:]]


@pytest.mark.engine_fault(
    "native", "queries of an index with several key attributes are refused", raises=RequestRejectedError
)
async def test_an_index_with_several_key_attributes_is_queried_from_the_left(engine):
    async with engine.session(table_prefix=f"m{uuid4().hex[:12]}-") as session:
        await session.tables.create(Match)
        matches = [Match(id=f"{r}{b}", tournament="t", region="r", round=r, bracket=b) for r in (1, 2, 3) for b in "ab"]
        for match in [*matches, Match(id="other", tournament="t", region="s", round=1, bracket="a")]:
            await session.put(match)
        query = session.query(Match).where(Match.tournament == "t", Match.region == "r")
        assert await query == matches
        assert await query.where(Match.round >= 2) == matches[2:]
        assert await query.where(Match.round == 2, Match.bracket == "b") == [matches[3]]
        assert await query.descending().limit(1) == [matches[-1]]
        page = await query.page(size=4)
        assert (await query.page(size=4, after=page.cursor)).items == matches[4:]


async def test_an_item_that_does_not_fit_is_named_and_the_rest_is_kept(filled):
    class Narrow(Model, table="posts"):
        author: PartitionKey[str] = attr(name="pk")
        number: SortKey[int] = attr(name="sk")
        text: Attr[int] = attr(name="body")

    await filled.put(Narrow(author="kim", number=1, text=1))
    await filled.put(Post(author="kim", number=2, text="no number"))
    await filled.put(Narrow(author="kim", number=3, text=3))
    query = filled.query(Narrow).where(Narrow.author == "kim")
    for read in (query, query.select(Narrow.number, Narrow.text)):
        with pytest.raises(ItemValidationError, match="kim") as caught:
            await read
        assert caught.value.key == {"pk": "kim", "sk": 2}
        assert len(caught.value.items) == 2
    for number in (1, 2, 3):
        await filled.delete(Narrow, "kim", number)


async def test_a_query_object_can_be_run_again_and_sees_new_items(filled):
    query = filled.query(Post).where(Post.author == "zoe")
    assert await query == await query == []
    await filled.put(Post(author="zoe", number=1))
    assert len(await query) == await query.count() == 1
    await filled.delete(Post, "zoe", 1)


async def test_a_query_on_a_table_that_does_not_exist_says_so(engine):
    async with engine.session(table_prefix=f"absent{uuid4().hex[:8]}-") as session:
        with pytest.raises(ResourceNotFoundError, match="tables.ensure"):
            await adas(session)


async def test_a_query_that_cannot_be_planned_sends_nothing(filled):
    with pytest.raises(OperationError):
        await filled.query(Post).where(Post.text == "x")
    with pytest.raises(OperationError):
        filled.query(Post).where(Post.text == "x").stream()


class Spelled(Model, table="spelleds"):
    id: PartitionKey[str]
    text: SortKey[str]
    group: Attr[str] = attr(default="g")
    by_group = GlobalIndex(partition_key="group", sort_key="text")


@pytest.mark.asyncio
@pytest.mark.parametrize("prefix", ["p1", "P1", "p"])
async def test_a_prefix_of_a_sort_key_tells_upper_case_from_lower_case(session, prefix):
    await session.tables.create(Spelled)
    texts = ["p1", "P1", "p1a", "P1A", "p_x", "pax", "p%x"]
    await session.put_many([Spelled(id="a", text=text) for text in texts])
    wanted = sorted(text for text in texts if text.startswith(prefix))
    begins = Spelled.text.begins_with(prefix)
    assert [each.text for each in await session.query(Spelled).where(Spelled.id == "a", begins)] == wanted
    assert [each.text for each in await session.query(Spelled).where(Spelled.group == "g", begins)] == wanted


@pytest.mark.asyncio
@pytest.mark.parametrize("indexed", [False, True])
async def test_pages_counts_and_limits_of_a_prefix_are_of_the_items_that_begin_with_it(session, indexed):
    await session.tables.create(Spelled)
    await session.put_many([Spelled(id="a", text=f"{letter}{n}") for letter in "pPqé" for n in range(5)])
    partition = Spelled.group == "g" if indexed else Spelled.id == "a"
    found = session.query(Spelled).where(partition, Spelled.text.begins_with("p"))
    assert [each.text for each in await found.descending().limit(2)] == ["p4", "p3"]
    assert await found.count() == 5
    texts, cursor = [], None
    for _ in range(3):
        page = await found.page(size=2, after=cursor)
        texts, cursor = [*texts, [each.text for each in page.items]], page.cursor
    assert texts == [["p0", "p1"], ["p2", "p3"], ["p4"]]
    assert cursor is None


@pytest.mark.asyncio
async def test_a_prefix_behind_scripted_faults_tells_upper_case_from_lower_case(engine):
    async with Faults().session(engine, table_prefix=f"t{uuid4().hex[:12]}-") as session:
        await session.tables.create(Spelled)
        await session.put_many([Spelled(id="a", text=text) for text in ("p1", "P1")])
        [found] = await session.query(Spelled).where(Spelled.id == "a", Spelled.text.begins_with("p"))
    assert found.text == "p1"


@pytest.mark.asyncio
@pytest.mark.parametrize("prefix", ["p1", "P1", "p"])
async def test_a_prefix_in_a_filter_tells_upper_case_from_lower_case(session, prefix):
    await session.tables.create(Spelled)
    texts = ["p1", "P1", "p1a", "P1A", "p_x", "pax", "p%x"]
    await session.put_many([Spelled(id=text, text="x", group=text) for text in texts])
    found = await session.scan(Spelled).where(Spelled.group.begins_with(prefix))
    assert sorted(each.group for each in found) == sorted(text for text in texts if text.startswith(prefix))
