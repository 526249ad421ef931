"""Complaints and what was written about them; three sparse indexes, each with one kind of item."""

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, SortKey, attr
from dynamap_async.errors import ConditionalCheckFailedError, TransactionCanceledError

SCENARIO = "complaints"


class Entry(Model, table="Complaint_management_system"):
    """A complaint, whose sort key is ``metadata``, or something said about it."""

    complaint: PartitionKey[str] = attr(name="PK")
    entry: SortKey[str] = attr(name="SK")

    customer: Attr[str | None] = attr(name="customer_id", default=None)
    number: Attr[str | None] = attr(name="complaint_id", default=None)
    state: Attr[str | None] = attr(name="current_state", default=None)
    created: Attr[str | None] = attr(name="creation_time", default=None)
    severity: Attr[str | None] = attr(default=None)
    description: Attr[str | None] = attr(name="complaint_description", default=None)
    escalated_to: Attr[str | None] = attr(default=None)
    escalation_time: Attr[str | None] = attr(default=None)

    comment: Attr[str | None] = attr(name="comm_id", default=None)
    said_at: Attr[str | None] = attr(name="comm_date", default=None)
    state_then: Attr[str | None] = attr(name="complaint_state", default=None)
    text: Attr[str | None] = attr(name="comm_text", default=None)
    attachments: Attr[set[str]] = attr(default_factory=set)
    agent: Attr[str | None] = attr(name="agentID", default=None)

    by_customer = GlobalIndex("Customer_Complaint_GSI", partition_key="customer", sort_key="number")
    by_escalation = GlobalIndex("Escalations_GSI", partition_key="escalated_to", sort_key="escalation_time")
    by_agent = GlobalIndex("Agents_Comments_GSI", partition_key="agent", sort_key="said_at")


MODELS = {"Complaint_management_system": Entry}

REQUESTS = {
    "metadata": lambda session: session.query(Entry).where(
        Entry.complaint == "Complaint123", Entry.entry == "metadata"
    ),
    "communications": lambda session: session.query(Entry).where(
        Entry.complaint == "Complaint123", Entry.entry.begins_with("comm#")
    ),
    "whole-complaint": lambda session: session.query(Entry).where(Entry.complaint == "Complaint1444"),
    "by-customer": lambda session: session.query(Entry).where(Entry.customer == "custXYZ"),
    "escalated-to-B": lambda session: session.query(Entry).where(Entry.escalated_to == "AgentB"),
    "escalated-after": lambda session: session.query(Entry).where(
        Entry.escalated_to == "AgentB", Entry.escalation_time > "2023-02-01"
    ),
    "agentA-history": lambda session: session.query(Entry).where(Entry.agent == "AgentA").descending(),
    "agentB-history": lambda session: session.query(Entry).where(Entry.agent == "AgentB"),
    "P2-investigating": lambda session: session.scan(Entry).where(
        Entry.severity == "P2", Entry.state == "investigating"
    ),
    "with-attachment1": lambda session: session.scan(Entry).where(
        Entry.attachments.contains("s3://URL_for_attachment1")
    ),
    "agent-index-size": lambda session: session.scan(Entry).index(Entry.by_agent),
    "escalation-index-size": lambda session: session.scan(Entry).index(Entry.by_escalation),
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


def opened(number="Complaint2000"):
    return Entry(
        complaint=number,
        entry="metadata",
        customer="custNew",
        number=number,
        state="waiting",
        created="2023-07-01T09:00:00",
        severity="P1",
    )


async def open_complaint(session, complaint, comment):
    async with session.transaction() as tx:
        tx.create(complaint)
        tx.put(comment)


@pytest.mark.asyncio(loop_scope="function")
async def test_complaint_is_opened_once_together_with_its_first_comment(session):
    await session.tables.create(Entry)
    complaint = opened()
    first = Entry(complaint=complaint.complaint, entry="comm#2023-07-01T09:00:00#comm1", comment="comm1", text="...")
    await open_complaint(session, complaint, first)
    assert await session.query(Entry).where(Entry.complaint == "Complaint2000") == [first, complaint]

    with pytest.raises(TransactionCanceledError) as caught:
        await open_complaint(session, opened(), first.model_copy(update={"entry": "comm#2023-07-01T10:00:00#comm2"}))
    assert [reason.code for reason in caught.value.reasons] == ["ConditionalCheckFailed", None]
    assert caught.value.reasons[0].item == complaint
    assert await session.query(Entry).where(Entry.complaint == "Complaint2000").count() == 2


@pytest.mark.asyncio(loop_scope="function")
async def test_escalation_enters_its_index_and_leaves_it_with_the_resolution(session):
    await session.tables.create(Entry)
    await session.create(opened())

    await (
        session.update(Entry, "Complaint2000", "metadata")
        .set(Entry.escalated_to, "AgentB")
        .set(Entry.escalation_time, "2023-07-02T09:00:00")
        .where(Entry.state != "resolved")
    )
    [escalated] = await session.query(Entry).where(Entry.escalated_to == "AgentB")
    assert escalated.number == "Complaint2000"

    escalated.state = "resolved"
    escalated.escalated_to = escalated.escalation_time = None
    await session.save(escalated)
    assert await session.query(Entry).where(Entry.escalated_to == "AgentB") == []
    with pytest.raises(ConditionalCheckFailedError) as caught:
        await (
            session.update(Entry, "Complaint2000", "metadata")
            .set(Entry.escalated_to, "AgentA")
            .where(Entry.state != "resolved")
        )
    assert caught.value.item == escalated


@pytest.mark.asyncio(loop_scope="function")
async def test_attachments_are_added_and_taken_away_one_by_one(session):
    await session.tables.create(Entry)
    comment = Entry(complaint="Complaint2000", entry="comm#1", attachments={"s3://a"})
    await session.put(comment)
    update = session.update(Entry, "Complaint2000", "comm#1")
    assert (await update.add(Entry.attachments, {"s3://b"})).attachments == {"s3://a", "s3://b"}
    update = session.update(Entry, "Complaint2000", "comm#1")
    assert (await update.delete(Entry.attachments, {"s3://a", "s3://b"})).attachments == set()
