"""`dynamap capacity`: what it answers, what it prints, and what it says to a question that makes no sense."""

import json

import pytest
from typer.testing import CliRunner

from dynamap_async.cli.app import app
from dynamap_async.cli.capacity.sizes import measure, parse_size

PLAIN = {"pk": "user#1", "n": 42, "ok": True}
WIRE = {"pk": {"S": "user#1"}, "n": {"N": "42"}, "ok": {"BOOL": True}}


@pytest.fixture
def ask():
    """Return a function (arguments) -> the result of the command; what it prints fits 80 characters."""
    runner = CliRunner(env={"COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"})
    return lambda *arguments, stdin=None: runner.invoke(app, ["capacity", *arguments], input=stdin)


@pytest.fixture
def answer(ask):
    """Return a function (arguments) -> the answer in JSON."""

    def answered(*arguments, stdin=None):
        result = ask(*arguments, "--json", stdin=stdin)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)

    return answered


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("800", 800),
        ("800B", 800),
        ("1,024", 1024),
        ("3.5KB", 3584),
        ("3.5 kb", 3584),
        (".5K", 512),
        ("4KiB", 4096),
        ("0.25MB", 262_144),
        ("400KB", 409_600),
        ("1.0001KB", 1025),
    ],
)
def test_size_is_read_as_people_write_it(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "x", "3,5KB", "1.2.3", "-1", "3.5GB", "1e3", "KB", "iB"])
def test_what_is_no_size_is_refused_with_an_example(text):
    with pytest.raises(ValueError, match="write it in bytes or KB, as in 800, 800B or 3.5KB"):
        parse_size(text)


@pytest.mark.parametrize("text", ["0", "401KB", "1MB"])
def test_size_that_no_item_has_is_refused(text):
    with pytest.raises(ValueError, match="an item has 1 to 409,600"):
        parse_size(text)


@pytest.mark.parametrize(
    ("item", "size", "how"),
    [
        (PLAIN, 14, "plain JSON"),
        (WIRE, 14, "DynamoDB's JSON"),
        ({"Item": WIRE, "ConsumedCapacity": {"TableName": "t"}}, 14, "DynamoDB's JSON"),
        ({"a": {"S": "x"}, "b": 1}, 10, "plain JSON"),
        ({"pk": "é", "price": -19.99}, 13, "plain JSON"),
        ({"pk": "a", "n": None, "l": ["ab", 7], "m": {}}, 3 + 2 + 10 + 4, "plain JSON"),
        ({"pk": {"S": "k"}, "n": {"N": "0100.50"}, "b": {"B": "AAEC"}}, 3 + 5 + 4, "DynamoDB's JSON"),
        ({"Item": {"S": "x"}}, 5, "DynamoDB's JSON"),
    ],
)
def test_item_is_measured_in_plain_and_in_dynamodbs_json(item, size, how):
    assert measure(json.dumps(item).encode()) == (size, how)


