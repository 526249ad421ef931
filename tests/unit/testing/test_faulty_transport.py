"""What a program sees of each fault, and whether the server was asked."""

import asyncio
from collections import Counter

import anyio
import pytest

from dynamap_async.errors import (
    AccessDeniedError,
    ConditionalCheckFailedError,
    ConnectionFailedError,
    DamagedResponseError,
    InternalServerError,
    Outcome,
    ProvisionedThroughputExceededError,
    RequestLimitExceededError,
    RequestRejectedError,
    RequestTimeoutError,
    ThrottledError,
    TransactionConflictError,
    UnknownServiceError,
)

TABLE_ARN = "arn:aws:dynamodb:eu-west-1:000000000000:table/tweets"


@pytest.mark.parametrize(
    ("script", "kind", "facts"),
    [
        (
            lambda rule: rule.throttle(),
            ProvisionedThroughputExceededError,
            {
                "service_code": "ProvisionedThroughputExceededException",
                "status": 400,
                "reasons": (f"TableWriteProvisionedThroughputExceeded {TABLE_ARN}",),
            },
        ),
        (
            lambda rule: rule.throttle("ThrottlingException"),
            ThrottledError,
            {"reasons": (f"TableWriteProvisionedThroughputExceeded {TABLE_ARN}",)},
        ),
        (
            lambda rule: rule.throttle("RequestLimitExceeded"),
            RequestLimitExceededError,
            {"reasons": (f"TableWriteAccountLimitExceeded {TABLE_ARN}",)},
        ),
        (lambda rule: rule.deny_access(), AccessDeniedError, {"status": 400}),
        (lambda rule: rule.reject("no"), RequestRejectedError, {"service_code": "ValidationException"}),
        (lambda rule: rule.error("TransactionConflictException"), TransactionConflictError, {"status": 400}),
        (lambda rule: rule.error("Novel", "news", status=418), UnknownServiceError, {"status": 418}),
        (lambda rule: rule.fail(), InternalServerError, {"status": 500, "service_code": "InternalServerError"}),
        (lambda rule: rule.fail(503), InternalServerError, {"status": 503, "service_code": "ServiceUnavailable"}),
        (lambda rule: rule.fail(503, html=True), InternalServerError, {"status": 503, "service_code": "503"}),
        (lambda rule: rule.refuse_connection(), ConnectionFailedError, {"outcome": Outcome.NOT_SENT}),
        (lambda rule: rule.reset(), ConnectionFailedError, {"outcome": Outcome.UNKNOWN}),
        (lambda rule: rule.time_out(applied=False), RequestTimeoutError, {"outcome": Outcome.UNKNOWN}),
    ],
)
@pytest.mark.asyncio
async def test_fault_before_the_server_applies_nothing(faults, inner, ask, script, kind, facts):
    script(faults.on("PutItem"))
    with pytest.raises(kind) as caught:
        await ask("PutItem")
    assert type(caught.value) is kind
    assert {name: getattr(caught.value, name) for name in facts} == facts
    assert (caught.value.operation, caught.value.table) == ("PutItem", "tweets")
    assert inner.received == []


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        (lambda rule: rule.fail(applied=True), InternalServerError),
        (lambda rule: rule.reset(applied=True), ConnectionFailedError),
        (lambda rule: rule.lose_answer(), ConnectionFailedError),
        (lambda rule: rule.time_out(), RequestTimeoutError),
        (lambda rule: rule.malformed_body(), DamagedResponseError),
        (lambda rule: rule.truncate_body(), DamagedResponseError),
        (lambda rule: rule.wrong_length(), DamagedResponseError),
        (lambda rule: rule.wrong_checksum(), DamagedResponseError),
    ],
)
@pytest.mark.parametrize("refused", [False, True])
@pytest.mark.asyncio
async def test_fault_after_the_server_hides_its_answer_also_where_it_is_a_refusal(
    faults, inner, ask, script, kind, refused
):
    if refused:
        inner.errors["PutItem"] = ConditionalCheckFailedError(
            "no", service_code="ConditionalCheckFailedException", operation="PutItem", table="tweets", status=400
        )
    script(faults.on("PutItem"))
    with pytest.raises(kind) as caught:
        await ask("PutItem")
    assert type(caught.value) is kind
    assert getattr(caught.value, "outcome", Outcome.UNKNOWN) is Outcome.UNKNOWN
    assert [request.operation for request in inner.received] == ["PutItem"]


@pytest.mark.asyncio
async def test_failure_of_the_network_itself_is_never_hidden(faults, inner, ask):
    error = ConnectionFailedError("gone", outcome=Outcome.NOT_SENT, operation="PutItem", table="tweets")
    inner.errors["PutItem"] = error
    faults.on("PutItem").malformed_body()
    with pytest.raises(ConnectionFailedError) as caught:
        await ask("PutItem")
    assert caught.value is error


@pytest.mark.asyncio
async def test_index_is_named_by_its_throttling(faults, ask):
    faults.on("Query").throttle()
    with pytest.raises(ThrottledError) as caught:
        await ask("Query", TableName="tweets", IndexName="by_author")
    assert caught.value.reasons == (f"IndexReadProvisionedThroughputExceeded {TABLE_ARN}/index/by_author",)


@pytest.mark.asyncio
async def test_error_brings_its_further_facts(faults, ask):
    stored = {"id": {"S": "a"}}
    faults.on("PutItem").error(
        "ConditionalCheckFailedException", "The conditional request failed", facts={"Item": stored}
    )
    with pytest.raises(ConditionalCheckFailedError) as caught:
        await ask("PutItem")
    assert caught.value.wire_item == stored


