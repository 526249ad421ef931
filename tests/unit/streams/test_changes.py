"""Typed changes of stream records: of AWS Lambda's events, GetRecords and Kinesis; and which of them failed."""

import base64
import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from dynamap_async import Attr, ItemChange, Model, PartitionKey, Table, UnknownItem, attr, to_wire
from dynamap_async.errors import ItemDecodeError, ItemKindError, OperationError
from dynamap_async.integrations.awslambda import batch_item_failures, decode_changes

SHOP = Table("shop", partition_key="pk")


class Customer(Model, table=SHOP, kind="customer"):
    pk: PartitionKey[str]


class Order(Model, table=SHOP, kind="order"):
    pk: PartitionKey[str]
    total: Attr[int] = attr(default=0)


class Page(Model, table="pages"):
    path: PartitionKey[str]
    visits: Attr[int] = attr(default=0)


def record(number="1", event="MODIFY", new=None, old=None, **more):
    """Return a record as the developer guide shows one."""
    images = {"NewImage": new, "OldImage": old}
    return {
        "eventID": "c4ca4238a0b923820dcc509a6f75849b",
        "eventName": event,
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "us-east-1",
        "eventSourceARN": "arn:aws:dynamodb:us-east-1:123456789012:table/pages/stream/2024-06-10T19:26:16.525",
        "dynamodb": {
            "ApproximateCreationDateTime": 1_428_537_600,
            "Keys": {"path": {"S": "/"}},
            "SequenceNumber": number,
            "SizeBytes": 26,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
            **{name: image for name, image in images.items() if image is not None},
        },
        **more,
    }


BEFORE, AFTER = Page(path="/", visits=1), Page(path="/", visits=2)


def test_images_become_instances() -> None:
    records = [
        record("1", "INSERT", new=to_wire(BEFORE)),
        record("2", "MODIFY", new=to_wire(AFTER), old=to_wire(BEFORE)),
        record("3", "REMOVE", old=to_wire(AFTER)),
    ]
    changes = decode_changes({"Records": records}, Page)
    assert [(each.event, each.old, each.new) for each in changes] == [
        ("INSERT", None, BEFORE),
        ("MODIFY", BEFORE, AFTER),
        ("REMOVE", AFTER, None),
    ]
    assert [each.sequence_number for each in changes] == ["1", "2", "3"]
    assert changes[0].key == {"path": "/"}
    assert changes[0].at == datetime(2015, 4, 9, tzinfo=UTC)
    assert changes[0].new is changes[0].new


def test_the_time_of_a_change_may_be_a_datetime_as_boto3_gives_it() -> None:
    given = record(new={"path": {"S": "/"}, "visits": {"N": "1"}})
    given["dynamodb"]["ApproximateCreationDateTime"] = datetime(2015, 4, 9, 2, tzinfo=timezone(timedelta(hours=2)))
    [change] = decode_changes({"Records": [given]}, Page)
    assert (change.at, change.new) == (datetime(2015, 4, 9, tzinfo=UTC), BEFORE)


@pytest.mark.parametrize("stored", [pytest.param("YWI=", id="Lambda"), pytest.param(b"ab", id="boto3")])
def test_a_binary_key_is_read_in_both_spellings(stored) -> None:
    [change] = decode_changes(
        {"Records": [{"eventName": "REMOVE", "dynamodb": {"Keys": {"path": {"B": stored}}}}]}, Page
    )
    assert change.key == {"path": b"ab"}


