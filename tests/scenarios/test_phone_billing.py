"""Phone bills: a number's key begins the keys of all its calls, and two kinds have the very same key.

Of addresses and numbers the one in force has ``A`` where others have the time of their end. Calls and what they cost
are told by a marker alone, so that one is declared distinct from the other.
"""

from datetime import UTC, datetime

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Parts, SortKey, Table, attr, template, time_text

SCENARIO = "phone-billing"
LOCAL = time_text("%Y-%m-%dT%H:%M:%S")

BILLING = Table(
    "data",
    partition_key="PK",
    sort_key="SK",
    discriminator="type",
    indexes=(GlobalIndex("GSI1", partition_key="GSI1PK", sort_key="GSI1SK"),),
)


class Entry(Model, table=BILLING, abstract=True):
    customer: Attr[str] = attr(stored=False)
    sk: SortKey[str]

    pk: PartitionKey[str] = template("{customer}")


class Customer(Entry, kind="customer"):
    name: Attr[str]
    email: Attr[str]
    commercial: Attr[str]
    details: Attr[str]

    sk: SortKey[str] = template("A#A")


class Address(Entry, kind="address"):
    region: Attr[str] = attr(name="GSI1PK")
    postal: Attr[str]
    since: Attr[datetime] = attr(name="from", stored_as=LOCAL)
    until: Attr[str] = attr(name="to")
    street: Attr[str]
    city: Attr[str]
    state: Attr[str]

    sk: SortKey[str] = template("A#{since}")
    place: Attr[str] = template("{postal}#{since}", name="GSI1SK")


class Phone(Entry, kind="phone"):
    number: Attr[str]
    type: Attr[str] = attr(name="numType")
    since: Attr[datetime] = attr(name="from", stored_as=LOCAL)
    until: Attr[str] = attr(name="to")
    details: Attr[str]

    sk: SortKey[str] = template("P#{number}")
    owned: Attr[str] = template("{number}", name="GSI1PK")
    owned_since: Attr[str] = template("{since}", name="GSI1SK")


class Call(Entry, kind="call", distinct_from=(Phone,)):
    number: Attr[str]
    start: Attr[str]
    end: Attr[datetime] = attr(stored_as=LOCAL)
    called: Attr[str]
    type: Attr[str] = attr(name="typeCode")
    details: Attr[str]
    bucket: Attr[str] = attr(name="GSI1PK")

    sk: SortKey[str] = template("P#{number}#{start}")
    started: Attr[str] = template("{start}", name="GSI1SK")


class Charge(Entry, kind="detail", distinct_from=(Phone, Call)):
    number: Attr[str]
    start: Attr[str]
    end: Attr[datetime] = attr(stored_as=LOCAL)
    header: Attr[str] = attr(name="headerId")
    detail: Attr[str] = attr(name="detailId")
    duration: Attr[str]
    cost: Attr[str]
    tower: Attr[str] = attr(name="GSI1PK")

    sk: SortKey[str] = template("P#{number}#{start}")
    ended: Attr[str] = template("{end}", name="GSI1SK")


MODELS = {"data": BILLING}
NUMBER = "512-777-7777"

REQUESTS = {
    "customer-and-addresses": lambda session: session.query(Customer, Address).where(Customer.customer == "C1"),
    "addresses-since": lambda session: session.query(Address).where(
        Address.customer == "C1", Address.since >= datetime(2021, 7, 7, 16, 9, 30, tzinfo=UTC)
    ),
    "number-and-calls": lambda session: session.query(Phone, Call, Charge).where(
        Phone.customer == "C1", Phone.number == NUMBER
    ),
    "calls": lambda session: session.query(Call).where(Call.customer == "C1", Call.number == NUMBER),
    "calls-and-charges-since": lambda session: session.query(Call, Charge).where(
        Call.customer == "C1", Call.number == NUMBER, Call.start > "2021-07-07T16:36:42"
    ),
    "owner-of-number": lambda session: session.query(Phone).where(Phone.number == NUMBER),
    "homes-in-postal-area": lambda session: session.query(Address).where(
        Address.region == "TX", Address.postal == "78681"
    ),
    "calls-of-bucket": lambda session: session.query(Call).where(
        Call.bucket == "0", Call.start.begins_with("2021-07-07")
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


@pytest.mark.asyncio(loop_scope="module")
async def test_a_call_and_its_charge_are_named_alike_and_are_not_mistaken(filled):
    call = await filled.get(Call, Parts(customer="C1", number=NUMBER, start="2021-07-07T16:36:42-1"))
    charge = await filled.get(Charge, Parts(customer="C1", number=NUMBER, start="2021-07-07T16:36:42-D"))
    assert (call.called, charge.tower) == ("512-888-8888", "T1")
