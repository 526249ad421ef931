"""PartiQL on real engines: what comes back, page by page; writes; batches; transactions."""

from uuid import uuid4

import pytest
import pytest_asyncio

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, RetryPolicy, SortKey, Statement, attr
from dynamap_async.errors import (
    BatchError,
    ConditionalCheckFailedError,
    DuplicateItemError,
    IdempotentParameterMismatchError,
    RequestRejectedError,
    ResourceNotFoundError,
    TransactionCanceledError,
)

pytestmark = pytest.mark.asyncio


class Tweet(Model, table="tweets"):
    user: PartitionKey[str]
    number: SortKey[int]
    city: Attr[str | None] = attr(default=None)
    tags: Attr[set[str]] = attr(default_factory=set)

    by_city = GlobalIndex(partition_key="city")


@pytest_asyncio.fixture
async def tweets(engine):
    """A session with ten tweets of ada; what fails is not sent again, for an engine's faults do not pass."""
    async with engine.session(table_prefix=f"t{uuid4().hex[:12]}-", retry=RetryPolicy(max_attempts=1)) as session:
        await session.tables.create(Tweet)
        await session.put_many(
            Tweet(user="ada", number=n, city="London" if n % 2 else None, tags={"a"} if n else set()) for n in range(10)
        )
        yield session


def of_ada(session, more=""):
    return f'SELECT * FROM "{session.table_name(Tweet)}" WHERE "user" = ?{more}'


def insert(session):
    return f"INSERT INTO \"{session.table_name(Tweet)}\" VALUE {{'user': ?, 'number': ?}}"


def one(session, number, user="ada"):
    return Statement(of_ada(session, ' AND "number" = ?'), [user, number], into=Tweet)


def numbers(items):
    return [item.number for item in items]


async def test_a_select_gives_instances_of_a_model(tweets):
    found = await tweets.execute_statement(of_ada(tweets), ["ada"], into=Tweet)
    assert sorted(numbers(found)) == list(range(10))
    assert {item.number: item for item in found}[1] == Tweet(user="ada", number=1, city="London", tags={"a"})


async def test_a_select_gives_dicts_of_plain_values(tweets):
    found = await tweets.execute_statement(of_ada(tweets, ' AND "number" = ?'), ["ada", 1])
    assert found == [{"user": "ada", "number": 1, "city": "London", "tags": {"a"}}]


async def test_a_select_of_a_few_attributes_gives_those(tweets):
    statement = f'SELECT city, tags FROM "{tweets.table_name(Tweet)}" WHERE "user" = ? AND "number" = ?'
    found = await tweets.execute_statement(statement, ["ada", 1], consistent_read=True)
    assert found == [{"city": "London", "tags": {"a"}}]


async def test_small_pages_give_everything_in_a_list_and_in_a_stream(tweets):
    statement = tweets.execute_statement(of_ada(tweets), ["ada"], into=Tweet, page_size=3)
    assert numbers(await statement) == list(range(10))
    assert [item.number async for item in statement] == list(range(10))


async def test_a_limit_is_of_items(tweets):
    assert numbers(await tweets.execute_statement(of_ada(tweets), ["ada"], into=Tweet, limit=4)) == [0, 1, 2, 3]
    paged = tweets.execute_statement(of_ada(tweets), ["ada"], into=Tweet, limit=4, page_size=3)
    assert numbers(await paged) == [0, 1, 2, 3]


async def test_nothing_found_is_an_empty_list(tweets):
    assert await tweets.execute_statement(of_ada(tweets), ["bob"]) == []


async def test_an_unknown_table_is_an_error(tweets):
    with pytest.raises(ResourceNotFoundError):
        await tweets.execute_statement('SELECT * FROM "no-such-table" WHERE id = ?', [1])


async def test_a_statement_that_is_none_is_refused(tweets):
    with pytest.raises(RequestRejectedError):
        await tweets.execute_statement("SELEC")