@pytest.mark.parametrize(
    "service",
    [
        pytest.param({"type": "Service", "principalId": "dynamodb.amazonaws.com"}, id="Lambda"),
        pytest.param({"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}, id="boto3"),
    ],
)
def test_what_expired_is_told_from_what_a_program_deleted(service) -> None:
    expired, deleted = decode_changes(
        {"Records": [record(event="REMOVE", userIdentity=service), record(event="REMOVE")]}, Page
    )
    assert (expired.expired, deleted.expired) == (True, False)


def test_an_image_that_does_not_fit_fails_when_it_is_looked_at() -> None:
    wrong = {"path": {"S": "/"}, "visits": {"S": "2"}}
    first, second = decode_changes({"Records": [record(new=wrong), record(new=to_wire(AFTER))]}, Page)
    assert second.new == AFTER
    with pytest.raises(ItemDecodeError, match="visits: int is stored as N, not as S"):
        _ = first.new


@pytest.mark.parametrize(("which", "view"), [("new", "OLD_IMAGE"), ("old", "NEW_IMAGE"), ("old", "KEYS_ONLY")])
def test_an_image_that_the_stream_does_not_hold_is_an_error(which, view) -> None:
    given = record()
    given["dynamodb"]["StreamViewType"] = view
    [change] = decode_changes({"Records": [given]}, Page)
    with pytest.raises(OperationError, match=rf"the stream's view type is {view}; create the stream with"):
        getattr(change, which)


def test_of_a_shared_table_changes_of_other_models_are_left_out() -> None:
    items = [Customer(pk="a"), Order(pk="b", total=5)]
    event = {"Records": [record(str(number), new=to_wire(item)) for number, item in enumerate(items)]}
    assert [change.new for change in decode_changes(event, Order)] == items[1:]
    assert [change.new for change in decode_changes(event, Order, Customer)] == items


def test_an_item_of_no_known_model_is_an_error_and_not_left_out() -> None:
    image = {"pk": {"S": "a"}, "kind": {"S": "parcel"}}
    [change] = decode_changes({"Records": [record(new=image)]}, Order, Customer)
    with pytest.raises(ItemKindError, match="is of no known model"):
        _ = change.new


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        ({}, "has no list of Records"),
        ([], "has no list of Records"),
        ({"Records": [{"body": "{}", "eventSource": "aws:sqs"}]}, "a record lacks eventName or dynamodb"),
    ],
)
def test_another_event_is_refused(event, problem) -> None:
    with pytest.raises(OperationError, match=problem):
        decode_changes(event, Page)


def test_models_of_several_tables_are_refused() -> None:
    with pytest.raises(OperationError, match="Page and Order have several tables"):
        decode_changes({"Records": []}, Page, Order)
    with pytest.raises(OperationError, match="names no model"):
        decode_changes({"Records": []})  # type: ignore[call-overload]  # on purpose


def test_failures_are_told_by_their_sequence_numbers() -> None:
    changes = decode_changes({"Records": [record("7", new=to_wire(AFTER)), record("8", new=to_wire(AFTER))]}, Page)
    assert batch_item_failures() == {"batchItemFailures": []}
    assert batch_item_failures(*changes) == {"batchItemFailures": [{"itemIdentifier": "7"}, {"itemIdentifier": "8"}]}


@pytest.mark.parametrize("given", [[], "1", None], ids=repr)
def test_what_is_no_change_is_refused_with_what_to_write(given):
    with pytest.raises(OperationError, match=r"is not an ItemChange; for a list write batch_item_failures\(\*failed\)"):
        batch_item_failures(given)


@pytest.mark.parametrize(
    ("event", "old", "new", "names"),
    [
        ("MODIFY", BEFORE, AFTER, {"visits"}),
        ("MODIFY", BEFORE, BEFORE, set()),
        ("INSERT", None, BEFORE, {"path", "visits"}),
        ("REMOVE", BEFORE, None, {"path", "visits"}),
    ],
)
def test_the_fields_that_differ_are_named(event, old, new, names) -> None:
    images = {name: to_wire(item) for name, item in (("old", old), ("new", new)) if item is not None}
    [change] = decode_changes({"Records": [record(event=event, **images)]}, Page)
    assert change.changed == names


class Labelled(Model, table="labelled"):
    path: PartitionKey[str]
    labels: Attr[set[str]] = attr(default_factory=set, name="ls")


def test_fields_that_differ_go_by_their_own_names_and_members_of_sets_have_no_order() -> None:
    key = {"path": {"S": "/"}}
    changes = decode_changes(
        {
            "Records": [
                record(
                    old={**key, "ls": {"SS": ["a", "b"]}}, new={**key, "ls": {"SS": ["b", "a"]}, "more": {"N": "1"}}
                ),
                record(old={**key, "ls": {"SS": ["a", "b"]}}, new={**key, "ls": {"SS": ["a"]}}),
            ]
        },
        Labelled,
    )
    assert [each.changed for each in changes] == [{"more"}, {"labels"}]


