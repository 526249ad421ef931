"""Ways to execute operations without a service."""

import asyncio

import pytest

from dynamap_async import (
    Session,
)


class Scripted:
    """A transport that gives one answer after the other, and raises those that are errors."""

    max_connections = 8

    def __init__(self, requests, answers):
        self.requests, self.answers = requests, list(answers)

    async def open(self):
        pass

    async def close(self):
        pass

    async def send(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def requests():
    """Return a list of the requests that were sent."""
    return []


@pytest.fixture
def answered(requests):
    """Return a function: what to await of a session, and DynamoDB's answers, one for each request -> result."""

    async def run(call, answers):
        transport = Scripted(requests, answers)
        async with Session(transport=transport) as session:
            result = await call(session)
        assert not transport.answers
        return result

    return lambda call, *answers: asyncio.run(run(call, answers))


@pytest.fixture
def executed(answered):
    """Return a function: operation, and DynamoDB's answers, one for each request -> result."""
    return lambda operation, *answers: answered(lambda session: session.execute(operation), *answers)
