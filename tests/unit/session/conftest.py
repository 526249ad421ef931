"""A small service in memory: nothing here sleeps, and every request is counted."""

import asyncio
from collections import Counter

import pytest

from dynamap_async import Attr, Model, PartitionKey, Session, SortKey, attr


class Reading(Model, table="readings"):
    sensor: PartitionKey[str]
    at: SortKey[int]
    value: Attr[int] = attr(default=0)


class Sensor(Model, table="sensors"):
    name: PartitionKey[str]
    place: Attr[str] = attr(default="")


KEYS = {"readings": ("sensor", "at"), "sensors": ("name",)}


class MemoryService:
    """Carries out the requests of single items and batches over a dict, after ``latency`` virtual seconds."""

    max_connections = 64

    def __init__(self):
        self.items = {}
        self.requests = []
        self.latency = 0.0
        self.gate = None
        """An event that every answer waits for, or None."""
        self.fault = lambda request: None
        """Returns what a request fails with, or None."""
        self.writes = []
        """Every write that was carried out: (table, key values, item or None), in order."""

    async def open(self):
        pass

    async def close(self):
        pass

    @property
    def counts(self):
        return dict(Counter(request.operation for request in self.requests))

    async def send(self, request):
        self.requests.append(request)
        if self.latency:
            await asyncio.sleep(self.latency)
        if self.gate is not None:
            await self.gate.wait()
        error = self.fault(request)
        if error is not None:
            raise error
        return getattr(self, request.operation)(request.body)

    def place(self, table, attributes):
        return table, *(next(iter(attributes[name].values())) for name in KEYS[table])

    def write(self, table, attributes, item):
        place = self.place(table, attributes)
        self.writes.append((place, item))
        if item is None:
            self.items.pop(place, None)
        else:
            self.items[place] = item

    def GetItem(self, body):  # noqa: N802 - the API's name
        item = self.items.get(self.place(body["TableName"], body["Key"]))
        return {} if item is None else {"Item": item}

    def PutItem(self, body):  # noqa: N802
        self.write(body["TableName"], body["Item"], body["Item"])
        return {}

    def DeleteItem(self, body):  # noqa: N802
        self.write(body["TableName"], body["Key"], None)
        return {}

    def BatchGetItem(self, body):  # noqa: N802
        wanted = [(table, self.place(table, key)) for table, e in body["RequestItems"].items() for key in e["Keys"]]
        assert len(set(wanted)) == len(wanted) <= 100
        answer = {table: [] for table in body["RequestItems"]}
        for table, place in wanted:
            if place in self.items:
                answer[table].insert(0, self.items[place])
        return {"Responses": answer, "UnprocessedKeys": {}}

    def BatchWriteItem(self, body):  # noqa: N802
        entries = [(table, entry) for table, listed in body["RequestItems"].items() for entry in listed]
        assert len(entries) <= 25
        for table, entry in entries:
            if "PutRequest" in entry:
                self.write(table, entry["PutRequest"]["Item"], entry["PutRequest"]["Item"])
            else:
                self.write(table, entry["DeleteRequest"]["Key"], None)
        return {"UnprocessedItems": {}}


@pytest.fixture
def service():
    return MemoryService()


@pytest.fixture
def open_session(service):
    """Return a function that makes a session over the service; it is still to be entered."""
    return lambda **settings: Session(transport=service, **settings)


@pytest.fixture
def stored(service):
    """Return a function that stores readings 0 to n of sensor "s" without any request."""

    def store(count):
        for at in range(count):
            item = {"sensor": {"S": "s"}, "at": {"N": str(at)}, "value": {"N": str(at)}}
            service.items["readings", "s", str(at)] = item

    return store


@pytest.fixture
def model():
    return Reading


@pytest.fixture
def other_model():
    return Sensor
