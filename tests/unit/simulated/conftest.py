"""What tests of the engine in the process share."""

import json

import pytest


@pytest.fixture
def call():
    """Return a function that has a service carry out a request, and returns its answer."""

    def call(service, operation, **body):
        status, answer = service.execute(operation, json.dumps(body).encode())
        assert status == 200, answer
        return json.loads(answer)

    return call


@pytest.fixture
def refused():
    """Return a function that has a service refuse a request, and returns the code and the text."""

    def refused(service, operation, **body):
        status, answer = service.execute(operation, json.dumps(body).encode())
        assert status == 400, answer
        found = json.loads(answer)
        return found["__type"].rpartition("#")[2], found.get("message", found.get("Message"))

    return refused


class MovableClock:
    """A time that a test moves."""

    def __init__(self):
        self.now = 1_800_000_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return MovableClock()
