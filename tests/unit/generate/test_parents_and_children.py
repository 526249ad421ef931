"""Items whose key goes on where the key of another item ends, such as the lines below an order."""

from collections import Counter
from dataclasses import replace

import pytest

from dynamap_async.generate import Sample, design_of, merge_models
from dynamap_async.generate.item_kinds import find_kinds
from dynamap_async.schema import IndexKind, IndexSchema, KeyAttribute, KeySchema, TableSchema

SCHEMA = TableSchema(name="things", keys=KeySchema((KeyAttribute("pk", "S"),), (KeyAttribute("sk", "S"),)), indexes=())


def item(pk, sk, *names):
    return {"pk": {"S": pk}, "sk": {"S": sk}, **{name: {"S": "x"} for name in names}}


def sample(*groups):
    return Sample(schema=SCHEMA, items=tuple(each for group in groups for each in group))


def orders(id_of, separator="#", count=8):
    """Return orders, and three lines below each."""
    keys = [(f"CUST{separator}c{n % 4}", f"ORDER{separator}{id_of(n)}") for n in range(count)]
    return (
        [item(pk, sk, "total", "status") for pk, sk in keys],
        [item(pk, f"{sk}{separator}ITEM{separator}k{line}", "sku") for pk, sk in keys for line in range(3)],
    )


def templates(design):
    return {model.name: model.field_of("sk").pattern.text for model in design.models}


def counts(module, found):
    """Return name of a model -> number of its items."""
    table = module.THINGS
    return Counter(table.models[table.kind_of(each)].__name__ for each in found.items)


@pytest.mark.parametrize("separator", "#|")
def test_parent_is_told_from_its_children_by_what_its_text_lacks(separator, imported, unequal):
    found = sample(*orders(lambda n: f"o{n}", separator))
    design = design_of(found)
    text = design.source()
    order, line = (each.replace("#", separator) for each in ("ORDER#{order}", "ORDER#{order}#ITEM#{item}"))
    assert templates(design) == {"CustOrder": order, "CustOrderItem": line}
    limit = f"""\
    # check: no sampled text has {separator} in it: that tells these keys from others of the table
    order: Attr[Annotated[str, Field(pattern="^[^{separator}]*$")]] = attr(stored=False)
"""
    assert text.count(limit) == text.count("Field(") == 1
    module = imported(text)
    assert unequal(module, found.items) == []
    assert counts(module, found) == {"CustOrder": 8, "CustOrderItem": 24}
    with pytest.raises(ValueError, match="order"):
        module.CustOrder(cust="c1", order=f"o1{separator}ITEM{separator}k1", total="x", status="x")


@pytest.mark.parametrize(
    "id_of",
    [
        pytest.param(lambda n: f"00000000-0000-4000-8000-{n:012}", id="uuid"),
        pytest.param(lambda n: f"2024-03-{n + 1:02}", id="date"),
        pytest.param(lambda n: f"{n:05}", id="number"),
    ],
)
def test_parent_whose_type_has_no_separator_is_not_limited(id_of, imported, unequal):
    found = sample(*orders(id_of))
    text = design_of(found).source()
    assert "Annotated" not in text
    module = imported(text)
    assert unequal(module, found.items) == []
    assert counts(module, found) == {"CustOrder": 8, "CustOrderItem": 24}


def test_stored_id_of_the_parent_is_what_is_limited(imported, unequal):
    parents, lines = orders(lambda n: f"o{n}")
    parents = [each | {"orderId": {"S": each["sk"]["S"][6:]}} for each in parents]
    found = sample(parents, lines)
    text = design_of(found).source()
    assert 'order_id: Attr[Annotated[str, Field(pattern="^[^#]*$")]] = attr(name="orderId")' in text
    assert unequal(imported(text), found.items) == []


