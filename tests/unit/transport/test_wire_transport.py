import asyncio
import datetime
import email.utils
import re
import time
import zlib
from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import pytest
from pydantic_core import from_json, to_json

from dynamap_async import turns as turns_of_the_loop
from dynamap_async.config import Credentials
from dynamap_async.errors import (
    ConditionalCheckFailedError,
    ConfigurationError,
    ConnectionFailedError,
    CredentialsRejectedError,
    DamagedResponseError,
    EncodeError,
    InternalServerError,
    Outcome,
    RequestTimeoutError,
    SessionStateError,
    ThrottledError,
)
from dynamap_async.transport import AioConfig, Connection, WireTransport


def refusal(code, **facts):
    return to_json({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "no", **facts})


def http_date(seconds_from_now):
    return email.utils.formatdate(time.time() + seconds_from_now, usegmt=True)


@pytest.mark.asyncio
async def test_answer_is_the_json_object_that_was_sent_back(server, connect, get_item):
    server.then(b'{"Item": {"id": {"S": "a"}, "raw": {"B": "AAE="}}}')
    transport = await connect()
    assert await transport.send(get_item) == {"Item": {"id": {"S": "a"}, "raw": {"B": "AAE="}}}


@pytest.mark.asyncio
async def test_request_is_dynamodbs_json_protocol(server, connect, get_item, connections):
    transport = await connect()
    await transport.send(get_item)

    (received,) = server.requests
    assert received.target == "/"
    assert from_json(received.body) == get_item.body
    assert received.headers["x-amz-target"] == "DynamoDB_20120810.GetItem"
    assert received.headers["content-type"] == "application/x-amz-json-1.0"
    assert received.headers["accept-encoding"] == "identity"
    # An AioConfig has been given for aiohttp, and brings the name of its maker.
    expected = {"its own": "dynamap_async Python/", "aiohttp": "aiobotocore/"}[connections]
    assert received.headers["user-agent"].startswith(expected)
    assert received.headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert f"http://{received.headers['host']}" == server.url


@pytest.mark.asyncio
async def test_connection_is_kept_for_the_next_request(server, connect, get_item):
    transport = await connect()
    for _ in range(3):
        await transport.send(get_item)
    assert server.connections == 1


@pytest.mark.asyncio
async def test_no_more_connections_than_the_pool_allows(server, connect, get_item):
    transport = await connect(config={"max_pool_connections": 2})
    async with asyncio.TaskGroup() as group:
        for _ in range(10):
            group.create_task(transport.send(get_item))
    assert transport.max_connections == 2
    assert server.connections == 2


@pytest.mark.asyncio
async def test_refused_connection_was_not_sent(connect, get_item, refused_url):
    transport = await connect(endpoint_url=refused_url)
    with pytest.raises(ConnectionFailedError, match="GetItem on table 'tweets'") as raised:
        await transport.send(get_item)
    assert raised.value.outcome is Outcome.NOT_SENT


@pytest.mark.asyncio
async def test_unknown_host_was_not_sent(connect, get_item):
    transport = await connect(endpoint_url="http://host.invalid:8000")
    place = re.escape("the connection to host.invalid:8000 (region 'eu-west-1') could not be made")
    with pytest.raises(ConnectionFailedError, match=place) as raised:
        await transport.send(get_item)
    assert raised.value.outcome is Outcome.NOT_SENT


@pytest.mark.asyncio
async def test_reset_before_the_request_is_read_leaves_the_outcome_unknown(server, connect, get_item):
    server.reset_next_connection = True
    transport = await connect()
    with pytest.raises(ConnectionFailedError) as raised:
        await transport.send(get_item)
    assert raised.value.outcome is Outcome.UNKNOWN


@pytest.mark.asyncio
async def test_reset_after_the_request_was_read_leaves_the_outcome_unknown(server, connect, get_item):
    server.then(then="reset")
    transport = await connect()
    with pytest.raises(ConnectionFailedError) as raised:
        await transport.send(get_item)
    assert raised.value.outcome is Outcome.UNKNOWN
    assert len(server.requests) == 1