@pytest.mark.asyncio
async def test_scripted_answer_does_not_ask_the_server(faults, inner, ask):
    page = {"Items": [], "Count": 0, "ScannedCount": 9, "LastEvaluatedKey": {"id": {"S": "a"}}}
    faults.on("Query", times=1).answer(page)
    assert await ask("Query") == page
    assert inner.received == []
    assert await ask("Query") == {"from": "the server"}


@pytest.mark.asyncio
async def test_keys_left_over_are_listed_as_the_service_does(faults, inner, ask, keys):
    inner.answers["BatchGetItem"] = {"Responses": {"users": [{"id": {"N": "1"}}]}, "UnprocessedKeys": {}}
    faults.on("BatchGetItem").leave_unprocessed(3)
    asked = {"users": keys(1, 2, ConsistentRead=True), "tweets": keys(3, 4)}
    answer = await ask("BatchGetItem", RequestItems=asked, ReturnConsumedCapacity="TOTAL")
    assert answer == {
        "Responses": {"users": [{"id": {"N": "1"}}]},
        "UnprocessedKeys": {"users": keys(2, ConsistentRead=True), "tweets": keys(3, 4)},
    }
    [sent] = inner.received
    assert sent.body == {"RequestItems": {"users": keys(1, ConsistentRead=True)}, "ReturnConsumedCapacity": "TOTAL"}
    assert asked == {"users": keys(1, 2, ConsistentRead=True), "tweets": keys(3, 4)}


@pytest.mark.asyncio
async def test_writes_left_over_are_listed_as_the_service_does(faults, inner, ask, puts):
    faults.on("BatchWriteItem").leave_unprocessed(2)
    answer = await ask("BatchWriteItem", RequestItems={"users": puts(1, 2), "tweets": puts(3)})
    assert answer["UnprocessedItems"] == {"users": puts(2), "tweets": puts(3)}
    assert inner.received[0].body == {"RequestItems": {"users": puts(1)}}


@pytest.mark.asyncio
async def test_what_the_server_left_over_itself_stays_left_over(faults, inner, ask, puts):
    inner.answers["BatchWriteItem"] = {"UnprocessedItems": {"users": puts(2)}}
    faults.on("BatchWriteItem").leave_unprocessed(2)
    answer = await ask("BatchWriteItem", RequestItems={"users": puts(1, 2, 3), "tweets": puts(4)})
    assert answer["UnprocessedItems"] == {"users": puts(2, 3), "tweets": puts(4)}


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.asyncio
async def test_batch_that_would_be_left_over_entirely_is_throttled(faults, inner, ask, keys, count):
    faults.on("BatchGetItem").leave_unprocessed(count)
    with pytest.raises(ProvisionedThroughputExceededError):
        await ask("BatchGetItem", RequestItems={"tweets": keys(1, 2)})
    assert inner.received == []


class VirtualClock:
    """Stands in for ``anyio.sleep``: time passes at once."""

    def __init__(self):
        self.slept: list[tuple[float, int]] = []


@pytest.fixture
def clock(monkeypatch, inner):
    clock = VirtualClock()

    async def sleep(seconds):
        clock.slept.append((seconds, len(inner.received)))

    monkeypatch.setattr(anyio, "sleep", sleep)
    return clock


@pytest.mark.parametrize(
    ("script", "requests_before"),
    [
        (lambda rule: rule.delay(0.2), 0),
        (lambda rule: rule.delay(0.2, applied=True), 1),
        (lambda rule: rule.drip_body(0.2), 1),
    ],
)
@pytest.mark.asyncio
async def test_delay_passes_before_or_after_the_server_is_asked(faults, inner, ask, clock, script, requests_before):
    script(faults.on("GetItem"))
    assert await ask() == {"from": "the server"}
    assert clock.slept == [(0.2, requests_before)]


@pytest.mark.asyncio
async def test_late_error_is_late(faults, ask, clock):
    faults.on("GetItem").throttle()
    faults.on("GetItem").delay(0.3, applied=True)
    with pytest.raises(ThrottledError):
        await ask()
    assert clock.slept == [(0.3, 0)]


@pytest.mark.asyncio
async def test_time_out_takes_as_long_as_it_says(faults, ask, clock):
    faults.on("GetItem").time_out(5)
    with pytest.raises(RequestTimeoutError):
        await ask()
    assert clock.slept == [(5, 1)]


@pytest.mark.asyncio
async def test_idle_connection_that_is_closed_is_invisible(faults, ask):
    faults.on("GetItem").close_idle()
    assert await ask() == {"from": "the server"}


@pytest.mark.asyncio
async def test_wrapped_transport_has_the_life_and_the_connections_of_the_inner_one(faults, inner):
    transport = faults.wrap(inner)
    await transport.open()
    await transport.close()
    assert inner.life == ["opened", "closed"]
    assert transport.max_connections == 7


@pytest.mark.asyncio
async def test_cancelled_request_is_not_sent_after_its_delay(faults, inner, ask):
    faults.on("GetItem").delay(60)
    task = asyncio.create_task(ask())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert inner.received == []


@pytest.mark.asyncio
async def test_concurrent_requests_are_counted_in_the_order_in_which_they_came(faults, ask):
    faults.on("GetItem", nth=2).throttle()
    faults.on("GetItem", nth=1).delay(0)
    answers = await asyncio.wait([asyncio.create_task(ask(table=name)) for name in "abc"])
    assert sum(task.exception() is not None for task in answers[0]) == 1
    assert [(entry.table, entry.fault) for entry in faults.log] == [("a", "delay"), ("b", "throttle"), ("c", None)]
    assert faults.requests == Counter(GetItem=3)
