import asyncio
import datetime

import pytest
from aiobotocore.credentials import AioRefreshableCredentials
from pydantic_core import to_json

from dynamap_async.config import Credentials
from dynamap_async.errors import ConfigurationError, CredentialsRejectedError
from dynamap_async.transport import AioSession, Connection, session_credentials
from dynamap_async.transport.credentials import FixedCredentials
from dynamap_async.transport.endpoint import to_endpoint
from dynamap_async.transport.http import credential_source
from dynamap_async.transport.session_credentials import SessionCredentials
from dynamap_async.transport.settings import ConnectionSettings

EXPIRED = to_json({"__type": "com.amazon.coral.service#ExpiredTokenException", "message": "expired"})


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


SIGNED_IN_BY_SESSION = """
sso_session = corp
sso_account_id = 111122223333
sso_role_name = Dev
[sso-session corp]
sso_start_url = https://corp.awsapps.com/start
sso_region = eu-west-1
"""
SIGNED_IN_BY_PROFILE = """
sso_start_url = https://corp.awsapps.com/start
sso_region = eu-west-1
sso_account_id = 111122223333
sso_role_name = Dev
"""


@pytest.mark.asyncio
@pytest.mark.parametrize("signed_in", [SIGNED_IN_BY_SESSION, SIGNED_IN_BY_PROFILE], ids=["session", "profile"])
@pytest.mark.parametrize("profile", ["dev", "role"])
async def test_where_nobody_has_signed_in_the_command_is_named(
    aws_config_file, monkeypatch, tmp_path, signed_in, profile
):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    role = "[profile role]\nrole_arn = arn:aws:iam::111122223333:role/x\nsource_profile = dev\n"
    aws_config_file(f"{role}[profile dev]{signed_in}")
    with pytest.raises(ConfigurationError, match='; run "aws sso login --profile dev"$'):
        await SessionCredentials(AioSession(profile=profile)).current()


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
@pytest.mark.parametrize("cancelled", [pytest.param(0, marks=pytest.mark.counts_turns), 1, 4])
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
    assert refresh.count == 1


@pytest.mark.asyncio
@pytest.mark.parametrize("ask", ["current", "renew"])
async def test_a_provider_that_takes_longer_than_any_caller_has_time_is_asked_once(ask):
    provider = Provider(left=-1 if ask == "current" else 3600, gives=7200)
    provider.go_on.clear()
    rejected = Credentials(access_key_id="AKID", secret_access_key="s", session_token="token-0")
    for _ in range(3):
        tasks = [asyncio.create_task(getattr(provider.source, ask)(*[rejected] * (ask == "renew"))) for _ in range(5)]
        for _ in range(5):
            await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    provider.go_on.set()
    assert await provider.asked() in ("token-0", "token-1")
    assert (await provider.asked(), provider.count) == ("token-1", 1)


@pytest.mark.asyncio
async def test_a_provider_that_never_answers_is_asked_anew_after_its_time(monkeypatch):
    monkeypatch.setattr(session_credentials, "_LONGEST_SECONDS", 0)
    provider = Provider(left=-1, gives=7200)
    provider.go_on.clear()
    with pytest.raises(ConfigurationError, match="refreshed: TimeoutError"):
        await provider.asked()
    provider.go_on.set()
    monkeypatch.setattr(session_credentials, "_LONGEST_SECONDS", 60)
    assert await provider.asked() == "token-2"


@pytest.mark.asyncio
async def test_closing_tells_those_who_wait_for_credentials():
    provider = Provider(left=-1)
    provider.go_on.clear()
    tasks = waiting_for(provider.source, 3)
    for _ in range(5):
        await asyncio.sleep(0)
    await provider.source.close()
    await asyncio.wait(tasks)
    assert {str(task.exception()) for task in tasks} == {
        "AWS credentials could not be read or refreshed: the session was closed"
    }


class Provider:
    """Gives credentials that are good for so many seconds by a clock that the test sets, once it may go on."""

    def __init__(self, *, left, gives=0):
        self.now = datetime.datetime(2030, 1, 1, tzinfo=datetime.UTC)
        self.end = self.now + datetime.timedelta(seconds=left)
        self.gives = gives
        self.count = self.ended = 0
        self.fails = False
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.session = AioSession()
        self.session._credentials = AioRefreshableCredentials(
            "AKID", "s", "token-0", self.end, refresh_using=self, method="test", time_fetcher=lambda: self.now
        )
        self.source = SessionCredentials(self.session)

    async def __call__(self):
        self.count += 1
        try:
            await self.go_on.wait()
        finally:
            self.ended += 1
        if self.fails:
            raise OSError("the vault is sealed")
        if self.gives:
            self.end = self.now + datetime.timedelta(seconds=self.gives)
        facts = {"access_key": "AKID", "secret_key": "s", "token": f"token-{self.count}"}
        return {**facts, "expiry_time": self.end.isoformat()}

    async def asked(self, number=1):
        """Ask so many times, and let what was begun go on; return what came last."""
        for _ in range(number):
            found = await self.source.current()
            for _ in range(5):
                await asyncio.sleep(0)
        return found.session_token

    async def after(self, seconds, number=1):
        self.now += datetime.timedelta(seconds=seconds)
        return await self.asked(number)


