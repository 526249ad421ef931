"""Changes and update actions: the text, the names and the values that they become, and what of them is refused."""

from decimal import Decimal

import pytest

from dynamap_async import Update, path
from dynamap_async.errors import EncodeError, ExpressionError, OutOfRangeError
from dynamap_async.expressions import Placeholders, is_repeatable, overlap, render_update

S, N = (lambda text: {"S": text}), (lambda text: {"N": text})
L, SS, NULL = (lambda *values: {"L": [*values]}), (lambda *values: {"SS": [*values]}), {"NULL": True}


@pytest.fixture
def update(thing):
    return Update(thing, "a", 1)


@pytest.fixture
def sent():
    """Return a function: update -> text with the names put in, and the values in the order of their placeholders."""

    def render(update):
        placeholders = Placeholders()
        text = render_update(update.spec.actions, placeholders)
        members = placeholders.to_wire()
        names = members.get("ExpressionAttributeNames", {})
        for key in sorted(names, key=len, reverse=True):
            text = text.replace(key, f"<{names[key]}>")
        return text, list(members.get("ExpressionAttributeValues", {}).values())

    return render


def case(make, text, *values):
    return pytest.param(make, text, list(values), id=text)


SETS = [
    case(lambda u, t: u.set(t.name, "x"), "SET <name> = :v0", S("x")),
    case(lambda u, t: u.set(t.name, ""), "SET <name> = :v0", S("")),
    case(lambda u, t: u.set(t.active, False), "SET <active> = :v0", {"BOOL": False}),
    case(lambda u, t: u.set(t.price, 0), "SET <price> = :v0", N("0")),
    case(lambda u, t: u.set(t.reserved, "x"), "SET <status> = :v0", S("x")),
    case(lambda u, t: u.set(t.blob, b"\x00\xff"), "SET <blob> = :v0", {"B": "AP8="}),
    case(lambda u, t: u.set(t.tags, {"b", "a"}), "SET <tags> = :v0", SS("a", "b")),
    case(lambda u, t: u.set(t.document, {"a": 1}), "SET <document> = :v0", S('{"a":1}')),
    case(lambda u, t: u.set(t.name, t.other), "SET <name> = <other>"),
    case(lambda u, t: u.set(t.history[0], "x"), "SET <history>[0] = :v0", S("x")),
    case(lambda u, t: u.set(t.options["a.b"], 5), "SET <options>.<a.b> = :v0", N("5")),
    case(lambda u, t: u.set(t.address.city, "x"), "SET <address>.<c.t y#> = :v0", S("x")),
    case(lambda u, t: u.set(t.address.street.number, None), "SET <address>.<street>.<number> = :v0", NULL),
    case(lambda u, t: u.set(t.addresses[2].city, "x"), "SET <addresses>[2].<c.t y#> = :v0", S("x")),
    case(
        lambda u, t: u.set(t.name, "x").set(t.other, "x").set(t.note, "y"),
        "SET <name> = :v0, <other> = :v0, <note> = :v1",
        S("x"),
        S("y"),
    ),
]
EMPTY = [
    case(lambda u, t: u.set(t.note, None), "REMOVE <note>"),
    case(lambda u, t: u.set(t.note_or_dash, None), "SET <note_or_dash> = :v0", NULL),
    case(lambda u, t: u.set(t.tags, set()), "REMOVE <tags>"),
    case(lambda u, t: u.set(t.tags_or_none, None), "REMOVE <tags_or_none>"),
    case(lambda u, t: u.set(t.tags_or_none, set()), "SET <tags_or_none> = :v0", NULL),
    case(lambda u, t: u.set(t.tags_or_default, None), "SET <tags_or_default> = :v0", NULL),
    case(lambda u, t: u.set(t.tags_or_default, set()), "SET <tags_or_default> = :v0", L()),
    case(lambda u, t: u.set(path(t.address), None), "REMOVE <address>"),
    case(lambda u, t: u.set(t.anything, None), "REMOVE <anything>"),
]
CHANGES = [
    case(lambda u, t: u.set(t.price, t.price + 1), "SET <price> = <price> + :v0", N("1")),
    case(lambda u, t: u.set(t.price, 1 + t.price), "SET <price> = :v0 + <price>", N("1")),
    case(lambda u, t: u.set(t.price, t.price - Decimal("0.5")), "SET <price> = <price> - :v0", N("0.5")),
    case(lambda u, t: u.set(t.ratio, 1 - t.ratio), "SET <ratio> = :v0 - <ratio>", N("1")),
    case(lambda u, t: u.set(t.price, t.price - t.price), "SET <price> = <price> - <price>"),
    case(lambda u, t: u.set(t.price, t.price + t.rank), "SET <price> = <price> + <rank>"),
    case(lambda u, t: u.set(t.name, t.name.if_not_exists("x")), "SET <name> = if_not_exists(<name>, :v0)", S("x")),
    case(lambda u, t: u.set(t.name, t.other.if_not_exists("x")), "SET <name> = if_not_exists(<other>, :v0)", S("x")),
    case(
        lambda u, t: u.set(t.price, t.price.if_not_exists(0) + 1),
        "SET <price> = if_not_exists(<price>, :v0) + :v1",
        N("0"),
        N("1"),
    ),
    case(
        lambda u, t: u.set(t.price, 10 - t.price.if_not_exists(10)),
        "SET <price> = :v0 - if_not_exists(<price>, :v0)",
        N("10"),
    ),
    case(
        lambda u, t: u.set(t.history, t.history.append(["x", "y"])),
        "SET <history> = list_append(if_not_exists(<history>, :v0), :v1)",
        L(),
        L(S("x"), S("y")),
    ),
    case(
        lambda u, t: u.set(t.history, t.history.prepend(("x",))),
        "SET <history> = list_append(:v0, if_not_exists(<history>, :v1))",
        L(),
        L(S("x")),
    ),
    case(
        lambda u, t: u.set(t.history, t.history.append(["b"]).append(["c"]).prepend(["a"])),
        "SET <history> = list_append(:v0, list_append(if_not_exists(<history>, :v1), :v2))",
        L(),
        L(S("b"), S("c")),
        L(S("a")),
    ),
    case(
        lambda u, t: u.set(t.history, t.history.if_not_exists(["a"]).append(["b"])),
        "SET <history> = list_append(if_not_exists(<history>, :v0), :v1)",
        L(S("a")),
        L(S("b")),
    ),
    case(
        lambda u, t: u.set(t.options["a"], t.options["a"].if_not_exists(0) + 1),
        "SET <options>.<a> = if_not_exists(<options>.<a>, :v0) + :v1",
        N("0"),
        N("1"),
    ),
    case(lambda u, t: u.set(t.anything, t.anything + 1), "SET <anything> = <anything> + :v0", N("1")),
]
CLAUSES = [
    case(lambda u, t: u.add(t.price, -3), "ADD <price> :v0", N("-3")),
    case(lambda u, t: u.add(t.ratio, 0.5), "ADD <ratio> :v0", N("0.5")),
    case(lambda u, t: u.add(t.tags, {"b", "a"}), "ADD <tags> :v0", SS("a", "b")),
    case(lambda u, t: u.add(t.numbers, frozenset({1})), "ADD <numbers> :v0", {"NS": ["1"]}),
    case(
        lambda u, t: u.add(t.options["a"], 2),
        "SET <options>.<a> = if_not_exists(<options>.<a>, :v0) + :v1",
        N("0"),
        N("2"),
    ),
    case(lambda u, t: u.delete(t.tags, {"a"}), "DELETE <tags> :v0", SS("a")),
    case(lambda u, t: u.set(t.address.labels, set()), "REMOVE <address>.<labels>"),
    case(lambda u, t: u.set(t.untold["toys"], set()), "SET <untold>.<toys> = :v0", L()),
    case(lambda u, t: u.remove(t.note), "REMOVE <note>"),
    case(lambda u, t: u.remove(t.name, t.history[1], t.history[3]), "REMOVE <name>, <history>[1], <history>[3]"),
    case(lambda u, t: u.remove(t.options["x"], t.address.street), "REMOVE <options>.<x>, <address>.<street>"),
    case(
        lambda u, t: u.delete(t.numbers, {1}).add(t.tags, {"x"}).remove(t.note).add(t.price, 1).set(t.name, "x"),
        "SET <name> = :v0 REMOVE <note> ADD <tags> :v1, <price> :v2 DELETE <numbers> :v3",
        S("x"),
        SS("x"),
        N("1"),
        {"NS": ["1"]},
    ),
]


