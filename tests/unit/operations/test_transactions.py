"""Transactions as values: what is sent, what is refused before, and what an answer or a cancellation means."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from dynamap_async import Attr, Model, PartitionKey, SortKey, Version, attr
from dynamap_async.errors import (
    CancellationReason,
    ConditionalCheckFailedError,
    ExpressionError,
    ItemNotFoundError,
    OperationError,
    OutOfRangeError,
    TransactionCanceledError,
    TransactionConflictError,
    VersionConflictError,
)
from dynamap_async.models import definition_of, remember
from dynamap_async.operations import (
    Check,
    Create,
    Delete,
    ExactlyOnce,
    Find,
    Get,
    Old,
    Put,
    Replace,
    Save,
    TransactFind,
    TransactGet,
    TransactWrite,
    Write,
)
from dynamap_async.planning import Context, TableNames

CONTEXT = Context(tables=TableNames("dev-"))


class Tweet(Model, table="tweets"):
    user: PartitionKey[str]
    number: SortKey[int]
    text: Attr[str] = attr(default="")
    version: Version[int] = attr(default=0)


class User(Model, table="users"):
    name: PartitionKey[str]
    active: Attr[bool] = attr(default=True)


def user(name):
    return {"name": {"S": name}, "active": {"BOOL": True}}


def cancelled(*reasons, retryable=False):
    error = TransactionCanceledError(
        "cancelled", service_code="x", operation="TransactWriteItems", table="dev-tweets, dev-users", status=400
    )
    error.reasons, error.retryable = tuple(reasons), retryable
    error.attempts, error.request_id = 3, "r"
    return error


def reason(position, kind=None, **facts):
    if kind is None:
        return CancellationReason(position=position, code=None, operation="PutItem", table="dev-users")
    own = kind("why", service_code="x", operation="PutItem", table="dev-users", status=400)
    own.__dict__.update(facts)
    code = kind.__name__.removesuffix("Error")
    return CancellationReason(position=position, code=code, operation="PutItem", table="dev-users", error=own)


def test_actions_are_sent_in_order_under_the_names_of_the_api():
    check = Check(User, "d", where=User.active.is_(True))
    actions = [Put(User(name="a")), Create(User(name="b")), Delete(User, "c"), check]
    body = TransactWrite(actions).request(CONTEXT).body
    assert [list(action) for action in body["TransactItems"]] == [["Put"], ["Put"], ["Delete"], ["ConditionCheck"]]
    assert body["TransactItems"][0] == {"Put": {"TableName": "dev-users", "Item": user("a")}}
    assert body["TransactItems"][2] == {"Delete": {"TableName": "dev-users", "Key": {"name": {"S": "c"}}}}


class Month(Model, table="months-{at:month}"):
    name: PartitionKey[str]
    at: SortKey[datetime]


class Numbered(Model, table="numbered"):
    number: PartitionKey[int] = attr(autoincrement=True)


def remembered(item, **changes):
    remember(item, definition_of(type(item)).items.encode(item))
    return item.model_copy(update=changes)


PARTS = {
    "put": lambda: Put(User(name="a")),
    "put-on-condition": lambda: Put(User(name="a"), where=User.active.is_(True)),
    "put-of-a-version": lambda: Put(Tweet(user="a", number=1, version=3)),
    "put-into-a-table-of-a-period": lambda: Put(Month(name="a", at=datetime(2026, 3, 1, tzinfo=UTC))),
    "put-with-a-number": lambda: Put(Numbered()).numbered(7),
    "create": lambda: Create(User(name="a")),
    "replace": lambda: Replace(User(name="a")),
    "replace-of-a-version": lambda: Replace(Tweet(user="a", number=1)),
    "save-of-a-new-item": lambda: Save(User(name="a")),
    "save-of-changes": lambda: Save(remembered(User(name="a"), active=False)),
    "save-of-no-change": lambda: Save(remembered(User(name="a"))),
    "delete": lambda: Delete(User, "a"),
    "old": lambda: Old(Put(User(name="a"))),
}


@pytest.mark.parametrize("make", PARTS.values(), ids=PARTS)
def test_a_part_of_a_transaction_says_what_the_request_says(make):
    write = make()
    part, told = write.part(CONTEXT), Write.part(write, CONTEXT)
    assert part.target.size_bytes == told.target.size_bytes  # after which they are numbers
    assert part == told


def test_check_is_a_condition_that_asks_for_the_stored_item():
    body = TransactWrite([Check(User, "d", where=User.active.is_(True))]).request(CONTEXT).body
    [action] = body["TransactItems"]
    assert action["ConditionCheck"].pop("ConditionExpression")
    assert action == {
        "ConditionCheck": {
            "TableName": "dev-users",
            "Key": {"name": {"S": "d"}},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            "ExpressionAttributeNames": {"#n0": "active"},
            "ExpressionAttributeValues": {":v0": {"BOOL": True}},
        }
    }


def test_check_needs_a_condition_on_its_own_model():
    with pytest.raises(ExpressionError, match="Tweet"):
        Check(User, "d", where=Tweet.text == "x")
    with pytest.raises(ExpressionError):
        Check(User, "d", where=None)


def test_request_takes_its_turn_among_the_writes_of_each_of_its_items():
    request = TransactWrite([Put(User(name="a")), Delete(Tweet, "a", 1)]).request(CONTEXT)
    assert request.target is None
    assert [target.key for target in request.targets] == [
        {"name": {"S": "a"}},
        {"user": {"S": "a"}, "number": {"N": "1"}},
    ]
    assert request.writes
    assert request.resendable
    assert request.resendable_seconds == 540
    assert request.table == "dev-users, dev-tweets"


def test_each_execution_has_a_token_of_its_own():
    transaction = TransactWrite([Put(User(name="a"))])
    first, second = (transaction.request(CONTEXT).body["ClientRequestToken"] for _ in range(2))
    assert UUID(first) != UUID(second)


def test_given_token_is_sent_as_it_is():
    transaction = TransactWrite([Put(User(name="a"))], client_request_token="order-1")
    assert transaction.request(CONTEXT).body["ClientRequestToken"] == "order-1"


@pytest.mark.parametrize(("token", "error"), [("", OutOfRangeError), ("x" * 37, OutOfRangeError), (5, OperationError)])
def test_token_that_the_service_would_refuse_is_refused(token, error):
    with pytest.raises(error, match="1 to 36 characters"):
        TransactWrite([Put(User(name="a"))], client_request_token=token)


def test_hundred_and_one_actions_are_refused_with_their_number():
    TransactWrite(Put(User(name=str(n))) for n in range(100)).request(CONTEXT)
    with pytest.raises(OutOfRangeError, match="100 actions, and this one has 101"):
        TransactWrite(Put(User(name=str(n))) for n in range(101))


def test_more_than_four_megabytes_are_refused_with_their_size():
    def tweets(count):
        return TransactWrite(Put(Tweet(user="u", number=n, text="x" * 400_000)) for n in range(count))

    tweets(10).request(CONTEXT)
    with pytest.raises(OutOfRangeError, match=r"have 4,400,\d{3} bytes together, and"):
        tweets(11).request(CONTEXT)


def test_two_actions_on_one_item_are_refused_with_both_positions():
    transaction = TransactWrite([Put(User(name="a")), Put(User(name="b")), Delete(User, "a")])
    with pytest.raises(OutOfRangeError, match=r"actions 0 and 2 .*same item of 'dev-users', \{'name': \{'S': 'a'\}\}"):
        transaction.request(CONTEXT)


@pytest.mark.parametrize("action", [Get(User, "a"), User(name="a"), User, None])
def test_what_is_no_write_is_refused_with_its_position(action):
    with pytest.raises(OperationError, match="action 1"):
        TransactWrite([Put(User(name="a")), action])


def test_success_moves_every_instance_on():
    tweet = Tweet(user="a", number=1)
    transaction = TransactWrite([Put(tweet), Put(User(name="a"))])
    transaction.request(CONTEXT)
    assert tweet.version == 0
    transaction.result({}, Context())
    assert tweet.version == 1


def test_cancellation_tells_model_key_and_stored_item_of_each_action():
    transaction = TransactWrite([Put(User(name="a")), Put(Tweet(user="a", number=1, version=2)), Delete(User, "c")])
    stored = {"user": {"S": "a"}, "number": {"N": "1"}, "version": {"N": "5"}}
    error = transaction.failed(
        cancelled(reason(0), reason(1, ConditionalCheckFailedError, wire_item=stored), reason(2))
    )
    first, second, third = error.reasons
    assert (first.model, first.key, first.error, first.item) == ("User", {"name": "a"}, None, None)
    assert (second.model, second.key) == ("Tweet", {"user": "a", "number": 1})
    assert second.item == Tweet(user="a", number=1, version=5)
    assert third.key == {"name": "c"}


def test_version_check_that_fails_in_a_transaction_tells_both_versions():
    transaction = TransactWrite([Put(Tweet(user="a", number=1, version=2))])
    stored = {"user": {"S": "a"}, "number": {"N": "1"}, "version": {"N": "5"}}
    error = transaction.failed(cancelled(reason(0, ConditionalCheckFailedError, wire_item=stored)))
    conflict = error.reasons[0].error
    assert isinstance(conflict, VersionConflictError)
    assert (conflict.expected, conflict.stored) == (2, 5)
    assert (conflict.attempts, conflict.request_id) == (3, "r")
    assert type(conflict.__cause__) is ConditionalCheckFailedError


def test_message_of_a_cancellation_names_tables_models_and_keys():
    transaction = TransactWrite([Put(User(name="a")), Put(Tweet(user="a", number=1, version=2))])
    stored = {"user": {"S": "a"}, "number": {"N": "1"}, "version": {"N": "5"}}
    error = transaction.failed(cancelled(reason(0), reason(1, ConditionalCheckFailedError, wire_item=stored)))
    assert str(error) == (
        "TransactWriteItems on dev-tweets, dev-users: cancelled, because of action 1 (PutItem of Tweet with user='a', "
        "number=1): ConditionalCheckFailed (based on version 2, but version 5 is stored). Nothing was written. Read "
        "the items again, decide, and write then."
    )


def test_message_of_many_failures_tells_three_and_counts_the_rest():
    transaction = TransactWrite(Put(User(name=str(n))) for n in range(5))
    error = transaction.failed(cancelled(*(reason(n, ConditionalCheckFailedError) for n in range(5))))
    assert "action 2" in str(error)
    assert "action 3" not in str(error)
    assert "and 2 more" in str(error)


def test_error_without_reasons_stays_as_it_is():
    error = cancelled()
    assert TransactWrite([Put(User(name="a"))]).failed(error) is error
    assert str(error) == "cancelled"


def test_reads_are_sent_in_order_and_give_a_tuple():
    read = TransactGet((User, "a"), Get(Tweet, "a", 1), (User, "b"))
    request = read.request(CONTEXT)
    assert request.body["TransactItems"][1] == {
        "Get": {"TableName": "dev-tweets", "Key": {"user": {"S": "a"}, "number": {"N": "1"}}}
    }
    assert not request.writes
    tweet = {"user": {"S": "a"}, "number": {"N": "1"}}
    found = read.result({"Responses": [{"Item": user("a")}, {"Item": tweet}, {"Item": user("b")}]}, Context())
    assert found == (User(name="a"), Tweet(user="a", number=1), User(name="b"))


def test_get_of_an_absent_item_names_it():
    with pytest.raises(ItemNotFoundError, match="no Tweet with user='a', number=1") as caught:
        TransactGet((User, "a"), (Tweet, "a", 1)).result({"Responses": [{"Item": user("a")}, {}]}, Context())
    assert caught.value.key == {"user": "a", "number": 1}


def test_find_keeps_the_place_of_an_absent_item():
    read = TransactFind((User, "a"), Find(Tweet, "a", 1), (User, "b"))
    assert read.result({"Responses": [{"Item": user("a")}, {}, {"Item": user("b")}]}, Context()) == (
        User(name="a"),
        None,
        User(name="b"),
    )


def test_one_item_asked_for_twice_is_read_once_and_given_twice():
    read = TransactGet((User, "a"), (Tweet, "a", 1), (User, "a"))
    assert len(read.request(CONTEXT).body["TransactItems"]) == 2
    first, tweet, second = read.result(
        {"Responses": [{"Item": user("a")}, {"Item": {"user": {"S": "a"}, "number": {"N": "1"}, "text": {"S": "x"}}}]},
        Context(),
    )
    assert first == second == User(name="a")
    assert first is not second
    assert tweet.number == 1
    error = read.failed(cancelled(reason(0), reason(1, TransactionConflictError)))
    assert error.reasons[1].key == {"user": "a", "number": 1}


@pytest.mark.parametrize("subject", [User, (User,), (User, "a", 1, 2), "ab", Find(User, "a"), [User, "a"]])
def test_what_names_no_item_to_get_is_refused(subject):
    with pytest.raises(OperationError, match=r"Get\(Model"):
        TransactGet(subject)


def test_cancelled_read_tells_model_and_key():
    error = TransactGet((User, "a"), (Tweet, "a", 1)).failed(cancelled(reason(0), reason(1, TransactionConflictError)))
    assert [(each.model, each.key) for each in error.reasons] == [
        ("User", {"name": "a"}),
        ("Tweet", {"user": "a", "number": 1}),
    ]


def test_write_done_exactly_once_fails_as_the_write_itself_does():
    stored = {"user": {"S": "a"}, "number": {"N": "1"}, "version": {"N": "5"}}
    write = ExactlyOnce(Put(Tweet(user="a", number=1, version=2)))
    error = write.failed(cancelled(reason(0, ConditionalCheckFailedError, wire_item=stored)))
    assert isinstance(error, VersionConflictError)
    assert (error.expected, error.stored) == (2, 5)


def test_write_done_exactly_once_is_a_transaction_of_one():
    request = ExactlyOnce(Delete(User, "a")).request(CONTEXT)
    assert request.operation == "TransactWriteItems"
    assert len(request.body["TransactItems"]) == 1


@pytest.mark.parametrize("write", [Put(Tweet(user="a", number=1)), Delete(Tweet, "a", 1)])
def test_read_behind_a_write_is_consistent_and_of_its_item(write):
    body = ExactlyOnce(write).then_get().get().request(CONTEXT).body
    assert body["Key"] == {"user": {"S": "a"}, "number": {"N": "1"}}
    assert body["ConsistentRead"] is True


def test_a_read_of_no_item_gives_none_without_a_request(executed):
    assert executed(TransactGet()) == ()


def test_a_check_takes_more_conditions_and_changes_nothing():
    check = Check(User, "a", where=User.active.is_(True))
    both = check.on_condition(User.name.exists())
    assert check.after(user("a")) == user("a")
    assert both.request(CONTEXT).body["ConditionExpression"].count(" AND ") == 1
    assert "AND" not in check.request(CONTEXT).body["ConditionExpression"]


@pytest.mark.parametrize("write", [Delete(User, "a"), Check(User, "a", where=User.active.is_(True))])
def test_a_write_that_needs_no_number_stays_as_it_is(write):
    assert not write.needs_number
    assert write.numbered(7) == write
