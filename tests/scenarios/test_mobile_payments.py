"""Mobile payments: a device's number begins the keys of its accounts and payments, and no word tells them apart.

The partitions of online devices end with a formula that the source publishes as text; it is a constant here, too.
"""

from datetime import UTC, datetime

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, SortKey, Table, attr, template, time_text

SCENARIO = "mobile-payments"

PAYMENTS = Table(
    "data",
    partition_key="PK",
    sort_key="SK",
    discriminator="type",
    indexes=(GlobalIndex("GSI1", partition_key="GSI1PK", sort_key="GSI1SK"),),
)


class Entry(Model, table=PAYMENTS, abstract=True):
    customer: Attr[str] = attr(stored=False)
    sk: SortKey[str]

    pk: PartitionKey[str] = template("{customer}")


class Customer(Entry, kind="customer"):
    name: Attr[str]
    details: Attr[str]

    sk: SortKey[str] = template("A")


class Payment(Entry, kind="transaction"):
    number: Attr[str]
    at: Attr[datetime] = attr(name="timestamp", stored_as=time_text("%Y-%m-%dT%H:%M:%S"))
    payment: Attr[str] = attr(name="transId")
    code: Attr[str]
    account: Attr[str] = attr(name="acctId")
    retailer: Attr[str] = attr(name="retailId")

    sk: SortKey[str] = template("{number}#{at}#{payment}")


class Account(Entry, kind="account", distinct_from=(Payment,)):
    number: Attr[str]
    account: Attr[str] = attr(name="acctId")
    type: Attr[str] = attr(name="aType")
    name: Attr[str]
    details: Attr[str]

    sk: SortKey[str] = template("{number}#{account}")


class Device(Entry, kind="device", distinct_from=(Customer, Payment, Account)):
    number: Attr[str]
    provider: Attr[str] = attr(name="providerId")
    status: Attr[str]
    details: Attr[str] = attr(name="pData")

    sk: SortKey[str] = template("{number}")
    reachable: Attr[str] = template("{status}#{provider}#(hashCode(number) % 10)", name="GSI1PK")
    reached: Attr[str] = template("{number}", name="GSI1SK")


MODELS = {"data": PAYMENTS}
NUMBER = "512.333.3333"

REQUESTS = {
    "whole-customer": lambda session: session.query(Entry).where(Entry.customer == "C1"),
    "devices": lambda session: session.query(Device).where(Device.customer == "C1"),
    "device-and-what-is-under-it": lambda session: session.query(Device, Account, Payment).where(
        Device.customer == "C1", Device.number == NUMBER
    ),
    "accounts-and-payments": lambda session: session.query(Account, Payment).where(
        Account.customer == "C1", Account.number == NUMBER
    ),
    "payments-of-day": lambda session: session.query(Payment).where(
        Payment.customer == "C1",
        Payment.number == NUMBER,
        Payment.at.between(datetime(2021, 6, 9, tzinfo=UTC), datetime(2021, 6, 9, 23, 59, 59, tzinfo=UTC)),
    ),
    "online-devices": lambda session: session.query(Device).where(Device.status == "online", Device.provider == "P1"),
    "online-devices-of-area": lambda session: session.query(Device).where(
        Device.status == "online", Device.provider == "P1", Device.number.begins_with("512.5")
    ),
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
async def test_a_device_that_goes_offline_changes_its_partition_of_the_index(session, items):
    await session.tables.create(PAYMENTS)
    await session.put_many(items)
    [device] = await session.query(Device).where(Device.customer == "C2")
    await session.update(device).set(Device.status, "offline")
    offline = session.query(Device).where(Device.status == "offline", Device.provider == "P1")
    assert [each.number for each in await offline] == ["512.444.4444", "512.555.5555"]