async def test_an_update_changes_an_item(tweets):
    statement = f'UPDATE "{tweets.table_name(Tweet)}" SET city = ? WHERE "user" = ? AND "number" = ?'
    assert await tweets.execute_statement(statement, ["Paris", "ada", 1]) == []
    assert (await tweets.get(Tweet, "ada", 1)).city == "Paris"


async def test_an_update_may_return_what_it_changed(tweets):
    text = f'UPDATE "{tweets.table_name(Tweet)}" SET city = ? WHERE "user" = ? AND "number" = ? RETURNING ALL NEW *'
    [found] = await tweets.execute_statement(text, ["Paris", "ada", 1], into=Tweet)
    assert found == Tweet(user="ada", number=1, city="Paris", tags={"a"})


async def test_an_update_of_an_absent_item_fails_its_condition(tweets):
    statement = f'UPDATE "{tweets.table_name(Tweet)}" SET city = ? WHERE "user" = ? AND "number" = ?'
    with pytest.raises(ConditionalCheckFailedError):
        await tweets.execute_statement(statement, ["Paris", "ada", 99])


async def test_an_insert_adds_an_item_and_never_replaces_one(tweets):
    assert await tweets.execute_statement(insert(tweets), ["ada", 50]) == []
    assert await tweets.get(Tweet, "ada", 50) == Tweet(user="ada", number=50)
    with pytest.raises(DuplicateItemError):
        await tweets.execute_statement(insert(tweets), ["ada", 1])
    assert (await tweets.get(Tweet, "ada", 1)).city == "London"


async def test_a_delete_removes_an_item(tweets):
    statement = f'DELETE FROM "{tweets.table_name(Tweet)}" WHERE "user" = ? AND "number" = ?'
    await tweets.execute_statement(statement, ["ada", 1])
    assert await tweets.find(Tweet, "ada", 1) is None


async def test_a_batch_reads_items_in_order(tweets):
    found = await tweets.batch_execute_statement([one(tweets, 3), one(tweets, 99), one(tweets, 1)])
    assert [item and item.number for item in found] == [3, None, 1]


async def test_a_batch_reports_each_failure_and_does_the_rest(tweets):
    statements = [Statement(insert(tweets), ["ada", number]) for number in (50, 1, 51)]
    with pytest.raises(BatchError) as caught:
        await tweets.batch_execute_statement(statements)
    assert [(each.position, type(each.error)) for each in caught.value.failures] == [(1, DuplicateItemError)]
    assert caught.value.succeeded == 2
    assert None not in await tweets.get_many(Tweet, [("ada", 50), ("ada", 51)])


async def test_a_transaction_reads_items_in_order(tweets):
    found = await tweets.execute_transaction([one(tweets, 3), one(tweets, 99), one(tweets, 1)])
    assert [item and item.number for item in found] == [3, None, 1]


async def test_a_transaction_writes_all_or_nothing(tweets):
    assert await tweets.execute_transaction([Statement(insert(tweets), ["ada", n]) for n in (60, 61)]) == [None, None]
    with pytest.raises(TransactionCanceledError) as caught:
        await tweets.execute_transaction([Statement(insert(tweets), ["ada", n]) for n in (62, 1)])
    assert [reason.code for reason in caught.value.reasons] == [None, "DuplicateItem"]
    assert isinstance(caught.value.reasons[1].error, DuplicateItemError)
    assert [item is None for item in await tweets.get_many(Tweet, [("ada", n) for n in (60, 61, 62)])] == [
        False,
        False,
        True,
    ]


async def test_a_transaction_of_one_token_is_done_once(tweets):
    statements = [Statement(insert(tweets), ["ada", 70])]
    for _ in range(2):
        assert await tweets.execute_transaction(statements, client_request_token="once") == [None]
    with pytest.raises(IdempotentParameterMismatchError):
        await tweets.execute_transaction([Statement(insert(tweets), ["ada", 71])], client_request_token="once")
