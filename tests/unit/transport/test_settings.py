import ssl

import pytest
from aiobotocore.httpxsession import HttpxSession

from dynamap_async.config import Credentials
from dynamap_async.errors import ConfigurationError
from dynamap_async.service import DYNAMODB
from dynamap_async.transport import AioConfig, AioSession, Connection
from dynamap_async.transport.endpoint import to_endpoint
from dynamap_async.transport.lookup import resolve_settings
from dynamap_async.transport.settings import DEFAULT_CONNECTIONS, PlainConfig, complete_settings

CREDENTIALS = Credentials(access_key_id="AKID", secret_access_key="secret")
LOCAL = "http://localhost:8000"


def connection(**facts):
    return Connection(**{"region": "eu-west-1", "credentials": CREDENTIALS, **facts})


def settings(**facts):
    return resolve_settings(connection(**facts), DYNAMODB)


def test_a_connection_to_a_local_engine_that_says_all_leaves_nothing_to_look_up():
    found = complete_settings(connection(endpoint_url=LOCAL))
    assert found is not None
    assert (found.endpoint, found.session, found.sends_by_session_class) == (
        to_endpoint(LOCAL, "eu-west-1"),
        None,
        False,
    )


@pytest.mark.parametrize(
    "facts",
    [
        {"endpoint_url": None},
        {"region": None},
        {"region": "eu west"},
        {"credentials": None},
        {"credentials": None, "profile": "dev"},
        {"aio_config": AioConfig()},
        {"aio_session": AioSession()},
    ],
    ids="-".join,
)
def test_whatever_a_connection_leaves_open_is_looked_up(facts):
    assert complete_settings(connection(**{"endpoint_url": LOCAL, **facts})) is None


def test_a_profile_that_does_not_exist_is_no_fault_of_a_connection_that_wants_nothing_of_it(monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "none-of-that-name")
    monkeypatch.setenv("HTTP_PROXY", "http://proxy:1")  # so that the environment is looked at

    assert settings(endpoint_url=LOCAL).endpoint == to_endpoint(LOCAL, "eu-west-1")


