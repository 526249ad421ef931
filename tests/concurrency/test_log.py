"""What stands in the log: no secret at any level, and nothing of an item or a key above DEBUG; nor in events."""

import logging

import pytest

from dynamap_async import Attr, CapacityPolicy, Credentials, Model, PartitionKey, RetryPolicy, SortKey, attr
from dynamap_async.errors import (
    AccessDeniedError,
    BatchError,
    ConditionalCheckFailedError,
    ConnectionFailedError,
    DynamapError,
    ItemValidationError,
    Outcome,
    RequestRejectedError,
    ThrottledError,
)

SECRETS = {
    "access_key_id": "ACCESSKEYMARKER",
    "secret_access_key": "SECRETKEYMARKER",
    "session_token": "SESSIONTOKENMARKER",
    "cursor_secret": "CURSORSECRETMARKER",
}
ITEM_DATA = ("PARTITIONMARKER", "SORTMARKER", "VALUEMARKER")
PARTITION, SORT, VALUE = ITEM_DATA


class Note(Model, table="notes"):
    owner: PartitionKey[str]
    title: SortKey[str]
    text: Attr[str] = attr(default="")
    stars: Attr[int] = attr(default=0)


def note(n=0):
    return Note(owner=PARTITION, title=f"{SORT}-{n}", text=VALUE)


class Notes:
    """A service that answers with items full of markers, and with the errors that it is told to."""

    def __init__(self):
        self.errors = []

    def __call__(self, request):
        if self.errors:
            return self.errors.pop(0)
        return getattr(self, request.operation, lambda request: {})(request)

    def item(self, key, stars="0"):
        return {**key, "text": {"S": VALUE}, "stars": {"N": stars}}

    def GetItem(self, request):  # noqa: N802 - the API's name
        return {"Item": self.item(request.body["Key"])}

    def BatchGetItem(self, request):  # noqa: N802
        answers, left = {}, {}
        for table, entry in request.body["RequestItems"].items():
            answers[table] = [self.item(key) for key in entry["Keys"][:-1]]
            left[table] = {"Keys": entry["Keys"][-1:]}
        return {"Responses": answers, "UnprocessedKeys": left}

    def Query(self, request):  # noqa: N802
        key = {"owner": {"S": PARTITION}, "title": {"S": SORT}}
        more = {} if "ExclusiveStartKey" in request.body else {"LastEvaluatedKey": key}
        return {"Items": [self.item(key)], "Count": 1, "ScannedCount": 1, **more}


def service_error(kind, **facts):
    error = kind(f"{kind.__name__} {VALUE}", service_code=kind.__name__, operation="PutItem", table="notes", status=400)
    error.__dict__.update(facts)
    return error


def lost():
    return ConnectionFailedError(f"lost {VALUE}", outcome=Outcome.UNKNOWN, operation="PutItem", table="notes")


def fail(event):
    raise RuntimeError(VALUE)


async def _written(session, service):
    await session.put(note())
    await session.put_many([note(n) for n in range(3)])
    await session.delete(note())
    refused = service_error(ConditionalCheckFailedError, wire_item={"text": {"S": VALUE}})
    service.errors.append(refused)
    with pytest.raises(ConditionalCheckFailedError):
        await session.put(note(), where=Note.text == VALUE)


async def _read(session):
    await session.get(Note, PARTITION, SORT)
    await session.get_many(Note, [(PARTITION, f"{SORT}-{n}") for n in range(4)])
    query = session.query(Note).where(Note.owner == PARTITION, Note.text == VALUE)
    page = await query.page(size=1)
    await query.page(size=1, after=page.cursor)


async def _failed(session, service):
    with pytest.raises(BatchError):
        await session.get_many(Note, [(PARTITION, 3), (PARTITION, SORT)])
    service.errors += [service_error(ThrottledError), lost(), service_error(RequestRejectedError)]
    with pytest.raises(RequestRejectedError):
        await session.put(note())
    service.errors += [service_error(RequestRejectedError)]
    await session.get_many(Note, [(PARTITION, f"{SORT}-{n}") for n in range(4)])
    service.errors += [service_error(AccessDeniedError)]
    await session.put_many([note(n) for n in range(2)])
    service.errors += [service_error(ThrottledError) for _ in range(3)]
    with pytest.raises(ThrottledError):
        await session.query(Note).where(Note.owner == PARTITION)
    service.item = lambda key: {**key, "stars": {"S": VALUE}}
    with pytest.raises(ItemValidationError):
        await session.get(Note, PARTITION, SORT)
    with pytest.raises(DynamapError):
        await session.query(Note).where(Note.owner == PARTITION).page(size=1, after=VALUE)


@pytest.fixture
def events():
    return []


@pytest.fixture
def lines(transport, open_session, events, caplog):
    """Return a function that does a bit of everything and returns all log lines: (level number, text)."""

    async def run():
        caplog.set_level(logging.DEBUG, "dynamap_async")
        service = transport.otherwise = Notes()
        secret = SECRETS["cursor_secret"]
        retry = RetryPolicy(max_attempts=3)
        # Refusals at random teach a governor to wait; which requests share a batch would then depend on the clock.
        unpaced = CapacityPolicy(enabled=False)
        observers = [events.append, fail]
        async with open_session(cursor_secret=secret, retry=retry, observer=observers, capacity=unpaced) as session:
            await _written(session, service)
            await _read(session)
            await _failed(session, service)
        formatter = logging.Formatter("%(levelname)s %(message)s")
        return [(each.levelno, formatter.format(each)) for each in caplog.records if each.name == "dynamap_async"]

    return run


async def test_no_item_data_is_logged_above_debug(lines):
    above_debug = [text for level, text in await lines() if level > logging.DEBUG]
    assert above_debug
    assert [text for text in above_debug if any(marker in text for marker in ITEM_DATA)] == []


async def test_no_secret_is_logged_at_any_level(lines):
    texts = [text for _level, text in await lines()]
    assert any("sent again" in text for text in texts)
    assert any("split" in text for text in texts)
    assert [text for text in texts if any(secret in text for secret in SECRETS.values())] == []


async def test_no_event_holds_item_data(lines, events):
    await lines()
    assert len({type(event) for event in events}) == 6
    assert [event for event in events if any(marker in repr(event) for marker in ITEM_DATA)] == []


async def test_settings_do_not_show_their_secrets():
    names = ("access_key_id", "secret_access_key", "session_token")
    shown = repr(Credentials(**{name: SECRETS[name] for name in names}))
    assert SECRETS["secret_access_key"] not in shown
    assert SECRETS["session_token"] not in shown