def test_literal_of_the_parent_needs_no_limit(imported, unequal):
    parents = [
        item(f"C#{n}", f"S#{('on', 'off')[n % 2]}", "x") | {"s": {"S": ("on", "off")[n % 2]}} for n in range(100)
    ]
    lines = [item(f"C#{n}", f"S#on#L#{n}", "y") for n in range(100)]
    text = design_of(sample(parents, lines)).source(enums=True)
    assert "Annotated" not in text
    assert unequal(imported(text), [*parents, *lines]) == []


def test_parent_is_told_from_a_child_whose_key_ends_with_a_word(imported, unequal):
    found = sample(
        [item(f"A#k{n}", "M", "a", "b") for n in range(4)], [item(f"A#k{n}#seen", "M", "c", "d") for n in range(4)]
    )
    module = imported(design_of(found).source())
    assert unequal(module, found.items) == []
    assert sorted(counts(module, found).values()) == [4, 4]


def test_children_are_told_by_words_of_several_places():
    parents, lines = orders(lambda n: f"o{n}")
    notes = [item(each["pk"]["S"], f"{each['sk']['S']}#NOTE#n1", "text", "by") for each in parents]
    parts = [item(each["pk"]["S"], f"{each['sk']['S']}#PART#p{n}#USED", "of", "at") for n, each in enumerate(lines)]
    design = design_of(sample(parents, lines, notes, parts))
    assert {model.name: [each.name for each in model.fields if each.lacks] for model in design.models} == {
        "CustOrder": ["order"],
        "CustOrderItem": ["item"],
        "CustOrderNote": ["order", "note"],
        "CustOrderItemPartUsed": [],
    }
    assert templates(design) == {
        "CustOrder": "ORDER#{order}",
        "CustOrderItem": "ORDER#{order}#ITEM#{item}",
        "CustOrderNote": "ORDER#{order}#NOTE#{note}",
        "CustOrderItemPartUsed": "ORDER#{order}#ITEM#{item}#PART#{part}#USED",
    }


def test_parent_that_has_the_separator_in_one_text_is_not_told(imported, unequal):
    parents, lines = orders(lambda n: f"o{n}")
    found = sample(parents, lines, [item("CUST#c1", "ORDER#o1#ITEM", "total", "status")])
    assert find_kinds(found).by_keys
    design = design_of(found)
    assert len(design.models) == 1
    assert unequal(imported(design.source()), found.items) == []


def test_kinds_that_ends_tell_are_told_where_words_between_values_tell_no_more(imported):
    posts = [item(f"u#{n % 4}#post", f"p#{n}", "text") for n in range(8)]
    fans = [item(f"u#{n % 4}#fan", f"p#{n}") for n in range(8)]
    parents, lines = orders(lambda n: f"o{n}")
    found = sample(posts, fans, parents, lines, [item("CUST#c1", "ORDER#o1#ITEM", "total", "status")])
    module = imported(design_of(found).source())
    assert sorted(counts(module, found).values()) == [8, 8, 33]


@pytest.mark.parametrize("names", [("a", "b"), ("a",)])
def test_words_between_values_tell_no_kinds_where_items_are_alike(names):
    found = sample([item("P", f"T#{n}#{city}#{n}", *names) for n, city in enumerate(["Oslo", "Rome"] * 6)])
    assert not find_kinds(found).by_keys


def test_names_between_values_tell_no_kinds():
    people = ("ann", "bob", "cy", "dee", "eve", "flo", "gus", "hal")
    found = sample([item("P", f"T#{n}#{name}#{n}", name) for n, name in enumerate(people)])
    assert not find_kinds(found).by_keys


def test_words_between_values_that_stand_in_an_attribute_tell_no_kinds():
    states = [("open", "on"), ("done", "off")] * 6
    found = find_kinds(
        sample(
            [
                item("P", f"T#{n}#{state}#{n}", *"abcde", name) | {"state": {"S": state}}
                for n, (state, name) in enumerate(states)
            ]
        )
    )
    assert (found.by_keys, found.discriminator) == (False, None)


