"""Loaders under the GraphQL libraries that they are made for: Strawberry, and aiodataloader."""

from collections.abc import AsyncIterator

import aiodataloader
import pytest
import pytest_asyncio
import strawberry
from strawberry.dataloader import DataLoader

from dynamap_async import Attr, Model, PartitionKey, SortKey, attr
from dynamap_async.errors import EncodeError

USERS = ("ada", "bob", "cyd")


class Person(Model, table="people"):
    name: PartitionKey[str]


class Post(Model, table="posts"):
    author: PartitionKey[str]
    number: SortKey[int]
    likes: Attr[int] = attr(default=0)


@strawberry.type
class PostNode:
    author_name: strawberry.Private[str]
    number: int

    @strawberry.field
    async def author(self, info: strawberry.Info) -> "PersonNode":
        return PersonNode(person=await info.context["people"].load(self.author_name))


@strawberry.type
class PersonNode:
    person: strawberry.Private[Person]

    @strawberry.field
    def name(self) -> str:
        return self.person.name

    @strawberry.field
    async def posts(self, info: strawberry.Info) -> list[PostNode]:
        posts = await info.context["posts"].load(self.person.name)
        return [PostNode(author_name=post.author, number=post.number) for post in posts]


@strawberry.type
class Query:
    @strawberry.field
    async def people(self, info: strawberry.Info, names: list[str]) -> list[PersonNode | None]:
        found = await info.context["people"].load_many(names)
        return [None if person is None else PersonNode(person=person) for person in found]


SCHEMA = strawberry.Schema(Query)
QUESTION = "query($names: [String!]!) { people(names: $names) { name posts { number author { name } } } }"


@pytest_asyncio.fixture(loop_scope="function")
async def filled(session) -> AsyncIterator:
    await session.tables.create(Person, Post)
    await session.put_many([Person(name=name) for name in USERS])
    await session.put_many([Post(author=name, number=number) for name in USERS for number in range(4)])
    return session


def loaders_of(session):
    return session.loader(Person), session.loader(Post, by=Post.author, limit=2, descending=True)


def as_they_are(session):
    people, posts = loaders_of(session)
    return {"people": people, "posts": posts}


def in_strawberry(session):
    people, posts = loaders_of(session)
    return {"people": DataLoader(load_fn=people.load_each), "posts": DataLoader(load_fn=posts.load_each)}


def in_aiodataloader(session):
    return {
        "people": aiodataloader.DataLoader(session.loader(Person).load_each),
        "posts": aiodataloader.DataLoader(session.loader(Post, by=Post.author, limit=2, descending=True).load_each),
    }


@pytest.mark.asyncio
@pytest.mark.parametrize("context", [as_they_are, in_strawberry, in_aiodataloader])
async def test_a_nested_question_is_one_batch_and_one_query_per_parent(filled, context):
    before = filled.statistics()
    answer = await SCHEMA.execute(
        QUESTION, variable_values={"names": ["bob", "nobody", "ada"]}, context_value=context(filled)
    )
    assert answer.errors is None
    assert answer.data == {
        "people": [
            {"name": "bob", "posts": [{"number": n, "author": {"name": "bob"}} for n in (3, 2)]},
            None,
            {"name": "ada", "posts": [{"number": n, "author": {"name": "ada"}} for n in (3, 2)]},
        ]
    }
    after = filled.statistics()
    assert after.requests - before.requests == 3  # one BatchGetItem, two queries


@pytest.mark.asyncio
@pytest.mark.parametrize("context", [in_strawberry, in_aiodataloader])
async def test_another_loader_gets_each_error_in_its_place(filled, context):
    people = context(filled)["people"]
    good = people.load("ada")
    bad = people.load(5)
    assert (await good).name == "ada"
    with pytest.raises(EncodeError):
        await bad