@pytest.mark.asyncio
@pytest.mark.parametrize("late_bytes", [0, 1, 1_000_000, 1_000_040])
async def test_answer_that_comes_in_pieces_is_read_to_its_end(server, connect, get_item, late_bytes):
    text = "x" * 999_989
    transport = await connect()
    for _ in range(2):
        server.then(body=to_json({"Item": text}), late_bytes=late_bytes)
        assert await transport.send(get_item) == {"Item": text}
    assert server.connections == 1


@pytest.mark.asyncio
async def test_slow_answer_times_out_with_an_unknown_outcome(server, connect, get_item):
    server.then(silent=True)
    transport = await connect(config={"read_timeout": 0.03})
    with pytest.raises(RequestTimeoutError) as raised:
        await transport.send(get_item)
    assert raised.value.outcome is Outcome.UNKNOWN
    assert len(server.requests) == 1


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "reply",
    [
        {"body": b'{"Item"', "missing_bytes": 20, "then": "close"},
        {"body": b"{}", "headers": {"x-amz-crc32": "1"}},
        {"body": b"{}", "headers": {"x-amz-crc32": "not a number"}},
        {"body": b'{"Item": '},
        {"body": b"[]"},
        {"body": b""},
        {"body": b"<html>sign in</html>"},
        {"body": b"<html>forbidden</html>", "status": 403},
        {"body": b"moved", "status": 307, "headers": {"Location": "/elsewhere"}},
        {"body": b"{}", "status": 204},
    ],
    ids=["truncated", "checksum", "odd checksum", "json", "array", "empty", "html", "html 403", "redirect", "204"],
)
async def test_damaged_answer_leaves_the_outcome_unknown(server, connect, get_item, reply):
    server.then(**reply)
    transport = await connect()
    with pytest.raises(DamagedResponseError) as raised:
        await transport.send(get_item)
    assert raised.value.outcome is Outcome.UNKNOWN
    assert len(server.requests) == 1


LARGE = to_json({"Items": [{"id": {"N": str(number)}, "text": {"S": "}},{"}} for number in range(10_000)]})


@pytest.mark.asyncio
async def test_large_answer_is_parsed_with_turns_of_the_event_loop_in_between(server, connect, get_item, monkeypatch):
    turns, looks, next_turn = [], count(), turns_of_the_loop.next_turn

    async def counted():
        turns.append(1)
        await next_turn()

    monkeypatch.setattr(turns_of_the_loop, "next_turn", counted)
    monkeypatch.setattr(turns_of_the_loop, "time", SimpleNamespace(perf_counter=lambda: next(looks) / 1000))
    server.then(LARGE)
    transport = await connect()
    assert await transport.send(get_item) == from_json(LARGE)
    assert len(turns) >= len(LARGE) / 2**15 / 3  # a clock that moves 1 ms with each look: a turn for 3 pieces


@pytest.mark.asyncio
async def test_small_answer_is_read_at_once(server, connect, get_item, monkeypatch):
    monkeypatch.setattr("dynamap_async.transport.http.in_turns", None)
    server.then(to_json({"Item": {"text": {"S": "x" * 100_000}}}))
    transport = await connect()
    assert await transport.send(get_item)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "reply",
    [
        {"body": LARGE[:-1]},
        {"body": LARGE + b","},
        {"body": LARGE.replace(b'{"id":{"N":"5000"}', b'"id":{"N":"5000"}')},
        {"body": b"[" + LARGE + b"]"},
        {"body": LARGE, "headers": {"x-amz-crc32": str(zlib.crc32(LARGE[1:]))}},
        {"body": b"<html>" * 100_000, "status": 403},
    ],
    ids=["no end", "more", "a gap", "array", "checksum", "html"],
)
async def test_damaged_large_answer_leaves_the_outcome_unknown(server, connect, get_item, reply):
    server.then(**reply)
    transport = await connect()
    with pytest.raises(DamagedResponseError) as raised:
        await transport.send(get_item)
    assert raised.value.outcome is Outcome.UNKNOWN


