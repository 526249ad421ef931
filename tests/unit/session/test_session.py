"""The session's verbs: what each of them sends, and which settings contradict each other."""

import asyncio

import pytest

from dynamap_async import Attr, Get, Model, PartitionKey, Put, Query, Scan, Session, SortKey, attr
from dynamap_async.errors import ConfigurationError, ItemNotFoundError, OperationError


class Note(Model, table="notes"):
    owner: PartitionKey[str]
    number: SortKey[int]
    text: Attr[str] = attr(default="")


NOTE = Note(owner="ada", number=1)
WIRE = {"owner": {"S": "ada"}, "number": {"N": "1"}, "text": {"S": ""}}


class Recorder:
    max_connections = 64

    def __init__(self):
        self.requests = []
        self.answer = {"Item": WIRE, "Items": [WIRE], "Count": 1}

    async def open(self):
        pass

    async def close(self):
        pass

    async def send(self, request):
        self.requests.append(request)
        return self.answer


@pytest.fixture
def recorder():
    return Recorder()


def run(recorder, use, **settings):
    """Return what ``use`` gives when it has been awaited with a session."""

    async def main():
        async with Session(transport=recorder, **settings) as session:
            return await use(session)

    return asyncio.run(main())


VERBS = [
    (lambda s: s.get(Note, "ada", 1), "GetItem", NOTE),
    (lambda s: s.find(Note, "ada", 1), "GetItem", NOTE),
    (lambda s: s.put(NOTE), "PutItem", NOTE),
    (lambda s: s.put(NOTE, where=Note.text == "x"), "PutItem", NOTE),
    (lambda s: s.create(NOTE), "PutItem", NOTE),
    (lambda s: s.delete(NOTE), "DeleteItem", None),
    (lambda s: s.delete(Note, "ada", 1), "DeleteItem", None),
    (lambda s: s.query(Note).where(Note.owner == "ada"), "Query", [NOTE]),
    (lambda s: s.scan(Note), "Scan", [NOTE]),
    (lambda s: s.scan(Note).count(), "Scan", 1),
    (lambda s: s.scan(Note).first(), "Scan", NOTE),
    (lambda s: s.execute(Get(Note, "ada", 1)), "GetItem", NOTE),
    (lambda s: s.execute(Put(NOTE)), "PutItem", NOTE),
    (lambda s: s.execute(Query(Note).where(Note.owner == "ada")), "Query", [NOTE]),
    (lambda s: s.execute(Query(Note).where(Note.owner == "ada").count()), "Query", 1),
    (lambda s: s.execute(Query(Note).where(Note.owner == "ada").one()), "Query", NOTE),
    (lambda s: s.execute(Scan(Note).one_or_none()), "Scan", NOTE),
    (lambda s: s.execute(Scan(Note).first()), "Scan", NOTE),
]


@pytest.mark.parametrize(("use", "operation", "result"), VERBS)
def test_each_verb_sends_one_request_under_the_sessions_prefix(recorder, use, operation, result):
    assert run(recorder, use, table_prefix="dev-") == result
    [request] = recorder.requests
    assert (request.operation, request.table, request.body["TableName"]) == (operation, "dev-notes", "dev-notes")


def test_an_absent_item_is_an_error_of_get_only(recorder):
    recorder.answer = {}
    assert run(recorder, lambda s: s.find(Note, "ada", 1)) is None
    with pytest.raises(ItemNotFoundError):
        run(recorder, lambda s: s.get(Note, "ada", 1))


@pytest.mark.parametrize("wrong", [None, "get", Note, 5])
def test_what_is_no_operation_cannot_be_executed(recorder, wrong):
    with pytest.raises(OperationError, match="is not an operation; write Get"):
        run(recorder, lambda s: s.execute(wrong))


def test_a_bound_query_explains_itself_without_sending(recorder):
    async def explain(session):
        return session.query(Note).where(Note.owner == "ada").explain()

    plan = run(recorder, explain, table_prefix="dev-")
    assert plan.table == "dev-notes"
    assert recorder.requests == []


def test_a_session_runs_on_uvloop(recorder):
    uvloop = pytest.importorskip("uvloop", reason="uvloop does not run on Windows")

    async def main():
        async with Session(transport=recorder) as session:
            query = session.query(Note).where(Note.owner == "ada")
            return await asyncio.create_task(query), [note async for note in query]

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(main()) == ([NOTE], [NOTE])


@pytest.mark.parametrize(
    "settings", [{"region": "eu-west-1"}, {"endpoint_url": "http://x"}, {"profile": "p"}, {"client": object()}]
)
def test_another_transport_excludes_settings_of_the_connection(recorder, settings):
    with pytest.raises(ConfigurationError, match="have their own connection"):
        Session(transport=recorder, **settings)


def test_a_secret_may_be_text_or_bytes(recorder):
    cursors = set()
    for secret in ("0123456789abcdef", b"0123456789abcdef"):
        recorder.answer = {"Items": [WIRE], "LastEvaluatedKey": {"owner": {"S": "ada"}, "number": {"N": "1"}}}
        page = run(recorder, lambda s: s.query(Note).where(Note.owner == "ada").page(size=1), cursor_secret=secret)
        cursors.add(page.cursor)
    assert len(cursors) == 1