def test_generating_and_merging_again_give_the_same(imported):
    parents, lines = orders(lambda n: f"o{n}")
    design = design_of(sample(parents, lines))
    text = design.source()
    assert design_of(sample(parents, lines)).source() == text
    assert merge_models(design, text).after == text


def test_limit_is_imported_where_it_is_merged_into_a_module(imported, unequal):
    found = sample(*orders(lambda n: f"o{n}"))
    text = merge_models(design_of(found), '"""Mine."""\n\nField = 1\n').after
    assert "from pydantic import Field as Field_\n" in text
    assert 'Annotated[str, Field_(pattern="^[^#]*$")]' in text
    assert unequal(imported(text), found.items) == []


def test_key_of_an_index_is_made_of_a_limited_field_that_a_class_has_already():
    parents, lines = orders(lambda n: f"o{n}")
    ids = [{"orderId": {"S": each["sk"]["S"][6:]}} for each in parents]
    indexed = [
        each | own | {"gsi1pk": {"S": f"BY#{own['orderId']['S']}"}} for each, own in zip(parents, ids, strict=True)
    ]
    index = IndexSchema(name="gsi1", kind=IndexKind.GLOBAL, keys=KeySchema((KeyAttribute("gsi1pk", "S"),)))
    design = design_of(Sample(schema=replace(SCHEMA, indexes=(index,)), items=(*indexed, *lines)))
    text = design.source()
    field = '    gsi1pk: Attr[str] = template("BY#{order_id}")\n'
    assert text.count(field) == 1
    assert field in merge_models(design, text.replace(field, "")).after


def test_parent_of_children_with_several_separators_lacks_all_of_them(imported, unequal):
    parents, lines = orders(lambda n: f"o{n}")
    notes = [item(each["pk"]["S"], f"{each['sk']['S']}|NOTE|n{n}", "text", "by") for n, each in enumerate(parents)]
    found = sample(parents, lines, notes)
    text = design_of(found).source()
    assert '    order: Attr[Annotated[str, Field(pattern="^[^#|]*$")]] = attr(stored=False)\n' in text
    module = imported(text)
    assert unequal(module, found.items) == []
    assert sorted(counts(module, found).values()) == [8, 8, 24]


def test_parent_whose_text_is_changed_for_the_key_is_not_told_by_a_limit(imported, unequal):
    titles = [f"Tale{n}" for n in range(24)]
    parents = [item("P#1", f"T#{title.lower()}", "x") | {"title": {"S": title}} for title in titles]
    children = [item("P#1", f"T#{title.lower()}#PART#k{n}", "y") for n, title in enumerate(titles)]
    found = sample(parents, children)
    assert unequal(imported(design_of(found).source()), found.items) == []


def test_separators_in_the_last_value_are_values():
    parents, _ = orders(lambda n: f"o{n}")
    lines = [item("CUST#c1", f"ORDER#o{n}#ITEM#a{n}#{n}{'#1' * (n % 2)}", "sku") for n in range(8)]
    assert templates(design_of(sample(parents, lines)))["CustOrderItem"] == "ORDER#{order}#ITEM#{item}#{sk_3}"


def test_numbers_of_one_digit_in_keys_are_no_padded_numbers():
    parents, _ = orders(lambda n: f"o{n}")
    lines = [item(each["pk"]["S"], f"{each['sk']['S']}#ITEM#{n}", "sku") for each in parents for n in range(3)]
    text = design_of(sample(parents, lines)).source()
    assert "    item: Attr[str] = attr(stored=False)\n" in text
    assert 'template("ORDER#{order}#ITEM#{item}")' in text


def test_class_has_no_name_that_limits_need(imported, unequal):
    parents = [item(f"FIELD#f{n}", f"FIELD#f{n}", "crop", "size") for n in range(8)]
    rows = [item(each["pk"]["S"], f"{each['sk']['S']}#ROW#r{n}", "plants") for each in parents for n in range(3)]
    found = sample(parents, rows)
    text = design_of(found).source()
    assert "class Field_(Model, table=THINGS):" in text
    assert unequal(imported(text), found.items) == []
