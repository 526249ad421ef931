"""Payments that fall due, found over five shards of an index, and a cart whose sort key tells the state of a line.

The source spread its payments by hand, over ``"0"`` to ``"4"``: no rule tells the shard of one, so it stays a field of
its own, and ``is_in`` gathers. Three published lines of the cart have another ``Status`` than their key begins with.
The key is what the requests go by, so what stands in it is a part of its own, and ``Status`` is not.
"""

from collections.abc import Callable

import pytest

from dynamap_async import Attr, BoundQuery, GlobalIndex, Model, PartitionKey, Parts, Session, SortKey, attr, template
from dynamap_async.errors import ItemNotFoundError, TransactionCanceledError

SCENARIO = "scheduled-payments-cart"
SHARDS = ("0", "1", "2", "3", "4")


class Payment(Model, table="PaymentScheduler"):
    account: PartitionKey[str] = attr(name="AccountID")
    due: SortKey[str] = attr(name="ScheduledTime")
    data: Attr[str] = attr(name="DataBlob")
    shard: Attr[str] = attr(name="Sharded-GSI-PK")
    state: Attr[str] = attr(stored=False)

    state_and_time: Attr[str] = template("{state}#{due}", name="Status#Time")

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
    place: Attr[str] = attr(stored=False)
    date: Attr[str] = attr(stored=False)
    product: Attr[str] = attr(name="ItemSKU")
    price: Attr[str] = attr(name="Price")
    pieces: Attr[str] = attr(name="Count")
    state: Attr[str] = attr(name="Status")

    place_and_date: SortKey[str] = template("{place}#{date}", name="Status#Date")

    by_product = GlobalIndex("GSI-SKU", partition_key="product", sort_key="place_and_date")


MODELS = {"PaymentScheduler": Payment, "TransactionHistory": PastPayment, "CartTable": CartLine}


class KeptLine(Model, table="CartTable"):
    """A line whose key is said to be made of its ``Status``, which is not so of all that are stored."""

    customer: PartitionKey[str] = attr(name="CustomerID")
    date: Attr[str] = attr(stored=False)
    price: Attr[str] = attr(name="Price")
    state: Attr[str] = attr(name="Status")

    state_and_date: SortKey[str] = template("{state}#{date}", name="Status#Date")


PENDING = Payment.state == "PENDING", Payment.due.between("2019-09-25", "2019-09-26")


def pending(session, *shards):
    return session.query(Payment).where(Payment.shard.is_in(*shards), *PENDING)


def of_shard(shard: str) -> Callable[[Session], BoundQuery[Payment, Payment]]:
    return lambda session: session.query(Payment).where(Payment.shard == shard, *PENDING)


REQUESTS = {
    "account-payments": lambda session: session.query(Payment).where(Payment.account == "Account1"),
    **{f"pending-shard-{shard}": of_shard(shard) for shard in SHARDS},
    "by-transaction-id": lambda session: session.query(PastPayment).where(PastPayment.number == "UUID-UUID-UUID-UUID"),
    "active-cart": lambda session: (
        session.query(CartLine).where(CartLine.customer == "Sue", CartLine.place == "Active").descending()
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
        # The state is stored in the key of the index alone, so the condition of a write has to name that.
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
    key = Parts(place="Active", date="2019-10-03T12:33:16")
    active = await session.get(CartLine, "Sue", key)
    saved = active.model_copy(update={"place": "Saved", "date": "2019-10-09T10:00:00", "state": "Saved"})
    assert saved.place_and_date == "Saved#2019-10-09T10:00:00"

    async with session.transaction() as tx:
        tx.delete(active)
        tx.put(saved)

    with pytest.raises(ItemNotFoundError):
        await session.get(CartLine, "Sue", key)
    lines = await session.query(CartLine).where(CartLine.customer == "Sue", CartLine.place == "Saved")
    assert [line.product for line in lines] == ["72f49", "ef9ca"]


@pytest.mark.asyncio(loop_scope="function")
async def test_key_that_contradicts_a_part_stays_what_was_stored(session, items):
    await session.tables.create(CartLine)
    await session.put_many(item for item in items if isinstance(item, CartLine))
    [line] = await session.query(KeptLine).where(KeptLine.customer == "Sue", KeptLine.state_and_date > "Saved#")
    assert (line.state, line.state_and_date) == ("Active", "Saved#2019-10-07T08:24:22")

    line.price = "9.99"
    await session.save(line)
    kept = await session.get(CartLine, "Sue", Parts(place="Saved", date="2019-10-07T08:24:22"))
    assert (kept.price, kept.state, kept.product) == ("9.99", "Active", "72f49")
    assert await session.query(KeptLine).where(KeptLine.customer == "Sue").count() == 3
