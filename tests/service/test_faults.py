"""Faults through a real session, by the transport and by the server, with the engine's table as the witness."""

import asyncio
import os
import socket
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
import pytest_asyncio

from dynamap_async import Attr, Credentials, Model, PartitionKey, RetryPolicy
from dynamap_async.errors import (
    AccessDeniedError,
    ConfigurationError,
    ConnectionFailedError,
    DamagedResponseError,
    InternalServerError,
    Outcome,
    ProvisionedThroughputExceededError,
    RequestRejectedError,
    RequestTimeoutError,
    ThrottledError,
    UnknownServiceError,
    UnprocessedError,
)
from dynamap_async.testing.faults import Faults, FaultyServer
from dynamap_async.transport import AioConfig

ONCE = RetryPolicy(max_attempts=1)
PATIENT = RetryPolicy(max_attempts=20, base_delay_seconds=0.001, max_delay_seconds=0.01, budget=10_000)


def patience(kind):
    """Return how long a session waits for an answer that is kept back: until ``kept_back`` lets the time pass."""
    if kind is not RequestTimeoutError:
        return {}
    # The timers of uvloop do not notice that, so there the time really passes.
    seconds = 20 if isinstance(asyncio.get_running_loop(), asyncio.BaseEventLoop) else 2
    return {"aio_config": AioConfig(read_timeout=seconds, connect_timeout=30)}


