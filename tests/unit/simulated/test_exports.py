"""Exports to a folder: which items, in which files, and when."""

import gzip
import json
from base64 import b64encode
from hashlib import md5

import pytest

from dynamap_async.simulated import SimulatedDynamoDB
from dynamap_async.testing.buckets import Buckets

TABLE = {
    "TableName": "notes",
    "KeySchema": [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}],
    "AttributeDefinitions": [
        {"AttributeName": "p", "AttributeType": "S"},
        {"AttributeName": "s", "AttributeType": "N"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
ARN = "arn:aws:dynamodb:eu-west-1:000000000000:table/notes"
TO = {"TableArn": ARN, "S3Bucket": "backup", "S3Prefix": "2026/"}
INCREMENTAL = {**TO, "ExportType": "INCREMENTAL_EXPORT"}
HOUR = 3600.0


def item(partition, sort, text="x"):
    return {"p": {"S": partition}, "s": {"N": str(sort)}, "text": {"S": text}}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "backup"


@pytest.fixture
def service(call, clock, folder):
    service = SimulatedDynamoDB(clock, buckets=Buckets({"backup": folder}))
    call(service, "CreateTable", **TABLE)
    specification = {"PointInTimeRecoveryEnabled": True}
    call(service, "UpdateContinuousBackups", TableName="notes", PointInTimeRecoverySpecification=specification)
    return service


@pytest.fixture
def write(call, service):
    def write(*items, delete=()):
        for each in items:
            call(service, "PutItem", TableName="notes", Item=each)
        for each in delete:
            call(service, "DeleteItem", TableName="notes", Key={"p": each["p"], "s": each["s"]})

    return write


@pytest.fixture
def exported(call, service):
    """Return a function that has a table exported, and returns the description of the finished export."""

    def exported(**body):
        started = call(service, "ExportTableToPointInTime", **body)["ExportDescription"]
        assert started["ExportStatus"] == "IN_PROGRESS"
        return call(service, "DescribeExport", ExportArn=started["ExportArn"])["ExportDescription"]

    return exported


def lines(folder, description):
    """Return the lines of an export, found by its manifests alone, whose sums are checked."""
    summary = json.loads((folder / description["ExportManifest"]).read_bytes())
    files = (folder / summary["manifestFilesS3Key"]).read_bytes()
    found = []
    for line in files.splitlines():
        listed = json.loads(line)
        content = (folder / listed["dataFileS3Key"]).read_bytes()
        assert b64encode(md5(content).digest()).decode() == listed["md5Checksum"]
        of_file = gzip.decompress(content).splitlines()
        assert len(of_file) == listed["itemCount"]
        found += map(json.loads, of_file)
    assert len(found) == summary["itemCount"] == description["ItemCount"]
    for name in ("manifest-summary", "manifest-files"):
        file = (folder / description["ExportManifest"]).with_name(f"{name}.json")
        assert file.with_suffix(".checksum").read_bytes() == b64encode(md5(file.read_bytes()).digest())
    return found


def items(folder, description):
    return sorted((line["Item"] for line in lines(folder, description)), key=str)


def test_all_items_are_in_files_that_the_manifests_list(service, write, exported, folder):
    written = [item(f"p{number}", number) for number in range(50)]
    write(*written)
    description = exported(**TO)
    assert description["ExportStatus"] == "COMPLETED"
    assert items(folder, description) == sorted(written, key=str)
    assert description["ExportManifest"].startswith("2026/AWSDynamoDB/")
    assert description["BilledSizeBytes"] == service.size()
    files = (folder / description["ExportManifest"]).parent
    assert len(list((files / "data").glob("*.json.gz"))) == 4
    assert (files / "_started").read_bytes() == b""


def test_the_summary_says_what_was_exported(exported, folder, clock):
    description = exported(**TO)
    summary = json.loads((folder / description["ExportManifest"]).read_bytes())
    assert (
        summary.items()
        >= {
            "version": "2020-06-30",
            "exportArn": description["ExportArn"],
            "exportTime": "2027-01-15T08:00:00.000Z",
            "tableArn": ARN,
            "tableId": description["TableId"],
            "s3Bucket": "backup",
            "s3Prefix": "2026/",
            "s3SseAlgorithm": "AES256",
            "s3SseKmsKeyId": None,
            "itemCount": 0,
            "outputFormat": "DYNAMODB_JSON",
        }.items()
    )


def test_an_export_of_an_earlier_time_has_what_was_there_then(write, exported, folder, clock):
    old, gone, new = item("a", 1, "old"), item("b", 1), item("c", 1)
    write(old, gone)
    then = clock.now
    clock.now += 60
    write(item("a", 1, "new"), new, delete=[gone])
    assert items(folder, exported(**TO, ExportTime=then)) == [old, gone]
    assert items(folder, exported(**TO)) == [item("a", 1, "new"), new]


def test_what_is_undone_by_a_snapshot_was_never_there(service, write, exported, folder, clock):
    write(item("a", 1))
    before = service.snapshot()
    clock.now += 60
    write(item("b", 1))
    service.restore(before)
    clock.now += 60
    assert items(folder, exported(**TO, ExportTime=clock.now - 30)) == [item("a", 1)]


def test_a_restored_table_has_what_was_there_at_the_moment(call, service, write, clock):
    old, gone = item("a", 1, "old"), item("b", 1)
    write(old, gone)
    then = clock.now
    clock.now += 60
    write(item("a", 1, "new"), item("c", 1), delete=[gone])
    source = {"SourceTableName": "notes"}
    call(service, "RestoreTableToPointInTime", **source, TargetTableName="then", RestoreDateTime=then)
    call(service, "RestoreTableToPointInTime", **source, TargetTableName="now", UseLatestRestorableTime=True)
    assert sorted(service.items("then"), key=str) == [old, gone]
    assert service.items("now") == service.items("notes")


def test_a_filter_and_a_projection_choose(write, exported, folder):
    write(item("a", 1, "x"), item("a", 2, "y"), item("a", 3, "y"), item("b", 2, "y"))
    values = {":a": {"S": "a"}, ":two": {"N": "2"}, ":y": {"S": "y"}}
    specification = {
        "KeyConditionExpression": "p = :a AND s <= :two",
        "FilterExpression": "#t = :y",
        "ProjectionExpression": "s",
        "ExpressionAttributeNames": {"#t": "text"},
        "ExpressionAttributeValues": values,
    }
    description = exported(**TO, FilterSpecification=specification)
    assert items(folder, description) == [{"s": {"N": "2"}}]
    assert description["FilterSpecification"] == specification


def test_an_incremental_export_has_one_line_for_each_item_that_has_changed(write, exported, folder, clock):
    kept, changed, gone = item("kept", 1), item("changed", 1, "old"), item("gone", 1)
    write(kept, changed, gone)
    clock.now += 60
    begin = clock.now
    write(item("changed", 1, "between"))
    clock.now += 60.5
    at = clock.now
    write(item("changed", 1, "new"), item("new", 1), item("passing", 1), delete=[gone])
    write(delete=[item("passing", 1)])
    clock.now += HOUR
    end = clock.now
    write(item("late", 1))
    times = {"ExportFromTime": begin, "ExportToTime": end}
    clock.now += 1
    description = exported(**INCREMENTAL, IncrementalExportSpecification=times)
    told = {line["Keys"]["p"]["S"]: line for line in lines(folder, description)}
    metadata = {"WriteTimestampMicros": {"N": str(int(at * 1_000_000))}}
    assert told == {
        "changed": {
            "Metadata": metadata,
            "Keys": {"p": {"S": "changed"}, "s": {"N": "1"}},
            "OldImage": changed,
            "NewImage": item("changed", 1, "new"),
        },
        "new": {"Metadata": metadata, "Keys": {"p": {"S": "new"}, "s": {"N": "1"}}, "NewImage": item("new", 1)},
        "gone": {"Metadata": metadata, "Keys": {"p": {"S": "gone"}, "s": {"N": "1"}}, "OldImage": gone},
    }
    summary = json.loads((folder / description["ExportManifest"]).read_bytes())
    assert summary["version"] == "2023-08-01"
    assert summary["outputView"] == "NEW_AND_OLD_IMAGES"
    assert summary["exportType"] == "INCREMENTAL_EXPORT"
    assert all(file.parent == folder / "2026" / "AWSDynamoDB" / "data" for file in folder.rglob("*.gz"))


def test_an_incremental_export_begins_with_its_first_moment_and_ends_before_its_last(write, exported, folder, clock):
    clock.now += 60
    begin = clock.now
    write(item("first", 1))
    clock.now += HOUR / 2
    write(item("again", 1, "in time"))
    clock.now += HOUR / 2
    write(item("again", 1, "too late"), item("late", 1))
    times = {"ExportFromTime": begin, "ExportToTime": clock.now}
    found = lines(folder, exported(**INCREMENTAL, IncrementalExportSpecification=times))
    images = sorted((line["NewImage"] for line in found), key=str)
    assert images == [item("again", 1, "in time"), item("first", 1)]


def test_what_a_snapshot_undoes_was_no_change(service, write, exported, folder, clock):
    write(item("a", 1))
    clock.now += 60
    begin, before = clock.now, service.snapshot()
    write(item("b", 1), delete=[item("a", 1)])
    service.restore(before)
    clock.now += HOUR
    times = {"ExportFromTime": begin}
    assert lines(folder, exported(**INCREMENTAL, IncrementalExportSpecification=times)) == []


def test_no_more_is_remembered_than_can_be_recovered(service, write, clock):
    for _ in range(3):
        write(item("a", 1))
        clock.now += 20 * 24 * HOUR
    assert len(service.store.tables["notes"].past) == 2


def test_an_incremental_export_of_new_images_has_no_old_ones(write, exported, folder, clock):
    gone = item("gone", 1)
    write(gone)
    clock.now += HOUR
    write(item("a", 1), delete=[gone])
    clock.now += HOUR
    times = {"ExportFromTime": clock.now - HOUR - 1, "ExportViewType": "NEW_IMAGE"}
    found = lines(folder, exported(**INCREMENTAL, IncrementalExportSpecification=times))
    assert sorted(sorted(line) for line in found) == [["Keys", "Metadata"], ["Keys", "Metadata", "NewImage"]]


def test_an_export_takes_its_time(call, service, clock, folder):
    service.take_time(lambda kind, number, random: 60.0 if kind == "export" else 0.0, 7)
    call(service, "PutItem", TableName="notes", Item=item("a", 1))
    clock.now += 300  # as far as recovery lags behind
    arn = call(service, "ExportTableToPointInTime", **TO)["ExportDescription"]["ExportArn"]
    call(service, "PutItem", TableName="notes", Item=item("b", 1))
    clock.now += 59
    description = call(service, "DescribeExport", ExportArn=arn)["ExportDescription"]
    assert description["ExportStatus"] == "IN_PROGRESS"
    assert description.keys().isdisjoint({"EndTime", "ItemCount", "ExportManifest"})
    assert list(folder.rglob("*.gz")) == []
    clock.now += 10
    description = call(service, "DescribeExport", ExportArn=arn)["ExportDescription"]
    assert (description["ExportStatus"], description["EndTime"]) == ("COMPLETED", description["StartTime"] + 60)
    assert items(folder, description) == [item("a", 1)]


def test_a_bucket_that_is_not_there_fails_the_export(exported):
    description = exported(**{**TO, "S3Bucket": "nowhere"})
    assert (description["ExportStatus"], description["FailureCode"]) == ("FAILED", "S3NoSuchBucket")


def test_a_prefix_leads_nowhere_but_into_the_folder(exported, folder):
    description = exported(**{**TO, "S3Prefix": "../.."})
    assert (description["ExportStatus"], description["FailureCode"]) == ("FAILED", "S3AccessDenied")
    assert "leads out of the folder" in description["FailureMessage"]
    assert not (folder.parent / "AWSDynamoDB").exists()


def test_one_token_is_one_export_for_eight_hours_after_its_end(call, service, refused, clock):
    token = {"ClientToken": "t"}
    first = call(service, "ExportTableToPointInTime", **TO, **token)["ExportDescription"]
    clock.now += 8 * HOUR - 1
    again = call(service, "ExportTableToPointInTime", **TO, **token)["ExportDescription"]
    assert (again["ExportArn"], again["ExportStatus"]) == (first["ExportArn"], "COMPLETED")
    code, _text = refused(service, "ExportTableToPointInTime", **{**TO, "S3Prefix": "other"}, **token)
    assert code == "ExportConflictException"
    clock.now += 1
    later = call(service, "ExportTableToPointInTime", **TO, **token)["ExportDescription"]
    assert later["ExportArn"] != first["ExportArn"]


def test_exports_are_listed_the_latest_first_in_pages(call, service, clock):
    arns = []
    for _ in range(3):
        arns.append(call(service, "ExportTableToPointInTime", **TO)["ExportDescription"]["ExportArn"])
        clock.now += 1
    first = call(service, "ListExports", MaxResults=2)
    second = call(service, "ListExports", MaxResults=2, NextToken=first["NextToken"])
    found = [*first["ExportSummaries"], *second["ExportSummaries"]]
    assert [each["ExportArn"] for each in found] == arns[::-1]
    assert "NextToken" not in second
    assert call(service, "ListExports", TableArn=f"{ARN}2")["ExportSummaries"] == []
    clock.now += 90 * 24 * HOUR
    assert call(service, "ListExports")["ExportSummaries"] == []


@pytest.mark.parametrize(
    ("change", "code", "text"),
    [
        ({"TableArn": f"{ARN}2"}, "TableNotFoundException", "notes2"),
        ({"ExportTime": 1_800_000_001}, "InvalidExportTimeException", "outside of the point in time recovery window"),
        ({"ExportTime": 1_799_999_999}, "InvalidExportTimeException", "outside of the point in time recovery window"),
        ({"ExportFormat": "ION"}, "ValidationException", "does not know the format ION"),
        ({"S3Bucket": "a b"}, "ValidationException", "s3Bucket"),
        ({"ExportType": "INCREMENTAL_EXPORT"}, "ValidationException", "ExportFromTime is required"),
        ({"IncrementalExportSpecification": {}}, "ValidationException", "only supported for INCREMENTAL_EXPORT"),
        ({"FilterSpecification": {"FilterExpression": "a ="}}, "ValidationException", "FilterExpression"),
        ({"FilterSpecification": {"Filter": "a"}}, "ValidationException", "does not know the member"),
    ],
)
def test_what_cannot_be_exported_is_refused(service, refused, change, code, text):
    found = refused(service, "ExportTableToPointInTime", **{**TO, **change})
    assert found[0] == code
    assert text in found[1]


@pytest.mark.parametrize(
    ("seconds", "code"),
    [(899, "ValidationException"), (24 * HOUR + 1, "ValidationException"), (48 * HOUR, "InvalidExportTimeException")],
)
def test_the_time_of_an_incremental_export_is_bounded(service, refused, clock, seconds, code):
    clock.now += 47 * HOUR
    times = {"ExportFromTime": clock.now - seconds, "ExportToTime": clock.now}
    found = refused(service, "ExportTableToPointInTime", **INCREMENTAL, IncrementalExportSpecification=times)
    assert found[0] == code


def test_a_table_needs_recovery(call, service, refused):
    specification = {"PointInTimeRecoveryEnabled": False}
    call(service, "UpdateContinuousBackups", TableName="notes", PointInTimeRecoverySpecification=specification)
    code, _text = refused(service, "ExportTableToPointInTime", **TO)
    assert code == "PointInTimeRecoveryUnavailableException"


def test_an_engine_without_buckets_says_how_it_gets_them(call, refused):
    service = SimulatedDynamoDB()
    call(service, "CreateTable", **TABLE)
    _code, text = refused(service, "ExportTableToPointInTime", **TO)
    assert "LocalEngine(buckets={'backup': 'folder'})" in text


def test_an_export_that_is_not_known_is_not_found(service, refused):
    assert refused(service, "DescribeExport", ExportArn=f"{ARN}/export/1")[0] == "ExportNotFoundException"


@pytest.mark.parametrize("token", ["z" * 112, "+000000000000001" * 7, "0" * 111])
def test_a_token_that_was_not_given_is_refused(service, refused, token):
    assert refused(service, "ListExports", NextToken=token) == ("ValidationException", "Invalid NextToken")
