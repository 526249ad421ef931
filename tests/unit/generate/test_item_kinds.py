"""Kinds: what tells the items of a table apart, and what is one kind after all."""

from collections import Counter
from dataclasses import replace

import pytest

from dynamap_async.errors import ModelDefinitionError
from dynamap_async.generate import Sample, design_of
from dynamap_async.generate.item_kinds import behind_word_of, find_kinds
from dynamap_async.schema import IndexKind, IndexSchema, KeyAttribute, KeySchema, TableSchema

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


def test_marker_that_one_item_of_ten_lacks_tells_kinds(kinds):
    found = kinds(
        *(item(f"{n}", "0", type="customer", name="x") for n in range(5)),
        *(item(f"{n}", f"1{n}", type="order", total="x") for n in range(4)),
        item("9", "2", other="x"),
    )
    assert found.discriminator == "type"


@pytest.mark.parametrize("name", ["type", "kind", "entityType"])
def test_marker_of_a_known_name_tells_what_keys_tell_though_attributes_are_often_absent(name, kinds):
    found = kinds(
        *(item(f"C#{n}", f"O#{n}", **{name: "order"}, **({"note": "x"} if n % 2 else {})) for n in range(40)),
        *(item(f"C#{n}", "P", **{name: "cust"}) for n in range(20)),
    )
    assert [each.kind for each in found.kinds] == ["order", "cust"]
    assert found.discriminator == name


