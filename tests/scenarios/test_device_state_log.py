"""Device states in three versions of one table: filtered, with a composite sort key, and with sparse indexes."""

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Parts, SortKey, attr, template
from dynamap_async.capacity import page_read_units
from dynamap_async.codec import item_size

SCENARIO = "device-state-log"


class StateByDate(Model, table="DeviceStateLog_step2"):
    device: Attr[str] = attr(stored=False)
    date: SortKey[str] = attr(name="Date")
    state: Attr[str] = attr(name="State")
    detail: Attr[dict[str, str] | None] = attr(name="Detail", default=None)

    device_id: PartitionKey[str] = template("d#{device}", name="DeviceID")


class StateByKind(Model, table="DeviceStateLog_step3"):
    device: Attr[str] = attr(stored=False)
    date: Attr[str] = attr(name="Date")
    state: Attr[str] = attr(name="State")
    detail: Attr[dict[str, str] | None] = attr(name="Detail", default=None)

    device_id: PartitionKey[str] = template("d#{device}", name="DeviceID")
    state_and_date: SortKey[str] = template("{state}#{date}", name="State#Date")


class State(Model, table="DeviceStateLog"):
    device: Attr[str] = attr(stored=False)
    date: Attr[str] = attr(name="Date")
    state: Attr[str] = attr(name="State")
    operator: Attr[str] = attr(name="Operator")
    escalated_to: Attr[str | None] = attr(name="EscalatedTo", default=None)

    device_id: PartitionKey[str] = template("d#{device}", name="DeviceID")
    state_and_date: SortKey[str] = template("{state}#{date}", name="State#Date")

    by_operator = GlobalIndex("GSI1", partition_key="operator", sort_key="date")
    by_escalation = GlobalIndex("GSI2", partition_key="escalated_to", sort_key="state_and_date")


MODELS = {"DeviceStateLog_step2": StateByDate, "DeviceStateLog_step3": StateByKind, "DeviceStateLog": State}

REQUESTS = {
    "filter-version": lambda session: (
        session.query(StateByDate).where(StateByDate.device == "12345", StateByDate.state == "WARNING1").descending()
    ),
    "composite-key-version": lambda session: (
        session.query(StateByKind).where(StateByKind.device == "12345", StateByKind.state == "WARNING1").descending()
    ),
    "operator-between-dates": lambda session: session.query(State).where(
        State.operator == "Liz", State.date.between("2020-04-20", "2020-04-25")
    ),
    "escalated": lambda session: session.query(State).where(State.escalated_to == "Sara"),
    "escalated-state": lambda session: session.query(State).where(
        State.escalated_to == "Sara", State.state == "WARNING4"
    ),
    "escalated-state-date": lambda session: session.query(State).where(
        State.escalated_to == "Sara", State.state == "WARNING4", State.date.begins_with("2020-04-27")
    ),
    "escalated-other-state": lambda session: session.query(State).where(
        State.escalated_to == "Sara", State.state == "WARNING3"
    ),
}

# Figures that the source prints -> (request, what is read for it, as a query and as a condition on the sort key).
FIGURES = {
    "filter-version-published": (
        "filter-version",
        lambda session: session.query(StateByDate).where(StateByDate.device == "12345"),
        "",
    ),
    "composite-key-published": ("composite-key-version", REQUESTS["composite-key-version"], "WARNING1#"),
}


def test_every_published_request_is_asked(published):
    assert REQUESTS.keys() | FIGURES.keys() == published.requests.keys()


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
@pytest.mark.parametrize("name", FIGURES)
async def test_counts_are_the_published_ones(name, filled, published):
    request, read, _ = FIGURES[name]
    assert await REQUESTS[request](filled).count() == published.requests[name]["Count"]
    assert await read(filled).count() == published.requests[name]["ScannedCount"]


@pytest.mark.parametrize("name", FIGURES)
def test_capacity_units_of_our_arithmetic_are_the_published_ones(name, published, stored):
    request, _, prefix = FIGURES[name]
    said = published.requests[request]
    _, sort_key = published.key_names(said["table"])
    read = [
        item
        for item in stored(said["table"])
        if item["DeviceID"]["S"] == "d#12345" and item[sort_key]["S"].startswith(prefix)
    ]
    assert len(read) == published.requests[name]["ScannedCount"]
    assert page_read_units(sum(map(item_size, read))) == published.requests[name]["CapacityUnits"]


@pytest.mark.parametrize("name", FIGURES)
def test_explained_request_costs_what_the_source_printed(name, filled, published, client):
    request, _, _ = FIGURES[name]
    said = published.requests[name]
    answer = client.query(**REQUESTS[request](filled).explain().body, ReturnConsumedCapacity="TOTAL")
    assert (answer["Count"], answer["ScannedCount"]) == (said["Count"], said["ScannedCount"])
    assert answer["ConsumedCapacity"]["CapacityUnits"] == said["CapacityUnits"]


@pytest.mark.asyncio(loop_scope="module")
async def test_longer_state_of_the_same_beginning_is_another_one(filled):
    warnings = filled.query(State).where(State.device == "11223", State.state == "WARNING")
    assert [str(each) for each in warnings.explain().key_conditions] == [
        "State.device_id == 'd#11223'",
        "State.state_and_date.begins_with('WARNING#')",
    ]
    assert await warnings == []
    assert len(await filled.query(State).where(State.device == "11223", State.state.begins_with("WARNING"))) == 2


@pytest.mark.asyncio(loop_scope="function")
async def test_escalation_by_the_parts_of_its_key_enters_the_index_and_leaves_it_with_the_answer(session, items):
    await session.tables.create(State)
    await session.put_many(item for item in items if isinstance(item, State))
    key = Parts(device="54321", state="WARNING3", date="2020-04-11T05:55:00")
    escalated = session.query(State).where(State.escalated_to == "Ann", State.state == "WARNING3")

    await session.update(State, key).set(State.escalated_to, "Ann")
    [state] = await escalated
    assert (state.device_id, state.state_and_date) == ("d#54321", "WARNING3#2020-04-11T05:55:00")
    await session.update(State, key).remove(State.escalated_to)
    assert await escalated == []
