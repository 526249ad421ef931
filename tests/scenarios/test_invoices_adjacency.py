"""Invoices, bills and customers as an adjacency list: every relation is an item, read from either end.

Nothing is stored that says what an item is but the way its sort key begins, so that tells the models. What customers
and bills say of an invoice begins alike there, and is one model, whose partition key tells the two apart.
"""

from typing import Literal

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Parts, Prefix, SortKey, Table, attr, template
from dynamap_async.capacity import page_read_units
from dynamap_async.codec import item_size

SCENARIO = "invoices-adjacency"

LEDGER = Table(
    "InvoiceAndBills",
    partition_key="PK",
    sort_key="SK",
    indexes=(GlobalIndex("GSI_1", partition_key="SK"),),
    discriminator=Prefix("SK"),
)


class Entry(Model, table=LEDGER, abstract=True):
    """Whatever is in the table."""

    pk: PartitionKey[str]
    sk: SortKey[str]


class OfInvoice(Entry, abstract=True):
    """What is known of an invoice."""

    invoice: Attr[int] = attr(stored=False)

    pk: PartitionKey[str] = template("I#{invoice}")


class Invoice(OfInvoice, kind="root"):
    date: Attr[str] = attr(name="InvoiceDate")
    balance: Attr[str] = attr(name="InvoiceBalance")
    status: Attr[str] = attr(name="InvoiceStatus")
    due: Attr[str] = attr(name="InvoiceDueDate")

    sk: SortKey[str] = template("root")


class Recipient(OfInvoice, kind="C#"):
    customer: Attr[int] = attr(stored=False)

    sk: SortKey[str] = template("C#{customer}")


class Payment(OfInvoice, kind="B#"):
    bill: Attr[int] = attr(stored=False)
    amount: Attr[str] = attr(name="BillAmount")
    balance: Attr[str] = attr(name="BillBalance")

    sk: SortKey[str] = template("B#{bill}")


class FromInvoice(Entry, kind="I#"):
    """What a customer or a bill says of one of its invoices."""

    party: Attr[Literal["C", "B"]] = attr(stored=False)
    number: Attr[int] = attr(stored=False)
    invoice: Attr[int] = attr(stored=False)
    customer_name: Attr[str | None] = attr(name="CustomerName", default=None)
    state: Attr[str | None] = attr(name="State", default=None)
    bill_due: Attr[str | None] = attr(name="BillDueDate", default=None)
    bill_amount: Attr[str | None] = attr(name="BillAmount", default=None)

    pk: PartitionKey[str] = template("{party}#{number}")
    sk: SortKey[str] = template("I#{invoice}")


MODELS = {"InvoiceAndBills": LEDGER}

REQUESTS = {
    "invoice": lambda session: session.query(OfInvoice).where(OfInvoice.invoice == 1420),
    "invoice-bills": lambda session: session.query(Payment).where(Payment.invoice == 1420),
    "customer-invoices": lambda session: session.query(Recipient).where(Recipient.customer == 1249),
    "bill-invoices": lambda session: session.query(Payment).where(Payment.bill == 3392),
    "all-invoice-roots": lambda session: session.query(Invoice),
}
COUNTS = {"item-count"}


def entries_of(row):
    """Return the five items that one source row stands for, in the order of the source's puts."""
    invoice, date, balance, status, due, bill, bill_due, amount, bill_balance, customer, name, state = row
    return [
        {"PK": invoice, "SK": "root", "InvoiceDate": date}
        | {"InvoiceBalance": balance, "InvoiceStatus": status, "InvoiceDueDate": due},
        {"PK": invoice, "SK": customer},
        {"PK": invoice, "SK": bill, "BillAmount": amount, "BillBalance": bill_balance},
        {"PK": customer, "SK": invoice, "CustomerName": name, "State": state},
        {"PK": bill, "SK": invoice, "BillDueDate": bill_due, "BillAmount": amount},
    ]


@pytest.fixture(scope="module")
def puts(published):
    return [entry for row in published.rows for entry in entries_of(row)]


@pytest.fixture(scope="module")
def wire_items(puts):
    # Later puts replace earlier ones of the same key; of each key only the last is sent.
    last = {(entry["PK"], entry["SK"]): entry for entry in puts}
    return {"InvoiceAndBills": [{name: {"S": text} for name, text in entry.items()} for entry in last.values()]}


def test_every_published_request_is_asked(published):
    assert REQUESTS.keys() | COUNTS == published.requests.keys()


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
async def test_number_of_puts_and_of_items_left_are_the_published_ones(puts, filled, published):
    said = published.requests["item-count"]
    assert len(puts) == said["from_puts"]
    assert await filled.scan(Entry).count() == said["items_after_load"]


@pytest.mark.asyncio(loop_scope="module")
async def test_partition_gives_each_relation_as_its_own_model(ask):
    found = await ask("invoice")
    assert [type(each) for each in found] == [Payment, Payment, Recipient, Invoice]
    assert [each.bill for each in found[:2]] == [2485, 2823]


@pytest.mark.asyncio(loop_scope="module")
async def test_relation_is_read_from_the_other_end(filled, published):
    wanted = {row[0] for row in published.rows if row[9] == "C#1249"}
    query = filled.query(FromInvoice).where(FromInvoice.party == "C", FromInvoice.number == 1249)
    assert {f"I#{each.invoice}" for each in await query} == wanted
    one = await filled.get(FromInvoice, Parts(party="C", number=1249, invoice=661))
    assert (one.customer_name, one.bill_due) == ("Andriana Gauvain", None)


def test_explained_request_costs_what_our_arithmetic_says(filled, wire_items, client):
    request = REQUESTS["all-invoice-roots"](filled).explain().body
    answer = client.query(**request, ReturnConsumedCapacity="TOTAL")
    roots = [item for item in wire_items["InvoiceAndBills"] if item["SK"]["S"] == "root"]
    assert answer["Count"] == len(roots)
    assert answer["ConsumedCapacity"]["CapacityUnits"] == page_read_units(sum(map(item_size, roots)))


@pytest.mark.asyncio(loop_scope="module")
async def test_pages_of_the_index_give_each_invoice_once(filled, published):
    query = filled.query(Invoice).page_size(300)
    seen, cursor = [], None
    while True:
        page = await query.page(size=400, after=cursor)
        seen += [entry.pk for entry in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == published.requests["all-invoice-roots"]["expect"]["count"]


@pytest.mark.asyncio(loop_scope="module")
async def test_streamed_query_gives_every_invoice_as_the_list_does(filled, published):
    query = filled.query(Invoice)
    streamed = [entry async for entry in query.page_size(500)]
    assert {entry.pk for entry in streamed} == {row[0] for row in published.rows}
    assert streamed == await query


@pytest.mark.asyncio(loop_scope="function")
async def test_of_two_puts_of_a_key_in_one_batch_the_later_one_replaces_the_earlier_whole(session):
    await session.tables.create(LEDGER)
    key = {"party": "B", "number": 1, "invoice": 1}
    await session.put_many(
        [FromInvoice(**key, bill_due="1/1/17", bill_amount="$1"), FromInvoice(**key, bill_amount="$2")]
    )
    found = await session.query(FromInvoice).where(FromInvoice.party == "B", FromInvoice.number == 1)
    assert found == [FromInvoice(**key, bill_amount="$2")]
