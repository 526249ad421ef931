"""`--show-code`: the programs that commands print run as they are, and do what the commands do."""

import asyncio
import json
from contextlib import redirect_stdout
from io import StringIO
from uuid import uuid4

import pytest

from dynamap_async import Attr, Model, PartitionKey, Priority, Session
from dynamap_async.errors import TableMismatchError

MODELS = """
from datetime import datetime
from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, StoredItem, Table, upgrade

class Visit(Model, table="visits"):
    visit_id: PartitionKey[str]
    day: Attr[str]

    by_day = GlobalIndex("day-index", partition_key="day")

class Reading(Model, table="readings_{at:month}"):
    at: PartitionKey[datetime]

class Customer(Model, table="customers", schema_version=2):
    number: PartitionKey[int]
    name: Attr[str]

    @upgrade(to=2)
    @staticmethod
    def one_name(item: StoredItem) -> None:
        item["name"] = f"{item.pop('first')} {item.pop('last')}"

SHOP = Table("shop", partition_key="pk", indexes=[GlobalIndex("by-total", partition_key="total")])
"""
MIGRATIONS = """
from shop import Visit
from dynamap_async.migrations import migration

async def bring_back(session, run):
    await session.put(Visit(visit_id="v0", day="monday"))

@migration("2026-01-first", undo=bring_back)
async def first(session, run):
    await session.delete(Visit, "v0")

@migration("2026-02-second")
async def second(session, run):
    await session.delete(Visit, "v1")
"""


class OldVisit(Model, table="visits"):
    visit_id: PartitionKey[str]


class OldCustomer(Model, table="customers"):
    number: PartitionKey[int]
    first: Attr[str]
    last: Attr[str]


@pytest.fixture
def prefix(engine, project):
    """Make tables that are not what their models declare; return their prefix."""
    prefix = f"c{uuid4().hex[:8]}-"
    (project / "dynamap.toml").write_text(
        f'models = ["shop"]\ndefault = "local"\n[env.local]\nendpoint_url = "{engine.endpoint_url}"\n'
        f'table_prefix = "{prefix}"\n',
        "utf-8",
    )
    (project / "shop.py").write_text(MODELS, "utf-8")

    async def fill():
        async with engine.session(table_prefix=prefix) as session:
            await session.tables.create(OldVisit, OldCustomer)
            await session.put_many(OldVisit(visit_id=f"v{n}") for n in range(3))
            await session.put_many(OldCustomer(number=n, first="Ada", last=str(n)) for n in range(3))

    asyncio.run(fill())
    return prefix


@pytest.fixture
def shown(prefix, run):
    """Return a function: a command -> the program that it prints, which sends nothing."""

    def shown(line):
        result = run(f"{line} --show-code")
        assert (result.exit_code, result.cost) == (0, ""), result.output
        return result.stdout

    return shown


@pytest.fixture
def told(shown):
    """Return a function: a command -> what its program prints."""

    def told(line):
        output = StringIO()
        with redirect_stdout(output):
            exec(compile(shown(line), line, "exec"), {"__name__": "__main__"})
        return output.getvalue()

    return told


@pytest.mark.parametrize(
    "line",
    [
        "plan",
        "plan Visit Customer --sample-pages 0",
        "plan Visit --expand --delete-unknown-indexes",
        "plan Visit --contract",
        "plan Visit --prices 0.625 0.25",
        "plan Reading --period 2026-03-01T00:00:00Z",
        "plan SHOP",
        "schema Visit",
        "schema Visit --format terraform",
        "schema Visit --format cdk",
        "schema SHOP --format describe-table",
    ],
)
def test_a_program_prints_what_the_command_prints(run, told, line):
    assert told(line) == run(line).stdout


def test_what_is_planned_is_saved_and_carried_out_by_programs(run, told, prefix, project):
    told("plan Visit --out plan.json")
    assert json.loads((project / "plan.json").read_text("utf-8"))["steps"][0]["index"] == "day-index"
    assert f"{prefix}visits" in told("diff Visit")
    with pytest.raises(TableMismatchError, match="day-index"):
        told("verify Visit")
    assert "day-index: none -> day (S), ALL done" in told("apply plan.json")
    assert told("verify Visit --no-extra-indexes") == ""
    assert run("verify Visit").exit_code == 0
    assert "TableDescription(" in told("describe Visit")
    assert f"{prefix}visits" in told(f"describe --table {prefix}visits")
    assert sorted(line.split()[0] for line in told("tables").splitlines()) == [f"{prefix}customers", f"{prefix}visits"]


def test_hazards_are_allowed_in_the_program_of_apply(shown):
    code = shown("apply Visit --delete-unknown-indexes --allow index-deleted --timeout 60 --yes")
    assert "plan = await session.tables.plan(Visit, delete_unknown_indexes=True)" in code
    assert 'session.tables.apply(plan, allow={"index-deleted"}, timeout_seconds=60.0):' in code


def test_a_program_of_apply_allows_nothing_that_was_not_allowed(shown):
    assert "session.tables.apply(plan, timeout_seconds=86400.0):" in shown("apply Visit")