async def until(condition):
    """Wait for what nobody tells; whatever hangs, the test ends."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


FOR_GOOD = (AccessDeniedError, RequestRejectedError)


class Tweet(Model, table="tweets"):
    id: PartitionKey[int]
    text: Attr[str]


@pytest.fixture
def faults():
    return Faults()


@pytest.fixture
def prefix():
    return f"t{uuid4().hex[:12]}-"


@pytest_asyncio.fixture
async def plain(engine, prefix):
    """A session that no fault reaches, with the table."""
    async with engine.session(table_prefix=prefix) as opened:
        await opened.tables.create(Tweet)
        yield opened


@pytest_asyncio.fixture
async def kept_back(faults, plain, pass_time, over_connections):
    """Return a function that lets the read timeout of each PutItem pass whose answer the script keeps back."""
    passing = []

    async def pass_each(times, *, applied):
        for number in range(1, times + 1):
            await until(lambda number=number: len(faults.log) >= number)
            while applied and await plain.find(Tweet, 1) is None:
                pass
            pass_time(25)

    def let_pass(kind, times=1, *, applied=True):
        if kind is RequestTimeoutError and over_connections:
            passing.append(asyncio.create_task(pass_each(times, applied=applied)))

    yield let_pass
    for task in passing:
        await task


@pytest.fixture
def through(faulty_session, engine, faults, plain, prefix):
    """Open sessions whose requests go through the script."""

    def open_session(**settings):
        return faulty_session(engine, settings.pop("script", faults), table_prefix=prefix, **settings)

    return open_session


BEFORE = [
    (lambda rule: rule.throttle(), ProvisionedThroughputExceededError),
    (lambda rule: rule.throttle("ThrottlingException"), ThrottledError),
    (lambda rule: rule.deny_access(), AccessDeniedError),
    (lambda rule: rule.reject("no"), RequestRejectedError),
    (lambda rule: rule.fail(), InternalServerError),
    (lambda rule: rule.fail(503, html=True), InternalServerError),
    (lambda rule: rule.reset(), ConnectionFailedError),
    (lambda rule: rule.refuse_connection(), ConnectionFailedError),
    (lambda rule: rule.time_out(applied=False), RequestTimeoutError),
]
AFTER = [
    (lambda rule: rule.lose_answer(), ConnectionFailedError),
    (lambda rule: rule.reset(applied=True), ConnectionFailedError),
    (lambda rule: rule.fail(applied=True), InternalServerError),
    (lambda rule: rule.fail(500, html=True, applied=True), InternalServerError),
    (lambda rule: rule.malformed_body(), DamagedResponseError),
    (lambda rule: rule.truncate_body(), DamagedResponseError),
    (lambda rule: rule.wrong_length(), DamagedResponseError),
    (lambda rule: rule.wrong_checksum(), DamagedResponseError),
    (lambda rule: rule.time_out(), RequestTimeoutError),
]
BEFORE_OR_AFTER = [(*each, False) for each in BEFORE] + [(*each, True) for each in AFTER]


@pytest.mark.parametrize(("script", "kind", "applied"), BEFORE_OR_AFTER)
@pytest.mark.asyncio
async def test_each_fault_gives_its_error_and_writes_or_does_not(
    faults, plain, through, kept_back, script, kind, applied
):
    script(faults.on("PutItem"))
    kept_back(kind, applied=applied)
    async with through(retry=ONCE, **patience(kind)) as session:
        with pytest.raises(kind) as caught:
            await session.put(Tweet(id=1, text="hello"))
    assert type(caught.value) is kind
    assert caught.value.attempts == 1
    assert (await plain.find(Tweet, 1) is not None) is applied
    [entry] = faults.log
    assert (entry.operation, entry.table) == ("PutItem", caught.value.table)


@pytest.mark.parametrize(
    ("script", "kind", "applied"), [each for each in BEFORE_OR_AFTER if not issubclass(each[1], FOR_GOOD)]
)
@pytest.mark.asyncio
async def test_session_recovers_from_each_fault_that_passes(faults, plain, through, kept_back, script, kind, applied):
    script(faults.on("PutItem", times=2))
    kept_back(kind, 2, applied=applied)
    async with through(retry=PATIENT, **patience(kind)) as session:
        await session.put(Tweet(id=1, text="hello"))
    assert (await plain.get(Tweet, 1)).text == "hello"
    assert len(faults.log) == 3
    assert faults.unused == ()


@pytest.mark.asyncio
async def test_both_levels_give_the_same_facts_of_a_refusal(engine, faults, plain, prefix):
    faults.on("GetItem").throttle("ThrottlingException")
    settings = {"table_prefix": prefix, "retry": ONCE}
    told = []
    async with FaultyServer(engine.endpoint_url, faults) as server:
        for opening in (faults.session(engine, **settings), server.session(**settings)):
            async with opening as session:
                with pytest.raises(ThrottledError) as caught:
                    await session.get(Tweet, 1)
            told.append((str(caught.value), vars(caught.value)))
    assert told[0] == told[1]


@pytest.mark.asyncio
async def test_refused_connection_was_not_sent_and_a_reset_one_may_have_been(engine, faults, plain, prefix):
    faults.on("PutItem", nth=1).refuse_connection()
    faults.on("PutItem", nth=2).reset()
    async with faults.session(engine, table_prefix=prefix, retry=ONCE) as session:
        for outcome in (Outcome.NOT_SENT, Outcome.UNKNOWN):
            with pytest.raises(ConnectionFailedError) as caught:
                await session.put(Tweet(id=1, text="hello"))
            assert caught.value.outcome is outcome


@pytest.mark.asyncio
async def test_keys_left_unprocessed_are_read_by_a_patient_session(faults, plain, through):
    await put_all(plain, range(20))
    faults.on("BatchGetItem", times=2).leave_unprocessed(7)
    async with through(retry=PATIENT) as session:
        assert await texts(session, range(20)) == [str(number) for number in range(20)]
    # The 7 that are left over would all be left over again, so they are throttled as a whole.
    assert [(entry.items, entry.fault) for entry in faults.log] == [
        (20, "leave_unprocessed"),
        (7, "leave_unprocessed"),
        (7, None),
    ]


@pytest.mark.asyncio
async def test_items_left_unprocessed_are_not_written_and_say_so(faults, plain, through):
    faults.on("BatchWriteItem").leave_unprocessed(3)
    async with through(retry=ONCE) as session:
        tasks = [asyncio.create_task(session.put(Tweet(id=number, text="hello"))) for number in range(10)]
        await asyncio.wait(tasks)
    assert [isinstance(task.exception(), UnprocessedError) for task in tasks] == [False] * 7 + [True] * 3
    assert sorted([tweet.id async for tweet in plain.scan(Tweet)]) == list(range(7))


@pytest.mark.asyncio
async def test_scripted_answer_stands_for_a_stale_read(faults, plain, through):
    await plain.put(Tweet(id=1, text="hello"))
    faults.on("GetItem", times=1).answer({})
    async with through() as session:
        assert await session.find(Tweet, 1) is None
        assert await session.find(Tweet, 1) is not None


@pytest.mark.parametrize(
    "slow", [lambda r: r.delay(0.1), lambda r: r.delay(0.1, applied=True), lambda r: r.drip_body(0.1)]
)
@pytest.mark.asyncio
async def test_slow_answers_are_right_answers(faults, plain, through, slow):
    await plain.put(Tweet(id=1, text="hello"))
    slow(faults.on("GetItem"))
    async with through() as session:
        begun = asyncio.get_running_loop().time()
        assert (await session.get(Tweet, 1)).text == "hello"
        assert asyncio.get_running_loop().time() - begun >= 0.09
    assert [entry.delay_seconds for entry in faults.log] == [0.1]


@pytest.mark.asyncio
async def test_idle_connection_that_is_closed_is_replaced(engine, faults, plain, prefix):
    faults.on("GetItem", nth=1).close_idle()
    async with FaultyServer(engine.endpoint_url, faults) as server, server.session(table_prefix=prefix) as session:
        files = len(open_files())
        assert await session.find(Tweet, 1) is None
        await until(lambda: len(open_files()) <= files + 1)  # that of the server to the engine stays
        for _ in range(2):
            assert await session.find(Tweet, 1) is None
        assert server.connections == 2


@pytest.mark.asyncio
async def test_server_that_refuses_connections_gets_nothing_and_comes_back(engine, faults, plain, prefix):
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(FaultyServer(engine.endpoint_url, faults))
        session = await stack.enter_async_context(server.session(table_prefix=prefix, retry=ONCE))
        await session.put(Tweet(id=1, text="hello"))
        files = len(open_files())
        async with server.refuse_connections():
            await until(lambda: len(open_files()) <= files - 3)  # it listens no more; both ends of the idle connection
            with pytest.raises(ConnectionFailedError) as caught:
                await session.put(Tweet(id=2, text="hello"))
        assert caught.value.outcome is Outcome.NOT_SENT
        await session.put(Tweet(id=3, text="hello"))
    assert sorted([tweet.id async for tweet in plain.scan(Tweet)]) == [1, 3]
    assert faults.requests["PutItem"] == 2


@pytest.mark.asyncio
async def test_load_survives_chaos_without_loss(plain, through):
    script = Faults.random(share=0.3, seed=11)
    async with through(script=script, retry=PATIENT) as session:
        await put_all(session, range(300))
        assert await texts(session, range(300)) == [str(number) for number in range(300)]
    assert sorted([tweet.id async for tweet in plain.scan(Tweet)]) == list(range(300))
    assert script.faulty.total() > 3


@pytest.mark.asyncio
async def test_chaos_repeats_itself_for_the_same_requests(engine, plain, prefix):
    async def played():
        script = Faults.random(share=0.5, seed=5)
        async with script.session(engine, table_prefix=prefix, retry=PATIENT) as session:
            for number in range(40):
                await session.put(Tweet(id=number, text="hello"))
        return script.log

    first = await played()
    assert await played() == first
    assert len({entry.fault for entry in first}) > 5


@pytest.mark.asyncio
async def test_any_client_can_talk_to_the_server(engine, faults, plain, prefix):
    aiobotocore = pytest.importorskip("aiobotocore.session")
    faults.on("PutItem", nth=1).throttle()
    keys = {"aws_access_key_id": "local", "aws_secret_access_key": "local"}
    async with FaultyServer(engine.endpoint_url, faults) as server, AsyncExitStack() as stack:
        client = await stack.enter_async_context(
            aiobotocore.AioSession().create_client("dynamodb", region_name="eu-west-1", endpoint_url=server.url, **keys)
        )
        await client.put_item(TableName=f"{prefix}tweets", Item={"id": {"N": "1"}, "text": {"S": "hello"}})
    assert [entry.fault for entry in faults.log] == ["throttle", None]
    assert (await plain.get(Tweet, 1)).text == "hello"


@pytest.mark.asyncio
async def test_server_without_an_engine_answers_by_its_script_alone(faults):
    faults.on("GetItem").answer({"Item": {"id": {"N": "1"}, "text": {"S": "scripted"}}})
    async with FaultyServer(None, faults) as server, server.session(retry=ONCE) as session:
        assert (await session.get(Tweet, 1)).text == "scripted"
        with pytest.raises(RequestRejectedError, match="nothing is scripted for PutItem"):
            await session.put(Tweet(id=1, text="hello"))


@pytest.mark.asyncio
async def test_refusal_of_what_is_not_left_over_is_passed_on_as_it_is(faults):
    faults.on("BatchGetItem").leave_unprocessed(1)
    async with FaultyServer(None, faults) as server, server.session(retry=ONCE) as session:
        tasks = [asyncio.create_task(session.get(Tweet, number)) for number in range(2)]
        await asyncio.wait(tasks)
    assert [type(task.exception()) for task in tasks] == [RequestRejectedError] * 2
    assert (faults.log[0].operation, faults.log[0].fault) == ("BatchGetItem", "leave_unprocessed")


@pytest.mark.asyncio
async def test_error_may_have_any_status_and_session_any_connection(faults):
    faults.on("GetItem").error("Novel", "news", status=499)
    local = Credentials(access_key_id="local", secret_access_key="local")
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(FaultyServer(None, faults))
        settings = {"endpoint_url": server.url, "region": "eu-west-1", "credentials": local, "retry": ONCE}
        for session in (server.session(retry=ONCE), Faults().session(**settings)):
            opened = await stack.enter_async_context(session)
            with pytest.raises(UnknownServiceError) as caught:
                await opened.get(Tweet, 1)
            assert (caught.value.service_code, caught.value.status) == ("Novel", 499)


@pytest.mark.asyncio
async def test_server_in_front_of_nothing_answers_that_it_failed(faults):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # taken, and nobody listens
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        async with FaultyServer(url, faults) as server, server.session(retry=ONCE) as session:
            with pytest.raises(InternalServerError) as caught:
                await session.get(Tweet, 1)
            assert caught.value.status == 502


@pytest.mark.asyncio
async def test_leaving_ends_every_task_and_socket_also_those_that_hang(faults, caplog):
    faults.on("GetItem").time_out(applied=False)
    faults.on("Query").delay(60)
    tasks, files = asyncio.all_tasks(), open_files()
    async with FaultyServer(None, faults) as server:
        address = urlsplit(server.url)
        _, idle = await asyncio.open_connection(address.hostname, address.port)
        async with server.session(retry=ONCE) as session:
            waiting = [asyncio.create_task(session.find(Tweet, 1)), asyncio.create_task(count(session))]
            await until(lambda: len(faults.log) == 2)
            for task in waiting:
                task.cancel()
            await asyncio.wait(waiting)
    idle.close()
    with pytest.raises(ConnectionError):
        await idle.wait_closed()
    assert asyncio.all_tasks() == tasks
    assert [entry for entry in caplog.records if entry.levelname == "ERROR"] == []
    # libuv keeps a spare one, of /dev/null, from the first listening socket on.
    assert {each for each in open_files() - files if each[1] != os.devnull} == files - open_files() == set()
    with pytest.raises(OSError, match="refused|failed"):
        await asyncio.open_connection(address.hostname, address.port)


@pytest.mark.asyncio
async def test_server_outside_its_block_has_no_url_and_cannot_be_entered_twice_at_once(faults):
    server = FaultyServer(None, faults)
    with pytest.raises(ConfigurationError, match="not running"):
        _ = server.url
    for _ in range(2):
        async with server:
            assert server.url.startswith("http://127.0.0.1:")
            with pytest.raises(ConfigurationError, match="already"):
                await server.__aenter__()


def open_files():
    return {(name, os.readlink(f"/dev/fd/{name}")) for name in os.listdir("/dev/fd") if Path("/dev/fd", name).exists()}


async def count(session):
    return await session.query(Tweet).where(Tweet.id == 1).count()


async def put_all(session, numbers):
    async with asyncio.TaskGroup() as group:
        for number in numbers:
            group.create_task(session.put(Tweet(id=number, text=str(number))))


async def texts(session, numbers):
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(session.get(Tweet, number)) for number in numbers]
    return [task.result().text for task in tasks]
