"""Bulk puts from a folder: what is written, what is reported, and what a cancelled one leaves."""

import gzip
import json

import pytest

from dynamap_async.simulated import SimulatedDynamoDB
from dynamap_async.testing.buckets import Buckets

TABLE = {
    "TableName": "notes",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [
        {"AttributeName": "id", "AttributeType": "S"},
        {"AttributeName": "c", "AttributeType": "S"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-c",
            "KeySchema": [{"AttributeName": "c", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "KEYS_ONLY"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
    "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
}
START = {
    "TableName": "notes",
    "InputS3Configuration": {"S3Bucket": "lake", "S3KeyPrefix": "in/", "InputFormat": "DYNAMODB_JSON"},
    "OutputS3Configuration": {
        "S3Bucket": "out",
        "S3KeyPrefix": "r",
        "OutputType": ["ERROR", "CONDITION_CHECK_FAILURE"],
    },
}
IF_NEW = {"ConditionExpression": "attribute_not_exists(id)"}


def item(name, **more):
    return {"id": {"S": name}, **{key: {"S": value} for key, value in more.items()}}


def record(name, **more):
    return json.dumps({"Item": item(name), **more}).encode() + b"\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "lake" / "in").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def service(call, clock, folder):
    return made(call, clock, folder)


def made(call, clock, folder, seconds=0):
    buckets = Buckets({"lake": folder / "lake", "out": folder / "out"})
    service = SimulatedDynamoDB(clock, buckets=buckets)
    if seconds:
        service.take_time(lambda kind, number, random: seconds if kind == "bulk_put" else 0.0, 7)
    call(service, "CreateTable", **TABLE)
    return service


def put(folder, *records, name="1.json"):
    (folder / "lake" / "in" / name).write_bytes(b"".join(records))


@pytest.fixture
def done(call, service):
    def done(**changes):
        started = call(service, "StartBulkPutItems", **{**START, **changes})["BulkOperationDescription"]
        assert started["BulkOperationStatus"] == "IN_PROGRESS"
        return described(call, service, started["BulkOperationArn"])

    return done


def described(call, service, arn):
    return call(service, "DescribeBulkOperation", BulkOperationArn=arn)["BulkOperationDescription"]


def names(service):
    return sorted(each["id"]["S"] for each in service.items("notes"))


def counts(description):
    return description["BulkOperationStatus"], description["ProcessedItemCount"], description["FailedItemCount"]


def report(folder, kind):
    files = list((folder / "out" / "r" / "AWSDynamoDB").rglob(f"{kind}/*.json"))
    return [json.loads(line) for file in files for line in file.read_bytes().splitlines()]


def manifest(folder):
    [file] = (folder / "out").rglob("manifest.json")
    return json.loads(file.read_bytes())


def test_items_replace_those_that_are_there_and_a_stream_tells_of_them(call, service, done, folder):
    call(service, "PutItem", TableName="notes", Item=item("a", old="x"))
    put(folder, record("a"), record("b"))
    put(folder, record("c"), name="2.json")
    assert counts(done()) == ("COMPLETED", 3, 0)
    assert names(service) == ["a", "b", "c"]
    assert item("a") in service.items("notes")
    [stream] = call(service, "ListStreams")["Streams"]
    [shard] = call(service, "DescribeStream", StreamArn=stream["StreamArn"])["StreamDescription"]["Shards"]
    options = {"ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    iterator = call(service, "GetShardIterator", StreamArn=stream["StreamArn"], **options)["ShardIterator"]
    told = [each["eventName"] for each in call(service, "GetRecords", ShardIterator=iterator)["Records"]]
    assert told == ["INSERT", "MODIFY", "INSERT", "INSERT"]


def test_a_condition_that_fails_is_reported_with_both_items_and_is_no_failure(call, service, done, folder):
    call(service, "PutItem", TableName="notes", Item=item("a", old="x"))
    put(folder, record("a", **IF_NEW), record("b", **IF_NEW))
    assert counts(done()) == ("COMPLETED", 2, 0)
    assert names(service) == ["a", "b"]
    told = {"S3Key": "in/1.json", "LineNumber": 1, "Item": item("a"), "ExistingItem": item("a", old="x")}
    assert report(folder, "CONDITION_CHECK_FAILURE") == [told]
    assert report(folder, "ERROR") == []
    assert [each["outputType"] for each in manifest(folder)["files"]] == ["CONDITION_CHECK_FAILURE"]


def test_what_cannot_be_written_is_reported_with_its_line_and_the_reason(service, done, folder):
    wrong = [
        b'{"Item": {"id": {"N": "1"}}}\n',
        b'{"Item": {"id": {"S": "x"}, "c": {"N": "1"}}}\n',
        b'{"id": {"S": "x"}}\n',
        record("x", ConditionExpression="id ="),
        record("x", Unknown=1),
        json.dumps({"Item": item("x", big="x" * 409_600)}).encode() + b"\n",
    ]
    put(folder, record("a"), *wrong, record("b"))
    description = done()
    assert counts(description) == ("COMPLETED_WITH_ERRORS", 8, 6)
    assert names(service) == ["a", "b"]
    told = report(folder, "ERROR")
    assert [each["LineNumber"] for each in told] == [2, 3, 4, 5, 6, 7]
    assert {each["ErrorCode"] for each in told} == {"ValidationException"}
    assert "Type mismatch for key id" in told[0]["ErrorMessage"]
    assert told[0]["Record"] == wrong[0].decode().rstrip()
    assert manifest(folder)["bulkOperationStatus"] == "COMPLETED_WITH_ERRORS"


def test_a_line_that_is_no_json_ends_its_object_and_no_other(service, done, folder):
    put(folder, record("a"), b"{\n", record("b"))
    put(folder, record("c"), name="2.json")
    assert counts(done()) == ("COMPLETED_WITH_ERRORS", 3, 1)
    assert names(service) == ["a", "c"]


def test_only_the_reports_that_are_asked_for_are_written(service, done, folder):
    put(folder, b"{}\n", record("a"), record("a", **IF_NEW))
    output = {**START["OutputS3Configuration"], "OutputType": ["CONDITION_CHECK_FAILURE"]}
    assert counts(done(OutputS3Configuration=output)) == ("COMPLETED_WITH_ERRORS", 3, 1)
    assert report(folder, "ERROR") == []
    assert len(report(folder, "CONDITION_CHECK_FAILURE")) == 1


def test_gzip_is_read_and_what_is_none_is_reported(service, done, folder):
    put(folder, gzip.compress(record("a")), gzip.compress(record("b")), name="1.gz")
    put(folder, b"none", name="2.gz")
    source = {**START["InputS3Configuration"], "InputCompressionType": "GZIP"}
    assert counts(done(InputS3Configuration=source)) == ("COMPLETED_WITH_ERRORS", 3, 1)
    assert names(service) == ["a", "b"]
    assert report(folder, "ERROR")[0]["S3Key"] == "in/2.gz"


def test_what_was_used_is_told_by_table_and_index(service, done, folder):
    put(folder, json.dumps({"Item": item("a", c="xyz")}).encode())
    description = done()
    [usage] = description["BulkOperationUsage"]
    assert usage == {
        "TableName": "notes",
        "BulkPutBytes": 14,
        "Table": {"BulkPutBytes": 7},
        "GlobalSecondaryIndexes": {"by-c": {"BulkPutBytes": 7}},
    }
    size = (folder / "lake" / "in" / "1.json").stat().st_size
    assert (description["TotalInputBytes"], description["ProcessedInputBytes"]) == (size, size)


def test_items_are_written_while_the_time_passes_and_a_cancelled_operation_stops(call, clock, folder):
    service = made(call, clock, folder, seconds=100)
    put(folder, *(record(str(number)) for number in range(10)), b"{}\n" * 10)
    arn = call(service, "StartBulkPutItems", **START)["BulkOperationDescription"]["BulkOperationArn"]
    clock.now += 20
    assert counts(described(call, service, arn)) == ("IN_PROGRESS", 4, 0)
    clock.now += 40
    answer = call(service, "CancelBulkOperation", BulkOperationArn=arn)
    assert answer == {"BulkOperationArn": arn, "BulkOperationStatus": "CANCELLING"}
    clock.now += 40
    description = described(call, service, arn)
    assert counts(description) == ("CANCELLED", 12, 2)
    assert description["EndTime"] == clock.now
    assert description["FailureCode"]
    assert names(service) == [str(number) for number in range(10)]
    assert len(report(folder, "ERROR")) == 2
    again = call(service, "CancelBulkOperation", BulkOperationArn=arn)
    assert again["BulkOperationStatus"] == "CANCELLED"


def test_a_table_that_is_deleted_fails_the_operation(call, clock, folder):
    service = made(call, clock, folder, seconds=100)
    put(folder, record("a"))
    arn = call(service, "StartBulkPutItems", **START)["BulkOperationDescription"]["BulkOperationArn"]
    call(service, "DeleteTable", TableName="notes")
    call(service, "CreateTable", **TABLE)
    description = described(call, service, arn)
    assert (description["BulkOperationStatus"], description["FailureCode"]) == ("FAILED", "ResourceNotFoundException")
    assert names(service) == []


def test_an_index_that_is_being_made_has_to_be_ready_first(call, service, clock, folder, refused):
    service.take_time(lambda kind, number, random: 60.0 if kind == "backfill" else 0.0, 7)
    created = {
        "IndexName": "later",
        "KeySchema": [{"AttributeName": "c", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
    }
    changes = {
        "AttributeDefinitions": TABLE["AttributeDefinitions"],
        "GlobalSecondaryIndexUpdates": [{"Create": created}],
    }
    call(service, "UpdateTable", TableName="notes", **changes)
    put(folder, record("a"))
    assert refused(service, "StartBulkPutItems", **START)[0] == "ResourceInUseException"
    clock.now += 60
    call(service, "StartBulkPutItems", **START)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"InputS3Configuration": {"S3Bucket": "nowhere", "InputFormat": "DYNAMODB_JSON"}}, "S3NoSuchBucket"),
        ({"OutputS3Configuration": {"S3Bucket": "nowhere", "OutputType": ["ERROR"]}}, "S3NoSuchBucket"),
        (
            {"InputS3Configuration": {"S3Bucket": "lake", "S3KeyPrefix": "x", "InputFormat": "DYNAMODB_JSON"}},
            "S3NoSuchKey",
        ),
    ],
)
def test_a_bucket_without_objects_fails_the_operation(done, folder, change, code):
    put(folder, record("a"))
    description = done(**change)
    assert (description["BulkOperationStatus"], description["FailureCode"]) == ("FAILED", code)


def test_one_token_is_one_operation_for_eight_hours(call, service, folder, clock, refused):
    put(folder, record("a"))
    first = call(service, "StartBulkPutItems", **START, ClientToken="t")["BulkOperationDescription"]
    call(service, "DeleteItem", TableName="notes", Key=item("a"))
    again = call(service, "StartBulkPutItems", **START, ClientToken="t")["BulkOperationDescription"]
    assert (again["BulkOperationArn"], again["BulkOperationStatus"]) == (first["BulkOperationArn"], "COMPLETED")
    assert names(service) == []
    other = {**START, "MaxWriteRequestUnits": 2000, "ClientToken": "t"}
    assert refused(service, "StartBulkPutItems", **other)[0] == "IdempotentParameterMismatchException"
    clock.now += 8 * 3600
    later = call(service, "StartBulkPutItems", **START, ClientToken="t")["BulkOperationDescription"]
    assert later["BulkOperationArn"] != first["BulkOperationArn"]


def test_a_table_has_one_operation_at_a_time(call, clock, folder, refused):
    service = made(call, clock, folder, seconds=100)
    put(folder, record("a"))
    call(service, "StartBulkPutItems", **START)
    assert refused(service, "StartBulkPutItems", **START)[0] == "LimitExceededException"
    clock.now += 100
    call(service, "StartBulkPutItems", **START)


def test_operations_are_listed_the_latest_first_in_pages(call, service, folder, clock):
    put(folder, record("a"))
    arns = []
    for _ in range(3):
        arns.append(call(service, "StartBulkPutItems", **START)["BulkOperationDescription"]["BulkOperationArn"])
        clock.now += 1
    first = call(service, "ListBulkOperations", MaxResults=2)
    second = call(service, "ListBulkOperations", MaxResults=2, NextToken=first["NextToken"])
    found = [*first["BulkOperationsSummaryList"], *second["BulkOperationsSummaryList"]]
    assert [each["BulkOperationArn"] for each in found] == arns[::-1]
    assert {each["BulkOperationStatus"] for each in found} == {"COMPLETED"}


@pytest.mark.parametrize(
    ("change", "code", "text"),
    [
        ({"TableName": "none"}, "ResourceNotFoundException", "none"),
        ({"MaxWriteRequestUnits": 1023}, "ValidationException", "greater than or equal to 1024"),
        ({"PerformanceTier": "FAST"}, "ValidationException", "enum value set"),
        ({"InputS3Configuration": {"S3Bucket": "lake", "InputFormat": "ION"}}, "ValidationException", "format ION"),
        ({"OutputS3Configuration": {"S3Bucket": "out", "OutputType": []}}, "ValidationException", "OutputType"),
        ({"OutputS3Configuration": {"OutputType": ["ERROR"]}}, "ValidationException", "S3Bucket is required"),
        (
            {"OutputS3Configuration": {**START["OutputS3Configuration"], "S3SseAlgorithm": "KMS"}},
            "ValidationException",
            "S3SseKmsKeyId",
        ),
    ],
)
def test_what_cannot_be_started_is_refused(service, refused, change, code, text):
    found = refused(service, "StartBulkPutItems", **{**START, **change})
    assert found[0] == code
    assert text in found[1]


def test_an_operation_that_is_not_known_is_not_found(service, refused):
    arn = "arn:aws:dynamodb:eu-west-1:000000000000:bulk-operation/1"
    for operation in ("DescribeBulkOperation", "CancelBulkOperation"):
        assert refused(service, operation, BulkOperationArn=arn)[0] == "ResourceNotFoundException"
