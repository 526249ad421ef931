"""Accounts of a bank: index keys that only some transactions have, because of what kind they are.

A wire is found by its account and time, a purchase by its number together with the transaction that paid for it. The
sort key of an account is its number and nothing else, so it is declared distinct from longer keys.
"""

from datetime import UTC, datetime

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, SortKey, Table, attr, template, time_text

SCENARIO = "online-banking"
LOCAL = time_text("%Y-%m-%dT%H:%M:%S")

BANK = Table(
    "data",
    partition_key="PK",
    sort_key="SK",
    discriminator="type",
    indexes=(
        GlobalIndex("GSI1", partition_key="GSI1PK", sort_key="GSI1SK"),
        GlobalIndex("GSI2", partition_key="GSI2PK", sort_key="GSI2SK"),
    ),
)


class Entry(Model, table=BANK, abstract=True):
    customer: Attr[str] = attr(stored=False)
    sk: SortKey[str]

    pk: PartitionKey[str] = template("{customer}")


class Customer(Entry, kind="customer"):
    type: Attr[str] = attr(name="custType")

    sk: SortKey[str] = template("A")


class Transaction(Entry, kind="transaction"):
    account: Attr[str] = attr(name="acctId")
    at: Attr[datetime] = attr(name="timestamp", stored_as=LOCAL)
    number: Attr[str] = attr(name="transId")
    type: Attr[str] = attr(name="transType")
    balance: Attr[str]
    amount: Attr[str]
    purchase: Attr[str | None] = attr(name="GSI2PK", default=None)

    sk: SortKey[str] = template("{account}#{at}")
    wired_from: Attr[str | None] = template("{account}", name="GSI1PK", when={"type": "wire"})
    wired_at: Attr[str | None] = template("{at}", name="GSI1SK", when={"type": "wire"})
    purchased_at: Attr[str | None] = template("{at}", name="GSI2SK", when={"purchase": ...})


class Purchase(Entry, kind="purchase"):
    type: Attr[str] = attr(name="pType")
    at: Attr[datetime] = attr(name="timestamp", stored_as=LOCAL)
    number: Attr[str] = attr(name="pId")
    account: Attr[str] = attr(name="aId")

    sk: SortKey[str] = template("purchase#{at}#{number}")
    purchase: Attr[str] = template("{number}", name="GSI2PK")
    purchased_at: Attr[str] = template("{at}", name="GSI2SK")


class Account(Entry, kind="account", distinct_from=(Customer, Transaction, Purchase)):
    number: Attr[str] = attr(stored=False)
    type: Attr[str] = attr(name="acctType")
    balance: Attr[str]
    dailies: Attr[str]

    sk: SortKey[str] = template("{number}")
    owner: Attr[str] = template("{customer}", name="GSI1PK")
    owned: Attr[str] = template("{number}", name="GSI1SK")


MODELS = {"data": BANK}

REQUESTS = {
    "whole-customer": lambda session: session.query(Entry).where(Entry.customer == "C1"),
    "transactions": lambda session: session.query(Transaction).where(
        Transaction.customer == "C1", Transaction.account == "A1"
    ),
    "transactions-in-time": lambda session: session.query(Transaction).where(
        Transaction.customer == "C1",
        Transaction.account == "A1",
        Transaction.at.between(
            datetime(2021, 5, 20, 18, 47, tzinfo=UTC), datetime(2021, 5, 20, 18, 54, 28, tzinfo=UTC)
        ),
    ),
    "wires": lambda session: session.query(Transaction).where(Transaction.account == "A1", Transaction.type == "wire"),
    "purchases": lambda session: session.query(Purchase).where(Purchase.customer == "C1"),
    "purchases-since": lambda session: session.query(Purchase).where(
        Purchase.customer == "C1", Purchase.at >= datetime(2021, 5, 20, tzinfo=UTC)
    ),
    "purchase-and-payment": lambda session: session.query(Purchase, Transaction).where(Transaction.purchase == "P1"),
}


def test_every_published_request_is_asked(published):
    assert REQUESTS.keys() == published.requests.keys()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", REQUESTS)
async def test_request_gives_the_published_items(name, ask):
    await ask(name)


def test_created_table_has_the_published_keys_and_indexes(published, described):
    assert described("data") == published.tables["data"]


def test_stored_items_are_the_published_ones_to_the_letter(wire_items, stored, by_key):
    assert by_key("data", stored("data")) == by_key("data", wire_items["data"])


@pytest.mark.asyncio(loop_scope="function")
async def test_a_transaction_enters_the_index_of_wires_and_leaves_it_with_its_type(session, items):
    await session.tables.create(BANK)
    await session.put_many(items)
    wires = session.query(Transaction).where(Transaction.account == "A2", Transaction.type == "wire")
    [transaction] = await session.query(Transaction).where(Transaction.customer == "C1", Transaction.account == "A2")
    transaction.type = "wire"
    await session.save(transaction)
    assert [each.number for each in await wires] == ["T3"]
    transaction.type = "deposit"
    await session.save(transaction)
    assert await wires == []
