"""No key and no password is in a message, a repr or a log."""

import logging
import traceback

import pytest
from pydantic_core import to_json

from dynamap_async import Session
from dynamap_async.config import Credentials
from dynamap_async.errors import ConfigurationError, CredentialsRejectedError
from dynamap_async.transport import Connection

SECRETS = ("AKIDEXAMPLE", "hunter2", "the-token")
CREDENTIALS = Credentials(
    access_key_id="AKIDEXAMPLE00000",
    secret_access_key="hunter2/hunter2/hunter2",
    session_token="the-token-of-this-hour",
)
URLS = [
    "https://user:hunter2@localhost",
    "http://user:hunter2@localhost:8000/path",
    "http://user:hunter2/2@localhost",
    "http://hunter2@localhost",
    "user:hunter2@localhost",
    "ftp://user:hunter2@localhost",
    "http://user:hun@hunter2@localhost",
    "http://localhost:8000?password=hunter2",
    "http://localhost#hunter2",
]


def assert_silent(text):
    assert not [secret for secret in SECRETS if secret in text]


def test_credentials_show_nothing_of_themselves():
    assert_silent(repr(CREDENTIALS))
    assert_silent(f"{CREDENTIALS} {[CREDENTIALS]}")


@pytest.mark.parametrize("url", URLS)
def test_a_connection_and_a_session_show_neither_key_nor_password(url):
    assert_silent(repr(Connection(region="eu-west-1", endpoint_url=url, credentials=CREDENTIALS)))
    assert_silent(repr(Session(region="eu-west-1", endpoint_url=url, credentials=CREDENTIALS)))


@pytest.mark.asyncio
@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("given", ["setting", "environment"])
async def test_a_refused_endpoint_keeps_its_password(url, given, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    if given == "environment":
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
    session = Session(region="eu-west-1", endpoint_url=url if given == "setting" else None, credentials=CREDENTIALS)
    with pytest.raises(ConfigurationError) as raised:
        async with session:
            pass
    assert_silent("".join(traceback.format_exception(raised.value)))
    assert "..." in str(raised.value)
    assert_silent(caplog.text)


@pytest.mark.asyncio
async def test_a_refusal_that_quotes_the_signature_is_told_without_the_key(server, connect, get_item):
    key, secret, token = CREDENTIALS.access_key_id, CREDENTIALS.secret_access_key, CREDENTIALS.session_token
    quoted = f"Authorization=AWS4-HMAC-SHA256 Credential={key}/20261122, X-Amz-Security-Token={token} {secret}"
    body = to_json({"__type": "x#IncompleteSignatureException", "message": quoted})
    server.then(body, status=400)
    transport = await connect(credentials=CREDENTIALS)
    with pytest.raises(CredentialsRejectedError, match=r"Credential=\.\.\./20261122") as raised:
        await transport.send(get_item)
    assert_silent("".join(traceback.format_exception(raised.value)))


@pytest.mark.asyncio
async def test_a_refusal_is_told_as_it_is_where_a_made_up_key_is_a_part_of_its_words(server, connect, get_item):
    told = "GetItem is not allowed for the table items"
    server.then(to_json({"__type": "x#UnrecognizedClientException", "message": told}), status=400)
    transport = await connect(credentials=Credentials(access_key_id="t", secret_access_key="It", session_token="items"))
    with pytest.raises(CredentialsRejectedError, match=told):
        await transport.send(get_item)
