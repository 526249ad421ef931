"""Every operator: the text, the names and the values that it becomes."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from dynamap_async import path
from dynamap_async.errors import EncodeError, ExpressionError, OutOfRangeError
from dynamap_async.expressions import Placeholders, is_impossible, render_condition

S, N = (lambda text: {"S": text}), (lambda text: {"N": text})
NULL = {"NULL": True}
HALF = "a\ud800"
"""It ends with half of a surrogate pair, which JSON may spell, and UTF-8 cannot."""
NOON = datetime(2024, 6, 1, 12, 0, tzinfo=UTC)


def nested(levels):
    return [nested(levels - 1)] if levels else "end"


def case(make, text, *values):
    return pytest.param(make, text, list(values), id=text)


COMPARISONS = [
    case(lambda t: t.name == "x", "<name> = :v0", S("x")),
    case(lambda t: t.name != "x", "<name> <> :v0", S("x")),
    case(lambda t: t.rank < 5, "<rank> < :v0", N("5")),
    case(lambda t: t.rank <= 5, "<rank> <= :v0", N("5")),
    case(lambda t: t.rank > 5, "<rank> > :v0", N("5")),
    case(lambda t: t.rank >= 5, "<rank> >= :v0", N("5")),
    case(lambda t: t.rank > 5, "<rank> > :v0", N("5")),
    case(lambda t: t.rank <= 5, "<rank> <= :v0", N("5")),
    case(lambda t: t.name == t.other, "<name> = <other>"),
    case(lambda t: t.name < t.other, "<name> < <other>"),
    case(lambda t: t.name != t.other, "<name> <> <other>"),
    case(lambda t: t.price > t.ratio, "<price> > <ratio>"),
    case(lambda t: t.price == Decimal("1.50"), "<price> = :v0", N("1.5")),
    case(lambda t: t.price < 3, "<price> < :v0", N("3")),
    case(lambda t: t.ratio >= 0.5, "<ratio> >= :v0", N("0.5")),
    case(lambda t: t.blob == b"\x00\xff", "<blob> = :v0", {"B": "AP8="}),
    case(
        lambda t: t.at >= NOON.astimezone(timezone(timedelta(hours=2))), "<at> >= :v0", S("2024-06-01T12:00:00.000000Z")
    ),
    case(lambda t: t.tags == {"b", "a"}, "<tags> = :v0", {"SS": ["a", "b"]}),
    case(lambda t: t.numbers == {2, 1}, "<numbers> = :v0", {"NS": ["1", "2"]}),
    case(lambda t: t.history == ["a"], "<history> = :v0", {"L": [S("a")]}),
    case(lambda t: t.options == {"a": 1}, "<options> = :v0", {"M": {"a": N("1")}}),
    case(lambda t: t.document == {"a": 1}, "<document> = :v0", S('{"a":1}')),
    case(lambda t: t.rank.between(1, 9), "<rank> BETWEEN :v0 AND :v1", N("1"), N("9")),
    case(lambda t: t.rank.between(3, 3), "<rank> BETWEEN :v0 AND :v0", N("3")),
    case(lambda t: t.name.is_in("a", "b", "a"), "<name> IN (:v0, :v1, :v0)", S("a"), S("b")),
    case(lambda t: t.name.is_("x"), "<name> = :v0", S("x")),
]
FALSY = [
    case(lambda t: t.active == False, "<active> = :v0", {"BOOL": False}),  # noqa: E712 - what a program may write
    case(lambda t: t.active.is_(False), "<active> = :v0", {"BOOL": False}),
    case(lambda t: t.rank == 0, "<rank> = :v0", N("0")),
    case(lambda t: t.name == "", "<name> = :v0", S("")),
    case(lambda t: t.blob == b"", "<blob> = :v0", {"B": ""}),
    case(lambda t: t.history == [], "<history> = :v0", {"L": []}),
    case(lambda t: t.options == {}, "<options> = :v0", {"M": {}}),
    case(lambda t: t.rank.between(0, 0), "<rank> BETWEEN :v0 AND :v0", N("0")),
    case(lambda t: t.rank.is_in(0, 1), "<rank> IN (:v0, :v1)", N("0"), N("1")),
    case(lambda t: t.name.begins_with(""), "begins_with(<name>, :v0)", S("")),
]
ABSENT = [
    case(lambda t: t.note == None, "attribute_not_exists(<note>) OR <note> = :v0", NULL),  # noqa: E711 - what a program may write
    case(lambda t: t.note.is_(None), "attribute_not_exists(<note>) OR <note> = :v0", NULL),
    case(lambda t: t.note != None, "NOT (attribute_not_exists(<note>) OR <note> = :v0)", NULL),  # noqa: E711 - what a program may write
    case(lambda t: t.note_or_dash.is_(None), "<note_or_dash> = :v0", NULL),
    case(lambda t: t.tags == set(), "attribute_not_exists(<tags>) OR <tags> = :v0", NULL),
    case(lambda t: t.tags == frozenset(), "attribute_not_exists(<tags>) OR <tags> = :v0", NULL),
    case(lambda t: t.tags_or_none.is_(None), "attribute_not_exists(<tags_or_none>)"),
    case(lambda t: t.tags_or_none == set(), "<tags_or_none> = :v0", NULL),
    case(lambda t: t.tags_or_default.is_(None), "<tags_or_default> = :v0", NULL),
    case(lambda t: t.tags_or_default == set(), "<tags_or_default> = :v0", {"L": []}),
    case(
        lambda t: t.note.is_in("a", None),
        "<note> IN (:v0) OR attribute_not_exists(<note>) OR <note> = :v1",
        S("a"),
        NULL,
    ),
    case(lambda t: t.note.is_in(None), "attribute_not_exists(<note>) OR <note> = :v0", NULL),
    case(
        lambda t: t.address.street.number.is_(None),
        "attribute_not_exists(<address>.<street>.<number>) OR <address>.<street>.<number> = :v0",
        NULL,
    ),
    case(
        lambda t: t.address.labels == set(),
        "attribute_not_exists(<address>.<labels>) OR <address>.<labels> = :v0",
        {"L": []},
    ),
    case(lambda t: t.address == None, "attribute_not_exists(<address>) OR <address> = :v0", NULL),  # noqa: E711 - what a program may write
    case(lambda t: path(t.address).is_(None), "attribute_not_exists(<address>) OR <address> = :v0", NULL),
]
FUNCTIONS = [
    case(lambda t: t.name.begins_with("x"), "begins_with(<name>, :v0)", S("x")),
    case(lambda t: t.blob.begins_with(b"x"), "begins_with(<blob>, :v0)", {"B": "eA=="}),
    case(lambda t: t.at.begins_with("2024-06"), "begins_with(<at>, :v0)", S("2024-06")),
    case(lambda t: t.name.contains("x"), "contains(<name>, :v0)", S("x")),
    case(lambda t: t.blob.contains(b"x"), "contains(<blob>, :v0)", {"B": "eA=="}),
    case(lambda t: t.tags.contains("x"), "contains(<tags>, :v0)", S("x")),
    case(lambda t: t.numbers.contains(0), "contains(<numbers>, :v0)", N("0")),
    case(lambda t: t.history.contains("x"), "contains(<history>, :v0)", S("x")),
    case(lambda t: t.matrix.contains([1]), "contains(<matrix>, :v0)", {"L": [N("1")]}),
    case(lambda t: t.anything.contains(b"x"), "contains(<anything>, :v0)", {"B": "eA=="}),
    case(lambda t: t.note.exists(), "attribute_exists(<note>)"),
    case(lambda t: t.note.missing(), "attribute_not_exists(<note>)"),
    case(lambda t: path(t.address).exists(), "attribute_exists(<address>)"),
    case(lambda t: t.note.has_type("NULL"), "attribute_type(<note>, :v0)", S("NULL")),
    case(lambda t: t.name.size() > 3, "size(<name>) > :v0", N("3")),
    case(lambda t: t.tags.size() == 0, "size(<tags>) = :v0", N("0")),
    case(lambda t: t.name.size().between(1, 5), "size(<name>) BETWEEN :v0 AND :v1", N("1"), N("5")),
    case(lambda t: t.name.size().is_in(1, 2), "size(<name>) IN (:v0, :v1)", N("1"), N("2")),
    case(lambda t: t.name.size() < t.other.size(), "size(<name>) < size(<other>)"),
    case(lambda t: t.name.size() != t.rank, "size(<name>) <> <rank>"),
    case(lambda t: t.rank == t.name.size(), "<rank> = size(<name>)"),
]
PATHS = [
    case(lambda t: t.address.street.name == "x", "<address>.<street>.<name> = :v0", S("x")),
    case(lambda t: t.address["street"]["name"] == "x", "<address>.<street>.<name> = :v0", S("x")),
    case(lambda t: t.address.city == "x", "<address>.<c.t y#> = :v0", S("x")),
    case(lambda t: t.addresses[2].city == "x", "<addresses>[2].<c.t y#> = :v0", S("x")),
    case(lambda t: t.history[0] == "x", "<history>[0] = :v0", S("x")),
    case(lambda t: t.matrix[1][2] > 3, "<matrix>[1][2] > :v0", N("3")),
    case(lambda t: t.options["a.b c#"] == 1, "<options>.<a.b c#> = :v0", N("1")),
    case(lambda t: t.options["status"] == 1, "<options>.<status> = :v0", N("1")),
    case(lambda t: t.anything["a"][0]["b"] == 1, "<anything>.<a>[0].<b> = :v0", N("1")),
    case(lambda t: t.pet["kind"] == "dog", "<pet>.<kind> = :v0", S("dog")),
    case(lambda t: t.pets[1]["kind"].is_in("cat", "dog"), "<pets>[1].<kind> IN (:v0, :v1)", S("cat"), S("dog")),
    case(lambda t: t.reserved == "x", "<status> = :v0", S("x")),
    case(lambda t: path(t.address.street).size() > 0, "size(<address>.<street>) > :v0", N("0")),
]
A, B, C = (lambda t: t.rank == 1), (lambda t: t.name == "b"), (lambda t: t.other == "c")
a, b, c = "<rank> = :v0", "<name> = :v1", "<other> = :v2"
VALUES = [N("1"), S("b"), S("c")]
COMBINATIONS = [
    case(lambda t: A(t) & B(t), f"{a} AND {b}", *VALUES[:2]),
    case(lambda t: A(t) | B(t), f"{a} OR {b}", *VALUES[:2]),
    case(lambda t: ~A(t), f"NOT {a}", *VALUES[:1]),
    case(lambda t: ~~A(t), a, *VALUES[:1]),
    case(lambda t: ~t.note.exists(), "NOT attribute_exists(<note>)"),
    case(lambda t: A(t) & B(t) & C(t), f"{a} AND {b} AND {c}", *VALUES),
    case(lambda t: A(t) & (B(t) & C(t)), f"{a} AND {b} AND {c}", *VALUES),
    case(lambda t: A(t) | B(t) | C(t), f"{a} OR {b} OR {c}", *VALUES),
    case(lambda t: A(t) & B(t) | C(t), f"{a} AND {b} OR {c}", *VALUES),
    case(lambda t: A(t) | B(t) & C(t), f"{a} OR {b} AND {c}", *VALUES),
    case(lambda t: (A(t) | B(t)) & C(t), f"({a} OR {b}) AND {c}", *VALUES),
    case(lambda t: A(t) & (B(t) | C(t)), f"{a} AND ({b} OR {c})", *VALUES),
    case(lambda t: ~(A(t) & B(t)), f"NOT ({a} AND {b})", *VALUES[:2]),
    case(lambda t: ~(A(t) | B(t)) & C(t), f"NOT ({a} OR {b}) AND {c}", *VALUES),
    case(lambda t: ~A(t) | B(t), f"NOT {a} OR {b}", *VALUES[:2]),
    case(lambda t: ~(~A(t) & B(t)), f"NOT (NOT {a} AND {b})", *VALUES[:2]),
]


@pytest.mark.parametrize(("make", "text", "values"), [*COMPARISONS, *FALSY, *ABSENT, *FUNCTIONS, *PATHS, *COMBINATIONS])
def test_a_condition_becomes_text_and_values(thing, sent, make, text, values):
    assert sent(make(thing)) == (text, values)


def test_each_name_and_each_value_is_sent_once(thing):
    placeholders = Placeholders()
    condition = (
        (thing.name == "x") & (thing.name != thing.other) & (thing.other == "x") & (thing.address.street.name == "x")
    )
    text = render_condition(condition, placeholders)
    assert text == "#n0 = :v0 AND #n0 <> #n1 AND #n1 = :v0 AND #n2.#n3.#n0 = :v0"
    assert placeholders.to_wire() == {
        "ExpressionAttributeNames": {"#n0": "name", "#n1": "other", "#n2": "address", "#n3": "street"},
        "ExpressionAttributeValues": {":v0": {"S": "x"}},
    }


def test_expressions_of_one_request_share_names_and_values(thing):
    placeholders = Placeholders()
    assert render_condition(thing.name == "x", placeholders) == "#n0 = :v0"
    assert render_condition(thing.other != "x", placeholders) == "#n1 <> :v0"
    assert render_condition(thing.name == "y", placeholders) == "#n0 = :v1"


def test_equal_text_and_numbers_and_binary_values_are_different_values(thing):
    placeholders = Placeholders()
    render_condition((thing.anything == "1") & (thing.rank == 1) & (thing.blob == b"1"), placeholders)
    assert len(placeholders.to_wire()["ExpressionAttributeValues"]) == 3


def test_a_condition_without_values_sends_no_values(thing):
    placeholders = Placeholders()
    render_condition(thing.name.exists(), placeholders)
    assert list(placeholders.to_wire()) == ["ExpressionAttributeNames"]


def test_a_condition_can_be_kept_and_used_again(thing, sent):
    condition = thing.rank > 1
    combined = [condition & (thing.name == "b"), condition | (thing.name == "c"), ~condition]
    assert [sent(each)[0] for each in combined] == [
        "<rank> > :v0 AND <name> = :v1",
        "<rank> > :v0 OR <name> = :v1",
        "NOT <rank> > :v0",
    ]
    assert sent(condition) == sent(condition) == ("<rank> > :v0", [N("1")])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda t: t.name == "x", "Thing.name == 'x'"),
        (lambda t: (t.rank >= 1) & ~(t.note.exists()), "(Thing.rank >= 1) & (~(Thing.note.exists()))"),
        (lambda t: (t.rank == 1) | t.name.is_in("a", "b"), "(Thing.rank == 1) | (Thing.name.is_in('a', 'b'))"),
        (lambda t: t.address.street.number.between(1, 2), "Thing.address.street.number.between(1, 2)"),
        (lambda t: t.history[0].begins_with("a"), "Thing.history[0].begins_with('a')"),
        (lambda t: t.options["a b"] != 1, "Thing.options['a b'] != 1"),
        (lambda t: t.name.size() > 3, "Thing.name.size() > 3"),
        (lambda t: t.active.is_(True), "Thing.active == True"),
    ],
)
def test_a_condition_prints_as_the_program_wrote_it(thing, make, text):
    assert str(make(thing)) == text


def test_a_long_value_is_printed_shortened(thing):
    assert len(str(thing.name == "x" * 1000)) < 100


REFUSED = [
    (lambda t: (t.rank == 1) and (t.name == "x"), ExpressionError, "Combine conditions with &, | and ~"),
    (lambda t: (t.rank == 1) or (t.name == "x"), ExpressionError, "Thing.rank == 1"),
    (lambda t: not (t.rank == 1), ExpressionError, "Thing.rank == 1"),  # noqa: SIM201 - what a program may write
    (lambda t: 1 <= t.rank <= 5, ExpressionError, r"x.between\(low, high\)"),
    (lambda t: t.rank == 1 == 2, ExpressionError, "Thing.rank == 1"),  # noqa: PLR0133 - what a program may write
    (lambda t: not t.active, ExpressionError, "Thing.active is a field, not a condition"),
    (lambda t: not t.address, ExpressionError, "Thing.address is a field, not a condition"),
    (lambda t: "x" in t.tags, ExpressionError, r"write Thing.tags.contains\('x'\)"),
    (lambda t: list(t.tags), ExpressionError, "Thing.tags cannot be iterated over"),
    (lambda t: list(t.address), ExpressionError, "Thing.address cannot be iterated over"),
    (lambda t: "x" in t.address, ExpressionError, "Thing.address cannot be iterated over"),
    (lambda t: t.note < None, ExpressionError, "Thing.note cannot be ordered against None"),
    (lambda t: t.note.between("a", None), ExpressionError, "Thing.note cannot be ordered against None"),
    (lambda t: t.tags < {"a"}, ExpressionError, "Thing.tags is stored as SS, which has no order"),
    (lambda t: t.active > False, ExpressionError, "Thing.active is stored as BOOL, which has no order"),
    (lambda t: t.history >= ["a"], ExpressionError, "Thing.history is stored as L, which has no order"),
    (lambda t: t.options <= {"a": 1}, ExpressionError, "Thing.options is stored as M, which has no order"),
    (lambda t: t.anything.between(1, "a"), ExpressionError, "stored as N and S"),
    (lambda t: t.rank == "x", EncodeError, "Thing.rank: int expected, got str 'x'"),
    (lambda t: t.name == 5, EncodeError, "Thing.name: str expected, got int 5"),
    (lambda t: t.rank == True, EncodeError, "Thing.rank: int expected"),  # noqa: E712 - what a program may write
    (lambda t: t.name == None, EncodeError, "Thing.name: str expected, got None"),  # noqa: E711 - what a program may write
    (lambda t: t.rank.is_in(1, "x"), EncodeError, "Thing.rank"),
    (lambda t: t.rank.between(1, "x"), EncodeError, "Thing.rank"),
    (lambda t: t.name == set(), EncodeError, "Thing.name"),
    (lambda t: t.tags == {1}, EncodeError, "Thing.tags"),
    (lambda t: t.history[0].is_(None), EncodeError, r"Thing.history\[0\]"),
    (lambda t: t.address.city == 5, EncodeError, "Thing.address.city: str expected"),
    (lambda t: t.rank.begins_with("1"), ExpressionError, "Thing.rank holds int"),
    (lambda t: t.name.begins_with(1), ExpressionError, "Thing.name.begins_with"),
    (lambda t: t.name.begins_with(b"x"), ExpressionError, "Thing.name.begins_with"),
    (lambda t: t.blob.begins_with("x"), ExpressionError, "Thing.blob.begins_with"),
    (
        lambda t: t.tags.begins_with("x"),
        ExpressionError,
        "begins_with.. needs a field .* and Thing.tags holds set.str.",
    ),
    (lambda t: t.rank.contains(1), ExpressionError, "Thing.rank holds int, which has no parts"),
    (lambda t: t.name.contains(1), ExpressionError, "Thing.name.contains"),
    (
        lambda t: t.pair.contains(1),
        ExpressionError,
        r"positions have types of their own.* Thing.pair\[0\] == 1",
    ),
    (lambda t: t.tags.contains(1), EncodeError, r"Thing.tags.contains\(\): str expected, got int 1"),
    (lambda t: t.history.contains(None), EncodeError, "Thing.history.contains"),
    (lambda t: t.name.is_in(["a", "b"]), ExpressionError, r"one by one; write Thing.name.is_in\(\*values\)"),
    (lambda t: t.name.is_in({"a", "b"}), ExpressionError, r"one by one; write Thing.name.is_in\(\*values\)"),
    (lambda t: t.name.is_in(each for each in "ab"), ExpressionError, r"one by one; write Thing.name.is_in"),
    (lambda t: t.rank.is_in("ab"), EncodeError, "Thing.rank: int expected"),
    (lambda t: t.rank.size(), ExpressionError, r"Thing.rank.size\(\): Thing.rank holds int, .* and has no size"),
    (lambda t: t.active.size(), ExpressionError, "Thing.active holds bool, which is stored as BOOL and has no size"),
    (lambda t: t.price.size(), ExpressionError, "Thing.price holds Decimal, which is stored as N and has no size"),
    (lambda t: t.options["a"].size(), ExpressionError, "which is stored as N and has no size"),
    (lambda t: t.name.has_type("str"), ExpressionError, "Thing.name.has_type.*S N B BOOL"),
    (lambda t: t.name.size() == "x", ExpressionError, r"Thing.name.size\(\) is a whole number"),
    (lambda t: t.name.size() > 1.5, ExpressionError, "whole number"),
    (lambda t: t.name.size() == True, ExpressionError, "whole number"),  # noqa: E712 - what a program may write
    (lambda t: t.name.size() > None, ExpressionError, "None"),
    (lambda t: t.name.size().begins_with("x"), ExpressionError, "begins_with needs the field itself"),
    (lambda t: t.name.size().size(), ExpressionError, "size needs the field itself"),
    (lambda t: t.name == t.name, ExpressionError, "compared with itself"),
    (lambda t: t.name.size() < t.name.size(), ExpressionError, "compared with itself"),
    (lambda t: t.name == t.rank, ExpressionError, "Thing.name holds str and Thing.rank int"),
    (lambda t: t.name < t.name.size(), ExpressionError, "different stored types"),
    (lambda t: t.history["x"], ExpressionError, "Thing.history holds list.*has no 'x'"),
    (lambda t: t.history[-1], OutOfRangeError, r"Thing.history\[-1\]: a position in a list is a number from 0 to"),
    (lambda t: t.history[2**31], OutOfRangeError, "a number from 0 to 2,147,483,647"),
    (lambda t: t.history[True], ExpressionError, "no True inside"),
    (lambda t: path("other")[-1], OutOfRangeError, r"path\('other'\)\[-1\]: a position in a list"),
    (lambda t: path("other")[True], ExpressionError, "no True inside"),
    (lambda t: t.tags[0], ExpressionError, "Thing.tags holds set.*no 0 inside"),
    (lambda t: t.name["x"], ExpressionError, "Thing.name holds str"),
    (lambda t: t.options[5], ExpressionError, "no 5 inside"),
    (lambda t: t.address.town, AttributeError, "has no field 'town'.*Thing.address"),
    (lambda t: t.address["town"], ExpressionError, "has no 'town'"),
    (lambda t: (t.rank == 1) & True, TypeError, "unsupported operand"),
    (lambda t: (t.rank == 1) | t.name, TypeError, "unsupported operand"),
    (lambda t: t.name == HALF, EncodeError, "^Thing.name: the text .* is not valid Unicode; store it as bytes"),
    (lambda t: t.name > HALF, EncodeError, "^Thing.name: the text .* is not valid Unicode"),
    (lambda t: t.name.between("a", HALF), EncodeError, "^Thing.name: the text .* is not valid Unicode"),
    (lambda t: t.name.is_in("a", HALF), EncodeError, "^Thing.name: the text .* is not valid Unicode"),
    (lambda t: t.name.begins_with(HALF), EncodeError, r"^Thing.name.begins_with\(\): the text .* is not valid Unicode"),
    (lambda t: t.name.contains(HALF), EncodeError, r"^Thing.name.contains\(\): the text .* is not valid Unicode"),
    (lambda t: t.tags.contains(HALF), EncodeError, r"^Thing.tags.contains\(\): the text .* is not valid Unicode"),
    (lambda t: t.tags == {HALF}, EncodeError, "^Thing.tags: the text .* is not valid Unicode"),
    (lambda t: t.history == [HALF], EncodeError, "^Thing.history: the text .* is not valid Unicode"),
    (lambda t: t.options == {HALF: 1}, EncodeError, "^Thing.options: the text .* is not valid Unicode"),
    (lambda t: t.options[HALF], EncodeError, "^Thing.options.*: the text .* is not valid Unicode"),
    (lambda t: path(HALF), EncodeError, "the text .* is not valid Unicode"),
    (lambda t: path("old") == HALF, EncodeError, r"^path\('old'\): the text .* is not valid Unicode"),
    (lambda t: path("old")[HALF], EncodeError, r"^path\('old'\).*: the text .* is not valid Unicode"),
    (lambda t: path("old") == nested(40), EncodeError, "nested more than 32 levels deep"),
    (lambda t: path(5), ExpressionError, "5 is not a field of a model; write Model.field"),
]


@pytest.mark.parametrize(
    ("make", "kind", "message"), REFUSED, ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_means_nothing_is_refused_when_it_is_written(thing, make, kind, message):
    with pytest.raises(kind, match=message):
        make(thing)


def test_a_path_is_at_most_32_levels_deep(thing, sent):
    deep = thing.anything
    for _ in range(31):
        deep = deep["x"]
    assert sent(deep == 1)[0].count(".") == 31
    with pytest.raises(ExpressionError, match="deeper than 32 levels"):
        deep["x"]


def test_a_condition_has_at_most_300_operators(thing, sent):
    def chain(operators):
        condition = thing.rank == 0
        while operators > 1:
            condition, operators = condition | (thing.rank == 0), operators - 2
        return condition

    assert sent(chain(299))[0].count(" OR ") == 149
    with pytest.raises(OutOfRangeError, match="301 operators; DynamoDB accepts 300"):
        sent(chain(301))


def test_an_expression_is_at_most_4096_bytes(thing, sent):
    # Each operand is ":v10, " and the like: five hundred of them are below.
    assert sent(thing.rank.is_in(*range(500)))
    with pytest.raises(OutOfRangeError, match="bytes of expression text; DynamoDB accepts 4,096"):
        sent(thing.rank.is_in(*range(800)))


def test_more_than_a_hundred_values_are_several_in_joined_by_or(thing, sent):
    text, _ = sent(thing.rank.is_in(*range(250)))
    operands = [len(part.split(",")) for part in text.split(" OR ")]
    assert operands == [100, 100, 50]
    assert text.startswith("(<rank> IN (")
    assert text.endswith("))")
    assert sent(~thing.rank.is_in(*range(101)))[0].startswith("NOT (<rank> IN (")


@pytest.mark.parametrize(
    "condition",
    [
        lambda t: t.rank.between(2, 1),
        lambda t: t.name.between("b", "a"),
        lambda t: t.name.size().between(2, 1),
        lambda t: t.name.is_in(),
        lambda t: t.history.size().is_in(),
        lambda t: (t.rank == 1) & t.name.is_in(),
        lambda t: t.rank.between(2, 1) | t.name.is_in(),
    ],
)
def test_no_item_meets_an_empty_choice_or_a_range_turned_round(thing, condition):
    assert is_impossible(condition(thing))


def test_a_choice_of_nothing_is_sent_as_what_no_item_meets(thing, sent):
    assert sent(thing.rank.is_in())[0] == "(attribute_exists(<rank>) AND attribute_not_exists(<rank>))"
    assert sent(thing.rank.between(2, 1))[0] == "(attribute_exists(<rank>) AND attribute_not_exists(<rank>))"
    assert sent(~thing.rank.is_in())[0] == "NOT (attribute_exists(<rank>) AND attribute_not_exists(<rank>))"
    assert not is_impossible(~thing.rank.is_in())
    assert not is_impossible(thing.rank.is_in() | (thing.rank == 1))


def test_names_do_not_count_towards_the_length_of_the_text(thing, sent):
    long = "x" * 3000
    assert sent((thing.options[long] == 1) & (thing.options[long + "y"] == 2))


def test_names_and_values_together_are_at_most_2_megabytes(thing, sent):
    assert sent((thing.name == "x" * 1_000_000) & (thing.other == "y" * 1_000_000))
    with pytest.raises(OutOfRangeError, match="DynamoDB accepts 2,097,152"):
        sent((thing.name == "x" * 1_100_000) & (thing.other == "y" * 1_100_000))


def test_fields_print_where_they_are(thing):
    assert repr(thing.address.city) == "<Expr Thing.address.city>"
    assert repr(thing.address) == "<DocumentPath Thing.address>"


def test_a_condition_is_shown_as_it_is_written(thing):
    condition = (thing.rank > 3) & ~thing.name.missing()
    assert repr(condition) == str(condition) == "(Thing.rank > 3) & (~(Thing.name.missing()))"
    assert repr((thing.rank.between(1, 2),)) == "(Thing.rank.between(1, 2),)"
