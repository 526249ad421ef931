"""Answers of a wrong form, through the whole session: every error is one of ours, and none is silent."""

import contextlib
import gc

import pytest

from dynamap_async import (
    KEYS_ONLY,
    Attr,
    GlobalIndex,
    Model,
    PartitionKey,
    RetryPolicy,
    SortKey,
    Statement,
    Unique,
    Version,
    attr,
)
from dynamap_async.errors import (
    BatchError,
    ConditionalCheckFailedError,
    DamagedResponseError,
    DecodeError,
    DynamapError,
    ItemValidationError,
    Outcome,
)
from dynamap_async.executor import gather_all


class Doc(Model, table="docs"):
    pk: PartitionKey[str]
    sk: SortKey[int]
    n: Attr[int] = attr(default=0)
    counts: Attr[dict[str, int]] = attr(default_factory=dict)
    by_n = GlobalIndex(partition_key="n", projection=KEYS_ONLY)


class Ticket(Model, table="tickets"):
    number: PartitionKey[int] = attr(autoincrement=True)


class Note(Model, table="notes"):
    pk: PartitionKey[str]
    version: Version[int] = attr(default=0)


class User(Model, table="users"):
    pk: PartitionKey[str]
    email: Attr[str]
    by_email = Unique("email")


KEY = {"pk": {"S": "a"}, "sk": {"N": "1"}}
ITEM = {**KEY, "n": {"N": "1"}}


async def awaited(builder):
    return await builder


async def ended_well(call):
    """Await a call, which may fail with any error of ours."""
    failures = ()
    with contextlib.suppress(DynamapError):
        try:
            await call
        except BatchError as error:
            failures = error.failures
    for failure in failures:
        assert isinstance(failure.error, DynamapError)


async def listed(items):
    return [item async for item in items]


READS = {
    "get": lambda s: s.get(Doc, "a", 1),
    "find": lambda s: s.find(Doc, "a", 1),
    "finds at once": lambda s: gather_all([s.find(Doc, "a", 1), s.find(Doc, "a", 2)]),
    "get_many": lambda s: s.get_many(Doc, [("a", 1), ("a", 2)]),
    "each": lambda s: listed(s.each(Doc, [("a", 1), ("a", 2)])),
    "load": lambda s: s.loader(Doc).load(("a", 1)),
    "query": lambda s: awaited(s.query(Doc).where(Doc.pk == "a")),
    "stream": lambda s: listed(s.query(Doc).where(Doc.pk == "a")),
    "page": lambda s: s.query(Doc).where(Doc.pk == "a").page(size=1),
    "first": lambda s: s.query(Doc).where(Doc.pk == "a").first(),
    "select": lambda s: awaited(s.query(Doc).where(Doc.pk == "a").select(Doc.n)),
    "merged": lambda s: awaited(s.query(Doc).where(Doc.pk.is_in("a", "b")).descending()),
    "completed": lambda s: awaited(s.query(Doc).where(Doc.n == 1)),
    "count": lambda s: s.query(Doc).where(Doc.pk == "a").count(),
    "scan": lambda s: awaited(s.scan(Doc)),
    "segments": lambda s: listed(s.scan(Doc).segments(3)),
    "transact_get": lambda s: s.transact_get((Doc, "a", 1)),
    "statement": lambda s: awaited(s.execute_statement("SELECT * FROM docs", into=Doc)),
    "statements": lambda s: s.batch_execute_statement([Statement("SELECT * FROM docs", into=Doc)]),
    "describe": lambda s: s.tables.describe(Doc),
    "exists": lambda s: s.tables.exists(Doc),
}
WRITES = {
    "put": lambda s: s.put(Doc(pk="a", sk=1)),
    "put_many": lambda s: s.put_many([Doc(pk="a", sk=1), Doc(pk="a", sk=2)]),
    "put returning": lambda s: s.put(Doc(pk="a", sk=1), returning="old"),
    "delete returning": lambda s: s.delete(Doc, "a", 1, returning="old"),
    "create": lambda s: s.create(Doc(pk="a", sk=1)),
    "update": lambda s: awaited(s.update(Doc, "a", 1).add(Doc.n, 1)),
    "update returning old": lambda s: awaited(s.update(Doc, "a", 1).add(Doc.n, 1).returning("old")),
    "update returning changed": lambda s: awaited(s.update(Doc, "a", 1).add(Doc.n, 1).returning("changed")),
    "then_get": lambda s: awaited(s.update(Doc, "a", 1).add(Doc.n, 1).exactly_once().then_get()),
    "increment": lambda s: s.increment(Doc, "a", 1, Doc.n),
    "increment inside": lambda s: s.increment(Doc, "a", 1, Doc.counts["x"]),
    "reserve": lambda s: s.reserve(Ticket, 3),
    "numbered": lambda s: s.create(Ticket()),
    "replace": lambda s: s.replace(Note(pk="a")),
    "versioned": lambda s: s.put(Note(pk="a")),
    "unique": lambda s: s.delete(User, "a", read_first=True),
    "transaction": lambda s: s.execute_transaction([Statement("UPDATE docs SET n=1 WHERE pk='a' AND sk=1", into=Doc)]),
    "create table": lambda s: s.tables.create(Doc, wait=False),
}
MEMBERS = [
    "Item",
    "Items",
    "Attributes",
    "Responses",
    "Table",
    "TableDescription",
    "TimeToLiveDescription",
    "Count",
    "ScannedCount",
    "UnprocessedKeys",
    "UnprocessedItems",
    "LastEvaluatedKey",
    "NextToken",
    "ConsumedCapacity",
]


