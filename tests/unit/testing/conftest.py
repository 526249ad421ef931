"""A transport without a network: it remembers what reached it and answers from a table."""

from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from pydantic_core import from_json, to_json

from dynamap_async.request import Request
from dynamap_async.testing import probe
from dynamap_async.testing.faults import Faults


class Inner:
    """Applies every request at once; ``answers`` and ``errors`` say what it gives for an operation."""

    max_connections = 7

    def __init__(self):
        self.received: list[Request] = []
        self.answers: dict[str, dict] = {}
        self.errors: dict[str, Exception] = {}
        self.life: list[str] = []

    async def open(self):
        self.life.append("opened")

    async def send(self, request):
        self.received.append(request)
        if request.operation in self.errors:
            raise self.errors[request.operation]
        return self.answers.get(request.operation, {"from": "the server"})

    async def close(self):
        self.life.append("closed")


@pytest.fixture
def inner():
    return Inner()


@pytest.fixture
def faults():
    return Faults()


@pytest.fixture
def ask(inner, faults):
    """Send a request of an operation through the script; return the answer."""
    transport = faults.wrap(inner)

    async def send(operation="GetItem", table="tweets", **body):
        body = body or {"TableName": table}
        return await transport.send(Request(operation=operation, body=body, table=table, writes=operation == "PutItem"))

    return send


@pytest.fixture
def keys():
    """Return BatchGetItem's entry of numbered keys."""

    def of(*numbers, **facts):
        return {"Keys": [{"id": {"N": str(number)}} for number in numbers], **facts}

    return of


@pytest.fixture
def puts():
    """Return BatchWriteItem's entry of numbered items."""

    def of(*numbers):
        return [{"PutRequest": {"Item": {"id": {"N": str(number)}}}} for number in numbers]

    return of


@pytest.fixture
def tables_at():
    """Ask an engine by its URL for the names of all its tables, with no client of ours."""

    def ask(endpoint_url):
        connection = HTTPConnection(urlsplit(endpoint_url).netloc, timeout=60)
        names, after = [], {}
        try:
            while True:  # a page has 100 names, and other tests leave tables behind
                connection.request("POST", "/", body=to_json(after), headers=probe.HEADERS)
                page = from_json(connection.getresponse().read())
                names += page["TableNames"]
                if "LastEvaluatedTableName" not in page:
                    return names
                after = {"ExclusiveStartTableName": page["LastEvaluatedTableName"]}
        finally:
            connection.close()

    return ask
