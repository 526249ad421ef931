import asyncio
import datetime

import orjson
import pytest
from aiobotocore.credentials import AioRefreshableCredentials

from dynamap_async.config import Credentials
from dynamap_async.errors import ConfigurationError, CredentialsRejectedError
from dynamap_async.transport import AioSession, Connection
from dynamap_async.transport.credentials import FixedCredentials
from dynamap_async.transport.endpoint import to_endpoint
from dynamap_async.transport.http import credential_source
from dynamap_async.transport.session_credentials import SessionCredentials
from dynamap_async.transport.settings import ConnectionSettings

EXPIRED = orjson.dumps({"__type": "com.amazon.coral.service#ExpiredTokenException", "message": "expired"})


def metadata(number, *, minutes=60):
    expiry = datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=minutes)
    return {
        "access_key": f"AKID{number}",
        "secret_key": "s",
        "token": f"token-{number}",
        "expiry_time": expiry.isoformat(),
    }


class Refreshes:
    """Hands out token-1, token-2, ... and counts."""

    def __init__(self, *, fails=False):
        self.count = 0
        self.fails = fails

    async def __call__(self):
        self.count += 1
        await asyncio.sleep(0)
        if self.fails:
            raise OSError("the vault is sealed")
        return metadata(self.count)


def session_with(refresh, *, minutes=60):
    session = AioSession()
    session._credentials = AioRefreshableCredentials.create_from_metadata(
        metadata(0, minutes=minutes), refresh_using=refresh, method="test"
    )
    return session


@pytest.mark.asyncio
async def test_fixed_credentials_cannot_be_renewed():
    credentials = Credentials(access_key_id="A", secret_access_key="s")
    source = FixedCredentials(credentials)
    assert await source.current() is credentials
    assert not await source.renew(credentials)


@pytest.mark.asyncio
async def test_credentials_of_the_environment_are_found(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "t")
    source = SessionCredentials(AioSession())
    expected = Credentials(access_key_id="AKIDENV", secret_access_key="s", session_token="t")
    assert await source.current() == expected


@pytest.mark.asyncio
async def test_credentials_that_were_read_with_their_line_break_are_refused(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDENV\n")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden")
    with pytest.raises(ConfigurationError, match="^access_key_id of the credentials has a line break"):
        await SessionCredentials(AioSession()).current()


@pytest.mark.asyncio
async def test_missing_credentials_name_the_remedies():
    with pytest.raises(ConfigurationError, match="credentials=Credentials"):
        await SessionCredentials(AioSession()).current()


@pytest.mark.asyncio
async def test_credentials_that_are_given_for_want_of_others_are_those_of_every_request():
    anybody = Credentials(access_key_id="local", secret_access_key="local")
    source = SessionCredentials(AioSession(), otherwise=anybody)
    assert source.fixed is None
    assert await source.current() == anybody
    assert source.fixed == anybody


@pytest.mark.asyncio
async def test_credentials_that_are_found_come_before_those_for_want_of_others(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    anybody = Credentials(access_key_id="local", secret_access_key="local")
    source = SessionCredentials(AioSession(), otherwise=anybody)
    assert (await source.current()).access_key_id == "AKIDENV"
    assert source.fixed is None


@pytest.mark.parametrize(
    ("url", "given"),
    [
        ("http://127.0.0.1:8000", True),
        ("http://localhost:8000", True),
        ("http://[::1]:8000", True),
        ("https://127.0.0.2", True),
        ("http://dynamodb:8000", False),
        ("http://localhost.example.com", False),
        ("http://10.0.0.1:8000", False),
        ("https://dynamodb.eu-west-1.amazonaws.com", False),
    ],
)
def test_only_an_engine_of_this_machine_is_asked_without_credentials(url, given):
    settings = ConnectionSettings(endpoint=to_endpoint(url, "eu-west-1"), session=AioSession())
    source = credential_source(Connection(), settings)
    assert isinstance(source, SessionCredentials)
    assert (source._otherwise is not None) is given


@pytest.mark.asyncio
async def test_credentials_near_their_end_are_refreshed_by_the_session():
    source = SessionCredentials(session_with(Refreshes(), minutes=1))
    assert (await source.current()).session_token == "token-1"


@pytest.mark.asyncio
async def test_failed_refresh_is_a_configuration_error():
    source = SessionCredentials(session_with(Refreshes(fails=True), minutes=1))
    with pytest.raises(ConfigurationError, match="the vault is sealed"):
        await source.current()


@pytest.mark.asyncio
async def test_rejected_credentials_are_renewed_once_for_all_their_requests():
    refresh = Refreshes()
    source = SessionCredentials(session_with(refresh))
    rejected = await source.current()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(source.renew(rejected)) for _ in range(10)]
    assert [task.result() for task in tasks] == [True] * 10
    assert refresh.count == 1
    assert (await source.current()).session_token == "token-1"