def test_fields_that_differ_need_both_images() -> None:
    [change] = decode_changes({"Records": [record(new=to_wire(AFTER))]}, Page)
    with pytest.raises(OperationError, match="has no OldImage"):
        _ = change.changed


def test_a_change_says_what_tells_it_from_others_its_size_and_its_region() -> None:
    event = {"Records": [record(new=to_wire(AFTER))], "shardId": "shardId-1"}
    [change] = decode_changes(event, Page)
    assert (change.event_id, change.size_bytes) == ("c4ca4238a0b923820dcc509a6f75849b", 26)
    assert (change.region, change.shard_id) == ("us-east-1", "shardId-1")
    assert change.model is Page


def test_the_model_of_a_change_is_that_of_its_item() -> None:
    parcel = {"pk": {"S": "a"}, "kind": {"S": "parcel"}}
    records = [record(new=to_wire(Customer(pk="a"))), record(old=to_wire(Order(pk="b")), event="REMOVE")]
    changes = decode_changes({"Records": [*records, record(new=parcel)]}, Order, Customer)
    assert [each.model for each in changes] == [Customer, Order, None]


def test_an_item_of_no_known_model_can_be_kept_as_it_is_stored() -> None:
    image = {"pk": {"S": "a"}, "kind": {"S": "parcel"}, "data": {"B": "YWI="}}
    order = Order(pk="b")
    event = {"Records": [record(new=image, old=image), record(event="INSERT", new=to_wire(order))]}
    kept, known = decode_changes(event, Order, Customer, unknown="keep")
    assert kept.new == UnknownItem("parcel", image)
    assert kept.old == UnknownItem("parcel", image)
    assert (known.new, known.old) == (order, None)


def test_what_becomes_of_unknown_items_is_one_of_two() -> None:
    with pytest.raises(OperationError, match="unknown='skip': write 'raise' or 'keep'"):
        decode_changes({"Records": []}, Page, unknown="skip")  # type: ignore[call-overload]  # on purpose


def in_kinesis(**more) -> dict[str, object]:
    """Return the data of a Kinesis record, as the developer guide shows it."""
    change = record(
        "ignored", new=to_wire(AFTER), old=to_wire(BEFORE), tableName="pages", recordFormat="application/json"
    )
    del change["dynamodb"]["SequenceNumber"]
    change["dynamodb"] |= {"ApproximateCreationDateTime": 1_428_537_600_123, **more}
    return change


def as_lambda_has_it(data: object) -> dict[str, object]:
    text = base64.b64encode(json.dumps(data).encode()).decode()
    return {"eventSource": "aws:kinesis", "kinesis": {"sequenceNumber": "495", "data": text}}


def as_boto3_has_it(data: object) -> dict[str, object]:
    return {"SequenceNumber": "495", "Data": json.dumps(data).encode()}


@pytest.mark.parametrize("spelled", [as_lambda_has_it, as_boto3_has_it])
@pytest.mark.parametrize(
    ("more", "microseconds"),
    [
        ({}, 123_000),
        (
            {
                "ApproximateCreationDateTime": 1_428_537_600_123_456,
                "ApproximateCreationDateTimePrecision": "MICROSECOND",
            },
            123_456,
        ),
    ],
    ids=["milliseconds", "microseconds"],
)
def test_a_record_of_a_kinesis_stream_is_a_change(spelled, more, microseconds) -> None:
    change = ItemChange.from_kinesis(spelled(in_kinesis(**more)), Page)
    assert (change.event, change.old, change.new, change.sequence_number) == ("MODIFY", BEFORE, AFTER, "495")
    assert change.at == datetime(2015, 4, 9, microsecond=microseconds, tzinfo=UTC)


@pytest.mark.parametrize("data", ["!", base64.b64encode(b"no JSON").decode(), base64.b64encode(b"{}").decode(), None])
def test_a_record_of_another_kinesis_stream_is_refused(data) -> None:
    with pytest.raises(OperationError, match="no record of a Kinesis stream that a table sends its changes to"):
        ItemChange.from_kinesis({"kinesis": {"data": data, "sequenceNumber": "1"}}, Page)
