"""The fixtures beside other plugins of pytest: `nox -s beside` runs these without sockets, in any order, each twice."""

import asyncio
import socket
import time
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from freezegun import freeze_time
from pytest_socket import SocketBlockedError

from dynamap_async import Attr, Model, PartitionKey, TimeToLive, attr

STOPPED = datetime(2031, 5, 17, 12, tzinfo=UTC)


class Login(Model, table="logins", hide_expired=True):
    user: PartitionKey[str]
    at: Attr[datetime | None] = attr(default=None)
    expires_at: TimeToLive[datetime | None] = attr(default=None)


pytestmark = [pytest.mark.asyncio, pytest.mark.dynamap(models=[Login])]


CLOCKS = {
    "freezegun": lambda: freeze_time(STOPPED),
    "time-machine": lambda: time_machine.travel(STOPPED, tick=False),
}


@pytest.fixture(params=CLOCKS)
def _stopped_time(request):
    with CLOCKS[request.param]():
        yield


async def leave_something(session):
    """Fail if a test before has left anything, and leave something for the next."""
    assert await session.scan(Login) == []
    await session.create(Login(user="ada"))


@pytest.mark.filterwarnings("ignore:A test tried to use socket")
async def test_no_socket_is_needed(dynamap_session, dynamap_engine):
    with pytest.raises(SocketBlockedError):
        socket.socket()
    await leave_something(dynamap_session)
    assert dynamap_engine.items(dynamap_session.table_name(Login)) == [{"user": {"S": "ada"}}]


@pytest.mark.parametrize("number", range(3))
async def test_nothing_is_left_whatever_comes_first(dynamap_session, number):
    await leave_something(dynamap_session)


async def test_nothing_is_left_of_a_run_that_failed(dynamap_session, request):
    await leave_something(dynamap_session)
    assert request.node.execution_count == 2


@pytest.mark.xfail(strict=True, reason="it takes too long, on purpose")
@pytest.mark.timeout(0.1, func_only=True)
async def test_nothing_is_left_of_a_test_that_took_too_long(dynamap_session):
    await leave_something(dynamap_session)
    await asyncio.sleep(3600)


@pytest.mark.usefixtures("_stopped_time")  # before the session is opened, and until it is closed
async def test_time_that_another_library_has_stopped_is_stored_and_expires(dynamap_session):
    assert time.time() == STOPPED.timestamp()
    await leave_something(dynamap_session)
    await dynamap_session.put(Login(user="bob", at=datetime.now(UTC), expires_at=STOPPED + timedelta(hours=1)))
    assert (await dynamap_session.get(Login, "bob")).at == STOPPED
    await dynamap_session.put(Login(user="eve", expires_at=STOPPED - timedelta(seconds=1)))
    assert await dynamap_session.find(Login, "eve") is None
