"""`dynamap plan`, `apply`, `diff`, `verify`, `tables` and `describe`: what they print, and how they end."""

import json
from uuid import uuid4

import boto3
import pytest

from dynamap_async.cli import confirmation
from dynamap_async.cli.tables.listing import lines_of
from dynamap_async.tables import read_description

BEFORE = """
from datetime import datetime
from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, TimeToLive, attr

class Visit(Model, table="visits"):
    visit_id: PartitionKey[str]
    page: Attr[str]

    by_page = GlobalIndex("page-index", partition_key="page")

class Page(Model, table="pages"):
    page_id: PartitionKey[str]
"""
AFTER = """
from datetime import datetime
from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, TimeToLive, attr

class Visit(Model, table="visits"):
    visit_id: PartitionKey[str]
    page: Attr[str]
    day: Attr[str]
    expires_at: TimeToLive[datetime | None] = attr(default=None)

    by_day = GlobalIndex("day-index", partition_key="day")

class Page(Model, table="pages"):
    page_id: PartitionKey[str]
"""
BLOCKED = """
from dynamap_async import Model, PartitionKey

class Visit(Model, table="visits"):
    number: PartitionKey[int]
"""
INDEXED = "\n    place: Attr[str]\n    by_place = GlobalIndex(partition_key='place')"
PERIODICAL = (
    BEFORE
    + """
class Reading(Model, table="readings_{at:day}"):
    at: PartitionKey[datetime]
"""
)


@pytest.fixture
def declare(project):
    """Return a function (text) that writes the models."""
    return lambda text: (project / "shop.py").write_text(text, "utf-8")


@pytest.fixture
def prefix(engine, project, declare):
    """Configure a project whose tables nobody else has; return their prefix."""
    prefix = f"c{uuid4().hex[:8]}-"
    (project / "dynamap.toml").write_text(
        f'models = ["shop.py"]\ndefault = "local"\n[env.local]\nendpoint_url = "{engine.endpoint_url}"\n'
        f'table_prefix = "{prefix}"\n[env.prod]\nendpoint_url = "{engine.endpoint_url}"\n'
        f'table_prefix = "{prefix}"\nguard = "name"\n',
        "utf-8",
    )
    declare(BEFORE)
    return prefix


@pytest.fixture
def made(prefix, run):
    """Make the tables as they are at first; return their prefix."""
    result = run("apply --yes")
    assert result.exit_code == 0, result.output
    return prefix


@pytest.fixture
def asked(monkeypatch):
    """Let a terminal be there to answer questions."""
    monkeypatch.setattr(confirmation, "can_ask", lambda: True)


def test_plan_says_what_would_be_made_and_how_to_go_on(prefix, run):
    result = run("plan")
    assert result.exit_code == 0, result.output
    assert result.stdout == (
        f"{prefix}visits\n"
        "  + create-table       none -> visit_id (S), on-demand, with page-index\n"
        f"{prefix}pages\n"
        "  + create-table       none -> page_id (S), on-demand\n"
    )
    assert result.stderr == "2 steps: dynamap apply\n"
    assert run("plan --check").exit_code == 3


def test_apply_makes_it_and_then_there_is_nothing_to_change(prefix, run):
    result = run("apply --yes")
    assert result.exit_code == 0, result.output
    assert f"{prefix}visits: create-table: sent" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("2 steps done in ")
    again = run("plan --check")
    assert (again.exit_code, again.stdout, again.stderr) == (0, "nothing to change\n", "")
    assert run("apply").exit_code == 0


def test_only_the_tables_that_are_named_are_changed(prefix, run):
    assert run("apply Page --yes").exit_code == 0
    assert run("plan Page").stdout == "nothing to change\n"
    assert f"{prefix}visits" in run("plan Visit").stdout


def test_way_on_leads_to_the_same_place(prefix, run):
    told = run("plan Page --env prod --models shop.py --region eu-west-3")
    assert told.stderr == "1 step: dynamap apply Page --models shop.py --env prod --region eu-west-3\n"


