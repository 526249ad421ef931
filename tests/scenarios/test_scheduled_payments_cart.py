"""Payments that fall due, found over five shards of an index, and a cart whose sort key tells the state of a line."""

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, SortKey, attr
from dynamap_async.errors import ItemNotFoundError, TransactionCanceledError

SCENARIO = "scheduled-payments-cart"
SHARDS = ("0", "1", "2", "3", "4")


class Payment(Model, table="PaymentScheduler"):
    account: PartitionKey[str] = attr(name="AccountID")
    due: SortKey[str] = attr(name="ScheduledTime")
    data: Attr[str] = attr(name="DataBlob")
    shard: Attr[str | None] = attr(name="Sharded-GSI-PK", default=None)
    state_and_time: Attr[str | None] = attr(name="Status#Time", default=None)

    by_state = GlobalIndex("Query_All_Scheduled_Payments", partition_key="shard", sort_key="state_and_time")


class PastPayment(Model, table="TransactionHistory"):
    account: PartitionKey[str] = attr(name="AccountID")
    at: SortKey[str] = attr(name="Timestamp")
    data: Attr[str] = attr(name="DataBlob")
    shard: Attr[str] = attr(name="Sharded-GSI-PK")
    number: Attr[str] = attr(name="TransactionID")

    by_time = GlobalIndex("QueryAll_byTime", partition_key="shard", sort_key="at")
    by_number = GlobalIndex("Query_TransactionID", partition_key="number")


class CartLine(Model, table="CartTable"):
    customer: PartitionKey[str] = attr(name="CustomerID")
    state_and_date: SortKey[str] = attr(name="Status#Date")
    product: Attr[str] = attr(name="ItemSKU")
    price: Attr[str] = attr(name="Price")
    pieces: Attr[str] = attr(name="Count")
    state: Attr[str] = attr(name="Status")

    by_product = GlobalIndex("GSI-SKU", partition_key="product", sort_key="state_and_date")


MODELS = {"PaymentScheduler": Payment, "TransactionHistory": PastPayment, "CartTable": CartLine}


def pending(session, *shards):
    return session.query(Payment).where(
        Payment.shard.is_in(*shards), Payment.state_and_time.between("PENDING#2019-09-25", "PENDING#2019-09-26")
    )


def of_shard(shard):
    return lambda session: session.query(Payment).where(
        Payment.shard == shard, Payment.state_and_time.between("PENDING#2019-09-25", "PENDING#2019-09-26")
    )


REQUESTS = {
    "account-payments": lambda session: session.query(Payment).where(Payment.account == "Account1"),
    **{f"pending-shard-{shard}": of_shard(shard) for shard in SHARDS},
    "by-transaction-id": lambda session: session.query(PastPayment).where(PastPayment.number == "UUID-UUID-UUID-UUID"),
    "active-cart": lambda session: (
        session.query(CartLine)
        .where(CartLine.customer == "Sue", CartLine.state_and_date.begins_with("Active#"))
        .descending()
    ),
    "sku": lambda session: session.query(CartLine).where(CartLine.product == "72f49"),
}


def test_every_published_request_is_asked(published):
    assert REQUESTS.keys() == published.requests.keys()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", REQUESTS)
async def test_request_gives_the_published_items(name, ask):
    await ask(name)


@pytest.mark.parametrize("table", MODELS)
def test_created_table_has_the_published_keys_and_indexes(table, published, described):
    assert described(table) == published.tables[table]


@pytest.mark.parametrize("table", MODELS)
def test_stored_items_are_the_published_ones_to_the_letter(table, wire_items, stored, by_key):
    assert by_key(table, stored(table)) == by_key(table, wire_items[table])


@pytest.mark.asyncio(loop_scope="module")
async def test_one_query_gathers_what_is_due_from_all_shards(filled):
    due = await pending(filled, *SHARDS)
    assert [(payment.account, payment.due) for payment in due] == [("Account1", "2019-09-25T010101")]


async def carry_out(session, due, past):
    async with session.transaction() as tx:
        tx.delete(due, where=Payment.state_and_time.begins_with("PENDING#"))
        tx.create(past)


@pytest.mark.asyncio(loop_scope="function")
async def test_payment_is_carried_out_once_however_many_workers_try(session, items):
    await session.tables.create(Payment, PastPayment)
    await session.put_many(item for item in items if isinstance(item, Payment))
    [due] = await pending(session, *SHARDS)
    past = PastPayment(account=due.account, at=due.due, data=due.data, shard="0", number="1")

    await carry_out(session, due, past)
    assert await pending(session, *SHARDS) == []
    with pytest.raises(TransactionCanceledError) as caught:
        await carry_out(session, due, past)
    assert [reason.code for reason in caught.value.reasons] == ["ConditionalCheckFailed", "ConditionalCheckFailed"]
    assert caught.value.reasons[1].item == past
    assert await session.query(PastPayment).where(PastPayment.account == "Account1") == [past]


@pytest.mark.asyncio(loop_scope="function")
async def test_line_of_a_cart_is_saved_for_later_by_moving_it_to_another_key(session, items):
    await session.tables.create(CartLine)
    await session.put_many(item for item in items if isinstance(item, CartLine))
    active = await session.get(CartLine, "Sue", "Active#2019-10-03T12:33:16")
    saved = active.model_copy(update={"state_and_date": "Saved#2019-10-09T10:00:00", "state": "Saved"})

    async with session.transaction() as tx:
        tx.delete(active)
        tx.put(saved)

    with pytest.raises(ItemNotFoundError):
        await session.get(CartLine, "Sue", "Active#2019-10-03T12:33:16")
    lines = await session.query(CartLine).where(
        CartLine.customer == "Sue", CartLine.state_and_date.begins_with("Saved#")
    )
    assert [line.product for line in lines] == ["72f49", "ef9ca"]