def deep(levels):
    value = {"S": "x"}
    for _ in range(levels):
        value = {"L": [value]}
    return value


ODD = {
    "number": 5,
    "null": None,
    "text": "x",
    "list": [5],
    "empty list": [],
    "empty object": {},
    "list of objects": [{}],
    "wrong tag": {"Q": "x"},
    "wrong content": {"S": 5},
    "200 levels": deep(200),
    "600 levels": deep(600),
}


def right(request, item):
    """Answer as DynamoDB would, with one item."""
    body = request.body
    match request.operation:
        case "Query" | "Scan" | "ExecuteStatement":
            return {"Items": [item], "Count": 1, "ScannedCount": 1}
        case "GetItem":
            return {"Item": item}
        case "BatchGetItem":
            return {"Responses": {table: [item] for table in body["RequestItems"]}, "UnprocessedKeys": {}}
        case "TransactGetItems" | "BatchExecuteStatement" | "ExecuteTransaction":
            return {"Responses": [{"Item": item}]}
        case "PutItem" | "DeleteItem" | "UpdateItem" if "ReturnValues" in body:
            return {"Attributes": item}
        case _:
            return {}


@pytest.fixture
def once(open_session):
    """Open sessions that send nothing again."""
    yield lambda: open_session(retry=RetryPolicy(max_attempts=1))
    gc.collect()  # or what a test leaves ends deep in the answers of the next one, where nothing more can be called


@pytest.mark.parametrize("call", (READS | WRITES).values(), ids=READS | WRITES)
async def test_whatever_an_answer_holds_every_error_is_one_of_ours(transport, once, call):
    answers = [{}, {"__type": "x#ValidationException", "message": "m"}]
    answers += [dict.fromkeys(MEMBERS, value) for value in ODD.values()]
    answers += [{member: ODD[kind]} for member in MEMBERS for kind in ("number", "null", "list", "empty object")]
    items = [
        {**ITEM, name: value} for name in ("pk", "sk", "n", "counts", "version", "email") for value in ODD.values()
    ]
    async with once() as session:
        for answer in (*answers, *(lambda request, item=item: right(request, item) for item in items)):
            transport.otherwise = (lambda request, answer=answer: answer) if isinstance(answer, dict) else answer
            await ended_well(call(session))


@pytest.mark.parametrize("call", WRITES.values(), ids=WRITES)
async def test_a_refused_write_with_an_odd_stored_item_ends_in_one_of_our_errors(transport, once, call):
    for value in ODD.values():
        for name in ("pk", "n", "version"):

            def refuse(request, name=name, value=value):
                if not request.writes:
                    return right(request, ITEM)
                error = ConditionalCheckFailedError(
                    "no", service_code="x", operation=request.operation, table=request.table, status=400
                )
                error.wire_item = {**ITEM, name: value}
                return error

            transport.otherwise = refuse
            async with once() as session:
                await ended_well(call(session))


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (WRITES["increment"], {}),
        (WRITES["increment"], {"Attributes": {"other": {"N": "1"}}}),
        (WRITES["increment inside"], {"Attributes": {"counts": {"M": {}}}}),
        (WRITES["update"], {}),
        (WRITES["put"], {"__type": "x#ValidationException"}),
        (WRITES["put returning"], {"Attributes": {"pk": {"S": "b"}, "sk": {"N": "1"}}}),
        (WRITES["create table"], {"TableDescription": {}}),
    ],
)
async def test_the_outcome_of_a_write_whose_answer_is_damaged_is_unknown(transport, once, call, answer):
    transport.otherwise = lambda request: answer
    async with once() as session:
        with pytest.raises(DamagedResponseError) as raised:
            await call(session)
    assert raised.value.outcome is Outcome.UNKNOWN
    assert len(transport.requests) == 1


