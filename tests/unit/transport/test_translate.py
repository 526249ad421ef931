import json

import pytest
from botocore.loaders import Loader
from botocore.model import ServiceModel

from dynamap_async.errors import (
    ConditionalCheckFailedError,
    CredentialsRejectedError,
    ExpiredIteratorError,
    IndexNotReadyError,
    InternalServerError,
    LimitExceededError,
    RequestRejectedError,
    ResourceNotFoundError,
    ThrottledError,
    TrimmedDataAccessError,
    UnknownServiceError,
)
from dynamap_async.request import Request
from dynamap_async.service import STREAMS
from dynamap_async.transport.translate import ERRORS, error_code, service_error

OPERATIONS = [
    "GetItem",
    "PutItem",
    "DeleteItem",
    "UpdateItem",
    "Query",
    "Scan",
    "BatchGetItem",
    "BatchWriteItem",
    "TransactWriteItems",
    "TransactGetItems",
    "ExecuteStatement",
    "BatchExecuteStatement",
    "ExecuteTransaction",
    "CreateTable",
    "DescribeTable",
    "DeleteTable",
    "ListTables",
    "UpdateTimeToLive",
    "DescribeTimeToLive",
    "TagResource",
    "GetResourcePolicy",
    "ListContributorInsights",
    "DescribeKinesisStreamingDestination",
]
UNMODELLED = [
    "ValidationException",
    "SerializationException",
    "AccessDeniedException",
    "UnrecognizedClientException",
    "ExpiredTokenException",
    "InvalidSignatureException",
    "IncompleteSignatureException",
    "MissingAuthenticationTokenException",
]
MODEL = ServiceModel(Loader().load_service_model("dynamodb", "service-2"))


def translated(code, *, status=400, operation="GetItem", table="tweets", **facts):
    request = Request(operation=operation, body={}, table=table)
    return service_error(request, code=code, status=status, facts=facts, request_id="r")


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_modelled_error_of_an_operation_has_a_class(operation):
    codes = {shape.error_code for shape in MODEL.operation_model(operation).error_shapes}
    assert codes <= set(ERRORS)


@pytest.mark.parametrize("code", UNMODELLED)
def test_errors_that_the_model_leaves_out_have_a_class(code):
    assert type(translated(code)) is ERRORS[code]


def test_error_carries_every_fact():
    error = translated("ResourceNotFoundException", message="Requested resource not found")
    assert isinstance(error, ResourceNotFoundError)
    assert (error.service_code, error.operation, error.table) == ("ResourceNotFoundException", "GetItem", "tweets")
    assert (error.status, error.request_id, error.attempts) == (400, "r", 1)


def test_message_names_operation_table_code_and_remedy():
    text = str(translated("ResourceNotFoundException", message="Requested resource not found."))
    assert text == (
        "GetItem on table 'tweets': ResourceNotFoundException: Requested resource not found. Check region, "
        "endpoint and table_prefix, or create the table or index with `await session.tables.ensure(Model)`."
    )


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("The table does not have the specified index: by_city", "`await session.tables.ensure(Model)` makes it"),
        (
            "The provided key element does not match the schema",
            "`await session.tables.verify(Model)` says what differs.",
        ),
        ("One or more parameter values were invalid: Missing the key id in the item", "session.tables.verify(Model)"),
        ("Query condition missed key schema element: id", "session.tables.verify(Model)"),
        ("One or more parameter values were invalid: Type mismatch for key id expected: N actual: S", "tables.verify"),
    ],
)
def test_a_table_that_is_not_as_its_model_says_how_to_find_out(said, remedy):
    assert remedy in str(translated("ValidationException", message=said))


@pytest.mark.parametrize(
    ("operation", "remedy"),
    [
        ("CreateTable", "`tables.create(Model, if_missing=True)` leaves it as it is."),
        ("DeleteTable", "Wait until the table and its indexes are ACTIVE: `session.tables.describe(Model)` tells."),
        ("UpdateTable", "Wait until the table and its indexes are ACTIVE: `session.tables.describe(Model)` tells."),
    ],
)
def test_what_to_do_about_a_table_in_use_depends_on_what_was_asked(operation, remedy):
    assert str(translated("ResourceInUseException", operation=operation)).endswith(remedy)


