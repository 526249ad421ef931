"""Events of a stream's trigger of AWS Lambda: typed changes, and the answer that names those which failed."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from dynamap_async import Attr, Model, PartitionKey, Table, attr, to_wire
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