def test_a_model_has_another_name_than_what_the_program_takes_from_the_library(project, shown, told, run):
    (project / "shop.py").write_text(MODELS.replace("class Visit", "class Session"), "utf-8")
    assert "from shop import Session as SessionModel\n" in shown("plan Session")
    assert told("plan Session") == run("plan Session").stdout


@pytest.mark.parametrize(
    ("index", "code"),
    [
        ("Visit.by_day", "check_index(Visit.by_day)"),
        ("Visit.day-index", 'check_index(Index(Visit, "day-index"))'),
        ("SHOP.by-total", 'check_index(SHOP.index("by-total"))'),
    ],
)
def test_an_index_is_checked_by_a_program(run, shown, told, index, code):
    assert code in shown(f"check-index {index}")
    assert run("apply --yes").exit_code == 0
    assert "IndexReport(" in told(f"check-index {index} --max-read-units 5")


@pytest.mark.parametrize("options", ["", " --no-values --sample 2 --max-read-units 5"])
def test_items_are_checked_by_a_program(run, told, prefix, options):
    assert "Visit.day: " in told(f"check-items Visit{options}")
    assert told(f"check-items Visit{options}") == run(f"check-items Visit{options}").stdout


def test_models_are_generated_by_a_program(run, told, prefix, project):
    line = f"generate models --table {prefix}customers --enums"
    assert "first: Attr[" in told(line)
    assert told(line) == run(line).stdout
    assert told(f"{line} --no-values --out made.py") == ""
    assert (project / "made.py").read_text("utf-8") == run(f"{line} --no-values").stdout


def test_migrations_are_run_by_programs(run, told, shown, prefix, project):
    (project / "shop_migrations.py").write_text(MIGRATIONS, "utf-8")
    line = "migrate --migrations shop_migrations"
    assert "Migrations(session, find_migrations(shop_migrations), wait=False)" in shown(f"{line} --no-wait")
    assert "2026-01-first" in told(f"{line} --mark 2026-01-first --yes")
    assert "2026-01-first marked, " in told(f"{line} --status")
    assert told(f"{line} --plan") == "2026-02-second pending\n"
    assert told(line).startswith("2026-02-second done, ")
    assert told(f"{line} --plan") == told(line) == ""
    assert "2026-01-first done, " in told(f"{line} --redo 2026-01-first")
    assert "2026-01-first undone, " in told(f"{line} --undo 2026-01-first")
    assert run(f"{line} --plan").exit_code == 3


def test_migrations_in_a_file_are_imported_by_its_name(shown, prefix, project):
    (project / "more").mkdir()
    (project / "more" / "moves.py").write_text(MIGRATIONS, "utf-8")
    code = shown("migrate --migrations more/moves.py")
    assert code.startswith("# Run it where its models can be imported: in more\n")
    assert "import moves\n" in code


@pytest.mark.parametrize("line", ["check-index Visit.by_day", "truncate Customer --yes", "upgrade Customer --yes"])
def test_who_goes_over_many_items_does_so_in_the_background(monkeypatch, prefix, run, shown, line):
    asked, scope = [], Session.scope

    def recorded(session, name, /, **named):
        asked.append(named["priority"])
        return scope(session, name, **named)

    monkeypatch.setattr(Session, "scope", recorded)
    run(line)
    assert asked == [Priority.BACKGROUND]
    assert "priority=Priority.BACKGROUND" in shown(line)


def test_items_are_upgraded_and_deleted_by_programs(run, told, prefix):
    assert told("upgrade Customer --segments 1 --timeout 60").endswith("3 upgraded, 0 failed, 0 left\n")
    assert told("truncate Customer --max-write-units 100 --timeout 60") == f"{prefix}customers 3\n"


def test_a_program_asks_an_engine_on_this_machine_without_a_proxy(monkeypatch, told, run):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert told("plan Visit") == run("plan Visit").stdout


def test_a_program_goes_where_the_command_goes_and_has_no_password(project, shown):
    options = "--region us-east-1 --profile shop --endpoint-url http://ann:secret@db.example:8000 --table-prefix it's-"
    code = shown(f"plan Visit {options}")
    assert "secret" not in code
    for argument in ("region", "us-east-1"), ("profile", "shop"), ("table_prefix", "it's-"):
        assert '{}="{}",'.format(*argument) in code
    assert 'endpoint_url="http://***@db.example:8000"' in code
    assert code.startswith(f"# Run it where its models can be imported: in {project}\n")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("plan --against tables.json", "--show-code shows no --against; leave one of them out"),
        ("upgrade Customer --checkpoint where", "--show-code shows no --checkpoint; use --name"),
        ("generate models --table any --check shop.py", "it shows no --check; leave one of them out"),
        ("generate models --table any --out new.py --merge", "it shows no --merge; leave one of them out"),
        ("generate models --table any --from-workbench shop.json", "it shows no --from-workbench; leave one of"),
    ],
)
def test_what_no_program_shows_is_refused(prefix, run, line, problem):
    result = run(f"{line} --show-code")
    assert result.exit_code == 2
    assert problem in result.stderr


def test_two_models_of_one_name_are_refused(prefix, project, run):
    (project / "more.py").write_text(MODELS.replace("visits", "more-visits"), "utf-8")
    result = run("plan --show-code --models shop --models more")
    assert result.exit_code == 2
    assert "--show-code: Visit is declared more than once; name other models" in result.stderr