def test_message_without_a_table_or_a_text_is_a_sentence_too():
    assert str(translated("Odd", operation="ListTables", table="")) == "ListTables: Odd."


def test_operation_that_an_engine_lacks_is_said_to_be_missing_there():
    text = str(translated("UnknownOperationException", operation="CreateBackup"))
    assert (
        text
        == "CreateBackup on table 'tweets': UnknownOperationException. This engine does not have it; DynamoDB does."
    )


@pytest.mark.parametrize(
    ("operation", "table", "remedy"),
    [
        ("PutItem", "tweets", "Allow dynamodb:PutItem on this table in the IAM policy of the caller."),
        ("ListTables", "", "Allow dynamodb:ListTables in the IAM policy of the caller."),
    ],
)
def test_access_denied_names_the_permission_and_for_what_it_is_needed(operation, table, remedy):
    assert str(translated("AccessDeniedException", operation=operation, table=table)).endswith(remedy)


@pytest.mark.parametrize(
    ("operation", "permission"),
    [
        ("TransactGetItems", "dynamodb:GetItem"),
        ("TransactWriteItems", "ConditionCheckItem"),
        ("ExecuteStatement", "dynamodb:PartiQLSelect"),
        ("ExecuteTransaction", "PartiQLUpdate"),
    ],
)
def test_access_denied_names_no_permission_that_iam_does_not_have(operation, permission):
    text = str(translated("AccessDeniedException", operation=operation))
    assert permission in text
    assert f"dynamodb:{operation}" not in text


ARN = "arn:aws:dynamodb:eu-west-1:111122223333:table/visits"


def statement_in(error):
    text = str(error)
    return json.loads(text[text.index("{") : text.rindex("}") + 1])


@pytest.mark.parametrize(
    ("operation", "actions"),
    [
        ("PutItem", ["dynamodb:PutItem"]),
        ("TransactGetItems", ["dynamodb:GetItem"]),
        (
            "TransactWriteItems",
            ["dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:ConditionCheckItem"],
        ),
    ],
)
def test_access_denied_to_a_table_of_another_account_prints_what_its_resource_policy_needs(operation, actions):
    denied = translated("AccessDeniedException", operation=operation, table=ARN)

    assert "in the IAM policy of the caller; where the table is another account's, its resource policy" in str(denied)
    assert statement_in(denied) == {
        "Effect": "Allow",
        "Principal": {"AWS": "arn:aws:iam::ACCOUNT-OF-THE-CALLER:role/ROLE"},
        "Action": actions,
        "Resource": ARN,
    }


@pytest.mark.parametrize("operation", ["ExecuteStatement", "UpdateTimeToLive"])
def test_what_dynamodb_never_does_for_other_accounts_prints_no_policy(operation):
    text = str(translated("AccessDeniedException", operation=operation, table=ARN))

    assert f"where the table is another account's, DynamoDB refuses {operation} whatever policies say" in text


@pytest.mark.parametrize("name", ["message", "Message"])
def test_text_of_the_service_is_kept_in_either_spelling(name):
    assert "too long" in str(translated("ValidationException", **{name: "too long"}))


@pytest.mark.parametrize(
    ("code", "kind"),
    [("ValidationException", RequestRejectedError), ("ExpiredTokenException", CredentialsRejectedError)],
)
def test_refusals_that_stay_refusals_are_not_retryable(code, kind):
    error = translated(code)
    assert isinstance(error, kind)
    assert not error.retryable


def test_unknown_code_is_named_and_not_a_crash():
    error = translated("FutureException", message="?")
    assert isinstance(error, UnknownServiceError)
    assert error.service_code == "FutureException"


def test_unknown_failure_inside_dynamodb_is_retryable():
    error = translated("FutureFailure", status=503)
    assert isinstance(error, InternalServerError)
    assert (error.service_code, error.status, error.retryable) == ("FutureFailure", 503, True)


