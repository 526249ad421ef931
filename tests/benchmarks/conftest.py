"""The benchmarks are no part of the package that is installed: these tests find them beside the tests.

Their folder comes last, so that `dynamap_async` stays the one that is installed.
"""

import asyncio
import random
import sys
from pathlib import Path

import pytest
from pydantic_core import from_json, to_json

from dynamap_async.errors import ConnectionFailedError, Outcome
from dynamap_async.transport.translate import service_error

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:
    sys.path.append(ROOT)


class Wire:
    """A service at the end of a line on which answers get lost, and requests too."""

    max_connections = 64

    def __init__(self, service, *, lost=0.0, unsent=0.0, seed=1):
        self.service, self.lost, self.unsent = service, lost, unsent
        self.chance = random.Random(seed)

    async def open(self): ...

    async def close(self): ...

    async def send(self, request):
        if self.chance.random() < self.unsent:
            raise broken(request, Outcome.NOT_SENT)
        status, text = self.service.execute(request.operation, to_json(request.body))
        answer = from_json(text)
        if status != 200:
            code = answer["__type"].rpartition("#")[2]
            await asyncio.sleep(0.005)
            raise service_error(request, code=code, status=status, facts=answer, request_id=None)
        await asyncio.sleep(self.chance.uniform(0.002, 0.008))
        if self.chance.random() < self.lost:
            raise broken(request, Outcome.UNKNOWN)
        return answer


def broken(request, outcome):
    return ConnectionFailedError("broken", outcome=outcome, operation=request.operation, table=request.table)


@pytest.fixture
def wire():
    return Wire
