"""Other fields as operands of ``contains``, ``is_in``, ``append`` and ``prepend``: evaluated by real engines."""

import pytest
import pytest_asyncio

from dynamap_async import Attr, Model, PartitionKey, attr, path
from dynamap_async.errors import ConditionalCheckFailedError, ExpressionError

pytestmark = pytest.mark.asyncio


class Post(Model, table="posts"):
    id: PartitionKey[str]
    text: Attr[str] = ""
    word: Attr[str | None] = None
    tags: Attr[set[str]] = attr(default_factory=set)
    main: Attr[str | None] = None
    scores: Attr[list[int]] = attr(default_factory=list)
    best: Attr[int] = 0
    second: Attr[int | None] = None
    more: Attr[list[int] | None] = None
    mixed: Attr[int | None] = attr(default=None, also_stored_as="S")


ITEMS = (
    Post(id="a", text="a quick fox", word="fox", tags={"x", "y"}, main="x", scores=[3, 7], best=7, second=3, more=[1]),
    Post(id="b", text="a slow dog", word="fox", tags={"y"}, main="x", scores=[3], best=5, second=5),
    Post(id="c", text="nothing"),
)


@pytest_asyncio.fixture(loop_scope="function")
async def posts(session):
    await session.tables.create(Post)
    await session.put_many(ITEMS)
    return session


CONDITIONS = {
    "text contains another field": (Post.text.contains(Post.word), "a"),
    "set contains another field": (Post.tags.contains(Post.main), "a"),
    "list contains another field": (Post.scores.contains(Post.best), "a"),
    "an undeclared attribute": (Post.text.contains(path("word_of_old")), ""),
    "not": (~Post.tags.contains(Post.main), "bc"),
    "one of two fields": (Post.best.is_in(Post.second, Post.scores[0]), "b"),
    "a field or a constant": (Post.best.is_in(Post.second, 7), "ab"),
    "a field or constants": (Post.best.is_in(0, Post.second, 7), "abc"),
    "a size": (Post.best.is_in(Post.scores.size(), Post.second), "bc"),
    "not one of": (~Post.best.is_in(Post.second, 0), "a"),
}


@pytest.mark.parametrize(("condition", "found"), CONDITIONS.values(), ids=CONDITIONS)
async def test_condition_compares_two_fields(posts, condition, found):
    assert "".join(sorted([each.id for each in await posts.scan(Post).where(condition)])) == found


async def test_condition_of_a_write_compares_two_fields(posts):
    await posts.update(Post, "a").set(Post.best, 8).where(Post.tags.contains(Post.main))
    with pytest.raises(ConditionalCheckFailedError):
        await posts.update(Post, "b").set(Post.best, 8).where(Post.tags.contains(Post.main))


CHANGES = {
    "append a field": (Post.scores.append(Post.more), [3, 7, 1]),
    "prepend a field": (Post.scores.prepend(Post.more), [1, 3, 7]),
    "itself": (Post.scores.append(Post.scores), [3, 7, 3, 7]),
    "a field and constants": (Post.scores.append(Post.more).append([9]).append((10,)), [3, 7, 1, 9, 10]),
    "on both sides": (Post.scores.prepend([0]).prepend(Post.more).append([9]), [1, 0, 3, 7, 9]),
    "a start": (Post.scores.append(Post.more.if_not_exists([5])), [3, 7, 1]),
    "the other way round": (Post.more.append(Post.scores), [1, 3, 7]),
}


@pytest.mark.parametrize(("change", "expected"), CHANGES.values(), ids=CHANGES)
async def test_list_becomes_longer_by_another_field(posts, change, expected):
    assert (await posts.update(Post, "a").set(Post.scores, change)).scores == expected


async def test_list_that_an_item_lacks_adds_nothing_or_what_it_starts_as(posts):
    assert (await posts.update(Post, "b").set(Post.scores, Post.scores.append(Post.more))).scores == [3]
    start = Post.more.if_not_exists([5])
    assert (await posts.update(Post, "b").set(Post.scores, Post.scores.append(start))).scores == [3, 5]


REFUSED = {
    "itself": (lambda: Post.text.contains(Post.text), "DynamoDB refuses to compare a field with itself"),
    "another type": (lambda: Post.tags.contains(Post.best), "Post.tags holds set.*which never contains int"),
    "text in a list of numbers": (lambda: Post.scores.contains(Post.text), "which never contains str"),
    "several forms": (lambda: Post.scores.contains(Post.mixed), "Post.mixed has several stored forms"),
    "several forms in is_in": (lambda: Post.best.is_in(Post.mixed), "Post.mixed has several stored forms"),
    "another type in is_in": (lambda: Post.best.is_in(1, Post.text), "values of different stored types"),
    "append no list": (lambda: Post.scores.append(Post.text), "only lists can be appended to, and Post.text holds str"),
    "append a size": (lambda: Post.scores.append(Post.more.size()), "needs the field itself"),
    "append a longer list": (lambda: Post.scores.append(Post.more.append([1])), "such as \\[element\\], not Post.more"),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED)
async def test_operand_that_can_never_fit_is_refused(make, message):
    with pytest.raises(ExpressionError, match=message):
        make()
