"""Invoices, bills and customers as an adjacency list: every relation is an item, read from either end."""

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, SortKey, attr
from dynamap_async.capacity import page_read_units
from dynamap_async.codec import item_size

SCENARIO = "invoices-adjacency"


class Entry(Model, table="InvoiceAndBills"):
    owner: PartitionKey[str] = attr(name="PK")
    member: SortKey[str] = attr(name="SK")
    invoice_date: Attr[str | None] = attr(name="InvoiceDate", default=None)
    invoice_balance: Attr[str | None] = attr(name="InvoiceBalance", default=None)
    invoice_status: Attr[str | None] = attr(name="InvoiceStatus", default=None)
    invoice_due: Attr[str | None] = attr(name="InvoiceDueDate", default=None)
    bill_amount: Attr[str | None] = attr(name="BillAmount", default=None)
    bill_balance: Attr[str | None] = attr(name="BillBalance", default=None)
    bill_due: Attr[str | None] = attr(name="BillDueDate", default=None)
    customer_name: Attr[str | None] = attr(name="CustomerName", default=None)
    state: Attr[str | None] = attr(name="State", default=None)

    by_member = GlobalIndex("GSI_1", partition_key="member")


MODELS = {"InvoiceAndBills": Entry}

REQUESTS = {
    "invoice": lambda session: session.query(Entry).where(Entry.owner == "I#1420"),
    "invoice-bills": lambda session: session.query(Entry).where(
        Entry.owner == "I#1420", Entry.member.begins_with("B#")
    ),
    "customer-invoices": lambda session: session.query(Entry).where(Entry.member == "C#1249"),
    "bill-invoices": lambda session: session.query(Entry).where(Entry.member == "B#3392"),
    "all-invoice-roots": lambda session: session.query(Entry).where(Entry.member == "root"),
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


@pytest.mark.engine_fault("moto", "the consumed capacity that it reports is a constant")
def test_explained_request_costs_what_our_arithmetic_says(filled, wire_items, client):
    request = REQUESTS["all-invoice-roots"](filled).explain().body
    answer = client.query(**request, ReturnConsumedCapacity="TOTAL")
    roots = [item for item in wire_items["InvoiceAndBills"] if item["SK"]["S"] == "root"]
    assert answer["Count"] == len(roots)
    assert answer["ConsumedCapacity"]["CapacityUnits"] == page_read_units(sum(map(item_size, roots)))


@pytest.mark.asyncio(loop_scope="module")
async def test_pages_of_the_index_give_each_invoice_once(filled, published):
    query = filled.query(Entry).where(Entry.member == "root").page_size(150)
    seen, cursor = [], None
    while True:
        page = await query.page(size=200, after=cursor)
        seen += [entry.owner for entry in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == published.requests["all-invoice-roots"]["expect"]["count"]


@pytest.mark.asyncio(loop_scope="module")
async def test_streamed_query_gives_every_invoice_as_the_list_does(filled, published):
    query = filled.query(Entry).where(Entry.member == "root")
    streamed = [entry async for entry in query.page_size(300)]
    assert {entry.owner for entry in streamed} == {row[0] for row in published.rows}
    assert streamed == await query


@pytest.mark.asyncio(loop_scope="function")
async def test_later_put_of_a_key_replaces_the_earlier_one_whole(session):
    await session.tables.create(Entry)
    await session.put(Entry(owner="B#1", member="I#1", bill_due="1/1/17", bill_amount="$1"))
    await session.put(Entry(owner="B#1", member="I#1", bill_amount="$2"))
    assert await session.query(Entry).where(Entry.owner == "B#1") == [
        Entry(owner="B#1", member="I#1", bill_amount="$2")
    ]
