import re
import ssl
import sys

import pytest
from botocore.config import Config
from moto import mock_aws

from dynamap_async.config import Credentials
from dynamap_async.errors import ConfigurationError
from dynamap_async.transport import AioConfig, AioSession, Connection, WireTransport

CREDENTIALS = Credentials(access_key_id="AKID", secret_access_key="hidden")


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        ({"profile": "dev", "aio_session": AioSession()}, "AioSession(profile=...)"),
        ({"profile": "dev", "credentials": CREDENTIALS}, "profile and credentials"),
        ({"region": "eu-west-1", "aio_config": AioConfig(region_name="us-east-1")}, "us-east-1"),
    ],
)
def test_contradictory_settings_are_refused_with_a_remedy(facts, named):
    with pytest.raises(ConfigurationError) as raised:
        Connection(**facts)
    assert named in str(raised.value)


WRONG = [
    ({"region": 5}, 'region cannot be of type int; write region="eu-west-1"'),
    ({"endpoint_url": b"http://localhost:8000"}, 'endpoint_url cannot be of type bytes; write endpoint_url="http://'),
    ({"profile": ["dev"]}, 'profile cannot be of type list; write profile="dev"'),
    (
        {"credentials": ("AKID", "hidden")},
        "credentials cannot be of type tuple; write credentials=Credentials(access_key_id=",
    ),
    ({"credentials": Credentials}, "credentials cannot be of type type; write credentials=Credentials(access_key_id="),
    ({"aio_session": 5}, 'aio_session cannot be of type int; write aio_session=AioSession(profile="dev")'),
    ({"aio_session": AioConfig()}, "aio_session cannot be of type AioConfig; write aio_session=AioSession("),
    ({"aio_config": {}}, "aio_config cannot be of type dict; write aio_config=AioConfig(max_pool_connections=100)"),
]


@pytest.mark.parametrize(("facts", "message"), WRONG, ids=[", ".join(each) for each, _ in WRONG])
def test_what_cannot_be_a_setting_is_refused_with_a_remedy(facts, message):
    with pytest.raises(ConfigurationError, match=re.escape(message)) as raised:
        Connection(**facts)
    assert "hidden" not in str(raised.value)


@pytest.mark.parametrize("number", [0, -1, 2.5, "5", None])
def test_a_pool_without_connections_is_refused(number):
    with pytest.raises(
        ConfigurationError, match=re.escape(f"AioConfig(max_pool_connections={number!r}): give a whole number")
    ):
        Connection(aio_config=AioConfig(max_pool_connections=number))


@pytest.mark.parametrize("name", ["connect_timeout", "read_timeout"])
@pytest.mark.parametrize("seconds", [0, -1, float("nan"), "5"], ids=repr)
def test_a_time_that_no_request_can_keep_is_refused(name, seconds):
    with pytest.raises(ConfigurationError, match=re.escape(f"AioConfig({name}={seconds!r}): give a number of seconds")):
        Connection(aio_config=AioConfig(**{name: seconds}))


@pytest.mark.parametrize("name", ["connect_timeout", "read_timeout"])
@pytest.mark.parametrize("seconds", [None, 0.5, 1, float("inf")], ids=repr)
def test_a_time_of_seconds_or_without_end_is_taken(name, seconds):
    Connection(aio_config=AioConfig(**{name: seconds}))


@pytest.mark.parametrize("name", ["user_agent", "user_agent_extra"])
@pytest.mark.parametrize("text", ["shop\r\nX-Injected: 1", "shop\n", "shop\0", "shop\udcff", 5], ids=repr)
def test_a_user_agent_that_no_header_can_hold_is_refused(name, text):
    with pytest.raises(ConfigurationError, match=re.escape(f"AioConfig({name}={text!r}): give a text without line")):
        Connection(aio_config=AioConfig(**{name: text}))


