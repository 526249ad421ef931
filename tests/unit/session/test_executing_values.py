"""One operation executed twice, and in two sessions at once: each execution has its own clock and its own values."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

from dynamap_async import Attr, Find, Model, PartitionKey, Session, TimeToLive, Unique, Update, Version, attr

NOW = 1_800_000_000
STORED = {"id": {"S": "a"}, "edited": {"S": "e"}, "ends": {"N": str(NOW)}}


class Note(Model, table="notes", hide_expired=True):
    id: PartitionKey[str]
    text: Attr[str] = attr(default="")
    edited: Attr[str] = attr(on_update=lambda: uuid4().hex)
    ends: TimeToLive[datetime | None] = attr(default=None)
    version: Version[int] = attr(default=0)


class Login(Model, table="logins"):
    id: PartitionKey[str]
    code: Attr[UUID] = attr(default_factory=uuid4)
    seen: Attr[int] = attr(default=0)
    by_code = Unique("code")


class Answers:
    """A transport that answers reads with one item, and keeps all requests."""

    max_connections = 8

    def __init__(self):
        self.requests = []

    async def open(self):
        pass

    async def close(self):
        pass

    async def send(self, request):
        self.requests.append(request)
        return {"Item": STORED} if request.operation == "GetItem" else {}


async def test_one_read_in_two_sessions_at_once_answers_each_by_its_own_clock():
    find = Find(Note, "a")
    async with (
        Session(transport=Answers(), clock=lambda: NOW - 1) as alive,
        Session(transport=Answers(), clock=lambda: NOW + 1) as expired,
    ):
        found, gone = await alive.gather(alive.execute(find), expired.execute(find))
    assert found is not None
    assert found.ends == datetime.fromtimestamp(NOW, UTC)
    assert gone is None


async def test_an_instance_gets_what_its_own_execution_sent():
    answers = Answers()
    item = Note(id="a")
    update = Update(item).set(Note.text, "z").returning("nothing")
    async with Session(transport=answers) as session:
        for _ in range(2):
            await session.execute(update)
            sent = answers.requests[-1].body["ExpressionAttributeValues"].values()
            assert {"S": item.edited} in sent
    first, second = (set(map(repr, each.body["ExpressionAttributeValues"].values())) for each in answers.requests)
    assert first != second


async def test_a_transaction_gives_instances_what_was_sent():
    answers = Answers()
    item = Note(id="a")
    async with Session(transport=answers) as session:
        await session.transact_write([Update(item).set(Note.text, "z")])
    [action] = answers.requests[0].body["TransactItems"]
    assert {"S": item.edited} in action["Update"]["ExpressionAttributeValues"].values()


async def test_the_default_that_is_claimed_as_unique_is_the_one_that_is_stored():
    answers = Answers()
    async with Session(transport=answers) as session:
        await session.update(Login, "a").set(Login.seen, 1).upsert().read_first().returning("nothing")
    [request] = [each for each in answers.requests if each.operation == "TransactWriteItems"]
    update, claim = request.body["TransactItems"][:2]
    values = [each.get("S", "") for each in update["Update"]["ExpressionAttributeValues"].values()]
    [code] = [text for text in values if len(text) == len(str(UUID(int=0)))]
    assert code in claim["Put"]["Item"]["pk"]["S"]
