"""Cars, drivers and features: kinds that only both keys together tell, and one time in two written forms.

``#META#`` stands under cars and drivers, ``ID#`` and ``VIN#`` are partitions here and sort keys there, and ``F#``
begins what a car and a driver know of a feature, with other parts behind it. Nothing is stored that says a kind.
"""

from datetime import UTC, datetime
from typing import Any, Literal

import pytest

from dynamap_async import Attr, Model, PartitionKey, Parts, SortKey, Table, attr, template, time_text

SCENARIO = "connected-vehicles"

VEHICLES = Table("Connected_Vehicle", partition_key="PK", sort_key="SK", discriminator=None)


class OfVehicle(Model, table=VEHICLES, abstract=True):
    vin: Attr[str] = attr(stored=False)
    sk: SortKey[str]

    pk: PartitionKey[str] = template("VIN#{vin}")


class OfDriver(Model, table=VEHICLES, abstract=True):
    driver: Attr[str] = attr(stored=False)
    sk: SortKey[str]

    pk: PartitionKey[str] = template("ID#{driver}")


class Equipped(Model, abstract=True):
    cameras: Attr[dict[str, Any] | None] = attr(default=None)
    mirrors: Attr[dict[str, Any] | None] = attr(default=None)
    seats: Attr[dict[str, Any] | None] = attr(default=None)
    autonomous: Attr[dict[str, Any] | None] = attr(name="autonomous_driving", default=None)


class Vehicle(OfVehicle):
    number: Attr[str] = attr(name="vehicle_id")
    torque: Attr[str]
    drivetrain: Attr[str]
    engine: Attr[str]
    horsepower: Attr[str]

    sk: SortKey[str] = template("#META#")


class Feature(OfVehicle, Equipped):
    feature: Attr[str] = attr(stored=False)

    sk: SortKey[str] = template("FEATURE#{feature}")


class DriverOfVehicle(OfVehicle):
    driver: Attr[str] = attr(stored=False)

    sk: SortKey[str] = template("ID#{driver}")


class FeatureOfDriverInVehicle(OfVehicle, Equipped):
    driver: Attr[str] = attr(stored=False)
    state: Attr[Literal["ACTIVE", "EXPIRED"]] = attr(stored=False)
    feature: Attr[str] = attr(stored=False)
    part: Attr[str] = attr(stored=False)
    user_id: Attr[str]
    vehicle_id: Attr[str]

    sk: SortKey[str] = template("F#{driver}#{state}#{feature}#{part}")


class Driver(OfDriver):
    name: Attr[str] = attr(name="user_name")
    phone: Attr[str] = attr(name="user_phone")

    sk: SortKey[str] = template("#META#")


class Preference(OfDriver, Equipped):
    feature: Attr[str] = attr(stored=False)
    name: Attr[str] = attr(name="user_name")

    sk: SortKey[str] = template("PREFERENCES#{feature}")


class FeatureOfDriver(OfDriver, Equipped):
    state: Attr[Literal["ACTIVE", "EXPIRED"]] = attr(stored=False)
    feature: Attr[str] = attr(stored=False)
    part: Attr[str] = attr(stored=False)
    name: Attr[str] = attr(name="user_name")
    expires: Attr[str] = attr(name="expiration_date")
    expires_at: Attr[str] = attr(name="expiration_ttl")

    sk: SortKey[str] = template("F#{state}#{feature}#{part}")


class VehicleOfDriver(OfDriver):
    vin: Attr[str] = attr(stored=False)

    sk: SortKey[str] = template("VIN#{vin}")


MODELS = {"Connected_Vehicle": VEHICLES}
VIN = "WDDJK7DA4FF954840"
KINDS = {Vehicle: 1, Feature: 3, DriverOfVehicle: 1, FeatureOfDriverInVehicle: 1, Driver: 1, Preference: 2}
KINDS |= {FeatureOfDriver: 2, VehicleOfDriver: 1}

REQUESTS = {
    "vehicle": lambda session: session.query(Vehicle).where(Vehicle.vin == VIN),
    "whole-vehicle": lambda session: session.query(OfVehicle).where(OfVehicle.vin == VIN),
    "features-of-vehicle": lambda session: session.query(Feature).where(Feature.vin == VIN),
    "drivers-of-vehicle": lambda session: session.query(DriverOfVehicle).where(DriverOfVehicle.vin == VIN),
    "features-of-driver-in-vehicle": lambda session: session.query(FeatureOfDriverInVehicle).where(
        FeatureOfDriverInVehicle.vin == VIN,
        FeatureOfDriverInVehicle.driver == "cbrawley0",
        FeatureOfDriverInVehicle.state == "ACTIVE",
    ),
    "preferences": lambda session: session.query(Preference).where(Preference.driver == "cbrawley0"),
    "features-of-driver": lambda session: session.query(FeatureOfDriver).where(FeatureOfDriver.driver == "cbrawley0"),
    "expired-features-of-driver": lambda session: session.query(FeatureOfDriver).where(
        FeatureOfDriver.driver == "cbrawley0", FeatureOfDriver.state == "EXPIRED"
    ),
    "vehicles-of-driver": lambda session: session.query(VehicleOfDriver).where(VehicleOfDriver.driver == "cbrawley0"),
    "driver-and-preferences": lambda session: session.query(Driver, Preference).where(Driver.driver == "cbrawley0"),
}


def test_every_published_request_is_asked(published):
    assert REQUESTS.keys() == published.requests.keys()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", REQUESTS)
async def test_request_gives_the_published_items(name, ask):
    await ask(name)


def test_created_table_has_the_published_keys_and_indexes(published, described):
    assert described("Connected_Vehicle") == published.tables["Connected_Vehicle"]


def test_stored_items_are_the_published_ones_to_the_letter(wire_items, stored, by_key):
    table = "Connected_Vehicle"
    assert by_key(table, stored(table)) == by_key(table, wire_items[table])


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("model", KINDS)
async def test_a_scan_of_one_kind_gives_that_kind_alone(model, filled):
    found = await filled.scan(model)
    assert {type(each) for each in found} == {model}
    assert len(found) == KINDS[model]


class Expiring(Model, table="Connected_Vehicle"):
    """A driver's feature, whose time stands in the table with a ``T`` here and with a space there."""

    pk: PartitionKey[str] = attr(name="PK")
    sk: SortKey[str] = attr(name="SK")
    expires: Attr[datetime] = attr(
        name="expiration_date",
        stored_as=time_text("%Y-%m-%dT%H:%M:%S"),
        also_stored_as=time_text("%Y-%m-%d %H:%M:%S"),
    )
    note: Attr[str | None] = attr(default=None)


@pytest.mark.asyncio(loop_scope="function")
async def test_both_written_forms_of_a_time_are_read_asked_for_and_kept(session, items, client):
    await session.tables.create(VEHICLES)
    await session.put_many(items)
    features = session.query(Expiring).where(Expiring.pk == "ID#cbrawley0", Expiring.sk.begins_with("F#"))
    over = await features.where(Expiring.expires < datetime(2024, 1, 1, tzinfo=UTC))
    assert [each.expires for each in over] == [datetime(2023, 5, 5, 23, 59, 59, tzinfo=UTC)]
    assert len(await features.where(Expiring.expires > datetime(2023, 1, 1, tzinfo=UTC))) == 2
    over[0].note = "told"
    await session.save(over[0])
    key = Parts(driver="cbrawley0", state="EXPIRED", feature="SEATS", part="<sub_feature>")
    assert (await session.get(FeatureOfDriver, key)).expires == "2023-05-05 23:59:59"