@pytest.mark.asyncio
async def test_large_refusal_carries_its_facts(server, connect, get_item):
    reasons = [{"Code": "None", "Item": {"text": {"S": "x" * 3000}}}] * 100
    body = {"__type": "com.amazonaws#ThrottlingException", "message": "slow down", "CancellationReasons": reasons}
    server.then(to_json(body), status=400)
    transport = await connect()
    with pytest.raises(ThrottledError, match="slow down"):
        await transport.send(get_item)


DOUBT = "; check the endpoint and the proxy: this may be no DynamoDB"


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("reply", "end"),
    [
        ({"body": b"<html>welcome</html>", "headers": {"Content-Type": "text/html"}}, DOUBT),
        ({"body": b"<html>no such page</html>", "status": 404, "headers": {"Content-Type": "text/html"}}, DOUBT),
        ({"body": b"no such page", "status": 404}, DOUBT),
        ({"body": b'{"Item": ', "headers": {"Content-Type": "application/x-amz-json-1.0"}}, ""),
    ],
    ids=["html", "html 404", "text 404", "json that is cut off"],
)
@pytest.mark.parametrize("writes", [False, True], ids=["a read", "a write"])
async def test_an_answer_of_another_server_says_to_check_the_endpoint(server, connect, get_item, reply, end, writes):
    server.then(**reply)
    transport = await connect()
    with pytest.raises(DamagedResponseError) as raised:
        await transport.send(replace(get_item, writes=writes))
    what = f"the answer (status {reply.get('status', 200)}) is not a JSON object"
    unknown = ", so whether it was carried out is unknown" if writes else ""
    assert str(raised.value) == f"GetItem on table 'tweets': {what}{unknown}{end}"


@pytest.mark.asyncio
@pytest.mark.parametrize("body", [b"<html>bad gateway</html>", b""])
async def test_server_failure_without_json_is_an_internal_server_error(server, connect, get_item, body):
    server.then(body, status=502)
    transport = await connect()
    with pytest.raises(InternalServerError) as raised:
        await transport.send(get_item)
    assert (raised.value.status, raised.value.retryable, raised.value.request_id) == (502, True, "request-1")


@pytest.mark.asyncio
async def test_refusal_carries_its_facts_and_is_not_sent_again(server, connect, get_item):
    item = {"id": {"S": "a"}, "raw": {"B": "AAE="}}
    server.then(refusal("ConditionalCheckFailedException", Item=item), status=400)
    transport = await connect()
    with pytest.raises(ConditionalCheckFailedError) as raised:
        await transport.send(get_item)
    error = raised.value
    assert (error.wire_item, error.operation, error.table, error.status) == (item, "GetItem", "tweets", 400)
    assert (error.request_id, error.service_code) == ("request-1", "ConditionalCheckFailedException")
    assert len(server.requests) == 1


@pytest.mark.asyncio
async def test_error_named_only_in_a_header_is_recognised(server, connect, get_item):
    server.then(b"{}", status=400, headers={"x-amzn-ErrorType": "ThrottlingException:http://internal/doc/"})
    transport = await connect()
    with pytest.raises(ThrottledError):
        await transport.send(get_item)


@pytest.mark.asyncio
async def test_wrong_clock_is_corrected_once_and_remembered(server, connect, get_item):
    server.then(refusal("InvalidSignatureException"), status=400, headers={"Date": http_date(7_200), "x-amz-crc32": ""})
    server.replies[0].headers.pop("x-amz-crc32")
    transport = await connect()

    assert await transport.send(get_item) == {}
    await transport.send(get_item)

    stamps = [
        datetime.datetime.strptime(received.headers["x-amz-date"] + "+0000", "%Y%m%dT%H%M%SZ%z").timestamp()
        for received in server.requests
    ]
    assert len(stamps) == 3
    assert [round((stamp - time.time()) / 600) for stamp in stamps] == [0, 12, 12]
    assert server.requests[0].body == server.requests[1].body


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "headers",
    [
        dict,
        lambda: {"Date": "yesterday"},
        lambda: {"Date": "Mon, 99999999999999999999 Jan 2020 00:00:00 GMT"},
        lambda: {"Date": "Mon, 01 Jan 2020 00:00:00 +99999999999999999999"},
        lambda: {"Date": http_date(5)},
    ],
    ids=["none", "no date", "no day", "no zone", "the time"],
)
async def test_wrong_signature_under_a_right_clock_is_not_sent_again(server, connect, get_item, headers):
    server.then(refusal("InvalidSignatureException"), status=400, headers=headers())
    transport = await connect()
    with pytest.raises(CredentialsRejectedError):
        await transport.send(get_item)
    assert len(server.requests) == 1


