"""`dynamap schema` and `dynamap plan --against`: models and other tools, without a request."""

import json

import pytest

MODELS = """
from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Unique

class Visit(Model, table="visits"):
    visit_id: PartitionKey[str]
    page: Attr[str]

    by_page = GlobalIndex("page-index", partition_key="page")

class User(Model, table="users"):
    user_id: PartitionKey[str]
    email: Attr[str]

    unique_email = Unique("email")
"""


@pytest.fixture(autouse=True)
def models(project):
    (project / "dynamap.toml").write_text('models = ["shop.py"]\ntable_prefix = "dev-"\n', "utf-8")
    (project / "shop.py").write_text(MODELS, "utf-8")


@pytest.fixture
def described(project, run):
    """Return a file with what is said of the visits table as it is declared."""
    file = project / "visits.json"
    file.write_text(run("schema Visit --format describe-table").stdout, "utf-8")
    return file


def test_template_has_every_table_and_the_librarys_own(run):
    result = run("schema")
    assert result.exit_code == 0, result.output
    assert list(json.loads(result.stdout)["Resources"]) == ["DevVisits", "DevUsers", "DevDynamap"]


def test_tables_have_the_names_that_the_file_gives_them(project, run):
    (project / "dynamap.toml").write_text(
        'models = ["shop.py"]\ntable_prefix = "dev-"\n[table_names]\nusers = "legacy_users"\n', "utf-8"
    )
    assert list(json.loads(run("schema").stdout)["Resources"]) == ["DevVisits", "LegacyUsers", "DevDynamap"]


def test_terraform_has_the_tables_that_are_named(run):
    result = run("schema Visit --format terraform")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith('resource "aws_dynamodb_table" "dev-visits" {\n  name         = "dev-visits"\n')
    assert result.stdout.count("resource ") == 1


def test_answer_of_describe_table_is_of_one_table(run):
    result = run("schema --format describe-table")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "describe-table is for one table, and these are dev-visits, dev-users, dev-dynamap; name one model\n"
    )


def test_models_are_compared_with_a_saved_answer_offline(run, project, described):
    same = run(f"plan --check --against {described}")
    assert (same.exit_code, same.stdout.splitlines()[0]) == (0, "nothing to change"), same.output
    (project / "shop.py").write_text(MODELS.replace("page-index", "by-page"), "utf-8")
    differs = run(f"plan --check --against {described}")
    assert differs.exit_code == 3
    assert "+ create-index       by-page: none -> page (S), ALL" in differs.stdout


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "cannot be read: No such file or directory"),
        ("[", "is not the output of describe-table"),
        ("[]", "is not the output of describe-table"),
        ('{"Table": {}}', "is not the output of describe-table"),
    ],
)
def test_file_that_is_no_answer_is_refused(run, project, content, problem):
    if content is not None:
        (project / "visits.json").write_text(content, "utf-8")
    result = run("plan --against visits.json")
    assert (result.exit_code, result.stderr) == (2, f"visits.json {problem}\n")


def test_answer_of_another_table_is_refused(run, described):
    result = run(f"plan User --against {described}")
    assert result.exit_code == 2
    assert "describes dev-visits; the models declare dev-users, dev-dynamap" in result.stderr
