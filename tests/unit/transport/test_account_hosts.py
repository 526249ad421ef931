"""Requests go to the host of the account that their credentials, or the ARN of their table, name."""

import pytest

from dynamap_async.config import Credentials
from dynamap_async.errors import ConfigurationError
from dynamap_async.request import Request
from dynamap_async.service import STREAMS
from dynamap_async.transport import AioConfig, Connection, WireTransport
from dynamap_async.transport.channel import Answer

OWN, OTHER = "111122223333", "444455556666"
VISITS = f"arn:aws:dynamodb:eu-west-1:{OTHER}:table/visits"


class NotedChannel:
    name = "nothing"
    errors = ()

    def __init__(self, host, sent):
        self._host, self._sent = host, sent

    async def post(self, headers, body):
        self._sent.append(self._host)
        return Answer(200, {"content-type": "application/x-amz-json-1.0"}, b"{}")

    async def close(self):
        self._sent.append(f"closed {self._host}")


class NotedTransport(WireTransport):
    """Notes the hosts that requests are sent to, and sends nothing."""

    def __init__(self, connection):
        super().__init__(connection)
        self.sent = []

    async def open_channel(self, settings):
        return NotedChannel(settings.endpoint.host, self.sent)


def credentials(account):
    return Credentials(access_key_id="AKIDEXAMPLE", secret_access_key="secret", account_id=account)


def transport(account=OWN, mode=None, **facts):
    config = None if mode is None else AioConfig(account_id_endpoint_mode=mode)
    return NotedTransport(
        Connection(**{"region": "eu-west-1", "credentials": credentials(account), "aio_config": config, **facts})
    )


def scan(table="visits", **facts):
    return Request(operation="Scan", body={"TableName": table}, table=table, **facts)


async def sent_by(used, *requests):
    await used.open()
    for request in requests:
        await used.send(request)
    return used.sent


@pytest.mark.asyncio
async def test_a_request_goes_to_the_host_of_the_account_of_its_credentials():
    assert await sent_by(transport(), scan(), scan()) == [f"{OWN}.ddb.eu-west-1.amazonaws.com"] * 2


@pytest.mark.asyncio
async def test_without_an_account_a_request_goes_to_the_host_of_all_accounts():
    assert await sent_by(transport(None), scan()) == ["dynamodb.eu-west-1.amazonaws.com"]


@pytest.mark.asyncio
async def test_a_table_that_is_named_by_its_arn_is_asked_at_the_host_of_its_owner():
    assert await sent_by(transport(), scan(VISITS), scan(), scan(VISITS)) == [
        f"{OTHER}.ddb.eu-west-1.amazonaws.com",
        f"{OWN}.ddb.eu-west-1.amazonaws.com",
        f"{OTHER}.ddb.eu-west-1.amazonaws.com",
    ]


@pytest.mark.asyncio
async def test_another_service_has_hosts_of_accounts_of_its_own():
    sent = await sent_by(transport(), scan(service=STREAMS))

    assert sent == [f"{OWN}.streams-ddb.eu-west-1.amazonaws.com"]


@pytest.mark.asyncio
async def test_switched_off_all_accounts_are_asked_at_one_host():
    sent = await sent_by(transport(mode="disabled"), scan(), scan(VISITS))

    assert sent == ["dynamodb.eu-west-1.amazonaws.com"] * 2


@pytest.mark.asyncio
async def test_an_endpoint_of_ones_own_serves_all_accounts():
    sent = await sent_by(transport(endpoint_url="http://engine:8000"), scan(), scan(VISITS))

    assert sent == ["engine:8000"] * 2


@pytest.mark.asyncio
async def test_an_account_that_is_required_and_unknown_is_refused_before_the_first_request_without_one_is_sent():
    used = transport(None, mode="required")
    await used.open()

    with pytest.raises(ConfigurationError, match="the credentials name no account; set AWS_ACCOUNT_ID, .* its ARN"):
        await used.send(scan())
    assert used.sent == []