@pytest.mark.asyncio
async def test_clock_is_corrected_at_most_once_for_a_request(server, connect, get_item):
    for hours in (2, 4):
        server.then(refusal("InvalidSignatureException"), status=400, headers={"Date": http_date(hours * 3_600)})
    transport = await connect()
    with pytest.raises(CredentialsRejectedError):
        await transport.send(get_item)
    assert len(server.requests) == 2


@pytest.mark.asyncio
async def test_expired_fixed_credentials_are_not_sent_again(server, connect, get_item):
    server.then(refusal("ExpiredTokenException"), status=400)
    transport = await connect()
    with pytest.raises(CredentialsRejectedError):
        await transport.send(get_item)
    assert len(server.requests) == 1


@pytest.mark.asyncio
async def test_cancelled_request_gives_its_connection_back(server, connect, get_item):
    server.then(silent=True)
    transport = await connect(config={"max_pool_connections": 1})
    task = asyncio.create_task(transport.send(get_item))
    await server.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert await transport.send(get_item) == {}
    assert server.connections == 2


@pytest.mark.asyncio
async def test_connector_argument_of_another_http_client_is_refused(connect):
    with pytest.raises(ConfigurationError, match="pool_timeout"):
        await connect(config={"connector_args": {"pool_timeout": 1}})


@pytest.mark.asyncio
async def test_missing_credentials_are_reported_when_opening():
    transport = WireTransport(Connection(region="eu-west-1"))
    with pytest.raises(ConfigurationError, match="AWS_ACCESS_KEY_ID"):
        await transport.open()


@pytest.mark.asyncio
async def test_half_of_a_surrogate_pair_is_refused_before_it_is_sent(server, connect, get_item):
    transport = await connect()
    get_item.body = {**get_item.body, "Key": {"id": {"S": "\ud800"}}}
    with pytest.raises(EncodeError, match="surrogates"):
        await transport.send(get_item)
    assert server.requests == []


@pytest.mark.asyncio
async def test_sending_before_opening_or_after_closing_is_refused(connect, get_item, server):
    transport = WireTransport(Connection(region="eu-west-1", endpoint_url=server.url))
    with pytest.raises(SessionStateError):
        await transport.send(get_item)
    opened = await connect()
    await opened.close()
    with pytest.raises(SessionStateError):
        await opened.send(get_item)


@pytest.mark.asyncio
async def test_another_transport_of_a_connection_outlives_the_first(server, get_item):
    credentials = Credentials(access_key_id="a", secret_access_key="s")
    first = WireTransport(Connection(region="eu-west-1", endpoint_url=server.url, credentials=credentials))
    await first.open()
    second = first.another()
    with pytest.raises(SessionStateError):
        await second.send(get_item)
    await second.open()
    await first.close()
    assert await second.send(get_item) is not None
    await second.close()


@pytest.mark.asyncio
async def test_transport_closes_in_another_task_than_it_opened_in(server, get_item):
    credentials = Credentials(access_key_id="a", secret_access_key="s")
    transport = WireTransport(Connection(region="eu-west-1", endpoint_url=server.url, credentials=credentials))
    await asyncio.create_task(transport.open())
    await transport.send(get_item)
    await asyncio.create_task(transport.close())


@pytest.mark.asyncio
async def test_path_of_the_endpoint_is_kept(server, connect, get_item):
    transport = await connect(endpoint_url=server.url + "/dynamodb/v1")
    await transport.send(get_item)
    assert server.requests[0].target == "/dynamodb/v1"


def test_config_of_the_user_is_not_changed():
    config = AioConfig(read_timeout=3)
    connection = Connection(region="eu-west-1", aio_config=config)
    assert connection.aio_config is config