def test_hazards_are_told_and_have_to_be_allowed_by_name(made, declare, run):
    declare(AFTER)
    told = run("plan --delete-unknown-indexes")
    assert "hazard index-deleted: " in told.stdout
    assert told.stderr == (
        "3 steps: dynamap apply --delete-unknown-indexes --allow index-deleted --allow ttl-deletes-now\n"
    )
    refused = run("apply --delete-unknown-indexes --yes --allow ttl-deletes-now")
    assert refused.exit_code == 4
    assert refused.stderr == "Nothing was changed: to accept these hazards, add --allow index-deleted\n"
    wrong = run("apply --yes --allow index-delete")
    assert wrong.exit_code == 2
    assert "there is no such hazard; the hazards are backfill-cost, billing-switched" in wrong.stderr
    done = run("apply --delete-unknown-indexes --yes --allow ttl-deletes-now --allow index-deleted")
    assert done.exit_code == 0, done.output
    assert run("verify --no-extra-indexes").exit_code == 0


def test_what_adds_and_what_takes_away_is_done_apart(made, declare, run):
    declare(AFTER)
    added = run("apply --delete-unknown-indexes --expand --yes --allow ttl-deletes-now")
    assert added.exit_code == 0, added.output
    left = run("plan --delete-unknown-indexes --contract")
    assert "delete-index" in left.stdout
    assert left.stderr == "1 step: dynamap apply --delete-unknown-indexes --contract --allow index-deleted\n"
    nowhere = "--endpoint-url http://127.0.0.1:9"
    assert run(f"plan --expand --contract {nowhere}").exit_code == 2, "it is refused before anything is sent"


def test_dry_run_prints_the_requests_and_sends_none(made, declare, run):
    declare(AFTER)
    result = run("apply --delete-unknown-indexes --dry-run")
    assert result.exit_code == 0, result.output
    lines = [line.split(" ", 1) for line in result.stdout.splitlines()]
    assert [name for name, _ in lines] == ["UpdateTable", "UpdateTimeToLive", "UpdateTable"]
    assert json.loads(lines[2][1]) == {
        "TableName": f"{made}visits",
        "GlobalSecondaryIndexUpdates": [{"Delete": {"IndexName": "page-index"}}],
    }
    assert run("plan --check").exit_code == 3


def test_plan_that_was_kept_is_what_is_applied(made, declare, run, project):
    declare(AFTER)
    kept = run("plan --out plan.json")
    assert kept.stderr == "2 steps: dynamap apply plan.json --allow ttl-deletes-now\n"
    declare("raise RuntimeError")  # a plan needs no models
    done = run("apply plan.json --allow ttl-deletes-now --yes")
    assert done.exit_code == 0, done.output
    again = run("apply plan.json --allow ttl-deletes-now --yes")
    assert again.exit_code == 1
    assert "Nothing was changed: plan again" in again.stderr


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "cannot be read: No such file"),
        ("{}", "is not a plan"),
        ("[", "is not a plan"),
        ('{"steps": [1]}', "is not a plan"),
    ],
)
def test_file_that_is_no_plan_is_refused(prefix, run, project, content, problem):
    if content is not None:
        (project / "plan.json").write_text(content, "utf-8")
    result = run("apply plan.json")
    assert result.exit_code == 2
    assert problem in result.stderr
    assert result.stderr.count("\n") == 1


def test_plan_has_a_name_by_which_apply_knows_it(prefix, run):
    result = run("plan --out plan")
    assert (result.exit_code, result.stderr) == (2, "--out plan: the name of a plan ends in .json\n")


def test_nothing_is_changed_where_nobody_can_be_asked(prefix, run):
    result = run("apply")
    assert result.exit_code == 4
    assert result.stderr == "Nothing was changed: there is no terminal to ask at; add --yes\n"
    assert run("plan --check").exit_code == 3


@pytest.mark.parametrize(("answer", "status"), [("n\n", 4), ("\n", 4), ("", 130), ("y\n", 0)])
def test_apply_asks_first(prefix, run, asked, answer, status):
    result = run("apply Page", answer)
    assert "Carry out 1 step in environment local (http://" in result.stderr
    assert result.exit_code == status, result.output
    assert run("plan Page --check").exit_code == (3 if status else 0)