@pytest.mark.asyncio
async def test_where_accounts_are_required_the_arn_of_a_table_names_one():
    sent = await sent_by(transport(None, mode="required"), scan(VISITS))

    assert sent == [f"{OTHER}.ddb.eu-west-1.amazonaws.com"]


@pytest.mark.asyncio
async def test_hosts_of_accounts_that_do_not_exist_are_refused_when_the_transport_opens():
    config = AioConfig(account_id_endpoint_mode="required", use_fips_endpoint=True)

    with pytest.raises(ConfigurationError, match="hosts of accounts have no FIPS form"):
        await transport(None, aio_config=config).open()


@pytest.mark.parametrize(
    ("excepted", "account", "by_proxy"),
    [
        (".ddb.eu-west-1.amazonaws.com", OWN, False),
        (".ddb.eu-west-1.amazonaws.com", None, True),
        ("dynamodb.eu-west-1.amazonaws.com", OWN, True),
        ("dynamodb.eu-west-1.amazonaws.com", None, False),
    ],
)
@pytest.mark.asyncio
async def test_a_proxy_is_used_unless_the_host_that_the_request_goes_to_is_excepted(
    monkeypatch, excepted, account, by_proxy
):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", excepted)
    seen = []

    class Seeing(NotedTransport):
        async def open_channel(self, settings):
            seen.append((settings.sends_by_session_class, settings.tls is None))
            return await super().open_channel(settings)

    used = Seeing(Connection(region="eu-west-1", credentials=credentials(account)))
    await sent_by(used, scan())

    assert seen == [(by_proxy, by_proxy)]


@pytest.mark.asyncio
async def test_a_mode_that_does_not_exist_is_refused_with_those_that_do(monkeypatch):
    for name, value in {"ACCESS_KEY_ID": "AKID", "SECRET_ACCESS_KEY": "secret"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_ACCOUNT_ID_ENDPOINT_MODE", "always")

    with pytest.raises(ConfigurationError, match="'always'; write 'preferred', 'required' or 'disabled'"):
        await transport(credentials=None).open()


@pytest.mark.asyncio
async def test_a_table_in_another_region_is_refused_before_anything_is_sent():
    used = transport()
    await used.open()

    with pytest.raises(ConfigurationError, match="a table in us-east-1, and this session sends to eu-west-1; open a"):
        await used.send(scan(VISITS.replace("eu-west-1", "us-east-1")))
    assert used.sent == []


@pytest.mark.asyncio
async def test_credentials_of_another_account_change_the_host():
    class Renewed:
        fixed = None
        account = OWN

        async def current(self):
            return credentials(self.account)

        async def close(self):
            pass

    used = transport()
    await used.open()
    used._credentials = Renewed()
    await used.send(scan())
    Renewed.account = OTHER
    await used.send(scan())

    assert used.sent == [f"{OWN}.ddb.eu-west-1.amazonaws.com", f"{OTHER}.ddb.eu-west-1.amazonaws.com"]


@pytest.mark.asyncio
async def test_all_hosts_are_closed():
    used = transport()
    await sent_by(used, scan(), scan(VISITS))
    await used.close()

    assert sorted(used.sent[2:]) == [f"closed {each}.ddb.eu-west-1.amazonaws.com" for each in (OWN, OTHER)]


@pytest.mark.asyncio
async def test_all_hosts_are_closed_where_closing_one_of_them_fails():
    class Failing(NotedChannel):
        async def close(self):
            await super().close()
            raise OSError("it is gone")

    class FailingTransport(NotedTransport):
        async def open_channel(self, settings):
            return Failing(settings.endpoint.host, self.sent)

    used = FailingTransport(Connection(region="eu-west-1", credentials=credentials(OWN)))
    await sent_by(used, scan(), scan(VISITS))
    with pytest.raises(OSError, match="it is gone"):
        await used.close()

    assert sorted(used.sent[2:]) == [f"closed {each}.ddb.eu-west-1.amazonaws.com" for each in (OWN, OTHER)]
