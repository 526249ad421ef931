"""States of equipment by version: ``Metadata`` beside ``v0``, ``v1`` ..., where ``v0`` is the latest and counts.

The numbers in the keys have no width, and partition keys hold a separator of their own. Nothing is stored that says
what an item is: one constant against a number tells it.
"""

import pytest

from dynamap_async import Attr, Model, PartitionKey, Parts, SortKey, Table, attr, template
from dynamap_async.errors import ExpressionError, TransactionCanceledError

SCENARIO = "equipment-versions"

EQUIPMENT = Table("Equipment", partition_key="PK", sort_key="SK", discriminator=None)


class OfEquipment(Model, table=EQUIPMENT, abstract=True):
    id: PartitionKey[str]
    sk: SortKey[str]


class Equipment(OfEquipment):
    name: Attr[str] = attr(name="Name")
    factory: Attr[str] = attr(name="FactoryID")
    line: Attr[str] = attr(name="LineID")

    sk: SortKey[str] = template("Metadata")


class State(OfEquipment):
    """A version; the one with the number 0 is a copy of the latest, and says which it is."""

    number: Attr[int] = attr(stored=False)
    time: Attr[str] = attr(name="Time")
    state: Attr[str] = attr(name="State")
    latest: Attr[int | None] = attr(name="Latest", default=None)

    sk: SortKey[str] = template("v{number}")


MODELS = {"Equipment": EQUIPMENT}

REQUESTS = {
    "whole-equipment": lambda session: session.query(OfEquipment).where(OfEquipment.id == "Equipment#1"),
    "versions": lambda session: session.query(State).where(State.id == "Equipment#1"),
    "latest": lambda session: session.query(State).where(State.id == "Equipment#1", State.number == 0),
    "metadata": lambda session: session.query(Equipment).where(Equipment.id == "Equipment#1"),
    "warnings": lambda session: session.query(State).where(State.id == "Equipment#1", State.state == "WARNING1"),
}


def test_every_published_request_is_asked(published):
    assert REQUESTS.keys() == published.requests.keys()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", REQUESTS)
async def test_request_gives_the_published_items(name, ask):
    await ask(name)


def test_created_table_has_the_published_keys_and_indexes(published, described):
    assert described("Equipment") == published.tables["Equipment"]


def test_stored_items_are_the_published_ones_to_the_letter(wire_items, stored, by_key):
    assert by_key("Equipment", stored("Equipment")) == by_key("Equipment", wire_items["Equipment"])


def test_a_range_of_numbers_without_a_width_is_refused_and_says_why(filled):
    with pytest.raises(ExpressionError, match="without a width"):
        filled.query(State).where(State.id == "Equipment#1", State.number > 1).explain()


async def move(session, pointer, version, *, seen):
    """Write a version and the latest one, as the source does: both, or neither if the latest is another by now."""
    async with session.transaction() as tx:
        tx.put(pointer, where=State.latest.missing() | (State.latest == seen))
        tx.put(version)


async def add_version(session, equipment, time, state):
    latest = await session.find(State, equipment, Parts(number=0), consistent_read=True)
    seen = (latest.latest or 0) if latest else 0
    pointer = State(id=equipment, number=0, time=time, state=state, latest=seen + 1)
    await move(session, pointer, State(id=equipment, number=seen + 1, time=time, state=state), seen=seen)


@pytest.mark.asyncio(loop_scope="function")
async def test_versions_are_numbered_by_the_latest_and_none_is_lost(session):
    await session.tables.create(EQUIPMENT)
    for minute in range(3):
        await add_version(session, "Equipment#2", f"2020-11-10T09:0{minute}:00", f"STATE{minute}")
    latest = await session.get(State, "Equipment#2", Parts(number=0))
    assert (latest.latest, latest.state) == (3, "STATE2")
    late = State(id="Equipment#2", number=3, time="2020-11-10T09:09:00", state="LOST")
    with pytest.raises(TransactionCanceledError):
        await move(session, latest, late, seen=2)
    assert (await session.get(State, "Equipment#2", Parts(number=3))).state == "STATE2"
