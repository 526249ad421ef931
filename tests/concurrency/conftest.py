"""A virtual clock and a scripted transport: nothing here sleeps, and nothing here is a real DynamoDB.

Every ``async def`` test of this folder runs on an event loop whose time jumps ahead whenever the loop has nothing to
do, and fails if it leaves a task behind.
"""

import asyncio
import inspect
from collections import deque

import pytest

from dynamap_async import Attr, Model, PartitionKey, Session, SortKey, attr


class VirtualClockLoop(asyncio.SelectorEventLoop):
    """An event loop that never waits: where it would sleep, its clock jumps to the next timer."""

    def __init__(self):
        super().__init__()
        self._now = 1000.0
        self._select = self._selector.select
        self._selector.select = self._jump

    def time(self):
        return self._now

    def _jump(self, timeout):
        found = self._select(0)
        if found or timeout == 0:
            return found
        if timeout is None:
            raise RuntimeError("every task waits for something that will never happen")
        self._now += timeout
        return found


async def _leaving_nothing(test, arguments):
    await test(**arguments)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    assert left == set(), "the test left tasks behind"


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    with asyncio.Runner(loop_factory=VirtualClockLoop, debug=True) as runner:
        runner.run(_leaving_nothing(pyfuncitem.obj, arguments))
    return True


class ScriptedTransport:
    """Answers requests in order from ``answers``: bodies, errors to raise, or functions of the request."""

    def __init__(self):
        self.answers = deque()
        self.otherwise = None
        """Answers what the script does not; None makes such a request fail the test."""
        self.latency = 0.0
        """How long each answer takes, in virtual seconds."""
        self.requests = []
        self.times = []
        self.under_way = 0
        self.most_under_way = 0
        self.opened = self.closed = 0

    def script(self, *answers):
        self.answers.extend(answers)
        return self

    async def open(self):
        self.opened += 1

    async def close(self):
        self.closed += 1

    async def send(self, request):
        self.requests.append(request)
        self.times.append(asyncio.get_running_loop().time())
        answer = self.answers.popleft() if self.answers else self.otherwise
        assert answer is not None, f"no answer is scripted for {request}"
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            if self.latency:
                await asyncio.sleep(self.latency)
            answer = answer(request) if callable(answer) else answer
            if isinstance(answer, BaseException):
                raise answer
            return answer
        finally:
            self.under_way -= 1

    @property
    def waits(self):
        """The virtual seconds between requests."""
        return [round(later - earlier, 6) for earlier, later in zip(self.times, self.times[1:], strict=False)]


class Reading(Model, table="readings"):
    sensor: PartitionKey[str]
    at: SortKey[int]
    value: Attr[int] = attr(default=0)


class Table:
    """The readings of one sensor, answered a page at a time as DynamoDB does, filters aside."""

    def __init__(self, count, *, page=10, value=0):
        self.items = [{"sensor": {"S": "s"}, "at": {"N": str(n)}, "value": {"N": str(value)}} for n in range(count)]
        self.page = page

    def __call__(self, request):
        start = request.body.get("ExclusiveStartKey")
        first = 0 if start is None else int(start["at"]["N"]) + 1
        size = min(self.page, request.body.get("Limit", self.page))
        items = self.items[first : first + size]
        answer = {"Items": items, "Count": len(items), "ScannedCount": len(items)}
        if items and len(items) == size:
            answer["LastEvaluatedKey"] = {name: items[-1][name] for name in ("sensor", "at")}
        if request.body.get("Select") == "COUNT":
            del answer["Items"]
        return answer


@pytest.fixture
def transport():
    return ScriptedTransport()


@pytest.fixture
def open_session(transport):
    """Return a function that makes a session over the scripted transport; it is still to be entered."""

    def make(**settings):
        return Session(transport=transport, **settings)

    return make


@pytest.fixture
def model():
    return Reading


@pytest.fixture
def table():
    """Return the class of scripted tables."""
    return Table


@pytest.fixture
def readings(open_session, model):
    """Return a function that begins the query of all readings of a session."""
    return lambda session: session.query(model).where(model.sensor == "s")
