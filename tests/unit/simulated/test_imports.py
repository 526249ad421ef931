"""Imports from a folder: which lines become items, and what is counted as an error."""

import gzip
import json
import sys
from types import ModuleType

import pytest

from dynamap_async.simulated import SimulatedDynamoDB
from dynamap_async.testing.buckets import Buckets

TABLE = {
    "TableName": "notes",
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "AttributeDefinitions": [
        {"AttributeName": "id", "AttributeType": "N"},
        {"AttributeName": "c", "AttributeType": "S"},
    ],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "by-c",
            "KeySchema": [{"AttributeName": "c", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": "ALL"},
        }
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
SOURCE = {"S3Bucket": "lake", "S3KeyPrefix": "in/"}
FROM = {"S3BucketSource": SOURCE, "InputFormat": "DYNAMODB_JSON", "TableCreationParameters": TABLE}
ITEMS = [{"id": {"N": str(number)}, "c": {"S": "x"}} for number in range(5)]


def text_of(items):
    return b"".join(json.dumps({"Item": item}).encode() + b"\n" for item in items)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "lake" / "in").mkdir(parents=True)
    return tmp_path / "lake"


@pytest.fixture
def service(clock, folder):
    return SimulatedDynamoDB(clock, buckets=Buckets({"lake": folder}))


@pytest.fixture
def imported(call, service):
    def imported(**changes):
        started = call(service, "ImportTable", **{**FROM, **changes})["ImportTableDescription"]
        assert started["ImportStatus"] == "IN_PROGRESS"
        return call(service, "DescribeImport", ImportArn=started["ImportArn"])["ImportTableDescription"]

    return imported


def counts(description):
    return tuple(description[f"{name}Count"] for name in ("ProcessedItem", "ImportedItem", "Error"))


def found(service):
    return sorted(service.items("notes"), key=lambda item: int(item["id"]["N"]))


def test_every_object_of_the_prefix_is_imported(call, service, imported, folder):
    (folder / "in" / "1.json").write_bytes(text_of(ITEMS[:2]))
    (folder / "in" / "deeper").mkdir()
    (folder / "in" / "deeper" / "2.json").write_bytes(b"\xef\xbb\xbf" + text_of(ITEMS[2:]).rstrip() + b"\n\n")
    (folder / "other.json").write_bytes(b"{")
    description = imported()
    assert (description["ImportStatus"], counts(description)) == ("COMPLETED", (5, 5, 0))
    assert found(service) == ITEMS
    answer = call(service, "DescribeTable", TableName="notes")["Table"]
    assert (answer["TableArn"], answer["TableId"]) == (description["TableArn"], description["TableId"])
    scanned = call(service, "Scan", TableName="notes", IndexName="by-c")
    assert scanned["Count"] == 5


def test_lines_that_are_no_items_of_the_table_are_counted(service, imported, folder):
    bad = [
        b"{",
        b"[]",
        b'{"Item": 7}',
        b'{"id": {"N": "9"}}',
        b'{"Item": {"id": {"S": "9"}}}',
        b'{"Item": {"c": {"S": "x"}}}',
        b'{"Item": {"id": {"N": "9"}, "c": {"N": "1"}}}',
        b'{"Item": {"id": {"N": "9"}}, "More": 1}',
        json.dumps({"Item": {"id": {"N": "9"}, "t": {"S": "x" * 409_600}}}).encode(),
    ]
    (folder / "in" / "1.json").write_bytes(b"\n".join(bad) + b"\n" + text_of(ITEMS))
    description = imported()
    assert (description["ImportStatus"], counts(description)) == ("COMPLETED", (14, 5, 9))
    assert found(service) == ITEMS


def test_the_last_item_of_a_key_wins(service, imported, folder):
    later = {"id": {"N": "1.0"}, "c": {"S": "later"}}
    (folder / "in" / "1.json").write_bytes(text_of([ITEMS[1], later]))
    assert counts(imported()) == (2, 2, 0)
    assert found(service) == [{"id": {"N": "1"}, "c": {"S": "later"}}]


def test_objects_of_several_gzip_members_are_read_whole(service, imported, folder):
    (folder / "in" / "1.gz").write_bytes(gzip.compress(text_of(ITEMS[:2])) + gzip.compress(text_of(ITEMS[2:])))
    (folder / "in" / "2.gz").write_bytes(b"no gzip")
    assert counts(imported(InputCompressionType="GZIP")) == (6, 5, 1)
    assert found(service) == ITEMS


class ZstdError(Exception):
    pass


def fake_decompress(content):
    if content == b"none":
        raise ZstdError
    return content[::-1]


def test_zstd_is_read_by_the_package_that_is_there(monkeypatch, service, imported, folder):
    package = ModuleType("backports.zstd")
    package.decompress = fake_decompress
    package.ZstdError = ZstdError
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setitem(sys.modules, "backports.zstd", package)
    (folder / "in" / "1.zst").write_bytes(text_of(ITEMS)[::-1])
    (folder / "in" / "2.zst").write_bytes(b"none")
    assert counts(imported(InputCompressionType="ZSTD")) == (6, 5, 1)


def test_without_such_a_package_zstd_is_refused_by_name(monkeypatch, service, refused):
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    code, text = refused(service, "ImportTable", **FROM, InputCompressionType="ZSTD")
    assert code == "ValidationException"
    assert "backports.zstd" in text


def test_csv_has_texts_and_keys_of_their_types(service, imported, folder):
    rows = 'id,c,text\n1,x,"a, ""b""\nnext"\n2,,\nx,x,x\n3,x\n'
    (folder / "in" / "1.csv").write_text(rows, "utf-8", newline="")
    (folder / "in" / "2.csv").write_text("text,id\nlast,4\n", "utf-8")
    description = imported(InputFormat="CSV")
    assert counts(description) == (5, 2, 3)  # an empty key of an index is none
    assert found(service) == [
        {"id": {"N": "1"}, "c": {"S": "x"}, "text": {"S": 'a, "b"\nnext'}},
        {"text": {"S": "last"}, "id": {"N": "4"}},
    ]


def test_what_is_no_csv_ends_its_object(service, imported, folder):
    (folder / "in" / "1.csv").write_text('id,c\n1,x\n2,"x\n3,x\n', "utf-8")
    (folder / "in" / "2.csv").write_bytes(b"id,c\n4,\xff\n")
    assert counts(imported(InputFormat="CSV")) == (3, 1, 2)


def test_csv_has_the_delimiter_and_the_headers_that_are_given(service, imported, folder):
    (folder / "in" / "1.csv").write_text("1;x\n2;y\n", "utf-8")
    options = {"Csv": {"Delimiter": ";", "HeaderList": ["id", "c"]}}
    assert counts(imported(InputFormat="CSV", InputFormatOptions=options)) == (2, 2, 0)
    assert found(service)[0] == {"id": {"N": "1"}, "c": {"S": "x"}}


def test_the_table_has_its_items_when_it_is_active(call, service, clock, folder, refused):
    service.take_time(lambda kind, number, random: 60.0 if kind == "import_table" else 0.0, 7)
    (folder / "in" / "1.json").write_bytes(text_of(ITEMS))
    arn = call(service, "ImportTable", **FROM)["ImportTableDescription"]["ImportArn"]
    clock.now += 59
    assert call(service, "DescribeTable", TableName="notes")["Table"]["TableStatus"] == "CREATING"
    assert refused(service, "Scan", TableName="notes")[0] == "ResourceNotFoundException"
    assert refused(service, "ImportTable", **FROM)[0] == "ResourceInUseException"
    clock.now += 1
    assert call(service, "Scan", TableName="notes")["Count"] == 5
    clock.now += 1
    description = call(service, "DescribeImport", ImportArn=arn)["ImportTableDescription"]
    assert (description["ImportStatus"], description["EndTime"]) == ("COMPLETED", description["StartTime"] + 60)


def test_a_table_that_is_gone_fails_the_import(call, service, clock, folder):
    service.take_time(lambda kind, number, random: 60.0 if kind == "import_table" else 0.0, 7)
    (folder / "in" / "1.json").write_bytes(text_of(ITEMS))
    arn = call(service, "ImportTable", **FROM)["ImportTableDescription"]["ImportArn"]
    service.store.drop("notes")
    description = call(service, "DescribeImport", ImportArn=arn)["ImportTableDescription"]
    assert (description["ImportStatus"], description["FailureCode"]) == ("FAILED", "ResourceNotFoundException")


@pytest.mark.parametrize(
    ("source", "code"),
    [({"S3Bucket": "nowhere"}, "S3NoSuchBucket"), ({"S3Bucket": "lake", "S3KeyPrefix": "none"}, "S3NoSuchKey")],
)
def test_nothing_to_import_fails_the_import_and_makes_no_table(call, service, imported, source, code):
    description = imported(S3BucketSource=source)
    assert (description["ImportStatus"], description["FailureCode"]) == ("FAILED", code)
    assert call(service, "ListTables")["TableNames"] == []


def test_a_snapshot_takes_an_import_back(call, service, imported, folder, refused):
    (folder / "in" / "1.json").write_bytes(text_of(ITEMS))
    before = service.snapshot()
    arn = imported()["ImportArn"]
    service.restore(before)
    assert call(service, "ListTables")["TableNames"] == []
    assert refused(service, "DescribeImport", ImportArn=arn)[0] == "ImportNotFoundException"


def test_one_token_is_one_import(call, service, imported, folder, refused):
    (folder / "in" / "1.json").write_bytes(text_of(ITEMS))
    arn = imported(ClientToken="t")["ImportArn"]
    again = call(service, "ImportTable", **FROM, ClientToken="t")["ImportTableDescription"]
    assert again["ImportArn"] == arn
    other = {**FROM, "InputFormat": "CSV"}
    assert refused(service, "ImportTable", **other, ClientToken="t")[0] == "ImportConflictException"


def test_imports_are_listed_in_pages(call, service, folder):
    (folder / "in" / "1.json").write_bytes(text_of(ITEMS))
    for number in range(3):
        creation = {**TABLE, "TableName": f"notes{number}"}
        call(service, "ImportTable", **{**FROM, "TableCreationParameters": creation})
    first = call(service, "ListImports", PageSize=2)
    second = call(service, "ListImports", PageSize=2, NextToken=first["NextToken"])
    found = [*first["ImportSummaryList"], *second["ImportSummaryList"]]
    assert [each["TableArn"][-1] for each in found] == ["2", "1", "0"]
    assert {each["ImportStatus"] for each in found} == {"COMPLETED"}
    assert "NextToken" not in second


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"InputFormat": "ION"}, "does not know the format ION"),
        ({"InputFormatOptions": {"Csv": {"Delimiter": ","}}}, "only supported for the input format CSV"),
        ({"TableCreationParameters": {**TABLE, "BillingMode": None, "KeySchema": []}}, "keySchema"),
        ({"TableCreationParameters": {**TABLE, "Tags": []}}, "does not know the member"),
    ],
)
def test_what_cannot_be_imported_is_refused(service, refused, change, text):
    code, message = refused(service, "ImportTable", **{**FROM, **change})
    assert code == "ValidationException"
    assert text in message


def test_a_table_that_is_there_cannot_be_imported(call, service, refused):
    call(service, "CreateTable", **TABLE)
    assert refused(service, "ImportTable", **FROM)[0] == "ResourceInUseException"


def test_an_engine_that_is_left_keeps_what_it_was_to_import(call, service, folder):
    (folder / "in" / "1.json").write_bytes(text_of(ITEMS))
    call(service, "ImportTable", **FROM)
    kept = SimulatedDynamoDB()
    kept.read(b"".join(service.written()))
    assert len(kept.items("notes")) == 5
