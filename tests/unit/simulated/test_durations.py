"""``durations=`` beside the other modes, and without them: what is due happens when somebody asks."""

import json

import pytest

from dynamap_async.simulated import Capacity, Durations, SimulatedDynamoDB
from dynamap_async.testing.buckets import Buckets

STEADY = Durations(
    lag=0.0, create_table=10.0, update_table=10.0, time_to_live=600.0, allocate_index=10.0, backfill=60.0
)
KEYS = {
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
}
UNITS = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
VECTORS = {
    "IndexName": "near",
    "VectorAttribute": {"AttributeName": "at"},
    "Projection": {"ProjectionType": "ALL"},
    "Dimensions": 2,
    "DistanceFunction": "EUCLIDEAN",
}
SEARCH = {"IndexName": "near", "SearchVector": [{"N": "1"}, {"N": "1"}], "TopK": 1}


class Clock:
    now = 1_800_000_000.0

    def __call__(self):
        return self.now

    def wait(self, seconds):
        self.now += seconds


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def make(call, clock):
    """Return a function that makes a service that takes its time, with a table."""

    def make(modes=None, **table):
        service = SimulatedDynamoDB(clock, **(modes or {}))
        service.states.slow_down(STEADY.draw)
        call(service, "CreateTable", TableName="notes", **{**KEYS, "BillingMode": "PAY_PER_REQUEST", **table})
        clock.wait(10)
        return service

    return make


def index_status(call, service):
    [index] = call(service, "DescribeTable", TableName="notes")["Table"]["VectorIndexes"]
    return index["IndexStatus"], index.get("Backfilling")


def test_items_expire_once_time_to_live_is_enabled(call, clock, make):
    service = make({"expire": 1.0})
    spec = {"Enabled": True, "AttributeName": "ends"}
    call(service, "UpdateTimeToLive", TableName="notes", TimeToLiveSpecification=spec)
    call(service, "PutItem", TableName="notes", Item={"id": {"S": "a"}, "ends": {"N": "1799999999"}})
    clock.wait(599)
    assert call(service, "Scan", TableName="notes")["Count"] == 1
    clock.wait(1)  # from now on it takes up to a second
    assert call(service, "Scan", TableName="notes")["Count"] == 1
    clock.wait(1)
    assert call(service, "Scan", TableName="notes")["Count"] == 0


def test_more_units_are_there_when_the_change_is_done(call, refused, clock, make):
    service = make({"capacity": Capacity(burst_seconds=1.0)}, BillingMode="PROVISIONED", ProvisionedThroughput=UNITS)
    put = {"TableName": "notes", "Item": {"id": {"S": "a"}, "text": {"S": "x" * 20_000}}}
    call(service, "PutItem", **put)  # leaves a debt of nearly 20 seconds
    call(service, "UpdateTable", TableName="notes", ProvisionedThroughput=dict.fromkeys(UNITS, 100))
    clock.wait(9)
    assert refused(service, "PutItem", **put)[0] == "ProvisionedThroughputExceededException"
    clock.wait(1)
    call(service, "DescribeTable", TableName="notes")
    clock.wait(1)
    call(service, "PutItem", **put)


def test_a_vector_index_is_allocated_and_filled_and_goes_as_others_do(call, refused, clock, make):
    service = make()
    call(service, "PutItem", TableName="notes", Item={"id": {"S": "a"}, "at": {"L": [{"N": "1"}, {"N": "1"}]}})
    call(service, "UpdateTable", TableName="notes", VectorIndexUpdates=[{"Create": VECTORS}])
    assert index_status(call, service) == ("CREATING", False)
    clock.wait(10)
    assert index_status(call, service) == ("CREATING", True)
    assert "Cannot search backfilling" in refused(service, "SearchVectors", TableName="notes", **SEARCH)[1]
    second = {"Create": {**VECTORS, "IndexName": "far"}}
    code, text = refused(service, "UpdateTable", TableName="notes", VectorIndexUpdates=[second])
    assert (code, "Only 1 online index" in text) == ("LimitExceededException", True)
    clock.wait(60)
    assert index_status(call, service) == ("ACTIVE", None)
    assert len(call(service, "SearchVectors", TableName="notes", **SEARCH)["SearchResults"]) == 1
    call(service, "UpdateTable", TableName="notes", VectorIndexUpdates=[{"Delete": {"IndexName": "near"}}])
    assert index_status(call, service) == ("DELETING", None)
    clock.wait(3600)
    assert "VectorIndexes" not in call(service, "DescribeTable", TableName="notes")["Table"]
    assert [entry.after for entry in service.states.log if entry.index] == [
        *("CREATING", "BACKFILLING", "ACTIVE", "DELETING"),
        None,
    ]


def test_an_imported_table_can_be_used_when_its_import_is_done(call, clock, make, tmp_path):
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "a.json").write_text(json.dumps({"Item": {"id": {"S": "a"}}}) + "\n", "utf-8")
    service = make({"buckets": Buckets({"lake": tmp_path / "lake"})})
    creation = {"TableName": "imported", "BillingMode": "PAY_PER_REQUEST", **KEYS}
    source = {"S3Bucket": "lake"}
    asked = {"S3BucketSource": source, "InputFormat": "DYNAMODB_JSON", "TableCreationParameters": creation}
    call(service, "ImportTable", **asked)
    clock.wait(86_400)
    assert call(service, "Scan", TableName="imported")["Count"] == 1
    assert call(service, "DescribeTable", TableName="imported")["Table"]["TableStatus"] == "ACTIVE"


@pytest.mark.parametrize("takes_time", [False, True])
def test_a_call_that_is_refused_halfway_changes_nothing(call, refused, make, takes_time):
    service = make(BillingMode="PROVISIONED", ProvisionedThroughput=UNITS)
    if not takes_time:
        service = SimulatedDynamoDB()
        call(service, "CreateTable", TableName="notes", **KEYS, BillingMode="PROVISIONED", ProvisionedThroughput=UNITS)
    before = call(service, "DescribeTable", TableName="notes")["Table"]
    index = {
        "IndexName": "by-city",
        "KeySchema": [{"AttributeName": "city", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
        "ProvisionedThroughput": UNITS,
    }
    change = {
        "AttributeDefinitions": [{"AttributeName": "city", "AttributeType": "S"}],
        "GlobalSecondaryIndexUpdates": [{"Create": index}],
        "StreamSpecification": {"StreamEnabled": False},
    }
    words = "Only one kind of change" if takes_time else "no stream to disable"
    assert words in refused(service, "UpdateTable", TableName="notes", **change)[1]
    assert call(service, "DescribeTable", TableName="notes")["Table"] == before


def test_without_durations_nothing_is_logged_and_no_quota_counts(call):
    service = SimulatedDynamoDB()
    call(service, "CreateTable", TableName="notes", **KEYS, BillingMode="PROVISIONED", ProvisionedThroughput=UNITS)
    for mode in ("PAY_PER_REQUEST", "PROVISIONED") * 3:
        units = {"ProvisionedThroughput": UNITS} if mode == "PROVISIONED" else {}
        call(service, "UpdateTable", TableName="notes", BillingMode=mode, **units)
    for enabled in (True, False, True):
        spec = {"Enabled": enabled, "AttributeName": "ends"}
        call(service, "UpdateTimeToLive", TableName="notes", TimeToLiveSpecification=spec)
    assert call(service, "DescribeTimeToLive", TableName="notes")["TimeToLiveDescription"] == {
        "TimeToLiveStatus": "ENABLED",
        "AttributeName": "ends",
    }
    assert service.states.log == []
