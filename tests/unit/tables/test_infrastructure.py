"""Declared tables as other tools write them."""

import ast
import json
import sys
from dataclasses import replace
from types import ModuleType, SimpleNamespace

import pytest

from dynamap_async.errors import OperationError
from dynamap_async.schema import (
    KEYS_ONLY,
    Encryption,
    IndexKind,
    IndexSchema,
    KeyAttribute,
    KeySchema,
    Projection,
    Recovery,
    TableSchema,
    TableSettings,
    Throughput,
)
from dynamap_async.tables import plan_of, read_description, to_cdk, to_cloudformation, to_description, to_terraform
from dynamap_async.tables.requests import create_request


def key(*names, sort=()):
    return KeySchema(tuple(KeyAttribute(n, "S") for n in names), tuple(KeyAttribute(n, "N") for n in sort))


SIMPLE = TableSchema(name="shop-visits", keys=key("visit_id"))
FULL = TableSchema(
    name="shop-orders",
    keys=key("customer", sort=["placed"]),
    indexes=(
        IndexSchema(name="by-total", kind=IndexKind.LOCAL, keys=key("customer", sort=["total"]), projection=KEYS_ONLY),
        IndexSchema(
            name="by-status",
            kind=IndexKind.GLOBAL,
            keys=key("status", sort=["placed"]),
            projection=Projection("INCLUDE", ("total",)),
            throughput=Throughput(read=3, write=4),
        ),
        IndexSchema(name="by-place", kind=IndexKind.GLOBAL, keys=key("country", "city", sort=["placed", "total"])),
    ),
    ttl_attribute="expires_at",
    throughput=Throughput(read=5, write=6),
)


SET = TableSchema(
    name="kept",
    keys=key("id"),
    settings=TableSettings(
        stream="new",
        recovery=Recovery(days=7),
        deletion_protection=True,
        encryption=Encryption(kms_key="arn:aws:kms:eu-west-1:0:key/a"),
        tags={"team": 'sh"op'},
    ),
)


@pytest.mark.parametrize("table", [SIMPLE, FULL], ids=["simple", "full"])
def test_template_of_cloudformation_has_what_create_table_is_asked_for(table):
    [resource] = json.loads(to_cloudformation(table))["Resources"].values()
    properties = resource["Properties"]
    ttl = properties.pop("TimeToLiveSpecification", None)
    assert properties == create_request(table, throughput=table.throughput, tags={}).body
    assert ttl == (None if table is SIMPLE else {"AttributeName": "expires_at", "Enabled": True})
    assert resource["DeletionPolicy"] == resource["UpdateReplacePolicy"] == "Retain"


def test_resources_have_names_of_their_own():
    tables = [TableSchema(name=name, keys=key("id")) for name in ("a-b", "a_b", "a.b", "9.b")]
    assert list(json.loads(to_cloudformation(*tables))["Resources"]) == ["AB", "AB2", "AB3", "9B"]
    named = [line for line in to_terraform(*tables).splitlines() if line.startswith("resource")]
    assert [line.split('"')[3] for line in named] == ["a-b", "a_b", "a_b_2", "table_9_b"]


class Properties:
    """Takes the place of every class of CDK's: keeps what it was given by name, with the letters of the names only."""

    def __init__(self, *place, **given):
        self.place, self.given = place, given
        made.append(self) if place else None

    def apply_removal_policy(self, policy):
        self.policy = policy

    def plain(self):
        return {name.replace("_", ""): plain(value) for name, value in self.given.items()}


made: list[Properties] = []


def plain(value):
    """Return properties with the letters of their names only."""
    if isinstance(value, Properties):
        return value.plain()
    if isinstance(value, dict):
        return {name.lower(): plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list) else value


class CfnTable(Properties):
    """The class of tables, with those of its properties."""


for kind in (
    *("KeySchema", "AttributeDefinition", "LocalSecondaryIndex", "GlobalSecondaryIndex", "Projection"),
    *("ProvisionedThroughput", "TimeToLiveSpecification", "StreamSpecification", "SSESpecification"),
    "PointInTimeRecoverySpecification",
):
    setattr(CfnTable, f"{kind}Property", Properties)


def test_construct_of_cdk_has_the_properties_of_the_template(monkeypatch):
    made.clear()
    modules = {
        "aws_cdk": {"RemovalPolicy": SimpleNamespace(RETAIN="retain"), "CfnTag": Properties},
        "aws_cdk.aws_dynamodb": {"CfnTable": CfnTable},
        "constructs": {"Construct": type("Construct", (), {"__init__": lambda self, scope, name: None})},
    }
    for name, held in modules.items():
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
        vars(sys.modules[name]).update(held)
    sys.modules["aws_cdk"].aws_dynamodb = sys.modules["aws_cdk.aws_dynamodb"]
    namespace = {}
    exec(to_cdk(SIMPLE, FULL, SET), namespace)
    namespace["Tables"](None, "Tables")
    template = json.loads(to_cloudformation(SIMPLE, FULL, SET))["Resources"]
    assert [table.place[1] for table in made] == list(template)
    assert [plain(table) for table in made] == [plain(each["Properties"]) for each in template.values()]
    assert [table.policy for table in made] == ["retain"] * 3


