"""What is read of the environment without botocore is what botocore finds, and all else is left to it."""

import asyncio
import os
import re
import tempfile
from pathlib import Path
from unittest.mock import patch

import botocore.session
import pytest
from botocore.config import Config
from botocore.configprovider import BOTOCORE_DEFAUT_SESSION_VARIABLES
from botocore.exceptions import InvalidEndpointConfigurationError
from botocore.httpsession import get_cert_path
from botocore.loaders import create_loader
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from dynamap_async.errors import ConfigurationError
from dynamap_async.service import DYNAMODB, STREAMS
from dynamap_async.transport import AioConfig, AioSession, Connection, lookup
from dynamap_async.transport.endpoint import to_endpoint
from dynamap_async.transport.environment import environment_settings
from dynamap_async.transport.http import credential_source
from dynamap_async.transport.tls import configured_authorities

LOADER = create_loader()
"""Keeps what botocore reads of its data; reading takes ten times as long as all the rest of a client."""

BOOLEANS = st.sampled_from(["true", "TRUE", "false", "yes", ""])
URLS = st.sampled_from(["http://any:1", "https://own.example/a/b", "localhost:8000", ""])
READ = {
    "AWS_ACCESS_KEY_ID": st.sampled_from(["AKIDEXAMPLE", "another", "with a\nbreak", ""]),
    "AWS_SECRET_ACCESS_KEY": st.sampled_from(["secret", " led by a space", ""]),
    "AWS_SESSION_TOKEN": st.sampled_from(["token", ""]),
    "AWS_SECURITY_TOKEN": st.sampled_from(["older", ""]),
    "AWS_ACCOUNT_ID": st.sampled_from(["111122223333", ""]),
    "AWS_DEFAULT_REGION": st.sampled_from(
        [
            *("eu-west-1", "cn-north-1", "us-gov-west-1", "xx-nowhere-1", "local"),
            *("fips-us-east-1", "us-west-2-fips", "EU-WEST-1", "eu west", "-x", "eu-west-1\n", ""),
        ]
    ),
    "AWS_ENDPOINT_URL": URLS,
    "AWS_ENDPOINT_URL_DYNAMODB": URLS,
    "AWS_ENDPOINT_URL_DYNAMODB_STREAMS": URLS,
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": BOOLEANS,
    "AWS_USE_DUALSTACK_ENDPOINT": BOOLEANS,
    "AWS_USE_FIPS_ENDPOINT": BOOLEANS,
    "AWS_ACCOUNT_ID_ENDPOINT_MODE": st.sampled_from(["preferred", "Required", "disabled", "always", ""]),
    "AWS_CA_BUNDLE": st.just("/nowhere/aws.pem"),
    "REQUESTS_CA_BUNDLE": st.just("/nowhere/requests.pem"),
    "AWS_SDK_UA_APP_ID": st.sampled_from(["shop", "shop/web 1", "日本", ""]),
    "AWS_EXECUTION_ENV": st.sampled_from(["AWS_Lambda_python3.13", "AWS_ECS_FARGATE", "a\nb", ""]),
}
WITHOUT_EFFECT = {
    name: st.sampled_from(["", "us-east-2", "true", "http://169.254.170.2/a"])
    for name in (
        *("AWS_REGION", "AWS_DEFAULT_OUTPUT", "AWS_PAGER", "AWS_SDK_LOAD_CONFIG", "AWS_ENDPOINT_URL_S3"),
        *("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
        *("AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"),
        *("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN", "AWS_ROLE_SESSION_NAME", "AWS_EC2_METADATA_DISABLED"),
        *("AWS_LAMBDA_FUNCTION_NAME", "AWS_XRAY_DAEMON_ADDRESS", "_X_AMZN_TRACE_ID", "PATH"),
    )
}
FILES = {"AWS_CONFIG_FILE": "config", "AWS_SHARED_CREDENTIALS_FILE": "credentials"}
KNOWN = {*READ, *WITHOUT_EFFECT, *FILES}
NAMED_BY_BOTOCORE = {
    name
    for _, names, *_ in BOTOCORE_DEFAUT_SESSION_VARIABLES.values()
    for name in ([names] if isinstance(names, str) else names or [])
}
UNKNOWN = sorted(
    {
        *(NAMED_BY_BOTOCORE - KNOWN),
        *("AWS_CREDENTIAL_EXPIRATION", "AWS_CREDENTIAL_FILE", "AWS_NEW_RETRIES_2026", "AWS_BEARER_TOKEN_DYNAMODB"),
        *("BOTO_CONFIG", "BOTOCORE_EXPERIMENTAL__PLUGINS", "AWS_ACCESS_KEY", "AWS_", "AWS_REGION_2"),
    }
)
USUAL = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "eu-west-1"}

variables = st.builds(
    dict.__or__, st.sampled_from([USUAL, {}]), st.fixed_dictionaries({}, optional={**READ, **WITHOUT_EFFECT})
)
# What has no key or no region is left to botocore, and teaches nothing about what is read here.
complete = variables.map(lambda drawn: {**drawn, **{name: USUAL[name] for name in USUAL if not drawn.get(name)}})
services = st.sampled_from([DYNAMODB, STREAMS])


class Environment:
    """These variables and nothing else, and an empty folder as the user's home, for one block."""

    def __init__(self, values):
        self.values = values

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory()
        self.home = Path(self._folder.name)
        self._variables = patch.dict(os.environ, {"HOME": str(self.home), **self.values}, clear=True)
        self._variables.start()
        return self

    def __exit__(self, *_):
        self._variables.stop()
        self._folder.cleanup()