def test_guarded_environment_is_changed_by_its_name_only(prefix, run, asked):
    assert run("apply Page --env prod --yes", "y\n").exit_code == 4
    wrong = run("apply Page --env prod --yes-in local")
    assert (wrong.exit_code, wrong.stderr) == (4, "Nothing was changed: --yes-in local, but this is prod.\n")
    assert run("apply Page --env prod", "prod\n").exit_code == 0
    assert run("apply Visit --env prod --yes-in prod").exit_code == 0


def test_guarded_environment_without_a_terminal_needs_its_name(prefix, run):
    result = run("apply --env prod --yes")
    assert (result.exit_code, result.stderr) == (
        4,
        "Nothing was changed: there is no terminal to ask at; add --yes-in prod\n",
    )


def test_blocked_steps_are_told_and_never_applied(made, declare, run):
    declare(BLOCKED)
    told = run("plan")
    assert "! blocked" in told.stdout
    assert told.stderr == "1 step is blocked: DynamoDB cannot do that, see there\n"
    result = run("apply --yes")
    assert result.exit_code == 1
    assert "Nothing was changed: DynamoDB cannot do the blocked steps" in result.stderr


def test_diff_shows_both_sides(made, declare, run):
    same = run("diff")
    assert (same.exit_code, same.stdout) == (0, "no differences\n")
    declare(AFTER)
    result = run("diff")
    assert result.exit_code == 3
    assert result.stdout == (
        f"{made}visits\n"
        "  index day-index\n"
        "  - none\n"
        "  + day (S), ALL\n"
        "  - time to live off\n"
        "  + time to live on expires_at\n"
        f"not managed: {made}visits: the index page-index, which no model declares\n"
    )
    told = json.loads(run("diff --json").stdout)
    assert [each["kind"] for each in told["differences"]] == ["create-index", "set-time-to-live"]


def test_verify_ends_with_a_status_for_ci(made, declare, run):
    good = run("verify")
    assert (good.exit_code, good.stdout) == (0, "all tables are what the models declare\n")
    declare(AFTER)
    bad = run("verify")
    assert bad.exit_code == 3
    assert bad.stdout.splitlines()[0].startswith(f"{made}visits: the index 'day-index' is missing")
    assert bad.stderr == "2 differences: `dynamap plan` shows what would change\n"
    told = json.loads(run("verify --no-extra-indexes --json").stdout)
    assert [each["index"] for each in told["differences"]] == ["day-index", None, "page-index"]


def test_json_is_one_object_and_the_rest_is_beside_it(prefix, run):
    planned = run("plan --json")
    assert [step["kind"] for step in json.loads(planned.stdout)["steps"]] == ["create-table", "create-table"]
    applied = run("apply --yes --json")
    assert applied.exit_code == 0, applied.output
    assert json.loads(applied.stdout) == json.loads(planned.stdout)
    assert "create-table" in applied.stderr


def test_models_by_period_are_left_out_unless_one_is_named(made, declare, run):
    declare(PERIODICAL)
    left_out = run("plan")
    assert left_out.stdout == "nothing to change\n"
    assert left_out.stderr == "left out, for they have one table per period: Reading; name one with --period\n"
    assert run("plan Reading").exit_code == 2
    named = run("plan Reading --period 2026-03-01T00:00Z")
    assert f"{made}readings_2026-03-01" in named.stdout, named.output
    assert "is not a value of at: " in run("plan Reading --period soon").stderr
    assert "drop it" in run("plan Page --period 2026-03-01").stderr