def test_number_keeps_all_digits_that_it_was_written_with():
    assert measure(b'{"n": 0.12345678901234567890123456789}') == (1 + 1 + 15, "plain JSON")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "this is not JSON"),
        (b"\xff", "this is not JSON"),
        (b"[" * 100_000, "this is not JSON"),
        (b"[1]", "this is not an item"),
        (b"{}", "this is not an item"),
        (b'{"n": NaN}', "NaN"),
        (b'{"n": {"N": "x"}}', "number"),
        (b'{"b": {"B": "?"}}', "malformed"),
        (b'{"l": ' + b'{"L": [' * 400 + b"]}" * 400 + b"}", r"nested (too|more than 32 levels) deep"),
        (b'{"s": {"SS": []}}', "SS value .* DynamoDB stores no empty set; leave the attribute out"),
        (
            b'{"s": {"SS": ["a", "b", "a"]}}',
            r"SS value \['a', 'b', 'a'\] is malformed: a set contains each member once",
        ),
        (b'{"s": {"NS": ["1", "1.0"]}}', "NS value .* a set contains each member once"),
        (b'{"s": {"BS": ["AA==", "AA=="]}}', "BS value .* a set contains each member once"),
        (b'{"s": {"SS": "abc"}}', "SS value 'abc' is malformed: expected an array"),
        (b'{"s": {"SS": ["a", 1]}}', "SS value .* is malformed: expected strings, got 1"),
        (b'{"s": {"NS": [1]}}', "NS value .* is malformed: expected strings, got 1"),
        (b'{"n": {"N": 1}}', "N value 1 is malformed: expected text"),
        (b'{"m": {"M": [1]}}', r"M value \[1\] is malformed: expected an object"),
        (b'{"l": {"L": "abc"}}', "L value 'abc' is malformed: expected an array"),
        (b'{"l": {"L": ["a"]}}', "expected an attribute value with exactly one known type, got 'a'"),
        (b'{"m": {"M": {"l": {"L": [{"S": "a"}, {"SS": []}]}}}}', "SS value .* DynamoDB stores no empty set"),
        (b'{"a": "' + b"x" * 409_600 + b'"}', "at most 409,600"),
    ],
)
def test_what_is_no_item_is_refused_with_the_reason(content, problem):
    with pytest.raises(ValueError, match=problem):
        measure(content)


@pytest.mark.parametrize(
    ("arguments", "read", "write"),
    [
        (["3.5KB"], 0.5, 4),
        (["3.5KB", "--eventual"], 0.5, 4),
        (["3.5KB", "--consistent"], 1, 4),
        (["3.5KB", "--transactional"], 2, 8),
        (["21KB", "--consistent"], 6, 21),
        (["1KB", "--old-size", "5KB"], 0.5, 5),
        (["3KB", "--index", "200B", "--index", "2KB"], 0.5, 6),
        (["3KB", "--index", "200B", "--index", "2KB", "--transactional"], 2, 9),
        (["1KB", "--items", "100"], 12.5, 1),
        (["1KB", "--items", "1025", "--consistent"], 257, 1),
        (["1KB", "--items", "100", "--transactional"], 200, 2),
    ],
)
def test_units_follow_from_size_and_consistency(answer, arguments, read, write):
    found = answer("--item-size", *arguments)
    assert (found["read"]["units"], found["write"]["units"]) == (read, write)


def test_item_comes_from_a_file_or_from_standard_input(answer, tmp_path):
    file = tmp_path / "item.json"
    file.write_text(json.dumps(WIRE), "utf-8")
    assert answer("--item", str(file))["item_size_bytes"] == 14
    assert answer("--item", "-", stdin=json.dumps(PLAIN))["item_size_bytes"] == 14


def test_answer_says_everything_that_was_asked(answer):
    question = ["--item-size", "3.5KB", "--index", "200B", "--items", "300"]
    rates = ["--reads-per-second", "0.1", "--writes-per-second", "30"]
    prices = ["--on-demand", "0.125", "0.625", "--provisioned", "0.00013", "0.00065"]
    assert answer(*question, *rates, *prices) == {
        "item_size_bytes": 3584,
        "read": {"consistency": "eventual", "items": 300, "requests": 2, "units": 131.5},
        "write": {"transactional": False, "units": 5, "table_units": 4, "index_units": [1]},
        "per_second": {"read_units": 13.15, "write_units": 150},
        "to_provision": [
            {"name": "table", "read_units": 14, "write_units": 120},
            {"name": "index 1", "read_units": 1, "write_units": 30},
        ],
        "month": {
            "hours": 730,
            "on_demand": {"reads": 4.319775, "writes": 246.375, "total": 250.694775},
            "provisioned": {"reads": 1.4235, "writes": 71.175, "total": 72.5985},
        },
    }


def test_what_was_not_asked_is_absent(answer):
    assert list(answer("--item-size", "1KB")) == ["item_size_bytes", "read", "write"]
    assert "month" not in answer("--item-size", "1KB", "--reads-per-second", "1")


