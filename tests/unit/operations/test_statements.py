"""PartiQL statements as values: what they send, alone and together, and what is refused before sending."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from dynamap_async import Attr, BatchExecuteStatement, ExecuteTransaction, Model, PartitionKey, Statement, attr
from dynamap_async.errors import (
    ConditionalCheckFailedError,
    DecodeError,
    EncodeError,
    ItemValidationError,
    OperationError,
    OutOfRangeError,
)
from dynamap_async.planning import Context, TableNames

NOWHERE = Context(tables=TableNames("dev-"))
SELECT = 'SELECT * FROM "tweets" WHERE id = ?'
INSERT = "INSERT INTO \"tweets\" VALUE {'id': ?}"


class Tweet(Model, table="tweets"):
    id: PartitionKey[str]
    likes: Attr[int] = attr(default=0)


def test_a_statement_is_sent_as_it_is_with_its_values_in_order():
    request = Statement(SELECT, ["ada"]).request(NOWHERE)
    assert request.operation == "ExecuteStatement"
    assert request.body == {"Statement": SELECT, "Parameters": [{"S": "ada"}]}


def test_without_values_no_parameters_are_sent():
    assert Statement("SELECT * FROM tweets").request(NOWHERE).body == {"Statement": "SELECT * FROM tweets"}


def test_values_are_stored_by_their_own_type():
    values = ["x", 1, Decimal("1.5"), True, None, b"\0", datetime(2026, 1, 1, tzinfo=UTC), {"a"}, [1], {"k": "v"}]
    assert Statement(SELECT, values).part()["Parameters"] == [
        {"S": "x"},
        {"N": "1"},
        {"N": "1.5"},
        {"BOOL": True},
        {"NULL": True},
        {"B": "AA=="},
        {"S": "2026-01-01T00:00:00.000000Z"},
        {"SS": ["a"]},
        {"L": [{"N": "1"}]},
        {"M": {"k": {"S": "v"}}},
    ]


def test_settings_are_members_of_the_request():
    body = Statement(SELECT, ["ada"], consistent_read=True, page_size=7, limit=3).request(NOWHERE, None, 3).body
    assert (body["ConsistentRead"], body["Limit"]) == (True, 7)


def test_a_page_begins_with_the_token_of_the_one_before():
    statement = Statement(SELECT, ["ada"])
    page = statement.page_of({"Items": [], "NextToken": "abc", "LastEvaluatedKey": {"id": {"S": "x"}}})
    assert statement.request(NOWHERE, page["LastEvaluatedKey"]).body["NextToken"] == "abc"


def test_an_answer_without_a_token_is_the_last():
    assert Statement(SELECT).page_of({"LastEvaluatedKey": {"id": {"S": "x"}}}) == {
        "Items": [],
        "LastEvaluatedKey": None,
    }


KINDS = {
    "SELECT * FROM t": (False, True),
    "  select * from t": (False, True),
    "INSERT INTO t VALUE {'id': 1}": (True, False),
    "UPDATE t SET a = 1 WHERE id = 1": (True, False),
    "\nDelete FROM t WHERE id = 1": (True, False),
    "EXISTS(SELECT * FROM t WHERE id = 1)": (False, True),
    "-- a comment\nSELECT * FROM t": (True, False),
    "SELECTION": (True, False),
}


@pytest.mark.parametrize(("text", "kind"), KINDS.items(), ids=KINDS)
def test_what_is_not_known_to_read_writes_and_is_not_sent_twice(text, kind):
    request = Statement(text).request(NOWHERE)
    assert (request.writes, request.resendable) == kind


TABLES = {
    'SELECT * FROM "tweets"."by-city" WHERE city = ?': "tweets",
    "select id from tweets": "tweets",
    'INSERT INTO "dev.tweets" VALUE {}': "dev.tweets",
    'UPDATE "tweets" SET a = 1': "tweets",
    "DELETE FROM tweets WHERE id = 1": "tweets",
    "EXISTS(SELECT * FROM tweets WHERE id = 1)": "tweets",
    "nonsense": "",
}


@pytest.mark.parametrize(("text", "table"), TABLES.items(), ids=TABLES)
def test_messages_name_the_table_of_a_statement(text, table):
    assert Statement(text).request(NOWHERE).table == table


@pytest.mark.parametrize("text", ["UPDATE t SET a = 1 WHERE id = 1", "delete from t where id = 1"])
def test_a_failed_condition_brings_the_stored_item(text):
    assert Statement(text).part()["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"


@pytest.mark.parametrize("text", [SELECT, INSERT])
def test_a_statement_without_condition_asks_for_no_stored_item(text):
    assert "ReturnValuesOnConditionCheckFailure" not in Statement(text, ["x"]).part()


def failed(wire_item):
    error = ConditionalCheckFailedError("no", service_code="x", operation="x", table="t", status=400)
    error.wire_item = wire_item
    return error


@pytest.mark.parametrize(
    ("into", "wire_item", "item"),
    [
        (Tweet, {"id": {"S": "a"}}, Tweet(id="a")),
        (Tweet, {"id": {"N": "1"}}, None),
        (Tweet, None, None),
        (None, {"id": {"S": "a"}}, None),
    ],
    ids=["fits", "does not fit", "none stored", "no model"],
)
def test_the_stored_item_of_a_failed_condition_is_an_instance_where_it_can_be(into, wire_item, item):
    error = Statement("DELETE FROM t", into=into).failed(failed(wire_item))
    assert (error.item, error.wire_item) == (item, wire_item)


def test_items_become_dicts_of_plain_values():
    assert Statement(SELECT).decode([{"id": {"S": "a"}, "tags": {"SS": ["x"]}}]) == [{"id": "a", "tags": {"x"}}]


def test_items_become_instances_of_a_model():
    assert Statement(SELECT, into=Tweet).decode([{"id": {"S": "a"}, "likes": {"N": "2"}}]) == [Tweet(id="a", likes=2)]


def test_an_item_that_lacks_a_required_field_does_not_fit():
    with pytest.raises(ItemValidationError):
        Statement("SELECT likes FROM tweets", into=Tweet).decode([{"likes": {"N": "2"}}])


REFUSED: dict[str, tuple[Any, str]] = {
    "empty": (lambda: Statement(""), "a statement must be a string of 1 to 8,192 characters, not one of 0 characters"),
    "too long": (lambda: Statement("x" * 8_193), "not one of 8,193 characters"),
    "no text": (lambda: Statement(5), "not 5"),  # type: ignore[call-overload]
    "text for values": (lambda: Statement(SELECT, "ada"), r"the parameters must be a list of values, not 'ada'; write"),
    "no values": (lambda: Statement(SELECT, 5), "the parameters must be a list of values, not 5"),  # type: ignore[call-overload]
    "limit": (lambda: Statement(SELECT, limit="5"), "limit must be a whole number from 1 up, not '5'"),
    "into": (lambda: Statement(SELECT, into=dict), "is not a model"),  # type: ignore[type-var]
    "a batch of texts": (lambda: BatchExecuteStatement([SELECT]), "number 0, 'SELECT.*is not a statement"),
    "reads and writes": (
        lambda: BatchExecuteStatement([Statement(SELECT), Statement(INSERT)]),
        "all read or all write",
    ),
    "a limit among others": (lambda: ExecuteTransaction([Statement(SELECT, limit=1)]), "statement 0 has a limit or a"),
    "number as token": (lambda: ExecuteTransaction([], client_request_token=5), "a string of 1 to 36 characters"),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED)
def test_what_the_service_would_refuse_is_refused_before_it_is_sent(make, message):
    with pytest.raises(OperationError, match=message):
        make()


OUT_OF_RANGE: dict[str, tuple[Any, str]] = {
    "limit": (lambda: Statement(SELECT, limit=0), "limit must be a whole number from 1 up, not 0"),
    "page_size": (lambda: Statement(SELECT, page_size=0), "page_size must be a whole number from 1 up, not 0"),
    "26 in a batch": (lambda: BatchExecuteStatement([Statement(SELECT)] * 26), "25 statements, not 26; split"),
    "101 in one": (lambda: ExecuteTransaction([Statement(INSERT)] * 101), "one ExecuteTransaction takes 100"),
    "empty token": (lambda: ExecuteTransaction([], client_request_token=""), "a string of 1 to 36 characters"),
    "long token": (lambda: ExecuteTransaction([], client_request_token="x" * 37), "a string of 1 to 36 characters"),
}


@pytest.mark.parametrize(("make", "message"), OUT_OF_RANGE.values(), ids=OUT_OF_RANGE)
def test_what_is_out_of_range_is_refused_before_it_is_sent(make, message):
    with pytest.raises(OutOfRangeError, match=message):
        make()


@pytest.mark.parametrize(
    ("value", "reason"),
    [(object(), "storable value expected"), ("\ud800", "the text .* is not valid Unicode"), ({"\ud800": 1}, "Unicode")],
    ids=["object", "text", "key"],
)
def test_a_value_that_cannot_be_stored_is_named(value, reason):
    with pytest.raises(EncodeError, match=rf"parameters\[1\]: .*{reason}") as caught:
        Statement(SELECT, ["a", value])
    assert caught.value.path == ("parameters", 1)


def test_a_batch_is_one_call():
    request = BatchExecuteStatement(
        [Statement(SELECT, ["a"], consistent_read=True), Statement("SELECT * FROM b WHERE id = 1")]
    ).request(NOWHERE)
    assert request.operation == "BatchExecuteStatement"
    assert request.body == {
        "Statements": [
            {"Statement": SELECT, "Parameters": [{"S": "a"}], "ConsistentRead": True},
            {"Statement": "SELECT * FROM b WHERE id = 1"},
        ]
    }
    assert (request.table, request.writes, request.resendable) == ("tweets, b", False, True)


def test_a_batch_of_writes_is_not_sent_twice():
    request = BatchExecuteStatement([Statement(INSERT, ["a"])]).request(NOWHERE)
    assert (request.writes, request.resendable) == (True, False)


def test_a_transaction_may_be_sent_again_with_its_token_for_nine_minutes():
    request = ExecuteTransaction([Statement(INSERT, ["a"])], client_request_token="once").request(NOWHERE)
    assert request.body == {
        "TransactStatements": [{"Statement": INSERT, "Parameters": [{"S": "a"}]}],
        "ClientRequestToken": "once",
    }
    assert (request.writes, request.resendable, request.resendable_seconds) == (True, True, 540.0)


def test_each_execution_of_a_transaction_has_a_token_of_its_own():
    transaction = ExecuteTransaction([Statement(INSERT, ["a"])])
    tokens = [transaction.request(NOWHERE).body["ClientRequestToken"] for _ in range(2)]
    assert tokens[0] != tokens[1]
    assert [len(token) for token in tokens] == [32, 32]


def test_a_transaction_checks_among_its_writes():
    transaction = ExecuteTransaction([Statement(INSERT, ["a"]), Statement("EXISTS(SELECT * FROM t WHERE id = 1)")])
    assert transaction.request(NOWHERE).writes


def test_a_transaction_reads_consistently_without_being_told():
    request = ExecuteTransaction([Statement(SELECT, ["a"], consistent_read=True)]).request(NOWHERE)
    assert "ConsistentRead" not in request.body["TransactStatements"][0]


def test_an_item_with_an_attribute_of_another_stored_type_is_refused():
    with pytest.raises(DecodeError, match="likes: int is stored as N, not as S"):
        Statement(SELECT, ["ada"], into=Tweet).decode([{"id": {"S": "ada"}, "likes": {"S": "1"}}])