def test_tables_of_all_periods_are_compared_with_their_models(made, declare, run):
    declare(PERIODICAL)
    for day in ("01", "02"):
        assert run(f"apply Reading --period 2026-03-{day}T00:00Z --yes").exit_code == 0
    declare(PERIODICAL.replace("at: PartitionKey[datetime]", f"at: PartitionKey[datetime]{INDEXED}"))
    planned = run("plan --all-periods")
    assert [line for line in planned.stdout.splitlines() if "readings" in line] == [
        f"{made}readings_2026-03-01",
        f"{made}readings_2026-03-02",
    ]
    assert planned.stderr == "2 steps: dynamap apply --all-periods\n"
    assert run("diff --all-periods").exit_code == run("verify --all-periods").exit_code == 3
    assert run("apply --all-periods --yes").exit_code == 0
    assert run("verify --all-periods").exit_code == 0
    assert "drop it" in run("plan Page --all-periods").stderr
    assert run("plan --all-periods --period 2026-03-01T00:00Z").exit_code == 2


def test_tables_are_listed_with_their_models(made, run):
    result = run("tables")
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines == [
        ["TABLE", "STATUS", "BILLING", "ITEMS", "SIZE", "INDEXES", "MODELS"],
        [f"{made}pages", "ACTIVE", "on-demand", "0", "0", "B", "0", "Page"],
        [f"{made}visits", "ACTIVE", "on-demand", "0", "0", "B", "1", "Visit"],
    ]
    assert result.stderr == f"2 tables with the prefix {made}; --all lists the others, too\n"
    told = json.loads(run("tables --json").stdout)["tables"]
    assert told[1] == {
        "name": f"{made}visits",
        "models": ["Visit"],
        "status": "ACTIVE",
        "billing": "on-demand",
        "items": 0,
        "bytes": 0,
        "indexes": ["page-index"],
    }


def test_tables_that_are_missing_are_named(prefix, run):
    result = run("tables")
    assert (result.exit_code, result.stdout) == (0, "")
    assert f"declared, and not there: {prefix}visits, {prefix}pages; `dynamap plan` shows" in result.stderr


def test_one_table_is_described_with_its_drift(made, declare, run):
    declare(AFTER)
    lines = run("describe Visit").stdout.splitlines()
    assert lines[:3] == [
        f"table       {made}visits, ACTIVE, on-demand",
        "key         visit_id (S)",
        "index       page-index: page (S), ALL, global, ACTIVE",
    ]
    assert "models      Visit" in lines
    assert "drift       2 differences" in lines
    assert "  + create-index       day-index: none -> day (S), ALL" in lines
    assert run(f"describe --table {made}pages").stdout.startswith(f"table       {made}pages, ACTIVE")


def test_settings_that_not_every_table_has_are_shown():
    index = {
        "IndexName": "by-page",
        "KeySchema": [{"AttributeName": "page", "KeyType": "HASH"}],
        "Projection": {"ProjectionType": "ALL"},
        "OnDemandThroughput": {"MaxReadRequestUnits": 1000, "MaxWriteRequestUnits": 5},
    }
    described = {
        "TableName": "visits",
        "TableStatus": "ACTIVE",
        "TableArn": "arn:aws:dynamodb:eu-west-1:000000000000:table/visits",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("id", "page")],
        "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
        "GlobalSecondaryIndexes": [index],
        "OnDemandThroughput": {"MaxReadRequestUnits": -1, "MaxWriteRequestUnits": 20},
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        "TableClassSummary": {"TableClass": "STANDARD_INFREQUENT_ACCESS"},
        "SSEDescription": {"Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": "arn:aws:kms:eu-west-1:0:key/a"},
        "Replicas": [{"RegionName": "us-east-1", "ReplicaStatus": "CREATING", "ReplicaStatusPercentProgress": "40"}],
        "MultiRegionConsistency": "STRONG",
    }
    lines = [*lines_of(read_description({"Table": described}))]
    assert lines[lines.index("protection  off") + 1 :] == [
        "maximum     table: 20 write units a second",
        "maximum     by-page: 1,000 read and 5 write units a second",
        "stream      new-and-old",
        "class       infrequent-access",
        "encryption  arn:aws:kms:eu-west-1:0:key/a",
        "replica     us-east-1: CREATING, 40 %",
        "other       strong consistency between its regions",
    ]


