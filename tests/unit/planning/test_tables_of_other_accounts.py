"""A table that is named by its ARN: where DynamoDB takes one in place of a name."""

import pytest

from dynamap_async import Attr, Get, Model, PartitionKey, Put, Table
from dynamap_async.errors import ConfigurationError, ModelDefinitionError, OperationError
from dynamap_async.models import definition_of
from dynamap_async.planning import Context
from dynamap_async.planning.context import TableNames, table_names
from dynamap_async.tables.requests import create_request

ARN = "arn:aws:dynamodb:eu-west-1:111122223333:table/visits"


class Visit(Model, table=ARN):
    visit_id: PartitionKey[str]
    page: Attr[str]


class Local(Model, table="visits"):
    visit_id: PartitionKey[str]


def context(**names):
    return Context(tables=TableNames(**names))


@pytest.mark.parametrize("operation", [Get(Visit, "1"), Put(Visit(visit_id="1", page="/"))])
def test_a_model_may_name_its_table_by_its_arn_to_which_no_prefix_is_added(operation):
    assert operation.request(context(prefix="shop-dev-")).body["TableName"] == ARN


def test_a_session_may_give_a_declared_table_an_arn():
    names = table_names("shop-dev-", {"visits": ARN})

    assert Get(Local, "1").request(Context(tables=names)).body["TableName"] == ARN


def test_a_table_that_models_share_may_be_named_by_its_arn():
    shared = Table(ARN, partition_key="pk", discriminator="kind")

    assert shared.schema.name == ARN


def test_what_dynamodb_says_of_an_arn_is_told_as_the_declared_table():
    assert table_names("", {"visits": ARN}).declared(ARN) == "visits"
    assert TableNames(prefix="shop-dev-").declared(ARN) == ARN


@pytest.mark.parametrize(
    "wrong",
    [
        "arn:aws:s3:::visits",
        f"{ARN}/index/by-page",
        "arn:aws:dynamodb:eu-west-1:1111:table/visits",
        "arn:aws:dynamodb:eu-west-1:111122223333:table/v",
    ],
)
def test_an_arn_of_something_else_is_refused_with_the_form_of_one(wrong):
    form = "or the table's ARN, arn:aws:dynamodb:REGION:ACCOUNT:table/NAME"

    with pytest.raises(ConfigurationError, match=form):
        table_names("", {"visits": wrong})
    with pytest.raises(ModelDefinitionError, match=form):

        class Wrong(Model, table=wrong):
            visit_id: PartitionKey[str]


def test_a_table_is_not_created_by_its_arn():
    with pytest.raises(OperationError, match="is named by its ARN, .* create it by its name, in a"):
        create_request(definition_of(Visit).require_table("created"), throughput=None, tags={})
