"""Flights, fares and bookings of an airline: kinds that no word of the keys tells, in one partition, told by a marker.

A fare and a flight stand side by side under an airport, because the day of the one and the departure of the other have
the same place in the sort key. Seats and passengers meet in an index, by the number of a flight.
"""

from datetime import UTC, datetime
from typing import Literal

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Parts, SortKey, Table, attr, template, time_text

SCENARIO = "flights-fares"
LOCAL = time_text("%Y-%m-%dT%H:%M:%S")

FLIGHTS = Table(
    "data",
    partition_key="PK",
    sort_key="SK",
    discriminator="type",
    indexes=(
        GlobalIndex("GSI1", partition_key="GSI1PK", sort_key="GSI1SK"),
        GlobalIndex("GSI2", partition_key="GSI2PK", sort_key="GSI2SK"),
    ),
)


class Route(Model, table=FLIGHTS, abstract=True):
    origin: Attr[str]
    dest: Attr[str]
    flown: Attr[Literal["nonstop", "direct"]] = attr(name="class")
    sk: SortKey[str]

    pk: PartitionKey[str] = template("{origin}")
    to: Attr[str] = template("{dest}", name="GSI1PK")


class Fare(Route, kind="fare"):
    start: Attr[datetime] = attr(stored_as=LOCAL)
    end: Attr[datetime] = attr(stored_as=LOCAL)

    sk: SortKey[str] = template("{dest}#{start}#{flown}")
    back: Attr[str] = template("{origin}#{start}", name="GSI1SK")


class Flight(Route, kind="flight"):
    depart: Attr[datetime] = attr(stored_as=LOCAL)
    arrive: Attr[str]
    number: Attr[str]
    segment: Attr[str] = attr(name="segId")
    is_segment: Attr[str | None] = attr(name="isSegment", default=None)
    segments: Attr[str | None] = attr(default=None)

    sk: SortKey[str] = template("{dest}#{depart}#{number}#{segment}")
    back: Attr[str] = template("{origin}#{arrive}", name="GSI1SK")
    flight_key: Attr[str] = template("{number}", name="GSI2PK")
    segment_key: Attr[str] = template("{segment}", name="GSI2SK")


class Journey(Model, table=FLIGHTS, abstract=True):
    passenger: Attr[str] = attr(stored=False)
    flight: Attr[str]
    depart: Attr[datetime] = attr(stored_as=LOCAL)
    arrive: Attr[str]
    origin: Attr[str]
    dest: Attr[str]
    sk: SortKey[str]

    pk: PartitionKey[str] = template("{passenger}")


class Booking(Journey, kind="booking", distinct_from=(Fare, Flight)):
    segments: Attr[str]

    sk: SortKey[str] = template("{depart}#{flight}")


class Seat(Journey, kind="assignment", distinct_from=(Fare, Flight, Booking)):
    wishes: Attr[str] = attr(name="SSR")
    segment: Attr[str] = attr(name="segId")
    seat: Attr[str]

    sk: SortKey[str] = template("{depart}#{flight}#{segment}#{seat}")
    flight_key: Attr[str] = template("{flight}", name="GSI2PK")
    segment_key: Attr[str] = template("{segment}#{seat}", name="GSI2SK")


MODELS = {"data": FLIGHTS}
AUGUST = datetime(2021, 8, 1, tzinfo=UTC), datetime(2021, 8, 2, tzinfo=UTC)

REQUESTS = {
    "flights-and-fares": lambda session: session.query(Fare, Flight).where(
        Fare.origin == "SFO", Fare.dest == "JFK", Fare.start.between(*AUGUST)
    ),
    "fares": lambda session: session.query(Fare).where(
        Fare.origin == "SFO", Fare.dest == "JFK", Fare.start == AUGUST[0]
    ),
    "departures": lambda session: session.query(Flight).where(
        Flight.origin == "SFO", Flight.dest == "JFK", Flight.depart >= datetime(2021, 8, 1, 7, tzinfo=UTC)
    ),
    "into-airport": lambda session: session.query(Fare, Flight).where(Fare.dest == "SFO"),
    "into-airport-from": lambda session: (
        session.query(Flight).where(Flight.dest == "SFO", Flight.arrive > "").where(Flight.origin == "JFK")
    ),
    "segments-and-seats": lambda session: session.query(Flight, Seat).where(Flight.number == "150"),
    "seats-of-segment": lambda session: session.query(Seat).where(Seat.flight == "150", Seat.segment == "2"),
    "itinerary": lambda session: session.query(Booking, Seat).where(Booking.passenger == "Smith, Jon"),
    "seats-on-trip": lambda session: session.query(Seat).where(
        Seat.passenger == "Smith, Jon", Seat.depart == datetime(2021, 8, 1, 6, 25, tzinfo=UTC), Seat.flight == "150"
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
async def test_a_seat_is_named_by_its_parts(filled):
    depart = datetime(2021, 8, 1, 10, 25, tzinfo=UTC)
    key = Parts(passenger="Parker, Jane", depart=depart, flight="150", segment="2", seat="3D")
    assert (await filled.get(Seat, key)).dest == "JFK"


@pytest.mark.asyncio(loop_scope="function")
async def test_another_seat_is_another_item_in_both_indexes(session, items):
    await session.tables.create(FLIGHTS)
    await session.put_many(items)
    [seat] = await session.query(Seat).where(Seat.passenger == "Parker, Jane", Seat.flight == "160")
    async with session.transaction() as tx:
        tx.delete(seat)
        tx.create(seat.model_copy(update={"seat": "4A"}))
    on_board = await session.query(Seat).where(Seat.flight == "160", Seat.segment == "1")
    assert [(each.passenger, each.seat) for each in on_board] == [("Parker, Jane", "4A")]
