"""What an engine is after it went back to a snapshot, whatever was under way."""

import json

import pytest

from dynamap_async.simulated import SimulatedDynamoDB
from dynamap_async.testing.buckets import Buckets

SIMPLE = {
    "TableName": "notes",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def index(name):
    return {
        "IndexName": name,
        "KeySchema": [{"AttributeName": name, "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }


NAMES = ("one", "two", "three")
INDEXED = {
    **SIMPLE,
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("id", *NAMES)],
    "GlobalSecondaryIndexes": [index(name) for name in NAMES],
}


@pytest.mark.parametrize("dropped", NAMES)
def test_items_are_in_every_index_as_before_one_was_dropped(call, dropped):
    service = SimulatedDynamoDB()
    call(service, "CreateTable", **INDEXED)
    before = {"id": {"S": "a"}, **{name: {"S": f"{name} before"} for name in NAMES}}
    call(service, "PutItem", TableName="notes", Item=before)
    described = call(service, "DescribeTable", TableName="notes")
    snapshot = service.snapshot()
    call(service, "PutItem", TableName="notes", Item={"id": {"S": "a"}, **{name: {"S": "after"} for name in NAMES}})
    call(service, "UpdateTable", TableName="notes", GlobalSecondaryIndexUpdates=[{"Delete": {"IndexName": dropped}}])
    service.restore(snapshot)
    assert call(service, "DescribeTable", TableName="notes") == described
    for name in NAMES:
        asked = {"KeyConditionExpression": f"{name} = :v", "ExpressionAttributeValues": {":v": before[name]}}
        assert call(service, "Query", TableName="notes", IndexName=name, **asked)["Items"] == [before]


def test_a_table_that_was_deleted_and_created_again_is_described(call, clock):
    service = SimulatedDynamoDB(clock)
    call(service, "CreateTable", **SIMPLE)
    before = service.snapshot()
    service.take_time(lambda kind, number, random: 100.0 if kind == "lag" else 1.0, 7)
    call(service, "DeleteTable", TableName="notes")
    clock.now += 200
    call(service, "CreateTable", **SIMPLE)
    service.restore(before)
    assert call(service, "DescribeTable", TableName="notes")["Table"]["TableStatus"] == "ACTIVE"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    lines = [json.dumps({"Item": {"id": {"S": f"{number}"}}}) for number in range(10)]
    (tmp_path / "in" / "items.json").write_text("\n".join([*lines, '{"Item": {}}']) + "\n")
    return tmp_path


SOURCE = {"S3Bucket": "lake", "S3KeyPrefix": "in/"}


@pytest.fixture
def service(clock, folder):
    service = SimulatedDynamoDB(clock, buckets=Buckets({"lake": folder}))
    service.take_time(lambda kind, number, random: 0.0 if kind in {"lag", "create_table"} else 110.0, 7)
    return service


def test_an_import_that_ended_since_goes_on(call, service, clock):
    started = call(
        service,
        "ImportTable",
        S3BucketSource=SOURCE,
        InputFormat="DYNAMODB_JSON",
        TableCreationParameters=SIMPLE,
    )["ImportTableDescription"]
    clock.now += 50
    before = service.snapshot()
    for _ in range(2):
        clock.now += 100
        done = call(service, "DescribeImport", ImportArn=started["ImportArn"])["ImportTableDescription"]
        assert (done["ImportStatus"], done["ImportedItemCount"]) == ("COMPLETED", 10)
        assert call(service, "Scan", TableName="notes")["Count"] == 10
        service.restore(before)


def test_a_bulk_put_writes_again_what_was_undone(call, service, clock, folder):
    call(service, "CreateTable", **SIMPLE)
    call(service, "ListTables")
    arn = call(
        service,
        "StartBulkPutItems",
        TableName="notes",
        InputS3Configuration={**SOURCE, "InputFormat": "DYNAMODB_JSON"},
        OutputS3Configuration={"S3Bucket": "lake", "OutputType": ["ERROR"]},
    )["BulkOperationDescription"]["BulkOperationArn"]
    clock.now += 30
    assert call(service, "Scan", TableName="notes")["Count"] == 3
    before = service.snapshot()
    clock.now += 30
    assert call(service, "Scan", TableName="notes")["Count"] == 6
    service.restore(before)
    clock.now += 100
    done = call(service, "DescribeBulkOperation", BulkOperationArn=arn)["BulkOperationDescription"]
    assert (done["BulkOperationStatus"], done["ProcessedItemCount"], done["FailedItemCount"]) == (
        "COMPLETED_WITH_ERRORS",
        11,
        1,
    )
    assert call(service, "Scan", TableName="notes")["Count"] == 10


def filled(call, service):
    """Make a table with a stream, a backup, a job and a token of a transaction; return what each is called."""
    stream = {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    made = call(service, "CreateTable", **SIMPLE, StreamSpecification=stream)["TableDescription"]
    recovery = {"PointInTimeRecoveryEnabled": True}
    call(service, "UpdateContinuousBackups", TableName="notes", PointInTimeRecoverySpecification=recovery)
    backup = call(service, "CreateBackup", TableName="notes", BackupName="first")["BackupDetails"]["BackupArn"]
    call(service, "ExportTableToPointInTime", TableArn=made["TableArn"], S3Bucket="exports")
    call(service, "TransactWriteItems", **WRITTEN_ONCE)
    return {"streams": {made["LatestStreamArn"]}, "backups": {backup}, "exports": 1}


WRITTEN_ONCE = {
    "ClientRequestToken": "once",
    "TransactItems": [{"Put": {"TableName": "notes", "Item": {"id": {"S": "a"}}}}],
}


def left(call, service):
    """Return what there is of streams, backups and exports."""
    return {
        "streams": {each["StreamArn"] for each in call(service, "ListStreams")["Streams"]},
        "backups": {each["BackupArn"] for each in call(service, "ListBackups")["BackupSummaries"]},
        "exports": len(call(service, "ListExports")["ExportSummaries"]),
    }


NOTHING = {"streams": set(), "backups": set(), "exports": 0}


@pytest.fixture
def with_buckets(tmp_path):
    return SimulatedDynamoDB(buckets=Buckets({"exports": tmp_path}))


@pytest.mark.parametrize("forget", [lambda service: service.forget_tables(), lambda service: service.forget(["notes"])])
def test_nothing_is_left_of_a_table_that_was_forgotten(call, with_buckets, forget):
    service = with_buckets
    filled(call, service)
    forget(service)

    assert left(call, service) == NOTHING
    call(service, "CreateTable", **SIMPLE)
    call(service, "TransactWriteItems", **WRITTEN_ONCE)
    assert len(service.items("notes")) == 1


def test_what_deleted_tables_left_is_forgotten_too(call, with_buckets):
    service = with_buckets
    filled(call, service)
    call(service, "DeleteTable", TableName="notes")
    service.forget_tables()

    assert left(call, service) == NOTHING


def test_other_tables_keep_their_own(call, with_buckets):
    service = with_buckets
    there = filled(call, service)
    service.forget(["other"])

    assert left(call, service) == there


def test_what_was_forgotten_is_there_again_after_going_back(call, with_buckets):
    service = with_buckets
    there = filled(call, service)
    snapshot = service.snapshot()
    service.forget_tables()
    service.restore(snapshot)

    assert left(call, service) == there
    assert call(service, "TransactWriteItems", **WRITTEN_ONCE) == {}