@pytest.mark.asyncio
@pytest.mark.parametrize("left", [899, 500, 1])
async def test_nobody_waits_for_a_refresh_while_those_at_hand_are_good(left):
    provider = Provider(left=left, gives=3600)
    provider.go_on.clear()
    assert await provider.asked(20) == "token-0"
    assert provider.count == 1
    provider.go_on.set()
    await provider.asked()
    assert await provider.asked(20) == "token-1"
    assert provider.count == 1


@pytest.mark.asyncio
async def test_a_provider_that_gave_nothing_later_is_asked_again_when_half_of_what_was_left_is_over():
    provider = Provider(left=800)
    await provider.asked(50)
    assert provider.count == 1
    await provider.after(399, 50)
    assert provider.count == 1
    await provider.after(2, 50)
    assert provider.count == 2
    await provider.after(198, 50)
    assert provider.count == 2
    await provider.after(2, 50)
    assert provider.count == 3


@pytest.mark.asyncio
async def test_credentials_that_last_for_less_than_aiobotocore_asks_for_are_used_for_half_of_their_time():
    provider = Provider(left=900, gives=900)  # as those of a role that is assumed for 15 minutes
    await provider.after(1, 50)
    assert provider.count == 1
    await provider.after(449, 50)
    assert provider.count == 1
    await provider.after(2, 50)
    assert provider.count == 2


@pytest.mark.asyncio
async def test_nothing_is_asked_for_before_the_last_15_minutes():
    provider = Provider(left=901)
    await provider.asked(50)
    assert provider.count == 0


@pytest.mark.asyncio
async def test_a_refresh_that_fails_ahead_of_time_is_nobodys_error_and_tried_later():
    provider = Provider(left=800)
    provider.fails = True
    assert await provider.asked(50) == "token-0"
    assert provider.count == 1
    assert await provider.after(401, 50) == "token-0"
    assert provider.count == 2


@pytest.mark.asyncio
async def test_a_refresh_ahead_of_time_that_brings_expired_credentials_leaves_the_good_ones():
    provider = Provider(left=800, gives=-5)
    assert await provider.asked(50) == "token-0"
    assert provider.count == 1
    assert await provider.after(399, 50) == "token-0"
    assert provider.count == 1
    provider.gives = 3600
    await provider.after(2)
    assert await provider.asked() == "token-2"


@pytest.mark.asyncio
async def test_credentials_that_have_expired_and_are_followed_by_such_are_an_error_each_time():
    provider = Provider(left=-1, gives=-5)
    for _ in range(2):
        with pytest.raises(ConfigurationError, match="still expired"):
            await provider.asked()
    provider.gives = 3600
    assert await provider.asked() == "token-3"


@pytest.mark.asyncio
async def test_credentials_that_have_expired_are_waited_for_and_their_failure_is_told():
    provider = Provider(left=-1, gives=3600)
    provider.fails = True
    with pytest.raises(ConfigurationError, match="the vault is sealed"):
        await provider.asked()
    provider.fails = False
    assert await provider.asked() == "token-2"


@pytest.mark.asyncio
async def test_what_somebody_else_refreshed_is_used():
    provider = Provider(left=3600, gives=3600)
    assert await provider.asked() == "token-0"
    await provider.session._credentials._protected_refresh(is_mandatory=True)
    assert await provider.asked() == "token-1"


@pytest.mark.asyncio
async def test_closing_ends_a_refresh_that_is_under_way():
    provider = Provider(left=500)
    provider.go_on.clear()
    before = asyncio.all_tasks()
    await provider.asked()
    assert len(asyncio.all_tasks() - before) == 1
    await provider.source.close()
    assert asyncio.all_tasks() == before


@pytest.mark.asyncio
async def test_a_transport_leaves_no_refresh_behind(connect, server, get_item):
    provider = Provider(left=500)
    provider.go_on.clear()
    transport = await connect(credentials=None, aio_session=provider.session)
    await transport.send(get_item)
    assert server.requests[0].headers["x-amz-security-token"] == "token-0"
    await transport.close()
    assert (provider.count, provider.ended) == (1, 1)


@pytest.mark.asyncio
async def test_a_transport_that_cannot_open_leaves_no_refresh_behind(connect):
    before = asyncio.all_tasks()
    provider = Provider(left=500)
    provider.go_on.clear()
    with pytest.raises(ConfigurationError):
        await connect(credentials=None, aio_session=provider.session, config={"connector_args": {"pool_timeout": 1}})
    assert asyncio.all_tasks() == before


@pytest.mark.asyncio
async def test_rejected_credentials_that_cannot_be_renewed_are_renewed_once_for_all():
    refresh = Refreshes(fails=True)
    source = SessionCredentials(session_with(refresh))
    rejected = await source.current()
    tasks = [asyncio.create_task(source.renew(rejected)) for _ in range(20)]
    await asyncio.wait(tasks)
    assert {type(task.exception()) for task in tasks} == {ConfigurationError}
    assert refresh.count == 1
