"""Kinds: what tells the items of a table apart, and what is one kind after all."""

import pytest

from dynamap_async.generate import Sample, design_of
from dynamap_async.generate.item_kinds import find_kinds
from dynamap_async.schema import KeyAttribute, KeySchema, TableSchema

SCHEMA = TableSchema(name="things", keys=KeySchema((KeyAttribute("pk", "S"),), (KeyAttribute("sk", "S"),)))


@pytest.fixture
def kinds():
    """Return a function (items as dicts of texts) -> what was found."""

    def found(*items):
        wire = tuple({name: {"S": text} for name, text in item.items()} for item in items)
        return find_kinds(Sample(schema=SCHEMA, items=wire))

    return found


def item(pk, sk, **attributes):
    return {"pk": pk, "sk": sk, **attributes}


def test_marker_of_a_known_name_tells_kinds(kinds):
    found = kinds(
        *(item(f"{n}", "0", type="customer", name="x") for n in range(4)),
        *(item(f"{n}", f"1{n}", type="order", total="x") for n in range(3)),
    )
    assert (found.discriminator, found.is_prefix) == ("type", False)
    assert [(each.kind, len(each.items)) for each in found.kinds] == [("customer", 4), ("order", 3)]


def test_attribute_that_predicts_nothing_tells_no_kinds(kinds):
    found = kinds(*(item(f"{n}", "0", type="ab"[n % 2], name="x") for n in range(20)))
    assert found.discriminator is None


def test_state_on_which_one_attribute_depends_tells_no_kinds(kinds):
    shared = {"a": "1", "b": "2", "c": "3", "d": "4"}
    found = kinds(
        *(item(f"{n}", "0", state="open", **shared) for n in range(10)),
        *(item(f"{n}", "1", state="sent", sent="x", **shared) for n in range(10)),
    )
    assert found.discriminator is None


def test_items_without_the_marker_are_unmarked(kinds):
    found = kinds(
        *(item(f"{n}", "0", _type="customer", name="x") for n in range(18)),
        *(item(f"{n}", "1", _type="order", total="x") for n in range(18)),
        item("0", "2", other="x"),
    )
    assert [each.kind for each in found.kinds] == ["customer", "order", None]


def test_words_that_keys_begin_with_tell_kinds(kinds):
    found = kinds(
        *(item(f"USER#{n}", "PROFILE", name="x") for n in range(4)),
        *(item(f"USER#{n}", f"ORDER#{n}", total="x") for n in range(4)),
    )
    assert (found.discriminator, found.is_prefix) == ("sk", True)
    assert {each.kind for each in found.kinds} == {"PROFILE", "ORDER#"}


def test_words_that_keys_begin_with_may_stand_behind_a_separator(kinds):
    found = kinds(
        *(item(f"USER#{n}", "#PROFILE", name="x") for n in range(4)),
        *(item(f"USER#{n}", f"#ORDER#{n}", total="x") for n in range(4)),
    )
    assert (found.discriminator, found.is_prefix) == ("sk", True)
    assert {each.kind for each in found.kinds} == {"#PROFILE", "#ORDER#"}


def test_values_that_stand_in_an_attribute_too_tell_no_kinds(kinds):
    found = kinds(*(item(f"{n}", f"{state}#{n}", state=state) for n, state in enumerate(["open", "paid"] * 6)))
    assert found.discriminator is None


def test_words_on_items_of_the_same_attributes_are_values_with_a_doubt(kinds):
    found = kinds(*(item(f"{n}", f"{city}#{n}", a="1", b="2") for n, city in enumerate(["Oslo", "Rome"] * 6)))
    assert found.discriminator is None
    assert found.checks == ("sk begins with one of 2 words: taken for values, but they may tell kinds",)


def test_groups_that_nothing_tells_are_one_model_with_a_doubt(kinds):
    found = kinds(
        *(item(f"{n}", f"{n}1", a="1", b="2") for n in range(5)),
        *(item(f"{n}", f"{n}2", c="1", d="2") for n in range(3)),
    )
    assert found.discriminator is None
    assert found.checks == (
        "groups of 5 and 3 items differ in their attributes, and nothing tells them: one model reads all",
    )


def test_guards_of_unique_values_are_left_out_and_mentioned(kinds):
    found = kinds(*(item(f"u{n}", "0", name="x") for n in range(5)), item("_unique#user#name#x", "_unique#"))
    assert [len(each.items) for each in found.kinds] == [5]
    assert found.checks == ("items that only guard unique values of another tool are left out (1)",)


def test_kind_of_fewer_than_five_items_is_written_but_marked():
    items = tuple({"pk": {"S": f"{n}"}, "sk": {"S": "0"}} for n in range(4))
    text = design_of(Sample(schema=SCHEMA, items=items)).source()
    assert "# check: only 4 items of this kind sampled\nclass Things(Model, table=" in text


def test_empty_table_is_a_model_of_its_key():
    assert "class Things(Model" in design_of(Sample(schema=SCHEMA, items=())).source()
