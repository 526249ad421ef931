"""`dynamap truncate`: what it asks, what it deletes, and how it ends."""

import json
from uuid import uuid4

import boto3
import pytest

from dynamap_async.cli import confirmation
from dynamap_async.cli.place import Place
from dynamap_async.testing.faults import Faults

MODELS = """
from dynamap_async import Attr, Model, PartitionKey, Table

class Visit(Model, table="visits"):
    visit_id: PartitionKey[str]

SHOP = Table("shop", partition_key="pk")

class Order(Model, table=SHOP):
    order_id: PartitionKey[str]

class Refund(Model, table=SHOP):
    refund_id: PartitionKey[str]
"""
MODELS = MODELS.replace("order_id: PartitionKey[str]", 'order_id: PartitionKey[str] = attr(name="pk")')
MODELS = MODELS.replace("refund_id: PartitionKey[str]", 'refund_id: PartitionKey[str] = attr(name="pk")')
MODELS = MODELS.replace("Table\n", "Table, attr\n", 1)


@pytest.fixture
def client(engine):
    where = {"endpoint_url": engine.endpoint_url, "region_name": "eu-west-1"}
    return boto3.client("dynamodb", **where, aws_access_key_id="local", aws_secret_access_key="local")


@pytest.fixture
def prefix(engine, project, run, client):
    """Make tables with items that nobody else has; return their prefix."""
    prefix = f"c{uuid4().hex[:8]}-"
    place = f'endpoint_url = "{engine.endpoint_url}"\ntable_prefix = "{prefix}"\n'
    (project / "dynamap.toml").write_text(
        f'models = ["shop.py"]\ndefault = "local"\n[env.local]\n{place}[env.prod]\n{place}guard = "name"\n', "utf-8"
    )
    (project / "shop.py").write_text(MODELS, "utf-8")
    assert run("apply --yes").exit_code == 0
    for number in range(30):
        client.put_item(TableName=f"{prefix}visits", Item={"visit_id": {"S": f"v{number}"}})
    return prefix


@pytest.fixture
def left(client, prefix):
    """Return a function that counts the visits."""
    return lambda: client.scan(TableName=f"{prefix}visits", Select="COUNT")["Count"]


@pytest.fixture
def asked(monkeypatch):
    """Let a terminal be there to answer questions."""
    monkeypatch.setattr(confirmation, "can_ask", lambda: True)


def test_it_asks_and_deletes_all_items(prefix, run, left, asked):
    result = run("truncate Visit", "y\n")
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith(f"{prefix}visits: 30 items deleted\n")
    assert f"Delete all items of {prefix}visits (Visit) in environment local" in result.stderr
    assert "deleting the table and making it again takes none" in result.stderr
    assert left() == 0


def test_who_does_not_agree_keeps_the_items(prefix, run, left, asked):
    assert run("truncate Visit", "n\n").exit_code == 4
    assert left() == 30


def test_without_a_terminal_it_needs_an_option(prefix, run, left):
    result = run("truncate Visit")
    assert (result.exit_code, left()) == (4, 30)
    assert "there is no terminal to ask at; add --yes" in result.stderr
    assert run("truncate Visit --yes").exit_code == 0
    assert left() == 0


def test_a_guarded_environment_wants_its_name(prefix, run, left, asked):
    assert run("truncate Visit --env prod --yes", "y\n").exit_code == 4
    assert run("truncate Visit --env prod --yes-in local").exit_code == 4
    assert left() == 30
    assert run("truncate Visit --env prod", "prod\n").exit_code == 0
    assert left() == 0


def test_a_dry_run_prints_requests_and_deletes_nothing(prefix, run, left):
    result = run("truncate Visit --dry-run")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout.partition(" ")[2].splitlines()[0])["TableName"] == f"{prefix}visits"
    assert left() == 30


def test_a_protected_table_is_refused_without_force_and_stays_protected(prefix, run, left, client):
    client.update_table(TableName=f"{prefix}visits", DeletionProtectionEnabled=True)
    result = run("truncate Visit --yes")
    assert (result.exit_code, left()) == (4, 30)
    assert "is protected against deletion: add --force" in result.stderr
    assert run("truncate Visit --yes --force").exit_code == 0
    assert left() == 0
    assert client.describe_table(TableName=f"{prefix}visits")["Table"]["DeletionProtectionEnabled"]


def test_a_shared_table_is_emptied_of_all_models_which_are_named(prefix, run, client, asked):
    client.put_item(TableName=f"{prefix}shop", Item={"pk": {"S": "a"}, "kind": {"S": "Refund"}})
    result = run("truncate Order", "y\n")
    assert result.exit_code == 0, result.output
    assert "(SHOP, Order, Refund)" in result.stderr
    assert "1 item deleted" in result.stdout


def test_json_tells_what_it_took(prefix, run):
    told = json.loads(run("truncate Visit --yes --json").stdout)
    assert told.items() >= {"table": f"{prefix}visits", "items": 30}.items()
    assert told["read_units"] >= 0


def test_spent_units_end_it_and_it_goes_on_when_it_is_run_again(prefix, run, left):
    result = run("truncate Visit --yes --max-write-units 10")
    assert result.exit_code == 5, result.output
    assert 0 < left() < 30
    assert run("truncate Visit --yes").exit_code == 0
    assert left() == 0


def test_when_the_time_is_over_it_ends_and_goes_on_when_it_is_run_again(prefix, engine, run, left, monkeypatch):
    faults = Faults()
    faults.on("Scan").delay(3600.0)
    with monkeypatch.context() as patched:
        patched.setattr(Place, "session", lambda place: faults.session(engine, table_prefix=place.prefix))
        result = run("truncate Visit --yes --timeout 1")
    assert result.exit_code == 5, result.output
    assert result.stderr.endswith("0 items deleted, and the time is over; run it again for the rest\n")
    assert left() == 30
    assert run("truncate Visit --yes --timeout 3600").exit_code == 0
    assert left() == 0