def test_index_is_checked_before_it_is_added(made, declare, run, engine):
    keys = {"aws_access_key_id": "local", "aws_secret_access_key": "local", "region_name": "eu-west-1"}
    client = boto3.client("dynamodb", endpoint_url=engine.endpoint_url, **keys)
    for number, day in enumerate(({"S": "monday"}, {"N": "1"}, None)):
        item = {"visit_id": {"S": f"v{number}"}, "page": {"S": "home"}, **({"day": day} if day else {})}
        client.put_item(TableName=f"{made}visits", Item=item)
    client.close()
    declare(AFTER)
    result = run("check-index Visit.by_day")
    assert result.exit_code == 3, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == f"day-index of {made}visits: 1 item of 3 fit"
    assert sorted(lines[1:]) == ["  absent      1", "  wrong type  1: v1"]
    assert result.stderr.startswith("3 items read for ")
    told = json.loads(run("check-index Visit.day-index --json").stdout)
    assert (told["left_out"]["wrong type"], told["is_complete"]) == (1, True)
    assert "has no index 'by_hour'; it has day-index" in run("check-index Visit.by_hour").stderr
    assert "write the model and the index, such as Order.by_status" in run("check-index day-index").stderr


def test_who_would_read_much_is_asked_before(made, run, monkeypatch, asked):
    monkeypatch.setattr(confirmation, "ASKED_READ_UNITS", 0.0)
    refused = run("check-index Visit.by_page", "n\n")
    assert (refused.exit_code, " fit" in refused.stdout) == (4, False)
    assert f"{made}visits has about 0 items; to read them takes about 0 read units. Go on?" in refused.stderr
    assert run("check-index Visit.by_page", "y\n").exit_code == 0
    monkeypatch.setattr(confirmation, "can_ask", lambda: False)
    alone = run("check-index Visit.by_page")
    assert alone.exit_code == 4
    assert "there is no terminal to ask at; add --yes, or --max-read-units" in alone.stderr
    assert run("check-index Visit.by_page --yes").exit_code == 0


def test_configuration_bounds_what_is_read(made, run, project, engine):
    file = project / "dynamap.toml"
    file.write_text(file.read_text("utf-8").replace("[env.local]", "[env.local]\nmax_read_units = 1"), "utf-8")
    keys = {"aws_access_key_id": "local", "aws_secret_access_key": "local", "region_name": "eu-west-1"}
    client = boto3.client("dynamodb", endpoint_url=engine.endpoint_url, **keys)
    for number in range(8):
        item = {"visit_id": {"S": f"v{number}"}, "page": {"S": "home"}, "text": {"S": "x" * 300_000}}
        client.put_item(TableName=f"{made}visits", Item=item)
    client.close()
    result = run("check-index Visit.by_page")
    assert "a part of the table: the units are spent" in result.stderr


def test_description_is_given_as_json_too(made, declare, run):
    declare(AFTER)
    told = json.loads(run("describe Visit --json").stdout)
    assert (told["name"], told["status"], told["key"]) == (f"{made}visits", "ACTIVE", "visit_id (S)")
    assert [index["name"] for index in told["indexes"]] == ["page-index"]
    assert [each["kind"] for each in told["differences"]] == ["create-index", "set-time-to-live"]
    assert json.loads(run(f"describe --table {made}pages --json").stdout)["name"] == f"{made}pages"


def test_table_that_is_not_there_is_described_as_such(prefix, run):
    assert run("describe Visit").stdout.startswith(f"{prefix}visits: not there\n")
    assert json.loads(run("describe Visit --json").stdout)["status"] is None
    missing = run("describe --table no-such-table")
    assert missing.exit_code == 1
    assert "no-such-table" in missing.stderr
    assert run("describe").exit_code == 2


def test_region_that_is_missing_is_asked_for_as_an_option(project, declare, run):
    declare(BEFORE)
    result = run("plan --models shop.py")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "no AWS region is set" in result.stderr
    assert "; on the command line: --region, --profile, --endpoint-url" in result.stderr


def test_endpoint_that_nobody_answers_at_is_told_in_one_line(prefix, run):
    result = run("plan --endpoint-url http://127.0.0.1:9")
    assert result.exit_code == 1
    assert "127.0.0.1:9" in result.stderr
    assert result.stderr.count("\n") == 1
