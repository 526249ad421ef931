"""`dynamap upgrade`: what it writes, prints and asks, and how it ends."""

import asyncio
import json
from uuid import uuid4

import pytest

from dynamap_async import Attr, Model, PartitionKey
from dynamap_async.cli.place import Place
from dynamap_async.session import upgrade_place
from dynamap_async.testing.faults import Faults

MODELS = """
from dynamap_async import Attr, Model, PartitionKey, StoredItem, upgrade

class Customer(Model, table="customers", schema_version=2):
    number: PartitionKey[int]
    name: Attr[str]

    @upgrade(to=2)
    @staticmethod
    def one_name(item: StoredItem) -> None:
        item["name"] = f"{item.pop('first')} {item.pop('last')}"

class Plain(Model, table="plain"):
    number: PartitionKey[int]
"""


class Raw(Model, table="customers"):
    number: PartitionKey[int]
    first: Attr[str | None] = None
    last: Attr[str | None] = None
    name: Attr[str | None] = None


@pytest.fixture
def customers(engine, project):
    """A project with 20 customers of version 1; a function that returns what is stored of them."""
    prefix = f"t{uuid4().hex[:8]}-"
    (project / "shop_models.py").write_text(MODELS, "utf-8")
    (project / "dynamap.toml").write_text(
        f'models = ["shop_models.py"]\n[env.dev]\nendpoint_url = "{engine.endpoint_url}"\nregion = "eu-west-1"\n'
        f'table_prefix = "{prefix}"\n[env.prod]\nendpoint_url = "{engine.endpoint_url}"\nregion = "eu-west-1"\n'
        f'table_prefix = "{prefix}"\nguard = "name"\n',
        "utf-8",
    )

    async def fill():
        async with engine.session(table_prefix=prefix) as session:
            await session.tables.create(Raw)
            await session.put_many(Raw(number=number, first="Ada", last=str(number)) for number in range(20))

    async def names():
        async with engine.session(table_prefix=prefix) as session:
            return {each.number: each.name for each in await session.scan(Raw).consistent()}

    async def spoil(number):
        async with engine.session(table_prefix=prefix) as session:
            await session.put(Raw(number=number, first="no last"))

    asyncio.run(fill())
    names.spoil = lambda number: asyncio.run(spoil(number))
    names.now = lambda: asyncio.run(names())
    return names


def test_all_items_are_upgraded_and_counted(customers, run):
    result = run("upgrade Customer --env dev --yes")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == ("Customer to version 2: 20 seen, 20 behind, 20 upgraded, 0 failed, 0 left")
    assert "20 were of version 1" in result.stdout
    assert customers.now() == {number: f"Ada {number}" for number in range(20)}


def test_a_dry_run_asks_nobody_and_writes_nothing(customers, run):
    result = run("upgrade Customer --env prod --dry-run --json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert (told["upgraded"], told["by_version"], told["write_units"]) == (20, {"1": 20}, 20)
    assert len(told["examples"]) == 10
    assert "20 are of version 1" in run("upgrade Customer --env prod --dry-run").stdout
    assert set(customers.now().values()) == {None}


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ("--env dev", "add --yes"),
        ("--env prod --yes", "add --yes-in prod"),
        ("--env prod --yes-in dev", "--yes-in dev, but this is prod"),
    ],
)
def test_nothing_is_written_that_nobody_agreed_to(customers, run, options, remedy):
    result = run(f"upgrade Customer {options}")
    assert result.exit_code == 4
    assert remedy in result.stderr
    assert set(customers.now().values()) == {None}


def test_items_that_cannot_be_upgraded_are_named_and_end_with_status_1(customers, run):
    customers.spoil(3)
    result = run("upgrade Customer --env prod --yes-in prod")
    assert result.exit_code == 1
    assert (
        "{'number': 3}: the stored item {'number': 3} does not fit Customer: the upgrade to version 2" in result.stdout
    )
    assert customers.now()[3] is None
    assert customers.now()[4] == "Ada 4"


def test_a_budget_ends_it_with_status_5_and_the_checkpoint_goes_on(customers, project, run):
    command = "upgrade Customer --env dev --yes --segments 1 --page-size 4 --checkpoint where"
    first = run(f"{command} --max-write-units 5")
    assert first.exit_code == 5, first.output
    assert "it goes on from where" in first.stderr
    assert (project / "where").exists()
    assert None in customers.now().values()
    second = run(command)
    assert second.exit_code == 0, second.output
    assert None not in customers.now().values()
    assert not (project / "where").exists()


def test_when_the_time_is_over_it_ends_with_status_5_and_goes_on_later(customers, engine, run, monkeypatch):
    command = "upgrade Customer --env dev --yes --segments 1 --page-size 4 --checkpoint where"
    faults = Faults()
    faults.on("Scan", nth=2).delay(3600.0)
    with monkeypatch.context() as patched:
        patched.setattr(Place, "session", lambda place: faults.session(engine, table_prefix=place.prefix))
        first = run(f"{command} --timeout 5")  # a slow machine has reached the page that is late
    assert first.exit_code == 5, first.output
    assert "the time is over; run it again, and it goes on from where" in first.stderr
    assert None in customers.now().values()
    assert run(command).exit_code == 0
    assert None not in customers.now().values()


def test_a_pass_with_a_name_keeps_its_place_in_the_table_until_it_is_over(customers, run, monkeypatch):
    monkeypatch.setattr(upgrade_place, "STORED_ITEMS", 1)
    command = "upgrade Customer --env dev --yes --segments 1 --page-size 4 --name nightly"
    first = run(f"{command} --max-write-units 12")
    assert first.exit_code == 5, first.output
    second = run(f"{command} --json")
    assert second.exit_code == 0, second.output
    assert 0 < json.loads(second.stdout)["seen"] < 20
    assert None not in customers.now().values()


def test_a_model_of_which_nothing_expires_has_no_expired_items_to_leave(customers, run):
    result = run("upgrade Customer --env dev --yes --skip-expired")
    assert result.exit_code == 1
    assert "Customer has no TimeToLive field" in result.stderr


def test_a_model_without_versions_is_an_error(customers, run):
    result = run("upgrade Plain --env dev --yes")
    assert result.exit_code == 1
    assert "Plain has no schema_version" in result.stderr
