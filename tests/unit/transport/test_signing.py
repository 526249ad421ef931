import datetime
import random

import botocore.auth
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials

from dynamap_async.config import Credentials
from dynamap_async.service import CONTENT_TYPE, DYNAMODB
from dynamap_async.transport.endpoint import to_endpoint
from dynamap_async.transport.signing import Signer

HOSTS = [
    "https://dynamodb.{region}.amazonaws.com",
    "https://dynamodb.{region}.amazonaws.com:443",
    "http://localhost:8000",
    "http://LOCALHOST:80/",
    "http://[::1]:4566",
    "https://vpce-1.dynamodb.{region}.vpce.amazonaws.com:8443",
    "http://gateway/dynamodb/v1",
    "http://gateway/a%20b~c/",
    "http://gateway//",
    "http://gateway/a//b/./c/../d",
    "http://gateway/../a/..",
    "http://gateway/a/.../b/.",
]
OPERATIONS = ["GetItem", "PutItem", "Query", "BatchWriteItem", "TransactWriteItems"]


def expected_headers(monkeypatch, *, credentials, region, url, operation, body, now):
    moment = datetime.datetime.fromtimestamp(now, datetime.UTC)
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda: moment)
    request = AWSRequest(
        "POST",
        url,
        headers={"Content-Type": CONTENT_TYPE, "X-Amz-Target": f"DynamoDB_20120810.{operation}", "User-Agent": "x"},
        data=body,
    )
    boto = BotoCredentials(credentials.access_key_id, credentials.secret_access_key, credentials.session_token)
    SigV4Auth(boto, "dynamodb", region).add_auth(request)
    return {name: request.headers[name] for name in request.headers if name != "User-Agent"}


def text(source, length):
    return "".join(source.choices("ABCDEFGHabcdefgh0123456789/+=", k=length))


def test_signature_equals_botocores_on_1000_random_requests(monkeypatch):
    source = random.Random(20_120_810)
    for _ in range(1_000):
        region = source.choice(["eu-west-1", "us-east-1", "cn-north-1", "us-gov-west-1", "local"])
        credentials = Credentials(
            access_key_id=text(source, 20),
            secret_access_key=text(source, source.randint(1, 64)),
            session_token=source.choice([None, text(source, 400)]),
        )
        url = source.choice(HOSTS).format(region=region)
        operation, body = source.choice(OPERATIONS), source.randbytes(source.choice([2, 60, 5_000]))
        now = source.uniform(0, 4_000_000_000)
        endpoint = to_endpoint(url, region)

        signer = Signer(DYNAMODB, region=endpoint.region, host=endpoint.host, path=endpoint.path)
        signed = signer.sign(credentials, operation, body, now)

        assert signed.pop("Host") == endpoint.host
        assert signed == expected_headers(
            monkeypatch,
            credentials=credentials,
            region=region,
            url=endpoint.url,
            operation=operation,
            body=body,
            now=now,
        )


@pytest.mark.parametrize("change", ["second", "day", "secret", "token"])
def test_signature_follows_a_change_of(change, monkeypatch):
    signer = Signer(DYNAMODB, region="eu-west-1", host="localhost:8000")
    before = Credentials(access_key_id="A", secret_access_key="one")
    signer.sign(before, "GetItem", b"{}", 1_700_000_000.0)
    after = {
        "secret": Credentials(access_key_id="A", secret_access_key="two"),
        "token": Credentials(access_key_id="A", secret_access_key="one", session_token="token"),
    }.get(change, before)
    now = 1_700_000_000.0 + {"second": 1, "day": 86_400}.get(change, 0)

    signed = signer.sign(after, "GetItem", b"{}", now)

    assert (
        signed["Authorization"]
        == expected_headers(
            monkeypatch,
            credentials=after,
            region="eu-west-1",
            url="http://localhost:8000/",
            operation="GetItem",
            body=b"{}",
            now=now,
        )["Authorization"]
    )


def test_only_temporary_credentials_send_a_token():
    signer = Signer(DYNAMODB, region="eu-west-1", host="localhost")
    fixed = Credentials(access_key_id="A", secret_access_key="s")
    temporary = Credentials(access_key_id="A", secret_access_key="s", session_token="token")

    empty = Credentials(access_key_id="A", secret_access_key="s", session_token="")

    assert "X-Amz-Security-Token" not in signer.sign(fixed, "GetItem", b"{}", 0.0)
    assert signer.sign(empty, "GetItem", b"{}", 0.0) == signer.sign(fixed, "GetItem", b"{}", 0.0)
    assert signer.sign(temporary, "GetItem", b"{}", 0.0)["X-Amz-Security-Token"] == "token"
