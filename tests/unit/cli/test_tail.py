"""`dynamap tail` prints the changes of items, and `dynamap streams` lists what tells them."""

import asyncio
import json

import pytest

from dynamap_async import Attr, Model, PartitionKey, Table, TableSettings
from dynamap_async.testing import LocalEngine

MODELS = """
from dynamap_async import Attr, Model, PartitionKey, Table, TableSettings

STREAM = TableSettings(stream="new-and-old")

class Visit(Model, table="visits", settings=STREAM):
    visit_id: PartitionKey[str]
    page: Attr[str]
    count: Attr[int] = 0

class Silent(Model, table="silent"):
    pk: PartitionKey[str]

SHOP = Table("shop", partition_key="pk", settings=STREAM)

class Order(Model, table=SHOP, kind="order"):
    pk: PartitionKey[str]

class Customer(Model, table=SHOP, kind="customer"):
    pk: PartitionKey[str]
"""
STREAM = TableSettings(stream="new-and-old")


class Visit(Model, table="visits", settings=STREAM):
    visit_id: PartitionKey[str]
    page: Attr[str]
    count: Attr[int] = 0


SHOP = Table("shop", partition_key="pk", settings=STREAM)


class Order(Model, table=SHOP, kind="order"):
    pk: PartitionKey[str]


class Silent(Model, table="silent"):
    pk: PartitionKey[str]


@pytest.fixture
def shop(project):
    """A project on an engine of its own, with changes of visits and of an order."""
    with LocalEngine() as engine:
        place = f'[env.local]\nendpoint_url = "{engine.endpoint_url}"\n'
        (project / "dynamap.toml").write_text(f'models = ["shop.py"]\ndefault = "local"\n{place}', "utf-8")
        (project / "shop.py").write_text(MODELS, "utf-8")

        async def fill():
            async with engine.session() as session:
                await session.tables.create(Visit, SHOP, Silent)
                await session.put(Visit(visit_id="a", page="home"))
                await session.put(Visit(visit_id="a", page="x" * 80, count=2))
                await session.delete(Visit, "a")
                await session.put(Order(pk="o1"))

        asyncio.run(fill())
        yield engine


def test_each_change_is_a_line_with_what_differs(shop, run):
    ended = run("tail Visit --from oldest --until-idle")
    assert ended.exit_code == 0, ended.stderr
    lines = [line[20:] for line in ended.stdout.splitlines()]
    assert lines[0] == "INSERT Visit visit_id='a' page='home' count=0"
    assert lines[1] == f"MODIFY Visit visit_id='a' count=0 -> 2 page='home' -> '{'x' * 56}..."
    assert lines[2].startswith("REMOVE Visit visit_id='a' page='xxx")
    assert len(lines) == 3


def test_a_change_is_json_with_items_as_dynamodb_has_them(shop, run):
    ended = run("tail Visit --from 10m --until-idle --json")
    first, second, _ = map(json.loads, ended.stdout.splitlines())
    assert (first["event"], first["model"], first["old"]) == ("INSERT", "Visit", None)
    assert second["old"] == first["new"] == {"visit_id": {"S": "a"}, "page": {"S": "home"}, "count": {"N": "0"}}
    assert second["key"] == {"visit_id": {"S": "a"}}
    assert first.keys() >= {"at", "expired", "event_id", "shard_id", "sequence_number"}


def test_of_a_table_the_changes_of_all_of_its_models_are_printed(shop, run):
    ended = run("tail SHOP --from 1d --until-idle")
    assert [line[20:] for line in ended.stdout.splitlines()] == ["INSERT Order pk='o1' kind='order'"]


@pytest.mark.parametrize(
    ("line", "status", "told"),
    [
        ("tail Silent", 1, 'settings=TableSettings(stream="new-and-old")'),
        ("tail Visit --from yesterday", 2, "--from yesterday: write how long ago, as 30s, 10m, 2h or 1d"),
        ("tail Vist", 2, "Visit"),
    ],
)
def test_what_cannot_be_printed_is_said(shop, run, line, status, told):
    ended = run(line)
    assert (ended.exit_code, told in ended.stderr) == (status, True), ended.stderr


def test_the_program_that_does_the_same_is_printed(shop, run):
    told = run("tail Visit --from 2026-01-31T12:00Z --until-idle --show-code").stdout
    assert "datetime.fromisoformat('2026-01-31T12:00:00+00:00')" in told.replace('"', "'")
    assert "async with session.changes(" in told
    compile(told, "shown", "exec")


def test_streams_are_listed_with_the_models_of_their_tables(shop, run):
    heading, *lines = [line.split() for line in run("streams").stdout.splitlines()]
    assert heading == ["TABLE", "STREAM", "STATUS", "VIEW", "SHARDS", "MODELS"]
    assert [(line[0], line[2:]) for line in lines] == [
        ("shop", ["on", "NEW_AND_OLD_IMAGES", "1", "SHOP,", "Order,", "Customer"]),
        ("visits", ["on", "NEW_AND_OLD_IMAGES", "1", "Visit"]),
    ]
    [shop_stream, visits] = json.loads(run("streams --json").stdout)["streams"]
    assert (shop_stream["models"], visits["models"]) == (["SHOP", "Order", "Customer"], ["Visit"])
    assert visits["arn"].partition("/stream/")[0].endswith("table/visits")
    assert "await session.tables.streams()" in run("streams --show-code").stdout