@pytest.mark.parametrize(("make", "text", "values"), SETS + EMPTY + CHANGES + CLAUSES)
def test_an_update_becomes_its_expression(update, thing, sent, make, text, values):
    found, stored = sent(make(update, thing))
    assert found == text
    assert sorted(map(repr, stored)) == sorted(map(repr, values))


REFUSED = [
    (lambda u, t: u.set(t.id, "x"), ExpressionError, r"Thing\.id is part of the item's key, which never changes"),
    (lambda u, t: u.add(t.rank, 1), ExpressionError, r"Thing\.rank is part of the item's key"),
    (lambda u, t: u.set("name", "x"), ExpressionError, "'name' is not a field of a model; write Model.field"),
    (lambda u, t: u.remove("name"), ExpressionError, "'name' is not a field"),
    (lambda u, t: u.set(t.history.size(), 1), ExpressionError, r"Thing\.history\.size\(\) is a number"),
    (lambda u, t: u.set(t.price, t.history.size()), ExpressionError, "sizes in conditions only"),
    (lambda u, t: u.set(t.name, 3), EncodeError, r"Thing\.name: str expected, got int 3"),
    (lambda u, t: u.set(t.name, None), EncodeError, r"Thing\.name: .* to drop the attribute, use remove\(\)"),
    (lambda u, t: u.set(t.history[0], 3), EncodeError, r"Thing\.history\[0\]: str expected, got int 3"),
    (lambda u, t: u.set(t.options["a"], "x"), EncodeError, r"Thing\.options\['a'\]: int expected, got str 'x'"),
    (lambda u, t: u.set(t.address.city, 3), EncodeError, r"Thing\.address\.city: str expected, got int 3"),
    (lambda u, t: u.set(t.tags, {1}), EncodeError, r"Thing\.tags: str expected, got int 1"),
    (lambda u, t: u.set(t.name, "x" * 410_000), EncodeError, r"400 KB|409,600"),
    (lambda u, t: u.set(t.name, t.price), ExpressionError, r"Thing\.name holds str, so it cannot be set from Thing"),
    (lambda u, t: u.set(t.name, t.name + "x"), ExpressionError, r"subtracted, and Thing.name holds str"),
    (lambda u, t: u.set(t.price, t.price + 1 + 1), ExpressionError, "an update adds or subtracts only two numbers"),
    (lambda u, t: u.set(t.price, t.price + "x"), EncodeError, r"Thing\.price: .*got"),
    (lambda u, t: u.set(t.price, t.price + True), EncodeError, r"Thing\.price"),
    (lambda u, t: u.set(t.active, t.active + 1), ExpressionError, r"subtracted, and Thing.active holds bool"),
    (lambda u, t: u.set(t.at, t.at + 1), ExpressionError, r"subtracted, and Thing.at holds datetime"),
    (lambda u, t: u.set(t.price, t.history.size() + 1), ExpressionError, "arithmetic needs the field itself"),
    (lambda u, t: u.set(t.anything, t.anything + "x"), ExpressionError, "is not a number that can be added"),
    (lambda u, t: u.set(t.name, t.name.if_not_exists(3)), EncodeError, r"Thing\.name: str expected, got int 3"),
    (lambda u, t: u.set(t.note, t.note.if_not_exists(None)), ExpressionError, "is not stored, so it"),
    (
        lambda u, t: u.set(t.tags, t.tags.append(["x"])),
        ExpressionError,
        r"only lists.* update.add\(field, members\)",
    ),
    (
        lambda u, t: u.set(t.history, t.history.append("x")),
        ExpressionError,
        r"take a list of elements, .* not 'x'",
    ),
    (
        lambda u, t: u.set(t.history, t.history.append([1])),
        EncodeError,
        r"Thing\.history\[0\]: str expected, got int 1",
    ),
    (lambda u, t: u.set(t.price, (t.price + 1).append([1])), ExpressionError, "is not a list"),
    (lambda u, t: u.add(t.name, 1), ExpressionError, r"subtracted, and Thing.name holds str"),
    (lambda u, t: u.add(t.price, "x"), EncodeError, r"Thing\.price"),
    (
        lambda u, t: u.add(t.tags, "a"),
        ExpressionError,
        r"add\(Thing\.tags, \.\.\.\) takes members as a set",
    ),
    (lambda u, t: u.add(t.tags, []), ExpressionError, r"takes members as a set"),
    (lambda u, t: u.add(t.tags, {1}), EncodeError, r"Thing\.tags: str expected, got int 1"),
    (lambda u, t: u.add(t.history, ["x"]), ExpressionError, r"and Thing.history holds list\[str\]"),
    (lambda u, t: u.delete(t.history, {"x"}), ExpressionError, r"removes members of sets"),
    (lambda u, t: u.delete(t.tags, {1}), EncodeError, r"Thing\.tags"),
    (lambda u, t: u.delete(t.price, {1}), ExpressionError, "which is not stored as a set"),
    (lambda u, t: u.remove(t.address.city), ExpressionError, r"Thing\.address\.city is required, so an item without"),
    (lambda u, t: u.remove(t.pet["kind"]), ExpressionError, r"Thing\.pet\['kind'\] is required, .* set it to another"),
]
REFUSED = [pytest.param(*each, id=str(number)) for number, each in enumerate(REFUSED)]


