"""Turning time to live on and off: what is sent to a table in each state, and whom a refusal concerns."""

import logging
from datetime import datetime

import pytest

from dynamap_async import Model, PartitionKey, TimeToLive, attr
from dynamap_async.errors import OperationError, RequestRejectedError


class Fading(Model, table="fading"):
    id: PartitionKey[str]
    until: TimeToLive[datetime | None] = attr(default=None)


class Lasting(Model, table="fading"):
    id: PartitionKey[str]


def ttl(status, attribute=None):
    described = {"TimeToLiveStatus": status}
    return {"TimeToLiveDescription": described if attribute is None else {**described, "AttributeName": attribute}}


def rejected(code="ValidationException"):
    return RequestRejectedError("refused", service_code=code, operation="X", table="fading", status=400)


def operations(transport):
    return [request.operation for request in transport.requests]


@pytest.mark.parametrize("state", [ttl("DISABLED"), ttl("DISABLED", "until"), ttl("DISABLED", "other")])
async def test_it_is_turned_on_where_it_is_off(transport, open_session, state):
    transport.script(state, {})
    async with open_session(table_prefix="dev-") as session:
        await session.tables.update_time_to_live(Fading)
    assert transport.requests[-1].body == {
        "TableName": "dev-fading",
        "TimeToLiveSpecification": {"Enabled": True, "AttributeName": "until"},
    }


@pytest.mark.parametrize("status", ["ENABLED", "ENABLING"])
async def test_nothing_is_sent_where_it_is_on_already(transport, open_session, status):
    transport.script(ttl(status, "until"))
    async with open_session() as session:
        await session.tables.update_time_to_live(Fading)
    assert operations(transport) == ["DescribeTimeToLive"]


@pytest.mark.parametrize("state", [ttl("DISABLED"), ttl("DISABLING", "until")])
async def test_nothing_is_sent_where_it_is_off_already(transport, open_session, state):
    transport.script(state)
    async with open_session() as session:
        await session.tables.update_time_to_live(Lasting, enabled=False)
    assert operations(transport) == ["DescribeTimeToLive"]


async def test_it_is_turned_off_for_the_attribute_that_it_is_on_for(transport, open_session):
    transport.script(ttl("ENABLED", "other"), {})
    async with open_session() as session:
        await session.tables.update_time_to_live(Fading, enabled=False)
    specification = transport.requests[-1].body["TimeToLiveSpecification"]
    assert specification == {"Enabled": False, "AttributeName": "other"}


async def test_models_of_one_table_are_one_change(transport, open_session):
    transport.script(ttl("DISABLED"), {})
    async with open_session() as session:
        await session.tables.update_time_to_live(Lasting, Fading)
    assert operations(transport) == ["DescribeTimeToLive", "UpdateTimeToLive"]


async def test_it_is_not_moved_to_another_attribute(transport, open_session):
    transport.script(ttl("ENABLED", "other"))
    async with open_session() as session:
        with pytest.raises(OperationError, match="time to live of fading is on for 'other'.*enabled=False"):
            await session.tables.update_time_to_live(Fading)
    assert operations(transport) == ["DescribeTimeToLive"]


async def test_a_table_whose_models_declare_none_is_refused(transport, open_session):
    async with open_session() as session:
        with pytest.raises(OperationError, match="no model of fading has a TimeToLive field"):
            await session.tables.update_time_to_live(Lasting)
    assert operations(transport) == []


async def test_it_is_no_error_that_somebody_else_was_quicker(transport, open_session):
    transport.script(ttl("DISABLED"), rejected(), ttl("ENABLING", "until"))
    async with open_session() as session:
        await session.tables.update_time_to_live(Fading)
    assert operations(transport) == ["DescribeTimeToLive", "UpdateTimeToLive", "DescribeTimeToLive"]


async def test_a_second_change_within_the_hour_is_the_services_error_with_the_remedy(transport, open_session):
    transport.script(ttl("DISABLING", "until"), rejected(), ttl("DISABLING", "until"))
    async with open_session() as session:
        with pytest.raises(RequestRejectedError) as caught:
            await session.tables.update_time_to_live(Fading)
    assert "one change of a table's time to live per hour" in caught.value.__notes__[-1]


async def test_an_engine_without_it_refuses_to_turn_it_on(transport, open_session):
    transport.script(*[rejected("UnknownOperationException")] * 3)
    async with open_session() as session:
        with pytest.raises(RequestRejectedError) as caught:
            await session.tables.update_time_to_live(Fading)
    assert caught.value.service_code == "UnknownOperationException"


async def test_a_table_is_made_on_an_engine_without_it_and_the_log_says_so(transport, open_session, caplog):
    active = {
        "Table": {
            "TableName": "fading",
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "TableStatus": "ACTIVE",
        }
    }
    transport.script({}, active, rejected("UnknownOperationException"))
    with caplog.at_level(logging.WARNING, logger="dynamap_async"):
        async with open_session() as session:
            await session.tables.create(Fading)
    assert "will not delete the expired items of fading" in caplog.text


async def test_a_table_is_not_quietly_made_without_it_where_the_service_refuses(transport, open_session):
    active = {
        "Table": {
            "TableName": "fading",
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
            "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
            "TableStatus": "ACTIVE",
        }
    }
    transport.script({}, active, rejected())
    async with open_session() as session:
        with pytest.raises(RequestRejectedError):
            await session.tables.create(Fading)
