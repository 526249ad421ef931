"""Items come out of JSON as their models say, and what is wrong with it is named."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from pydantic import ValidationError

from dynamap_async import Attr, Model, PartitionKey, attr
from dynamap_async.errors import ConfigurationError
from dynamap_async.testing import read_items, seed


class Account(Model, table="accounts"):
    owner: PartitionKey[str]
    balance: Attr[Decimal] = attr(default=Decimal(0))


class Visit(Model, table="visits"):
    visitor: PartitionKey[str]
    at: Attr[datetime]


TEXT = """{
    "Visit": [{"visitor": "ada", "at": "2026-01-01T00:00:00Z"}],
    "Account": [{"owner": "ada", "balance": 0.1}, {"owner": "bob"}]
}"""


def test_json_names_models_and_holds_their_items():
    assert read_items(TEXT, Account, Visit) == [
        Account(owner="ada", balance=Decimal("0.1")),
        Account(owner="bob"),
        Visit(visitor="ada", at=datetime(2026, 1, 1, tzinfo=UTC)),
    ]


def test_json_is_read_from_a_file(tmp_path):
    file = tmp_path / "seed.json"
    file.write_text('{"Account": [{"owner": "ada"}]}', "utf-8")
    assert read_items(file, Account) == [Account(owner="ada")]


def test_lines_of_json_hold_an_item_each_in_their_order(tmp_path):
    file = tmp_path / "seed.jsonl"
    lines = [
        '{"Account": {"owner": "ada\u2028lovelace", "balance": 0.1}}',
        '{"Visit": {"visitor": "ada", "at": "2026-01-01T00:00:00Z"}}',
        "",
        '{"Account": {"owner": "bob"}}',
    ]
    file.write_text("\n".join(lines) + "\n", "utf-8")
    assert read_items(file, Account, Visit) == [
        Account(owner="ada\u2028lovelace", balance=Decimal("0.1")),
        Visit(visitor="ada", at=datetime(2026, 1, 1, tzinfo=UTC)),
        Account(owner="bob"),
    ]


@pytest.mark.parametrize("line", ['{"Acount": {}}', '{"Account": {"balance": 1}}', "{", '["Account"]'])
def test_line_of_json_that_is_wrong_is_named_by_its_number(tmp_path, line):
    file = tmp_path / "seed.jsonl"
    file.write_text('{"Account": {"owner": "ada"}}\n\n' + line, "utf-8")
    with pytest.raises(ConfigurationError, match="seed.jsonl, line 3: "):
        read_items(file, Account)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"Acount": []}', "Acount: there is no such model; known models: Account"),
        (
            '{"Account": [{"owner": "ada"}, {"balance": 1}]}',
            "Account, item 2, owner: Field required in {'balance': 1}",
        ),
        ('{"Account": [{"owner": 7}]}', "Account, item 1, owner: Input should be a valid string instead of 7"),
        ('["Account"]', "Input should be an object instead of ['Account']"),
        ("{", "Invalid JSON: EOF while parsing an object at line 1 column 1"),
    ],
)
def test_json_that_is_wrong_names_the_file_and_the_place(tmp_path, text, problem):
    (tmp_path / "seed.json").write_text(text, "utf-8")
    for source, place in ((tmp_path / "seed.json", "seed.json"), (text, "the JSON")):
        with pytest.raises(ConfigurationError) as caught:
            read_items(source, Account)
        assert str(caught.value) == f"{place}: {problem}"
        assert isinstance(caught.value.__cause__, ValidationError)


def test_each_fault_of_a_file_has_a_line():
    with pytest.raises(ConfigurationError) as caught:
        read_items('{"Account": [{}, {"owner": 1}]}', Account)
    assert str(caught.value).splitlines() == [
        "the JSON:",
        "  Account, item 1, owner: Field required in {}",
        "  Account, item 2, owner: Input should be a valid string instead of 1",
    ]


def test_models_of_one_name_are_refused():
    with pytest.raises(ConfigurationError, match="Account, Account"):
        read_items("{}", Account, Account)


@pytest.mark.asyncio
@pytest.mark.dynamap(models=[Account])
async def test_instances_and_factories_are_written_and_returned_in_order(dynamap_session):
    ada, bob, eve = (Account(owner=name) for name in ("ada", "bob", "eve"))
    assert await seed(dynamap_session, ada, [bob], lambda: eve) == [ada, bob, eve]
    assert await dynamap_session.get_many(Account, ["ada", "bob", "eve"]) == [ada, bob, eve]


@pytest.mark.asyncio
@pytest.mark.parametrize("wrong", [Account, {"owner": "ada"}, 7, [7], lambda: None])
async def test_what_is_no_item_is_not_seeded(dynamap_session, wrong):
    with pytest.raises(ConfigurationError, match="cannot be seeded"):
        await seed(dynamap_session, wrong)