@pytest.mark.parametrize(("make", "error", "message"), REFUSED)
def test_what_cannot_work_is_refused_where_it_is_written(update, thing, make, error, message):
    with pytest.raises(error, match=message):
        make(update, thing)


def test_a_field_of_another_model_is_refused_on_both_sides(update, thing, other):
    for make in (lambda: update.remove(other.id), lambda: update.set(thing.name, other.id)):
        with pytest.raises(ExpressionError, match=r"Other\.id is a field of Other, but the operation is on Thing"):
            make()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda t: t.name, lambda t: t.name),
        (lambda t: path(t.address), lambda t: t.address.street),
        (lambda t: t.address.street, lambda t: path(t.address)),
        (lambda t: t.history, lambda t: t.history[0]),
        (lambda t: t.options["a"], lambda t: t.options["a"]),
    ],
)
def test_two_actions_on_one_part_of_an_item_are_refused(update, thing, first, second):
    with pytest.raises(ExpressionError, match="the update changes Thing.*one action for each part of an item."):
        update.remove(first(thing)).remove(second(thing))


def test_siblings_may_be_changed_together(update, thing, sent):
    text, _ = sent(update.set(thing.options["a"], 1).set(thing.options["b"], 2).remove(thing.history[0]))
    assert text == "SET <options>.<a> = :v0, <options>.<b> = :v1 REMOVE <history>[0]"