def test_types_of_things_whose_keys_begin_alike_tell_no_kinds(kinds):
    found = kinds(
        *(item(f"P#{n}", f"P#{n}", type=("book", "film")[n % 2], **{"abcd"[n // 2 % 4]: "x"}) for n in range(40)),
        *(item(f"O#{n}", f"O#{n}", type="order", **{"abcd"[n % 4]: "x"}) for n in range(8)),
    )
    assert sorted(each.kind for each in found.kinds) == ["O#", "P#"]


def test_attribute_that_is_no_text_in_one_item_is_no_marker():
    one = [{"pk": {"S": f"{n}"}, "sk": {"S": "0"}, "type": {"S": "a"}, "x": {"S": "x"}} for n in range(20)]
    two = [{"pk": {"S": f"{n}"}, "sk": {"S": "1"}, "type": {"S": "b"}, "y": {"S": "y"}} for n in range(20)]
    other = {"pk": {"S": "1"}, "sk": {"S": "2"}, "type": {"B": "AAEC"}}
    assert find_kinds(Sample(schema=SCHEMA, items=(*one, *two))).discriminator == "type"
    assert find_kinds(Sample(schema=SCHEMA, items=(*one, *two, other))).discriminator is None


def test_values_that_are_as_many_as_items_are_no_kinds(kinds):
    found = kinds(
        *(item("P", f"2#{n}", type=f"day{n}", name="x", **{f"on{n}": "x"}) for n in range(38)),
        *(item("P", f"3#{n}", other="x") for n in range(3)),
    )
    assert found.discriminator is None


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


def test_state_that_an_index_is_keyed_by_tells_no_kinds_though_an_attribute_depends_on_it():
    by_state = IndexSchema(name="by-state", kind=IndexKind.GLOBAL, keys=KeySchema((KeyAttribute("state", "S"),), ()))
    shared = {"a": "1", "b": "2", "c": "3", "d": "4"}
    items = [
        *(item(f"{n}", f"{n}0", state="open", **shared) for n in range(10)),
        *(item(f"{n}", f"{n}1", state="sent", sent="x", **shared) for n in range(10)),
        *(item(f"{n}", f"{n}2", state="paid", sent="x", paid="x", **shared) for n in range(10)),
    ]
    wire = tuple({name: {"S": text} for name, text in each.items()} for each in items)
    found = find_kinds(Sample(schema=replace(SCHEMA, indexes=(by_state,)), items=wire))
    assert [each.kind for each in found.kinds] == [None]


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


SOCIAL = (
    item("u#1", '"info"', name="x", picture="x"),
    item("u#1", '"count"', posts="1", followers="2"),
    *(item("u#1#follower", f"u#{n}") for n in range(3)),
    *(item("u#1#following", f"u#{n}") for n in range(3)),
    *(item("u#1#post", f"p#{n}", text="x", at="1") for n in range(2)),
    *(item("p#1#likes", f"u#{n}") for n in range(3)),
)


def shapes(found):
    return {(each.words["pk"], each.ends.get("pk"), each.words["sk"]): len(each.items) for each in found.kinds}


def test_words_that_keys_end_with_tell_kinds_behind_a_value(kinds):
    found = kinds(*SOCIAL)
    assert (found.discriminator, found.by_keys) == (None, True)
    assert shapes(found) == {
        ("u#", None, '"info"'): 1,
        ("u#", None, '"count"'): 1,
        ("u#", "#follower", "u#"): 3,
        ("u#", "#following", "u#"): 3,
        ("u#", "#post", "p#"): 2,
        ("p#", "#likes", "u#"): 3,
    }


def test_words_of_both_keys_tell_kinds_where_neither_does_alone(kinds):
    found = kinds(
        *(item(f"CAR#{n}", "#META#", doors="4", colour="x") for n in range(4)),
        *(item(f"CAR#{n}", f"F#{n}", feature="x") for n in range(4)),
        *(item(f"DRIVER#{n}", "#META#", name="x", phone="x") for n in range(4)),
        *(item(f"DRIVER#{n}", f"F#{n}", until="x") for n in range(4)),
    )
    assert found.by_keys
    assert shapes(found) == {(pk, None, sk): 4 for pk in ("CAR#", "DRIVER#") for sk in ("#META#", "F#")}


def test_word_of_one_key_is_a_value_where_items_of_the_other_key_are_alike(kinds):
    found = kinds(
        *(item(f"USER#{n}", f"NOTE#{n}", text="x", at="1") for n in range(4)),
        *(item(f"TEAM#{n}", f"NOTE#{n}", text="x", at="1") for n in range(4)),
        *(item(f"USER#{n}", "PROFILE", name="x", mail="y") for n in range(4)),
    )
    assert (found.discriminator, found.is_prefix) == ("sk", True)
    assert [(each.kind, len(each.items)) for each in found.kinds] == [("NOTE#", 8), ("PROFILE", 4)]


def test_names_that_keys_end_with_tell_no_kinds(kinds):
    names = ("ann", "bob", "cy", "dee", "eve", "flo", "gus", "hal")
    found = kinds(*(item(f"T#{n}#{name}", f"{n}") for n, name in enumerate(names)))
    assert (found.discriminator, found.by_keys) == (None, False)


def test_states_that_keys_end_with_tell_no_kinds_where_items_are_alike(kinds):
    found = kinds(*(item(f"T#{n}#{state}", f"{n}", a="1", b="2") for n, state in enumerate(["open", "done"] * 6)))
    assert (found.discriminator, found.by_keys) == (None, False)


def test_number_of_a_version_is_told_from_a_word(kinds):
    found = kinds(
        item("E#1", "Metadata", name="x", factory="y"),
        *(item("E#1", f"v{n}", time="x", state="y") for n in range(4)),
    )
    assert [(each.name, each.kind, len(each.items)) for each in found.kinds] == [
        ("version", "v", 4),
        ("Metadata", "Metadata", 1),
    ]


def test_ids_that_begin_with_a_v_are_no_versions(kinds):
    found = kinds(
        *(item(f"v{n}", "META", title="x", length="1") for n in range(4)),
        *(item(f"v{n}", f"LIKE#{n}", by="x") for n in range(4)),
    )
    assert [(each.name, each.words) for each in found.kinds] == [("LIKE#", {"sk": "LIKE#"}), ("META", {"sk": "META"})]
    assert kinds(*(item("u", f"v{n}", a="1") for n in range(9))).kinds[0].words == {}


@pytest.mark.parametrize(
    ("text", "behind"),
    [
        ("ORDER#17", "ORDER$"),
        ("#ORDER#17", "#ORDER$"),
        ("profile-x", "profile."),
        ("v12#LOG", "w"),
        ("PROFILE", "PROFILE\0"),
        ("2024-03-09T11:00", None),
        ("", None),
    ],
)
def test_text_behind_a_word_is_behind_all_that_begin_with_it(text, behind):
    assert behind_word_of(text) == behind


def test_names_in_one_partition_tell_no_kinds(kinds):
    found = kinds(
        *(item("T#1", name, age="1", mail="x") for name in ("ann", "bob", "cy")),
        *(item("T#1", f"G#{n}", title="x", place="y") for n in range(3)),
    )
    assert "ann" not in {each.kind for each in found.kinds}


def test_models_that_keys_tell_are_declared_by_their_templates_alone(imported, unequal):
    items = tuple({name: {"S": text} for name, text in each.items()} for each in SOCIAL)
    text = design_of(Sample(schema=SCHEMA, items=items)).source()
    assert "    discriminator=None,\n" in text
    assert 'pk: PartitionKey[str] = template("u#{u}#follower")' in text
    assert text.count("# check: ") > 6
    module = imported(text)
    assert unequal(module, items) == []
    assert sorted(Counter(module.THINGS.kind_of(each) for each in items).values()) == [1, 1, 2, 3, 3, 3]


def test_kinds_whose_keys_may_be_the_same_are_not_told_by_keys():
    items = (
        *({"pk": {"S": f"A#k{n}k#x"}, "sk": {"S": "M"}, "a": {"S": "1"}, "b": {"S": "1"}} for n in range(4)),
        *({"pk": {"S": f"A#k{n}k"}, "sk": {"S": "M"}, "c": {"S": "1"}, "d": {"S": "1"}} for n in range(4)),
        {"pk": {"S": "A#k#4"}, "sk": {"S": "M"}, "c": {"S": "1"}, "d": {"S": "1"}},
    )
    sample = Sample(schema=SCHEMA, items=items)
    assert find_kinds(sample).by_keys
    design = design_of(sample)  # A#{a} may be A#k1k#x, too, as it is A#k#4
    assert (design.by_keys, len(design.models)) == (False, 1)
    assert "# check: " in design.source()


def test_template_that_is_left_out_because_another_model_has_such_keys_is_told(imported, unequal):
    items = [
        {
            "pk": {"S": f"U#{name}{n}"},
            "sk": {"S": f"{n}"},
            name: {"S": f"{name}{n}"},
            "n": {"N": str(n)},
            "type": {"S": name},
        }
        for name in ("user", "team")
        for n in range(40)
    ]
    text = design_of(Sample(schema=SCHEMA, items=tuple(items))).source()
    assert unequal(imported(text), items) == []
    doubt = "    # check: template('{n}') is left out, because the keys may then be those of Team: write it, with"
    assert text.count(doubt) == text.count(" is left out") == 1
    mended = text.replace("    sk: SortKey[str]\n", '    sk: SortKey[str] = template("{n}")\n')
    with pytest.raises(ModelDefinitionError, match="distinct_from"):
        imported(mended)
    assert unequal(imported(mended.replace('kind="user"', 'kind="user", distinct_from=(Team,)')), items) == []


@pytest.mark.parametrize(
    "items",
    [
        pytest.param([item(f"USER#x{n}", f"ORDER#q{n}", total="x") for n in range(6)], id="of the only kind"),
        pytest.param([item("USER#x1", "ORDER#q1", total="x")], id="of a single item"),
        pytest.param(
            [
                *(item(f"USER#x{n}", f"ORDER#q{n}", type="order", total="x") for n in range(6)),
                *(item(f"SHOP#x{n}", f"PLACE#q{n}", type="shop", name="x") for n in range(3)),
            ],
            id="of kinds that an attribute tells",
        ),
    ],
)
def test_what_the_keys_of_a_kind_begin_with_is_their_word(kinds, items):
    assert kinds(*items).kinds[0].words == {"pk": "USER#", "sk": "ORDER#"}


def test_what_all_items_of_a_kind_have_for_a_key_is_no_word(kinds):
    assert kinds(*(item("USER#x1", f"ORDER#q{n}", total="x") for n in range(6))).kinds[0].words == {"sk": "ORDER#"}


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