@pytest.mark.asyncio
async def test_failed_renewal_is_a_configuration_error():
    source = SessionCredentials(session_with(Refreshes(fails=True)))
    with pytest.raises(ConfigurationError, match="the vault is sealed"):
        await source.renew(await source.current())


@pytest.mark.asyncio
async def test_expired_token_is_answered_by_one_renewal(server, connect, get_item):
    refresh = Refreshes()
    server.then(EXPIRED, status=400)
    transport = await connect(credentials=None, aio_session=session_with(refresh))
    assert await transport.send(get_item) == {}
    assert [received.headers["x-amz-security-token"] for received in server.requests] == ["token-0", "token-1"]


@pytest.mark.asyncio
async def test_token_that_expires_twice_is_rejected(server, connect, get_item):
    server.then(EXPIRED, status=400)
    server.then(EXPIRED, status=400)
    transport = await connect(credentials=None, aio_session=session_with(Refreshes()))
    with pytest.raises(CredentialsRejectedError) as raised:
        await transport.send(get_item)
    assert raised.value.service_code == "ExpiredTokenException"
    assert len(server.requests) == 2


@pytest.mark.asyncio
async def test_expired_token_that_cannot_be_refreshed_is_rejected(server, connect, get_item, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDENV")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s")
    server.then(EXPIRED, status=400)
    transport = await connect(credentials=None)
    with pytest.raises(CredentialsRejectedError):
        await transport.send(get_item)
    assert len(server.requests) == 1


@pytest.mark.asyncio
async def test_credentials_are_one_value_until_the_session_has_others():
    session = session_with(Refreshes())
    source = SessionCredentials(session)
    first = await source.current()
    assert await source.current() is first
    session._credentials = AioRefreshableCredentials.create_from_metadata(
        metadata(7), refresh_using=Refreshes(), method="test"
    )
    assert (await source.current()).session_token == "token-7"


def waiting_for(source, number):
    return [asyncio.create_task(source.current()) for _ in range(number)]


@pytest.mark.asyncio
@pytest.mark.parametrize("minutes", [-1, None], ids=["expired", "never found"])
async def test_a_failing_provider_is_asked_once_for_all_who_wait(minutes):
    refresh = Refreshes(fails=True)
    if minutes is None:
        session = AioSession()
        session.get_credentials = refresh
    else:
        session = session_with(refresh, minutes=minutes)
    source = SessionCredentials(session)
    tasks = waiting_for(source, 50)
    await asyncio.wait(tasks)
    errors = [task.exception() for task in tasks]
    assert {type(error) for error in errors} == {ConfigurationError}
    assert len(set(map(id, errors))) == 50
    assert {type(error.__cause__) for error in errors} == {OSError}
    assert refresh.count == 1

    with pytest.raises(ConfigurationError):  # who comes after the failure asks again
        await source.current()
    assert refresh.count == 2


@pytest.mark.asyncio
@pytest.mark.parametrize("cancelled", [0, 1, 4])
async def test_a_cancelled_caller_leaves_the_others_their_credentials(cancelled):
    refresh = Refreshes()
    source = SessionCredentials(session_with(refresh, minutes=-1))
    tasks = waiting_for(source, 5)
    await asyncio.sleep(0)
    tasks[cancelled].cancel()
    await asyncio.wait(tasks)
    assert [task.cancelled() for task in tasks] == [number == cancelled for number in range(5)]
    others = [task.result() for task in tasks if not task.cancelled()]
    assert len(set(map(id, others))) == 1
    assert refresh.count == 1 + (cancelled == 0)  # the one who asked was cancelled, so the next asks


@pytest.mark.asyncio
async def test_nobody_waits_for_credentials_that_are_refreshed_ahead_of_time():
    go_on = asyncio.Event()

    async def refresh():
        await go_on.wait()
        return metadata(1)

    source = SessionCredentials(session_with(refresh, minutes=12))  # they are refreshed from 15 minutes before the end
    first, second = waiting_for(source, 2)
    assert (await second).session_token == "token-0"
    go_on.set()
    assert (await first).session_token == "token-1"


@pytest.mark.asyncio
async def test_rejected_credentials_that_cannot_be_renewed_are_renewed_once_for_all():
    refresh = Refreshes(fails=True)
    source = SessionCredentials(session_with(refresh))
    rejected = await source.current()
    tasks = [asyncio.create_task(source.renew(rejected)) for _ in range(20)]
    await asyncio.wait(tasks)
    assert {type(task.exception()) for task in tasks} == {ConfigurationError}
    assert refresh.count == 1
