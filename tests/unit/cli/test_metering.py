"""What a question costs is counted, and what was evaluated is read again by the right request."""

import pytest

from dynamap_async.cli.demo.metering import Meter, Survey
from dynamap_async.errors import InternalServerError
from dynamap_async.planning import Context
from dynamap_async.request import Request

NAMES = {"#n0": "device", "#n1": "state", "#n10": "detail"}
VALUES = {":v0": {"S": "d#1"}, ":v1": {"S": "WARNING"}}
PAGE = Request(
    operation="Query",
    table="log",
    index="by_state",
    body={
        "TableName": "log",
        "IndexName": "by_state",
        "KeyConditionExpression": "#n0 = :v0",
        "FilterExpression": "#n1 = :v1",
        "ProjectionExpression": "#n10, #n0",
        "ExpressionAttributeNames": NAMES,
        "ExpressionAttributeValues": VALUES,
        "ScanIndexForward": False,
        "ExclusiveStartKey": {"device": {"S": "d#0"}},
        "Limit": 3,
        "ConsistentRead": True,
    },
)


class Scripted:
    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)

    async def open(self):
        raise AssertionError("a meter does not open what it borrows")

    async def close(self):
        raise AssertionError("a meter does not close what it borrows")

    async def send(self, request):
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def test_survey_keeps_what_decides_which_items_are_read_and_drops_the_rest():
    body = Survey(PAGE).request(Context()).body
    assert body == {
        "TableName": "log",
        "IndexName": "by_state",
        "KeyConditionExpression": "#n0 = :v0",
        "ExpressionAttributeNames": {"#n0": "device"},
        "ExpressionAttributeValues": {":v0": {"S": "d#1"}},
        "ScanIndexForward": False,
        "ExclusiveStartKey": {"device": {"S": "d#0"}},
        "Limit": 3,
        "ConsistentRead": True,
    }


def test_survey_of_a_scan_sends_no_placeholders():
    scan = Request(
        operation="Scan",
        table="log",
        body={
            "TableName": "log",
            "FilterExpression": "#n1 = :v1",
            "Select": "COUNT",
            "ExpressionAttributeNames": NAMES,
            "ExpressionAttributeValues": VALUES,
        },
    )
    assert Survey(scan).request(Context()).body == {"TableName": "log"}


@pytest.mark.parametrize(("consistent", "units"), [(True, 2.0), (False, 1.0)])
def test_page_is_charged_once_for_the_sum_of_its_items(consistent, units):
    page = Request(operation="Query", table="log", body={"TableName": "log", "ConsistentRead": consistent})
    half = {"a": {"S": "x" * 2_500}}
    evaluated = Survey(page).result({"Items": [half, half]}, Context())
    assert (evaluated.items, evaluated.size_bytes, evaluated.read_units) == (2, 5_002, units)


@pytest.mark.asyncio
async def test_meter_counts_failed_attempts_but_lists_answered_requests_only():
    failure = InternalServerError(
        "failed", service_code="InternalServerError", operation="Query", table="t", status=500
    )
    meter = Meter(Scripted(failure, {"Items": []}))
    await meter.open()
    with pytest.raises(InternalServerError):
        await meter.send(PAGE)
    assert await meter.send(PAGE) == {"Items": []}
    await meter.close()
    assert (meter.sent, meter.answered) == (2, [PAGE])
