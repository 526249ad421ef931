"""What the commands print: in a pipe and on a terminal, of 80 and of 120 columns, compared with files.

To renew these after a change: ``DYNAMAP_RENEW=1 pytest tests/unit/cli/test_printed.py``, and review the difference.
"""

import asyncio
import os
import re
import shlex
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey
from dynamap_async.cli.app import app
from dynamap_async.cli.commands import COMMANDS

FILES = Path(__file__).parent / "printed"
WIDTHS = (80, 120)
RENEW = "DYNAMAP_RENEW"
VARYING = {
    r"http://127\.0\.0\.1:\d+": "http://127.0.0.1:50000",
    r"\b[\d.,]+ (ms|s)\b": "N ms",
    r"\b\d+ requests?, N ms": "N requests, N ms",
    r"\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)?( UTC)?": "DATE",
    r'"\d{4}-\d\d-\d\dT[\d:.+]+"': '"DATE"',
    r"\S+@\S+, process \d+[\w, ]*": "WHO",
    r"[\w./\\-]+(?=dynamap\.toml)": "FOLDER/",
    r"(?<=can be imported: in )\S+": "FOLDER",
    r"\x1b": r"\\e",
}
"""Pattern -> what stands in the files for what is otherwise each time."""

CONFIGURATION = """
models = ["shop"]
migrations = "shop_migrations"
default = "local"

[env.local]
region = "eu-west-1"
endpoint_url = "{url}"

[env.prod]
region = "eu-west-1"
endpoint_url = "{url}"
guard = "name"
"""
MODELS = """
from datetime import datetime
from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, StoredItem, TimeToLive, attr, upgrade

class Visit(Model, table="visits"):
    visit_id: PartitionKey[str]
    page: Attr[str]
    day: Attr[str]
    expires_at: TimeToLive[datetime | None] = attr(default=None)

    by_day = GlobalIndex("day-index", partition_key="day")

class Page(Model, table="pages"):
    page_id: PartitionKey[str]

class Customer(Model, table="customers", schema_version=2):
    number: PartitionKey[int]
    name: Attr[str]

    @upgrade(to=2)
    @staticmethod
    def one_name(item: StoredItem) -> None:
        item["name"] = f"{item.pop('first')} {item.pop('last')}"
"""
MIGRATIONS = """
from shop import Customer
from dynamap_async.migrations import migration

@migration("2026-01-nobody")
async def remove_nobody(session, run):
    async for customer in run.scan(Customer).where(Customer.name == "nobody"):
        await session.delete(customer)
"""


class OldVisit(Model, table="visits"):
    visit_id: PartitionKey[str]
    page: Attr[str]
    day: Attr[str | int | None] = None

    by_page = GlobalIndex("page-index", partition_key="page")


class OldCustomer(Model, table="customers"):
    number: PartitionKey[int]
    first: Attr[str]
    last: Attr[str]