async def test_an_increment_whose_answer_is_damaged_is_not_sent_again(transport, open_session):
    transport.otherwise = lambda request: {}
    async with open_session() as session:
        with pytest.raises(DamagedResponseError):
            await session.increment(Doc, "a", 1, Doc.n)
    assert len(transport.requests) == 1


async def test_numbers_are_taken_anew_after_a_damaged_answer(transport, open_session):
    transport.script({"Attributes": {"other": {"N": "1"}}}, {"Attributes": {"n": {"N": "6"}}})
    async with open_session() as session:
        assert await session.reserve(Ticket, 3) == range(4, 7)


async def test_a_read_whose_answer_is_damaged_is_sent_again(transport, open_session):
    transport.script({"Item": {"pk": {"S": "b"}, "sk": {"N": "1"}}}, {"Item": ITEM})
    async with open_session() as session:
        assert (await session.get(Doc, "a", 1)).n == 1


async def test_an_attribute_of_no_form_is_damage_and_one_that_does_not_fit_is_not(transport, once):
    transport.script({"Item": {**ITEM, "n": {"Q": "1"}}}, {"Item": {**ITEM, "n": {"S": "many"}}})
    async with once() as session:
        with pytest.raises(DamagedResponseError, match="its attribute 'n' holds no value"):
            await session.get(Doc, "a", 1)
        with pytest.raises(ItemValidationError):
            await session.get(Doc, "a", 1)


@pytest.mark.parametrize("name", ["query", "statement"])
async def test_an_attribute_of_no_form_is_damage_of_a_page(transport, once, name):
    transport.script({"Items": [{**ITEM, "n": {"Q": "1"}}], "Count": 1})
    async with once() as session:
        with pytest.raises(DamagedResponseError, match="its attribute 'n' holds no value"):
            await READS[name](session)


async def test_a_counter_that_is_no_number_is_a_decode_error(transport, once):
    transport.otherwise = lambda request: {"Attributes": {"n": {"S": "many"}}}
    async with once() as session:
        for call in (WRITES["reserve"], WRITES["increment"]):
            with pytest.raises(DecodeError):
                await call(session)


async def test_an_error_of_a_users_validator_is_no_damage(transport, once):
    class Picky(Model, table="picky"):
        pk: PartitionKey[str]

        def model_post_init(self, context, /):
            raise KeyError("the program's own")

    transport.otherwise = lambda request: {"Item": {"pk": {"S": "a"}}}
    async with once() as session:
        with pytest.raises(ItemValidationError, match="the program's own") as caught:
            await session.get(Picky, "a")
    assert isinstance(caught.value.validation_error, KeyError)


PAGED = ["query", "stream", "count", "scan", "segments", "merged", "completed", "statement"]


@pytest.mark.parametrize("name", PAGED)
async def test_a_page_that_ends_where_it_began_is_damaged(transport, once, name):
    item = {"pk": {"S": "a"}, "sk": {"N": "1"}, "n": {"N": "1"}}

    def stuck(request):
        page = {"Items": [item], "Count": 1, "LastEvaluatedKey": item, "NextToken": "t"}
        return right(request, item) if "Item" in request.operation else page

    transport.otherwise = stuck
    async with once() as session:
        with pytest.raises(DamagedResponseError, match="does not advance"):
            await READS[name](session)
    pages = [request for request in transport.requests if "Item" not in request.operation]
    assert len(pages) <= 2 * 3  # of each read the first page, and the one that does not advance


@pytest.mark.parametrize("name", PAGED)
async def test_an_empty_position_ends_a_read(transport, once, name):
    page = {"Items": [], "Count": 0, "LastEvaluatedKey": {}, "NextToken": ""}
    transport.otherwise = lambda request: page
    async with once() as session:
        assert await READS[name](session) in ([], 0)
    assert len(transport.requests) <= 3


async def test_the_cursor_after_an_empty_position_is_none(transport, once):
    transport.script({"Items": [ITEM], "Count": 1, "LastEvaluatedKey": {}})
    async with once() as session:
        page = await session.query(Doc).where(Doc.pk == "a").page(size=5)
    assert page.cursor is None


async def test_a_stream_goes_on_with_the_next_page_after_a_damaged_item(transport, once):
    broken = {**ITEM, "n": {"Q": "x"}}
    transport.script(
        {"Items": [broken], "Count": 1, "LastEvaluatedKey": KEY},
        {"Items": [{**ITEM, "sk": {"N": "2"}}], "Count": 1},
    )
    async with once() as session, session.query(Doc).where(Doc.pk == "a").stream() as items:
        with pytest.raises(DamagedResponseError):
            await anext(items)
        assert (await anext(items)).sk == 2