def test_text_of_cdk_is_formatted_as_people_format_it():
    assert to_cdk(SIMPLE).splitlines()[8:] == [
        "        table = dynamodb.CfnTable(",
        "            self,",
        '            "ShopVisits",',
        '            table_name="shop-visits",',
        "            key_schema=[",
        "                dynamodb.CfnTable.KeySchemaProperty(",
        '                    attribute_name="visit_id",',
        '                    key_type="HASH",',
        "                ),",
        "            ],",
        "            attribute_definitions=[",
        "                dynamodb.CfnTable.AttributeDefinitionProperty(",
        '                    attribute_name="visit_id",',
        '                    attribute_type="S",',
        "                ),",
        "            ],",
        '            billing_mode="PAY_PER_REQUEST",',
        "        )",
        "        table.apply_removal_policy(RemovalPolicy.RETAIN)",
    ]


def test_terraform_says_keys_indexes_throughput_and_time_to_live():
    assert to_terraform(FULL) == (
        'resource "aws_dynamodb_table" "shop-orders" {\n'
        '  name           = "shop-orders"\n'
        '  billing_mode   = "PROVISIONED"\n'
        "  read_capacity  = 5\n"
        "  write_capacity = 6\n"
        '  hash_key       = "customer"\n'
        '  range_key      = "placed"\n'
        "\n"
        + "".join(
            f'  attribute {{\n    name = "{name}"\n    type = "{kind}"\n  }}\n\n'
            for name, kind in (
                ("customer", "S"),
                ("placed", "N"),
                ("total", "N"),
                ("status", "S"),
                ("country", "S"),
                ("city", "S"),
            )
        )
        + "  local_secondary_index {\n"
        '    name            = "by-total"\n'
        '    range_key       = "total"\n'
        '    projection_type = "KEYS_ONLY"\n'
        "  }\n"
        "\n"
        "  global_secondary_index {\n"
        '    name               = "by-status"\n'
        "    read_capacity      = 3\n"
        "    write_capacity     = 4\n"
        '    projection_type    = "INCLUDE"\n'
        '    non_key_attributes = ["total"]\n'
        '    hash_key           = "status"\n'
        '    range_key          = "placed"\n'
        "  }\n"
        "\n"
        "  global_secondary_index { # several key attributes: hashicorp/aws 6.29 or later\n"
        '    name            = "by-place"\n'
        "    read_capacity   = 5\n"
        "    write_capacity  = 6\n"
        '    projection_type = "ALL"\n'
        + "".join(
            f'\n    key_schema {{\n      attribute_name = "{name}"\n      key_type       = "{kind}"\n    }}\n'
            for name, kind in (("country", "HASH"), ("city", "HASH"), ("placed", "RANGE"), ("total", "RANGE"))
        )
        + "  }\n"
        "\n"
        "  ttl {\n"
        '    attribute_name = "expires_at"\n'
        "    enabled        = true\n"
        "  }\n"
        "}"
    )


def hostile_text(text):
    """Return a table with a text in each place that takes any."""
    keys = KeySchema((KeyAttribute(text, "S"),))
    index = IndexSchema(name="by", kind=IndexKind.GLOBAL, keys=keys, projection=Projection("INCLUDE", (f"{text}2",)))
    settings = TableSettings(tags={text: text}, encryption=Encryption(kms_key=text))
    return TableSchema(name="shop", keys=keys, indexes=(replace(index, name="by-x"),), settings=settings)


@pytest.mark.parametrize("text", ['"', "\\", 'a"\nraise SystemExit\n"', "\x0c", "\u2028", "\u202e", '"""', "a\r"])
def test_any_text_is_one_literal_in_the_module_of_cdk(text):
    written = to_cdk(hostile_text(text))
    found = [node.value for node in ast.walk(ast.parse(written)) if isinstance(node, ast.Constant)]
    assert found.count(text) == 6
    assert all(line.isprintable() for line in written.split("\n"))


@pytest.mark.parametrize(("text", "literal"), [('"\n}', '"\\"\\n}"'), ("\x0c", '"\\u000c"'), ("${a}\\", '"$${a}\\\\"')])
def test_any_text_is_one_literal_in_the_resource_of_terraform(text, literal):
    written = to_terraform(hostile_text(text))
    assert written.count(literal) == 6
    assert all(line.isprintable() for line in written.split("\n"))


@pytest.mark.parametrize("write", [to_cdk, to_cloudformation, to_terraform, to_description])
def test_name_that_dynamodb_refuses_is_not_written(write):
    with pytest.raises(OperationError, match="table name 'a b' is not one that DynamoDB takes"):
        write(TableSchema(name="a b", keys=key("id")))


def test_names_are_no_expressions_of_terraform():
    assert 'hash_key     = "a$${b}%%{c}\\"d"' in to_terraform(TableSchema(name="odd", keys=key('a${b}%{c}"d')))


@pytest.mark.parametrize("table", [SIMPLE, FULL], ids=["simple", "full"])
def test_described_table_is_what_was_declared(table):
    found = read_description(to_description(table))
    assert found.is_active
    assert (found.schema.keys, found.schema.throughput) == (table.keys, table.throughput)
    assert {index.name for index in found.schema.indexes} == {index.name for index in table.indexes}
    assert plan_of([table], [found]).is_empty