class Screen(StringIO):
    """What is written to a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def shop(engine, project, monkeypatch):
    """A project whose tables are not what its models declare; return a function that makes those anew."""
    (project / "dynamap.toml").write_text(CONFIGURATION.format(url=engine.endpoint_url), "utf-8")
    (project / "shop.py").write_text(MODELS, "utf-8")
    (project / "shop_migrations.py").write_text(MIGRATIONS, "utf-8")
    # What is told now and then would otherwise depend on how fast the machine is.
    for place in ("tables.progress._ON_TERMINAL", "tables.progress._ON_PIPE"):
        monkeypatch.setattr(f"dynamap_async.cli.{place}_SECONDS", 86_400.0)
    monkeypatch.setattr("dynamap_async.cli.output.TimedLines.tell", lambda lines, text: None)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)

    async def fill():
        async with engine.session() as session:
            await session.tables.create(OldVisit, OldCustomer)
            days = ["monday", "tuesday", 7, None]
            await session.put_many(OldVisit(visit_id=f"v{n}", page="home", day=day) for n, day in enumerate(days))
            await session.put_many(OldCustomer(number=n, first="Ada", last=str(n)) for n in range(3))

    def anew():
        engine.reset()
        asyncio.run(fill())

    anew()
    yield anew
    engine.reset()


def run(line, stream):
    """Return what a command prints on streams of a kind, and how it ends."""
    output, errors = stream(), stream()
    with redirect_stdout(output), redirect_stderr(errors), pytest.raises(SystemExit) as ended:
        app(shlex.split(line), prog_name="dynamap")
    told = f"--- standard error\n{errors.getvalue()}" if errors.getvalue() else ""
    text = f"{output.getvalue()}{told}--- status {int(ended.value.code or 0)}\n"
    for pattern, shown in VARYING.items():
        text = re.sub(pattern, shown, text)
    return text


def printed(line, monkeypatch, before=None):
    """Return what a command prints in each way, as a file has it: equal texts once."""
    found = {}
    for kind, stream in (("pipe", StringIO), ("terminal", Screen)):
        for width in WIDTHS:
            monkeypatch.setenv("COLUMNS", str(width))
            if before is not None:
                before()
            found.setdefault(run(line, stream), []).append(f"{kind} of {width} columns")
    return "".join(f"=== dynamap {line}: {', '.join(ways)}\n{text}" for text, ways in found.items())


def compare(name, text):
    file = FILES / f"{name}.txt"
    if os.environ.get(RENEW):
        file.write_text(text, "utf-8")
    assert text == file.read_text("utf-8")


HELP = [*COMMANDS, "generate models", "engine install"]
LINES = {
    "plan": "plan --delete-unknown-indexes",
    "plan-json": "plan Visit --delete-unknown-indexes --json",
    "plan-check": "plan Page --check",
    "plan-show-code": "plan Visit --show-code",
    "plan-prices": "plan Visit --prices 0.625 0.25",
    "apply-refused": "apply Page",
    "apply-not-allowed": "apply Visit --delete-unknown-indexes --yes",
    "apply-guarded": "apply Page --env prod --yes",
    "apply-dry-run": "apply Page --dry-run",
    "diff": "diff",
    "diff-json": "diff Page --json",
    "verify": "verify",
    "verify-json": "verify Page --json",
    "verify-matches": "verify Customer",
    "tables": "tables",
    "tables-json": "tables --json",
    "describe": "describe Visit",
    "tail": "tail Page",
    "describe-json": "describe Visit --json",
    "check-index": "check-index Visit.by_day",
    "check-index-json": "check-index Visit.by_day --json",
    "schema-cloudformation": "schema Visit",
    "schema-terraform": "schema Visit --format terraform",
    "schema-describe-table": "schema Page --format describe-table",
    "check-items": "check-items Visit",
    "generate-models": "generate models --table visits",
    "upgrade-dry-run": "upgrade Customer --dry-run --segments 1",
    "upgrade-json": "upgrade Customer --dry-run --json --segments 1",
    "migrate-plan": "migrate --plan",
    "migrate-status-json": "migrate --status --json",
    "capacity": "capacity --item-size 3.5KB --index 200B --reads-per-second 100 --on-demand 0.125 0.625",
    "capacity-json": "capacity --item-size 3.5KB --json",
    "config": "config",
    "config-json": "config --json",
    "wrong-command": "pln",
    "wrong-model": "plan Vist",
    "wrong-environment": "plan --env production",
}
CHANGING = {
    "apply": "apply Page --yes",
    "apply-json": "apply Page --yes --json",
    "truncate": "truncate Customer --yes",
    "upgrade": "upgrade Customer --yes --segments 1",
    "migrate": "migrate --yes",
}


def test_list_of_commands(monkeypatch):
    compare("help", printed("--help", monkeypatch))


@pytest.mark.parametrize("command", HELP)
def test_help(monkeypatch, command):
    compare(f"{command.replace(' ', '-')}-help", printed(f"{command} --help", monkeypatch))


@pytest.mark.parametrize("name", LINES)
def test_answer(shop, monkeypatch, name):
    compare(name, printed(LINES[name], monkeypatch))


@pytest.mark.parametrize("name", CHANGING)
def test_change(shop, monkeypatch, name):
    compare(name, printed(CHANGING[name], monkeypatch, shop))


def test_without_colour_a_terminal_gets_what_a_pipe_gets(shop, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    for line in ("plan", "diff"):
        assert run(line, Screen) == run(line, StringIO)


def test_every_file_is_of_a_test():
    names = {"help", *(f"{command.replace(' ', '-')}-help" for command in HELP), *LINES, *CHANGING}
    assert {file.stem for file in FILES.iterdir()} == names