@pytest.mark.parametrize(("operation", "told"), [("PutItem", True), ("Scan", False), ("DescribeTable", False)])
def test_only_a_failed_write_is_said_to_have_been_done_perhaps(operation, told):
    request = Request(operation=operation, body={}, table="tweets", writes=operation == "PutItem")
    error = service_error(request, code="InternalServerError", status=500, facts={}, request_id=None)
    assert ("may have been done" in str(error)) is told


def test_failed_condition_carries_the_stored_item():
    item = {"id": {"S": "a"}}
    assert translated("ConditionalCheckFailedException", Item=item).wire_item == item


@pytest.mark.parametrize("facts", [{}, {"Item": {}}, {"Item": None}])
def test_failed_condition_without_an_item_has_none(facts):
    error = translated("ConditionalCheckFailedException", **facts)
    assert isinstance(error, ConditionalCheckFailedError)
    assert error.wire_item is None


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("ProvisionedThroughputExceededException", "ThrottlingReasons"),
        ("RequestLimitExceeded", "ThrottlingReasons"),
        ("ThrottlingException", "throttlingReasons"),
    ],
)
def test_throttling_tells_its_reasons(code, name):
    reason = {"reason": "TableReadProvisionedThroughputExceeded", "resource": "arn:aws:dynamodb:eu-west-1:1:table/t"}
    error = translated(code, **{name: [reason, {"reason": "Odd"}]})
    assert isinstance(error, ThrottledError)
    assert error.reasons == ("TableReadProvisionedThroughputExceeded arn:aws:dynamodb:eu-west-1:1:table/t", "Odd")


@pytest.mark.parametrize("listed", [None, [], "text", 5, [5], {"reason": 1}])
def test_undocumented_forms_of_reasons_do_not_hide_the_throttling(listed):
    assert isinstance(translated("ThrottlingException", throttlingReasons=listed), ThrottledError)


@pytest.mark.parametrize(
    ("facts", "header", "expected"),
    [
        ({"__type": "com.amazonaws.dynamodb.v20120810#ValidationException"}, None, "ValidationException"),
        ({"__type": "ValidationException"}, "Other", "ValidationException"),
        ({"code": "ValidationException"}, None, "ValidationException"),
        ({}, "ThrottlingException:http://internal.amazon.com/coral/", "ThrottlingException"),
        ({}, None, "418"),
    ],
)
def test_code_is_found_wherever_it_stands(facts, header, expected):
    assert error_code(facts, header, 418) == expected


def test_a_read_of_an_index_that_is_being_built_has_an_error_of_its_own():
    said = "Cannot read from backfilling global secondary index: by-city"
    error = translated("ValidationException", message=said)
    assert type(error) is IndexNotReadyError
    assert "tables.ensure(Model)" in str(error)
    assert type(translated("ResourceNotFoundException", message=said)) is not IndexNotReadyError


STREAM_OPERATIONS = ["ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"]
STREAM_MODEL = ServiceModel(Loader().load_service_model("dynamodbstreams", "service-2"))


@pytest.mark.parametrize("operation", STREAM_OPERATIONS)
def test_every_error_of_an_operation_of_streams_has_a_class(operation):
    for shape in STREAM_MODEL.operation_model(operation).error_shapes:
        assert shape.name in ERRORS


@pytest.mark.parametrize(
    ("code", "kind", "remedy"),
    [
        ("LimitExceededException", LimitExceededError, "A shard may have two readers"),
        ("ResourceNotFoundException", ResourceNotFoundError, "`dynamap streams` lists the streams"),
        ("ExpiredIteratorException", ExpiredIteratorError, "Ask for another iterator"),
        ("TrimmedDataAccessException", TrimmedDataAccessError, "Begin with the oldest change"),
    ],
)
def test_a_refusal_of_streams_says_what_to_do_about_it(code, kind, remedy):
    request = Request(operation="GetRecords", body={}, table="tweets", service=STREAMS)
    error = service_error(request, code=code, status=400, facts={"message": "No."}, request_id=None)
    assert type(error) is kind
    assert str(error).startswith(f"GetRecords on table 'tweets': {code}: No. {remedy}")
