"""Complaints and what was written about them; three sparse indexes, each with one kind of item.

Nothing is stored that says what an item is but its keys, so those tell the models.
"""

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Parts, SortKey, Table, attr, template
from dynamap_async.errors import ConditionalCheckFailedError, TransactionCanceledError

SCENARIO = "complaints"


COMPLAINTS = Table(
    "Complaint_management_system",
    partition_key="PK",
    sort_key="SK",
    indexes=(
        GlobalIndex("Customer_Complaint_GSI", partition_key="customer_id", sort_key="complaint_id"),
        GlobalIndex("Escalations_GSI", partition_key="escalated_to", sort_key="escalation_time"),
        GlobalIndex("Agents_Comments_GSI", partition_key="agentID", sort_key="comm_date"),
    ),
    discriminator=None,
)


class Complaint(Model, table=COMPLAINTS):
    number: Attr[str] = attr(name="complaint_id")
    customer: Attr[str] = attr(name="customer_id")
    state: Attr[str] = attr(name="current_state")
    created: Attr[str] = attr(name="creation_time")
    severity: Attr[str]
    description: Attr[str | None] = attr(name="complaint_description", default=None)
    escalated_to: Attr[str | None] = attr(default=None)
    escalation_time: Attr[str | None] = attr(default=None)

    pk: PartitionKey[str] = template("{number}")
    sk: SortKey[str] = template("metadata")


class Communication(Model, table=COMPLAINTS):
    number: Attr[str] = attr(name="complaint_id", stored=False)
    id: Attr[str] = attr(name="comm_id")
    said_at: Attr[str] = attr(name="comm_date")
    state_then: Attr[str] = attr(name="complaint_state")
    text: Attr[str] = attr(name="comm_text")
    attachments: Attr[set[str]] = attr(default_factory=set)
    agent: Attr[str | None] = attr(name="agentID", default=None)

    pk: PartitionKey[str] = template("{number}")
    sk: SortKey[str] = template("comm#{said_at}#{id}")


MODELS = {"Complaint_management_system": COMPLAINTS}

REQUESTS = {
    "metadata": lambda session: session.query(Complaint).where(Complaint.number == "Complaint123"),
    "communications": lambda session: session.query(Communication).where(Communication.number == "Complaint123"),
    "whole-complaint": lambda session: session.query(Complaint, Communication).where(
        Complaint.number == "Complaint1444"
    ),
    "by-customer": lambda session: session.query(Complaint).where(Complaint.customer == "custXYZ"),
    "escalated-to-B": lambda session: session.query(Complaint).where(Complaint.escalated_to == "AgentB"),
    "escalated-after": lambda session: session.query(Complaint).where(
        Complaint.escalated_to == "AgentB", Complaint.escalation_time > "2023-02-01"
    ),
    "agentA-history": lambda session: session.query(Communication).where(Communication.agent == "AgentA").descending(),
    "agentB-history": lambda session: session.query(Communication).where(Communication.agent == "AgentB"),
    "P2-investigating": lambda session: session.scan(Complaint).where(
        Complaint.severity == "P2", Complaint.state == "investigating"
    ),
    "with-attachment1": lambda session: session.scan(Communication).where(
        Communication.attachments.contains("s3://URL_for_attachment1")
    ),
    "agent-index-size": lambda session: session.scan(Communication).index(COMPLAINTS.index("Agents_Comments_GSI")),
    "escalation-index-size": lambda session: session.scan(Complaint).index(COMPLAINTS.index("Escalations_GSI")),
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
    return Complaint(number=number, customer="custNew", state="waiting", created="2023-07-01T09:00:00", severity="P1")


def said(hour, number="Complaint2000", **more):
    at = f"2023-07-01T{hour:02d}:00:00"
    return Communication(number=number, id=f"comm{hour}", said_at=at, state_then="waiting", text="...", **more)


async def open_complaint(session, complaint, comment):
    async with session.transaction() as tx:
        tx.create(complaint)
        tx.put(comment)


@pytest.mark.asyncio(loop_scope="module")
async def test_communications_of_a_time_are_one_stretch_of_the_key(filled):
    query = filled.query(Communication).where(
        Communication.number == "Complaint123", Communication.said_at.begins_with("2023-04-30T12:3")
    )
    assert query.explain().filters == ()
    assert [each.id for each in await query] == ["comm2"]


@pytest.mark.asyncio(loop_scope="function")
async def test_complaint_is_opened_once_together_with_its_first_comment(session):
    await session.tables.create(COMPLAINTS)
    complaint, first = opened(), said(9)
    whole = session.query(Complaint, Communication).where(Complaint.number == "Complaint2000")
    await open_complaint(session, complaint, first)
    assert await whole == [first, complaint]

    with pytest.raises(TransactionCanceledError) as caught:
        await open_complaint(session, opened(), said(10))
    assert [reason.code for reason in caught.value.reasons] == ["ConditionalCheckFailed", None]
    assert caught.value.reasons[0].item == complaint
    assert await whole.count() == 2


@pytest.mark.asyncio(loop_scope="function")
async def test_escalation_enters_its_index_and_leaves_it_with_the_resolution(session):
    await session.tables.create(COMPLAINTS)
    await session.create(opened())
    key = Parts(number="Complaint2000")

    await (
        session.update(Complaint, key)
        .set(Complaint.escalated_to, "AgentB")
        .set(Complaint.escalation_time, "2023-07-02T09:00:00")
        .where(Complaint.state != "resolved")
    )
    [escalated] = await session.query(Complaint).where(Complaint.escalated_to == "AgentB")
    assert escalated.number == "Complaint2000"

    escalated.state = "resolved"
    escalated.escalated_to = escalated.escalation_time = None
    await session.save(escalated)
    assert await session.query(Complaint).where(Complaint.escalated_to == "AgentB") == []
    with pytest.raises(ConditionalCheckFailedError) as caught:
        await session.update(Complaint, key).set(Complaint.escalated_to, "AgentA").where(Complaint.state != "resolved")
    assert caught.value.item == escalated


@pytest.mark.asyncio(loop_scope="function")
async def test_attachments_are_added_and_taken_away_one_by_one(session):
    await session.tables.create(COMPLAINTS)
    await session.put(said(9, attachments={"s3://a"}))
    update = session.update(Communication, Parts(number="Complaint2000", said_at="2023-07-01T09:00:00", id="comm9"))
    assert (await update.add(Communication.attachments, {"s3://b"})).attachments == {"s3://a", "s3://b"}
    update = session.update(said(9))
    assert (await update.delete(Communication.attachments, {"s3://a", "s3://b"})).attachments == set()