def looked_up(connection, service):
    """Return what the look-up finds with botocore: endpoints, access key, certificate authorities, user agent."""
    with patch.object(lookup, "tls_context", lambda authorities, _certificate: authorities):
        found = lookup.resolve_settings(connection, service)
    used = asyncio.run(credential_source(connection, found).current())
    return (found.endpoint, found.aws), used, found.tls, found.user_agent


def read(connection, service):
    """Return the same of the environment; None if that is left to botocore."""
    found = environment_settings(connection, service)
    if found is None:
        return None
    authorities = configured_authorities() if found.endpoint.encrypted else None
    return (found.endpoint, found.aws), found.credentials, authorities, found.user_agent


def named_in(agent, *parts):
    """Return the parts of a user agent that name the application, and what it runs on."""
    return [each for each in agent.split() if re.match("|".join(parts or ("app/", "exec-env/.")), each)]


def outcome(call, *given):
    try:
        return call(*given)
    except ConfigurationError as error:
        return str(error)


def where_it_sends(client):
    """Return the endpoint that a client of botocore sends to, by its rules."""
    operation = client._service_model.operation_model(client._service_model.operation_names[0])
    context = {"client_config": client.meta.config, "client_region": client.meta.region_name}
    context.update(has_streaming_input=False, auth_type=None, unsigned_payload=None)
    try:
        url, *_ = client._resolve_endpoint_ruleset(operation, {}, context)
    except InvalidEndpointConfigurationError:  # FIPS or dual-stack beside an endpoint of one's own, which we take
        url = client.meta.endpoint_url
    return to_endpoint(url, context.get("signing", {}).get("region", client.meta.region_name))


@given(complete, services)
@example({**USUAL, "AWS_USE_FIPS_ENDPOINT": "true", "AWS_DEFAULT_REGION": "local"}, DYNAMODB)
@example({**USUAL, "AWS_SECRET_ACCESS_KEY": " led by a space"}, DYNAMODB)
@example({**USUAL, "AWS_ENDPOINT_URL": "localhost:8000"}, DYNAMODB)
@settings(max_examples=150)
def test_what_is_read_of_the_environment_is_what_the_look_up_finds_or_its_error(values, service):
    with Environment(values):
        found = outcome(read, Connection(), service)
        assume(found is not None)
        expected = outcome(looked_up, Connection(), service)
    if isinstance(found, str) or isinstance(expected, str):
        assert found == expected
        return
    assert found[:3] == expected[:3]
    assert named_in(found[3]) == named_in(expected[3])


@given(complete, services)
@settings(max_examples=60)
def test_what_is_read_of_the_environment_is_what_a_client_of_botocore_uses(values, service):
    with Environment(values):
        found = outcome(read, Connection(), service)
        assume(found is not None and not isinstance(found, str))
        session = botocore.session.Session()
        session.register_component("data_loader", LOADER)
        # Hosts of single accounts are chosen for each request, not when a session opens.
        client = session.create_client(service.client_name, config=Config(account_id_endpoint_mode="disabled"))
        (endpoint, _aws), credentials, _authorities, agent = found
        key = session.get_credentials().get_frozen_credentials()
        parts = ("access_key_id", "secret_access_key", "session_token", "account_id")
        assert tuple(getattr(credentials, part) for part in parts) == tuple(key)
        assert endpoint == where_it_sends(client)
        assert configured_authorities() == get_cert_path(client._endpoint.http_session._verify)
        said = client._user_agent_creator.with_client_config(client._client_config).to_string()
        assert named_in(agent, "app/") == named_in(said, "app/")


@given(variables, services)
def test_a_key_and_a_region_with_nothing_but_known_variables_are_never_left_to_botocore(values, service):
    with Environment({**values, **USUAL}):
        assert outcome(read, Connection(), service) is not None


@given(variables, st.sampled_from(UNKNOWN), st.sampled_from(["", "true", "AKIDEXAMPLE"]))
def test_a_variable_that_is_not_known_leaves_all_to_botocore(values, unknown, value):
    with Environment({**values, **USUAL, unknown: value}):
        assert environment_settings(Connection(), DYNAMODB) is None


@given(
    variables,
    st.sampled_from([*FILES]),
    st.sampled_from(["named", "named by another variable", "usual"]),
    st.sampled_from(["", "[default]\nregion = us-east-2\n", "\0"]),
)
def test_a_configuration_file_leaves_all_to_botocore(values, variable, place, text):
    with Environment({**values, **USUAL}) as environment:
        file = environment.home / (".aws" if place == "usual" else "elsewhere") / FILES[variable]
        file.parent.mkdir()
        file.write_text(text, "utf-8")
        if place != "usual":
            os.environ[variable] = f"$HOME/elsewhere/{file.name}" if "another" in place else str(file)
        assert environment_settings(Connection(), DYNAMODB) is None


@given(variables, st.sampled_from([*FILES]), st.sampled_from(["folder", "missing", ""]))
def test_a_variable_that_names_no_file_leaves_nothing_to_botocore(values, variable, name):
    with Environment({**values, **USUAL}) as environment:
        (environment.home / "folder").mkdir()
        os.environ[variable] = name and str(environment.home / name)
        assert outcome(read, Connection(), DYNAMODB) is not None


@pytest.mark.parametrize(
    "asked", [{"profile": "dev"}, {"aio_session": AioSession()}, {"aio_config": AioConfig()}], ids="-".join
)
def test_a_connection_that_asks_for_something_of_botocore_is_left_to_it(asked):
    with Environment(USUAL):
        assert environment_settings(Connection(**asked), DYNAMODB) is None