def test_rate_is_exact_so_that_no_unit_too_many_is_provisioned(answer):
    # 0.1 x 30 is more than 3 in binary floating point.
    found = answer("--item-size", "30KB", "--writes-per-second", "0.1")
    assert found["to_provision"] == [{"name": "table", "read_units": 1, "write_units": 3}]


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["screen", "json"])
def test_the_largest_question_has_an_answer(ask, form):
    most = ["1e15", "1e15"]
    rates = ["--items", "1" + "0" * 15, "--reads-per-second", most[0], "--writes-per-second", most[0]]
    assert ask("--item-size", "400KB", *rates, "--on-demand", *most, "--provisioned", *most, *form).exit_code == 0


def test_screen_shows_units_rates_and_money(ask):
    result = ask(
        "--item-size", "3.5KB", "--index", "200B", "--reads-per-second", "100", "--on-demand", "0.125", "0.625"
    )
    assert [line.rstrip() for line in result.stdout.splitlines()] == [
        "An item of 3,584 bytes",
        "",
        "                                units   per second",
        "  Read, eventually consistent     0.5           50",
        "  Write                             5            0",
        "    of which the table              4            0",
        "    index 1, 200 bytes              1            0",
        "",
        "To provision, in units per second",
        "            read   write",
        "  table       50       1",
        "  index 1      1       1",
        "",
        "On demand, a month of 730 hours",
        "  reads      16.43",
        "  writes      0.00",
        "  together   16.43",
    ]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["--items", "2000"], "Query over 2,000 items, eventually consistent, 6 requests"),
        (["--items", "1", "--consistent"], "Query over 1 item, strongly consistent, 1 request"),
        (["--items", "5", "--transactional"], "Read of 5 items, transactional"),
        (["--transactional"], "Write, transactional"),
    ],
)
def test_screen_says_what_kind_of_read_and_write_it_is(ask, arguments, shown):
    assert shown in ask("--item-size", "3KB", *arguments).stdout


def test_screen_says_how_an_item_was_read(ask):
    shown = ask("--item", "-", stdin=json.dumps(WIRE)).stdout
    assert shown.startswith("An item of 14 bytes, read as DynamoDB's JSON\n")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([], "--item-size: give the size of an item: --item-size 3.5KB, or --item FILE"),
        (["--item-size", "1KB", "--item", "-"], "drop one of the two"),
        (["--item-size", "huge"], "write it in bytes or KB"),
        (["--item", "-"], "this is not JSON"),
        (["--item", "no-such-file.json"], "No such file"),
        (["--item-size", "1KB", "--consistent", "--transactional"], "drop --consistent"),
        (["--item-size", "1KB", "--items", "101", "--transactional"], "a transaction reads at most 100 items"),
        (["--item-size", "1KB", "--items", "0"], "--items"),
        (["--item-size", "1KB", "--index", "2KB"], "an index holds at most the whole item, 1,024 bytes"),
        (["--item-size", "1KB", "--reads-per-second", "-1"], "--reads-per-second"),
        (["--item-size", "1KB", "--writes-per-second", "inf"], "give a number, 0 or more"),
        (
            ["--item-size", "1KB", "--reads-per-second", "1e308", "--items", "50"],
            "1e+308 is too high; give a rate of at most",
        ),
        (["--item-size", "1KB", "--items", "9" * 400], "1e+15 items is the largest"),
        (
            ["--item-size", "1KB", "--reads-per-second", "1", "--provisioned", "1", "1e308"],
            "1e+308 is too high; give a price of at most 1e+15",
        ),
        (["--item-size", "1KB", "--on-demand", "1", "2"], "a month needs a rate: add --reads-per-second"),
        (["--item-size", "1KB", "--provisioned", "1", "2"], "a month needs a rate"),
        (["--item-size", "1KB", "--reads-per-second", "1", "--on-demand", "-1", "2"], "a price is a number, 0 or more"),
    ],
)
def test_question_that_makes_no_sense_is_refused_with_a_remedy(ask, arguments, problem):
    result = ask(*arguments, stdin="")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert problem in " ".join(result.stderr.replace("│", " ").split())