def test_a_list_and_a_map_at_one_place_overlap():
    assert overlap(("a", 0), ("a", "b"))
    assert not overlap(("a", 0), ("a", 1))


REPEATABLE = [
    (lambda u, t: u.set(t.name, "x"), True),
    (lambda u, t: u.set(t.address.city, "x"), True),
    (lambda u, t: u.set(t.addresses[0].city, "x"), True),
    (lambda u, t: u.remove(t.name), True),
    (lambda u, t: u.set(t.note, None), True),
    (lambda u, t: u.set(t.name, t.name.if_not_exists("x")), True),
    (lambda u, t: u.add(t.tags, {"x"}), True),
    (lambda u, t: u.delete(t.tags, {"x"}), True),
    (lambda u, t: u.add(t.price, 1), False),
    (lambda u, t: u.set(t.price, t.price + 1), False),
    (lambda u, t: u.set(t.price, t.price.if_not_exists(0) - 1), False),
    (lambda u, t: u.set(t.history, t.history.append(["x"])), False),
    (lambda u, t: u.set(t.history, t.history.prepend(["x"])), False),
    (lambda u, t: u.set(t.name, t.other), False),
    (lambda u, t: u.set(t.name, t.other.if_not_exists("x")), False),
    (lambda u, t: u.set(t.history[5], "x"), False),
    (lambda u, t: u.remove(t.history[0]), False),
]


@pytest.mark.parametrize(("make", "repeatable"), REPEATABLE)
def test_only_what_leads_to_the_same_item_each_time_is_repeatable(update, thing, make, repeatable):
    [action] = make(update, thing).spec.actions
    assert is_repeatable(action) is repeatable


def test_limits_of_an_expression_are_checked(update, thing):
    many = update
    for number in range(400):
        many = many.set(thing.options[f"key{number}"], number)
    with pytest.raises(OutOfRangeError, match="the update is .* bytes of expression text; DynamoDB accepts 4,096"):
        render_update(many.spec.actions, Placeholders())


def test_a_change_prints_as_it_is_written(thing):
    assert repr(thing.price.if_not_exists(0) + 1) == "<Change Thing.price.if_not_exists(0) + 1>"
    assert repr(thing.history.append(["x"])) == "<Change Thing.history.append(['x'])>"
