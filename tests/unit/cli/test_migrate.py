"""`dynamap migrate`: what it runs, prints and asks, and how it ends."""

import asyncio
import json
import sys
from uuid import uuid4

import pytest

from dynamap_async import Attr, Model, PartitionKey, attr
from dynamap_async.leases import Lease
from dynamap_async.migrations.migrations import LEASE
from dynamap_async.session import runner_of

DRAFTS = """
from shop_models import Article
from dynamap_async.migrations import migration

async def bring_back(session, run):
    await session.put(Article(number=1, status="draft"))

@migration("2026-01-drafts", undo=bring_back)
async def remove_drafts(session, run):
    async for draft in run.scan(Article).where(Article.status == "draft"):
        await session.delete(draft)
"""
LATER = """
from shop_models import Article
from dynamap_async.migrations import migration

@migration("2026-02-fail")
async def fail(session, run):
    if await session.find(Article, 99) is None:
        raise ValueError("there is no article 99")
"""
ENDLESS = """
import asyncio
from dynamap_async.migrations import migration

@migration("2026-04-endless")
async def endless(session, run):
    await asyncio.sleep(86_400)
"""
MODELS = """
from dynamap_async import Attr, Model, PartitionKey

class Article(Model, table="articles"):
    number: PartitionKey[int]
    status: Attr[str]
"""


class Article(Model, table="articles"):
    number: PartitionKey[int]
    status: Attr[str] = attr(default="")


@pytest.fixture
def articles(engine, project):
    """A project with a package of migrations, and 10 articles, of which half are drafts."""
    prefix = f"t{uuid4().hex[:8]}-"
    (project / "shop_models.py").write_text(MODELS, "utf-8")
    (project / "shop_migrations").mkdir()
    (project / "shop_migrations" / "__init__.py").write_text("", "utf-8")
    (project / "shop_migrations" / "drafts.py").write_text(DRAFTS, "utf-8")
    (project / "dynamap.toml").write_text(
        f'migrations = "shop_migrations"\n[env.dev]\nendpoint_url = "{engine.endpoint_url}"\nregion = "eu-west-1"\n'
        f'table_prefix = "{prefix}"\n[env.prod]\nendpoint_url = "{engine.endpoint_url}"\nregion = "eu-west-1"\n'
        f'table_prefix = "{prefix}"\nguard = "name"\n',
        "utf-8",
    )

    def with_session(work):
        async def working():
            async with engine.session(table_prefix=prefix) as session:
                return await work(session)

        return asyncio.run(working())

    async def fill(session):
        await session.tables.create(Article)
        states = ("draft", "published")
        await session.put_many(Article(number=number, status=states[number % 2]) for number in range(10))

    async def numbers(session):
        return sorted([each.number for each in await session.scan(Article).consistent()])

    with_session(fill)
    articles.put = lambda number: with_session(lambda session: session.put(Article(number=number)))
    articles.now = lambda: with_session(numbers)
    articles.do = with_session
    return articles


def states(run):
    result = run("migrate --env dev --status --json")
    assert result.exit_code == 0, result.output
    return {each["id"]: each["state"] for each in json.loads(result.stdout)["migrations"]}


def test_what_did_not_run_is_planned_run_and_recorded_once(articles, run):
    planned = run("migrate --env dev --plan")
    assert (planned.exit_code, planned.stdout.splitlines()[1].split()) == (3, ["2026-01-drafts", "pending"])
    assert len(articles.now()) == 10
    first = run("migrate --env dev --yes --json")
    assert first.exit_code == 0, first.output
    [done] = json.loads(first.stdout)["migrations"]
    assert (done["id"], done["state"], done["items"], done["error"]) == ("2026-01-drafts", "done", {"Article": 5}, None)
    assert done["begun"] <= done["ended"]
    assert "process" in done["by"]
    assert articles.now() == [1, 3, 5, 7, 9]
    assert run("migrate --env dev --yes").stdout == "Nothing is to run.\n"
    assert run("migrate --env dev --plan").exit_code == 0


def test_one_that_raises_is_named_stops_those_behind_it_and_goes_on_when_it_is_mended(articles, project, run):
    (project / "shop_migrations" / "later.py").write_text(LATER, "utf-8")
    (project / "shop_migrations" / "last.py").write_text(DRAFTS.replace("2026-01-drafts", "2026-03-last"), "utf-8")
    failed = run("migrate --env dev --yes")
    assert failed.exit_code == 1
    assert "migration '2026-02-fail' raised ValueError: there is no article 99" in failed.stderr
    assert states(run) == {"2026-01-drafts": "done", "2026-02-fail": "failed", "2026-03-last": "pending"}
    articles.put(99)
    assert run("migrate --env dev --yes").exit_code == 0
    assert set(states(run).values()) == {"done"}