@pytest.mark.parametrize(
    ("name", "value", "remedy"),
    [
        (
            "proxies",
            "http://u:hidden@proxy",
            'AioConfig(proxies=...): give a dict such as {"https": "http://proxy:3128"}',
        ),
        ("proxies", {"https": b"http://u:hidden@proxy"}, "AioConfig(proxies=...): give a dict"),
        ("client_cert", ("a",), "AioConfig(client_cert=('a',)): give the path of a file, or a tuple"),
        ("client_cert", ("a", b"b"), "AioConfig(client_cert=('a', b'b')): give the path"),
        ("client_cert", 5, "AioConfig(client_cert=5): give the path"),
        ("http_session_cls", "httpx", "AioConfig(http_session_cls='httpx'): give a class, such as"),
    ],
    ids=["proxies", "a proxy", "half of a certificate", "no path", "no certificate", "no class"],
)
def test_what_cannot_be_sent_with_is_refused_with_a_remedy(name, value, remedy):
    with pytest.raises(ConfigurationError, match=re.escape(remedy)) as raised:
        Connection(aio_config=AioConfig(**{name: value}))
    assert "hidden" not in str(raised.value)


@pytest.mark.parametrize(
    "facts",
    [
        {"proxies": {}},
        {"proxies": {"http": None, "https": "http://proxy:1"}},
        {"client_cert": "a.pem"},
        {"client_cert": ("a.pem", "a.key")},
        {"client_cert": ("a.pem", None)},
    ],
)
def test_proxies_and_certificates_are_taken(facts):
    Connection(aio_config=AioConfig(**facts))


def test_a_client_certificate_that_a_context_would_replace_is_refused_with_what_to_do():
    context = ssl.create_default_context()
    for given in ("a.pem", ("a.pem", "a.key")):
        with pytest.raises(
            ConfigurationError, match=r"give the certificate to the context, by its method load_cert_ch"
        ):
            Connection(aio_config=AioConfig(client_cert=given, connector_args={"ssl_context": context}))
    Connection(aio_config=AioConfig(client_cert="a.pem", connector_args={"use_dns_cache": True}))
    Connection(aio_config=AioConfig(connector_args={"ssl_context": context}))


def test_a_setting_of_an_unloaded_class_is_refused_without_loading_it(monkeypatch):
    for module in ("aiobotocore.session", "botocore.config"):
        monkeypatch.delitem(sys.modules, module)
    for facts in ({"aio_session": 5}, {"aio_config": {}}):
        with pytest.raises(ConfigurationError, match="cannot be of type"):
            Connection(**facts)
    assert not {"aiobotocore.session", "botocore.config"} & sys.modules.keys()


@pytest.mark.parametrize("part", ["access_key_id", "secret_access_key", "session_token"])
@pytest.mark.parametrize("value", ["hidden\n", " hidden", "hid\rden", "hidden\0", b"hidden", 5], ids=repr)
def test_credentials_that_no_header_can_hold_are_refused_by_the_name_of_the_part(part, value):
    parts = {"access_key_id": "AKID", "secret_access_key": "hidden", part: value}
    with pytest.raises(ConfigurationError, match=f"^{part} of the credentials ") as raised:
        Connection(credentials=Credentials(**parts))
    assert "hid" not in str(raised.value)


@pytest.mark.parametrize("part", ["access_key_id", "secret_access_key"])
def test_credentials_of_which_a_part_is_empty_are_refused(part):
    parts = {"access_key_id": "AKID", "secret_access_key": "hidden", part: ""}
    with pytest.raises(ConfigurationError, match=f"^{part} of the credentials is empty"):
        Connection(credentials=Credentials(**parts))


def test_plain_configuration_of_botocore_is_taken():
    assert Connection(aio_config=Config(read_timeout=5)).aio_config.read_timeout == 5


def test_explicit_credentials_may_stand_beside_a_session():
    session = AioSession()
    connection = Connection(credentials=CREDENTIALS, aio_session=session, region="eu-west-1")
    assert connection.aio_session is session


def test_repr_hides_the_secret():
    assert "hidden" not in repr(Connection(credentials=CREDENTIALS))


@pytest.mark.asyncio
async def test_a_session_that_would_send_past_mock_aws_is_refused():
    with mock_aws():
        transport = WireTransport(Connection(region="eu-west-1", credentials=CREDENTIALS))
        with pytest.raises(ConfigurationError, match="mock_aws is active, .* use the fixture dynamap_session"):
            await transport.open()
        elsewhere = WireTransport(
            Connection(region="eu-west-1", credentials=CREDENTIALS, endpoint_url="http://127.0.0.1:1")
        )
        await elsewhere.open()
        await elsewhere.close()
    await transport.open()
    await transport.close()