def test_a_proxy_of_the_environment_is_looked_up_by_aiobotocores_rules(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://proxy:1")
    assert complete_settings(connection(endpoint_url=LOCAL)) is None
    assert settings(endpoint_url=LOCAL).sends_by_session_class
    monkeypatch.setenv("NO_PROXY", "localhost")
    assert not settings(endpoint_url=LOCAL).sends_by_session_class


def test_what_is_used_without_an_aioconfig_is_what_aiobotocore_would_say():
    said = AioConfig(max_pool_connections=DEFAULT_CONNECTIONS)
    assert PlainConfig()._asdict() == {name: getattr(said, name) for name in PlainConfig._fields}


def test_a_given_region_stands_above_every_other(monkeypatch):
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-west-2")
    assert settings(endpoint_url=LOCAL).endpoint.region == "eu-west-1"


def test_region_comes_from_the_config_the_environment_or_the_profile(monkeypatch, aws_config_file):
    aws_config_file("[profile dev]\nregion = eu-north-1\n")
    dev = {"region": None, "credentials": None, "profile": "dev", "endpoint_url": LOCAL}
    assert settings(**dev).endpoint.region == "eu-north-1"
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-west-2")
    assert settings(region=None, endpoint_url=LOCAL).endpoint.region == "us-west-2"
    config = AioConfig(region_name="us-east-2")
    assert settings(region=None, endpoint_url=LOCAL, aio_config=config).endpoint.region == "us-east-2"


def test_missing_region_names_the_remedies():
    with pytest.raises(ConfigurationError, match="AWS_DEFAULT_REGION"):
        settings(region=None, endpoint_url=LOCAL)


def test_a_region_that_is_not_read_is_named(monkeypatch):
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    with pytest.raises(ConfigurationError, match=r"does not read AWS_REGION; pass region='eu-west-1', or set AWS_DEF"):
        settings(region=None, endpoint_url=LOCAL)


@pytest.mark.parametrize("region", ["eu west", "eu-west-1\r\nHost: elsewhere", "http://host"])
def test_text_that_cannot_name_a_region_is_refused(region):
    with pytest.raises(ConfigurationError, match="region"):
        settings(region=region, endpoint_url=LOCAL)


def test_region_is_set_on_a_session_of_our_own_only():
    assert settings(endpoint_url=LOCAL).session.get_config_variable("region") == "eu-west-1"
    theirs = AioSession()
    assert settings(endpoint_url=LOCAL, aio_session=theirs).session is theirs
    assert theirs.get_config_variable("region") is None


@pytest.mark.parametrize(
    ("region", "config", "url"),
    [
        ("eu-west-1", {}, "https://dynamodb.eu-west-1.amazonaws.com/"),
        ("cn-north-1", {}, "https://dynamodb.cn-north-1.amazonaws.com.cn/"),
        ("us-east-1", {"use_fips_endpoint": True}, "https://dynamodb-fips.us-east-1.amazonaws.com/"),
        ("eu-west-1", {"use_dualstack_endpoint": True}, "https://dynamodb.eu-west-1.api.aws/"),
    ],
)
def test_endpoint_is_the_services_own(region, config, url):
    assert settings(region=region, aio_config=AioConfig(**config)).endpoint.url == url


def test_a_region_that_means_fips_is_signed_for_the_real_region():
    endpoint = settings(region="fips-us-east-1").endpoint
    assert (endpoint.host, endpoint.region) == ("dynamodb-fips.us-east-1.amazonaws.com", "us-east-1")
    assert to_endpoint(LOCAL, "us-east-1-fips").region == "us-east-1"


def test_the_region_of_a_local_engine_is_signed_for_as_aws_rules_say():
    endpoint = settings(region="local").endpoint
    assert (endpoint.url, endpoint.region) == ("http://localhost:8000/", "us-east-1")
    assert settings(region="local", endpoint_url="http://localhost:1").endpoint.region == "local"


def test_endpoint_of_the_environment_is_used_most_specific_first(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://any:1")
    assert settings().endpoint.host == "any:1"
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://dynamodb:2")
    assert settings().endpoint.host == "dynamodb:2"
    assert settings(endpoint_url=LOCAL).endpoint.host == "localhost:8000"


def test_endpoint_of_the_environment_can_be_ignored(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://any:1")
    monkeypatch.setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true")
    assert settings().endpoint.host == "dynamodb.eu-west-1.amazonaws.com"
    config = AioConfig(ignore_configured_endpoint_urls=False)
    assert settings(aio_config=config).endpoint.host == "any:1"


@pytest.mark.parametrize("look", [complete_settings, lambda given: resolve_settings(given, DYNAMODB)])
def test_empty_endpoint_is_not_taken_for_aws_own(look):
    with pytest.raises(ConfigurationError, match="the endpoint '' must look like"):
        look(connection(endpoint_url=""))


def test_endpoint_of_the_profile_is_used(aws_config_file):
    aws_config_file("[profile dev]\nservices = local\n[services local]\ndynamodb =\n  endpoint_url = http://dev:3\n")
    assert settings(credentials=None, profile="dev").endpoint.host == "dev:3"
    assert settings(aio_session=AioSession(profile="dev")).endpoint.host == "dev:3"


@pytest.mark.parametrize(
    "url", ["", "localhost:8000", "ftp://host", "http://", "http://u:p@host", "http://h?a", "http://h:x"]
)
def test_endpoint_that_is_no_http_address_is_refused(url):
    with pytest.raises(ConfigurationError, match="endpoint"):
        to_endpoint(url, "eu-west-1")


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("endpoint_url = http://any:4\n", "any:4"),
        (
            "endpoint_url = http://any:4\nservices = s\n[services s]\ndynamodb =\n  endpoint_url = http://own:5\n",
            "own:5",
        ),
        ("endpoint_url = http://any:4\nservices = s\n[services s]\ns3 =\n  endpoint_url = http://s3:6\n", "any:4"),
        ("ignore_configured_endpoint_urls = true\nendpoint_url = http://any:4\n", "dynamodb.eu-west-1.amazonaws.com"),
    ],
)
def test_endpoint_of_the_profile_is_that_of_dynamodb_or_of_all_services(aws_config_file, text, host):
    aws_config_file(f"[default]\n{text}")
    assert settings().endpoint.host == host


def test_a_section_of_services_that_is_missing_is_named(aws_config_file):
    aws_config_file("[default]\nservices = local\n")
    with pytest.raises(ConfigurationError, match=r"\[services local\]"):
        settings()


def test_unknown_profile_is_a_configuration_error():
    with pytest.raises(ConfigurationError, match="nobody"):
        settings(credentials=None, profile="nobody")


def test_pool_is_ours_unless_the_user_gave_a_config():
    assert settings(endpoint_url=LOCAL).config.max_pool_connections == DEFAULT_CONNECTIONS
    said_nothing = AioConfig(connect_timeout=2)
    assert settings(endpoint_url=LOCAL, aio_config=said_nothing).config.max_pool_connections == DEFAULT_CONNECTIONS
    config = AioConfig(max_pool_connections=7)
    assert settings(endpoint_url=LOCAL, aio_config=config).config.max_pool_connections == 7
    session = AioSession()
    session.set_default_client_config(AioConfig(max_pool_connections=5, read_timeout=3))
    merged = settings(endpoint_url=LOCAL, aio_session=session, aio_config=AioConfig(read_timeout=9)).config
    assert (merged.max_pool_connections, merged.read_timeout) == (5, 9)


def test_user_agent_is_aiobotocores_with_the_users_addition():
    agent = settings(endpoint_url=LOCAL, aio_config=AioConfig(user_agent_extra="shop/1")).user_agent
    assert agent.startswith("aiobotocore/")
    assert agent.endswith(" shop/1")


def test_what_no_header_can_hold_is_no_part_of_the_user_agent(monkeypatch):
    monkeypatch.setenv("AWS_EXECUTION_ENV", "shop\r\nX-Injected: 1")
    agent = settings(endpoint_url=LOCAL, aio_config=AioConfig(user_agent_extra="日本")).user_agent
    assert "exec-env/shop--X-Injected: 1" in agent
    assert agent.endswith(" 日本")


def test_the_config_of_a_session_is_checked_too():
    session = AioSession()
    session.set_default_client_config(AioConfig(read_timeout=0))
    with pytest.raises(ConfigurationError, match="read_timeout=0"):
        settings(endpoint_url=LOCAL, aio_session=session)


def test_tls_context_is_made_only_where_we_encrypt(monkeypatch):
    https = "https://localhost:8000"
    assert settings(endpoint_url=LOCAL).tls is None
    assert settings(endpoint_url=https).tls.verify_mode is ssl.CERT_REQUIRED
    assert settings(endpoint_url=https, aio_config=AioConfig(proxies={"https": "http://proxy:1"})).tls is None
    given = ssl.create_default_context()
    assert settings(endpoint_url=https, aio_config=AioConfig(connector_args={"ssl_context": given})).tls is given


@pytest.mark.parametrize("variable", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"])
@pytest.mark.parametrize("config", [{}, {"proxies": {"https": "http://proxy:1"}}], ids=["plain", "by a proxy"])
@pytest.mark.parametrize("name", ["/nowhere/ca.pem", "/", __file__], ids=["missing", "folder", "no certificate"])
def test_unreadable_authorities_are_named(monkeypatch, variable, config, name):
    monkeypatch.setenv(variable, name)
    with pytest.raises(ConfigurationError, match=f"authorities '{name}' cannot be used: .*check AWS_CA_BUNDLE, REQ"):
        settings(endpoint_url="https://localhost:8000", aio_config=AioConfig(**config))


def test_an_unreadable_client_certificate_is_named():
    config = AioConfig(client_cert=("/nowhere/own.pem", "/nowhere/key.pem"))
    with pytest.raises(ConfigurationError, match=r"'/nowhere/own.pem'.*check AioConfig\(client_cert=...\)"):
        settings(endpoint_url="https://localhost:8000", aio_config=config)


def test_proxy_of_the_environment_is_used_unless_excepted(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:1")
    monkeypatch.setenv("NO_PROXY", "internal")
    assert settings(endpoint_url="https://host:8000").sends_by_session_class
    assert not settings(endpoint_url="https://internal:8000").sends_by_session_class
    assert not settings(endpoint_url="http://host:8000").sends_by_session_class


def test_another_session_class_is_used():
    config = AioConfig(http_session_cls=HttpxSession)
    assert settings(endpoint_url=LOCAL, aio_config=config).sends_by_session_class