def test_when_the_time_is_over_it_ends_and_is_run_again(articles, project, run):
    assert run("migrate --env dev --yes").exit_code == 0
    endless = project / "shop_migrations" / "endless.py"
    endless.write_text(ENDLESS, "utf-8")
    ended = run("migrate --env dev --yes --timeout 2")
    assert ended.exit_code == 5
    assert "It took longer than 2 s; " in ended.stderr
    assert states(run)["2026-04-endless"] in ("begun", "pending")  # it may be over before it has begun
    endless.write_text(ENDLESS.replace("86_400", "0"), "utf-8")
    sys.modules.pop("shop_migrations.endless")
    again = run("migrate --env dev --yes --no-wait --timeout 60")
    assert again.exit_code == 0, again.output
    assert set(states(run).values()) == {"done"}


def test_redo_mark_and_undo(articles, run):
    assert run("migrate --env dev --yes --mark 2026-01-drafts").exit_code == 0
    assert states(run) == {"2026-01-drafts": "marked"}
    assert len(articles.now()) == 10
    assert run("migrate --env dev --yes --undo 2026-01-drafts").exit_code == 2
    assert run("migrate --env dev --yes --redo 2026-01-drafts").exit_code == 0
    assert articles.now() == [1, 3, 5, 7, 9]
    assert run("migrate --env dev --yes --undo 2026-01-drafts").exit_code == 0
    assert states(run) == {"2026-01-drafts": "undone"}
    assert run("migrate --env dev --plan").exit_code == 3


def test_a_source_that_changed_since_is_warned_of(articles, project, run):
    run("migrate --env dev --yes")
    changed = DRAFTS.replace("await session.delete(draft)", "await session.delete(draft)  # or so")
    (project / "shop_migrations" / "drafts.py").write_text(changed, "utf-8")
    import sys

    for name in ("shop_migrations", "shop_migrations.drafts"):
        del sys.modules[name]
    result = run("migrate --env dev --status")
    assert "the source of 2026-01-drafts has changed since it ran" in result.stderr
    assert "done (changed)" in result.stdout


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ("--env dev", "add --yes"),
        ("--env prod --yes", "add --yes-in prod"),
        ("--env prod --yes-in dev", "this is prod"),
    ],
)
def test_nothing_runs_that_nobody_agreed_to(articles, run, options, remedy):
    result = run(f"migrate {options}")
    assert result.exit_code == 4
    assert remedy in result.stderr
    assert len(articles.now()) == 10


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("--redo nothing", "there is no migration 'nothing'; known migrations: 2026-01-drafts"),
        ("--status --plan", "--status and --plan cannot be combined"),
        ("--migrations nowhere", "there is no module 'nowhere'"),
        ("--migrations shop_models.py", "shop_models.py has no migration"),
    ],
)
def test_wrong_usage_ends_with_status_2(articles, run, line, told):
    result = run(f"migrate --env dev --yes {line}")
    assert result.exit_code == 2, result.output
    assert told in result.stderr


def test_a_module_of_the_package_that_cannot_be_imported_shows_its_own_lines(articles, project, run):
    (project / "shop_migrations" / "wrong.py").write_text("import json\n\nnumber = 1 / 0\n", "utf-8")
    result = run("migrate --env dev --status")
    assert result.exit_code == 2
    assert "number = 1 / 0" in result.stderr


def test_two_migrations_of_one_id_are_refused(articles, project, run):
    (project / "shop_migrations" / "again.py").write_text(DRAFTS, "utf-8")
    result = run("migrate --env dev --status")
    assert result.exit_code == 2
    assert "two migrations have the id '2026-01-drafts'" in result.stderr


def test_without_waiting_it_says_who_runs_them_and_ends_with_status_4(articles, run):
    run("migrate --env dev --yes --mark 2026-01-drafts")  # which makes the library's own table

    async def hold(session):
        runner = runner_of(session)
        async with Lease(runner.executor, runner.context, LEASE) as lease:
            return lease.owner, await asyncio.to_thread(run, "migrate --env dev --yes --redo 2026-01-drafts --no-wait")

    owner, result = articles.do(hold)
    assert result.exit_code == 4
    assert f"{owner} holds the lease 'migrations'" in result.stderr


def test_without_a_package_it_says_where_to_name_one(project, run):
    result = run("migrate --status")
    assert result.exit_code == 2
    assert "write migrations = 'shop.migrations' in dynamap.toml" in result.stderr
