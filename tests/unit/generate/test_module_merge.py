"""What a module lacks is added to it as a patch; all else in it stays as it is."""

import ast
import itertools
import re
import shutil
import subprocess

import pytest

from dynamap_async.generate import Sample, design_of, merge_models
from dynamap_async.models import definition_of
from dynamap_async.schema import IndexKind, IndexSchema, KeyAttribute, KeySchema, TableSchema

KEYS = KeySchema((KeyAttribute("pk", "S"),), (KeyAttribute("sk", "S"),))
SHOP = TableSchema(name="shop", keys=KEYS)
PLACES = TableSchema(name="places", keys=KeySchema((KeyAttribute("id", "S"),)))


def orders(count=40, **more):
    plain = ({"type": {"S": "order"}, "pk": {"S": f"C#c{n % 7}"}, "sk": {"S": f"O#{n:04d}"}} for n in range(count))
    return [item | {"customer": {"S": f"c{n % 7}"}, "number": {"N": str(n)}} | more for n, item in enumerate(plain)]


def refunds(count=40):
    plain = ({"type": {"S": "refund"}, "pk": {"S": f"C#c{n % 7}"}, "sk": {"S": f"R#{n:04d}"}} for n in range(count))
    return [item | {"customer": {"S": f"c{n % 7}"}, "paid": {"N": str(n)}} for n, item in enumerate(plain)]


def shop(*items):
    return design_of(Sample(schema=SHOP, items=tuple(itertools.chain(*items)), complete=True))


def places(**attributes):
    items = ({"id": {"S": f"p{n}x"}} | attributes for n in range(30))
    return design_of(Sample(schema=PLACES, items=tuple(items), complete=True))


HEAD = '''"""Places."""

from dynamap_async import Attr, Model, PartitionKey, attr

'''
PLACE = f"""{HEAD}
class Place(Model, table="places"):
    id: PartitionKey[str]
"""


def without(text, field):
    """Return a module without a field."""
    left = re.sub(rf"(?m)^(?:    #.*\n)*    {field}:.*\n", "", text)
    assert left != text
    return left


def test_module_that_has_all_is_unchanged(all_samples):
    for sample in all_samples.values():
        text = design_of(sample).source()
        merged = merge_models(design_of(sample), text)
        assert (merged.after, merged.added, merged.left, merged.patch("m.py")) == (text, (), (), "")


def test_module_without_anything_gets_all_and_opens_every_item(published, imported, unequal):
    design, items = published
    sample = Sample(schema=design.schema, items=tuple(itertools.chain.from_iterable(items.values())))
    merged = merge_models(design_of(sample), "")
    assert unequal(imported(merged.after), sample.items) == []
    assert merge_models(design_of(sample), merged.after).after == merged.after


def test_each_class_that_is_taken_out_comes_back_and_opens_every_item(published, imported, unequal):
    design, items = published
    sample = Sample(schema=design.schema, items=tuple(itertools.chain.from_iterable(items.values())))
    whole = design_of(sample).source()
    for node in ast.parse(whole).body:
        if not isinstance(node, ast.ClassDef):
            continue
        lines = whole.splitlines(keepends=True)
        cut = "".join(lines[: node.lineno - 1] + lines[node.end_lineno :])
        if re.search(rf"\[{node.name}\b", cut):
            continue  # the class of a map, which other classes use
        merged = merge_models(design_of(sample), cut)
        assert unequal(imported(merged.after), sample.items) == []
        assert merge_models(design_of(sample), merged.after).added == ()


def test_field_that_is_taken_out_comes_back_and_opens_every_item(published, imported, unequal):
    design, items = published
    sample = Sample(schema=design.schema, items=tuple(itertools.chain.from_iterable(items.values())))
    whole = design_of(sample).source()
    fields = [field for model in design_of(sample).models for field in model.fields]
    plain = dict.fromkeys(each.name for each in fields if each.attribute and each.role in ("Attr", "TimeToLive"))
    parts = {part.field for each in fields if each.pattern for part in each.pattern.fields}
    for name in plain.keys() - parts:
        if "stored=False" in whole:
            continue  # the parts of a key that stood in it alone are lost with the key
        merged = merge_models(design_of(sample), without(whole, name))
        assert f".{name}" in " ".join(merged.added)
        assert unequal(imported(merged.after), sample.items) == []
        assert merge_models(design_of(sample), merged.after).added == ()


def test_hand_edits_stay_exactly_as_they_are():
    text = shop(orders(), refunds()).source()
    edited = without(text, "number").replace("O#{number:04d}", "O#{rest}") + "\n\ndef   total( ):  return 1   # odd\n"
    edited = edited.replace('"""40 of 80 sampled items; keys pk, sk."""', "'''My own words.'''", 1)
    edited = edited.replace(
        "    customer: Attr[str]\n", "    customer :  Attr[ str ]   # who\n    rest: Attr[str]\n", 1
    )
    merged = merge_models(shop(orders(), refunds()), edited)
    kept = merged.after.splitlines()
    assert merged.added == ("Order.number",)
    assert [line for line in kept if line not in edited.splitlines()] == ["    number: Attr[int]"]
    kept.remove("    number: Attr[int]")
    assert kept == edited.splitlines()


def test_new_kind_uses_the_table_as_the_module_calls_it(imported):
    notes = [{**each, "type": {"S": "note"}, "sk": {"S": f"N#{n:04d}"}} for n, each in enumerate(refunds())]
    text = shop(orders(), refunds()).source().replace("SHOP", "OURS")
    merged = merge_models(shop(orders(), refunds(), notes), text)
    assert merged.added == ("Note",)
    assert 'class Note(Model, table=OURS, kind="note"):' in merged.after
    assert set(imported(merged.after).OURS.models) == {"order", "refund", "note"}


def test_table_is_known_by_the_name_that_the_module_has():
    text = shop(orders(), refunds()).source()
    full = Sample(schema=TableSchema(name="dev-shop", keys=KEYS), items=(*orders(), *refunds()), complete=True)
    assert merge_models(design_of(full), text, table="shop").added == ()


def test_field_under_another_name_is_known_by_its_stored_name(imported):
    text = PLACE.replace("[str]\n", '[str]\n    town: Attr[str] = attr(name="city")\n')
    merged = merge_models(places(city={"S": "Oslo"}), text)
    assert (merged.added, merged.after) == ((), text)


def test_field_whose_name_is_taken_gets_another(imported):
    text = PLACE.replace("[str]\n", '[str]\n    city: Attr[str] = attr(name="town")\n')
    merged = merge_models(places(city={"S": "Oslo"}, town={"S": "Rome"}), text)
    assert merged.added == ("Place.city_",)
    assert set(definition_of(imported(merged.after).Place).fields) == {"id", "city", "city_"}
    assert merge_models(places(city={"S": "Oslo"}, town={"S": "Rome"}), merged.after).added == ()


def test_stored_name_in_a_constant_of_the_module_is_read():
    text = PLACE.replace("class", 'CITY = "city"\n\n\nclass').replace(
        "[str]\n", "[str]\n    town: Attr[str] = attr(name=CITY)\n"
    )
    assert merge_models(places(city={"S": "Oslo"}), text).added == ()


def test_annotation_that_is_no_python_leaves_its_field_as_it_is():
    text = PLACE.replace("[str]\n", "[str]\n    city: 'Attr[['\n")
    merged = merge_models(places(city={"S": "Oslo"}), text)
    assert (merged.after, merged.added) == (text, ())


def test_stored_name_that_is_no_text_leaves_the_class_alone():
    text = PLACE.replace("[str]\n", "[str]\n    town: Attr[str] = attr(name=NAMES[0])\n")
    merged = merge_models(places(city={"S": "Oslo"}), text)
    assert merged.after == text
    assert merged.left == ("Place lacks city: the stored name of town is not written as a text",)


def test_field_of_a_base_in_the_module_is_not_added_again():
    named = "class Named(Model):\n    city: Attr[str]\n\n\nclass Place(Named,"
    text = PLACE.replace("class Place(Model,", named)
    assert merge_models(places(city={"S": "Oslo"}), text).added == ()


def test_table_of_an_abstract_base_is_that_of_the_class():
    text = shop(orders(), refunds()).source()
    base = "class Ours(Model, table=SHOP, abstract=True):\n    pass\n\n\nclass Order(Ours, kind="
    text = text.replace("class Order(Model, table=SHOP, kind=", base)
    assert merge_models(shop(orders(), refunds()), text).added == ()


def test_class_whose_base_is_no_model_is_left_alone_and_told():
    text = PLACE.replace("(Model,", "(Base,")
    merged = merge_models(places(city={"S": "Oslo"}), text)
    assert merged.after == text
    assert merged.left == (
        "Place lacks city: its base Base is not Model, nor in this module: it may have them already",
    )


def test_class_without_a_table_that_has_the_name_stays(imported):
    text = f"{HEAD}\nclass Places:\n    id = 1\n"
    merged = merge_models(places(), text)
    assert merged.added == ("Places_",)
    assert merged.left == ("Places is another thing in the module, so the new model is called Places_",)
    assert imported(merged.after).Places.id == 1


def test_name_that_means_something_else_is_imported_under_another(imported):
    text = PLACE.replace("from dynamap_async", "import datetime\n\nfrom dynamap_async")
    merged = merge_models(places(at={"S": "2024-05-06T07:08:09.123456Z"}), text)
    assert "from datetime import datetime as datetime_" in merged.after
    assert "at: Attr[datetime_]" in merged.after
    imported(merged.after)
    assert merge_models(places(at={"S": "2024-05-06T07:08:09.123456Z"}), merged.after).added == ()


def test_class_of_a_map_is_added_before_the_class_that_uses_it(imported):
    design = places(address={"M": {"street": {"S": "a"}, "number": {"N": "1"}}})
    text = PLACE.replace("class Place(", "class Address:\n    mine = 1\n\n\n# a comment of the class\nclass Place(")
    merged = merge_models(design, text)
    module = imported(merged.after)
    assert module.Address.mine == 1
    assert set(definition_of(module.Address_).fields) == {"street", "number"}
    assert merge_models(design, merged.after).after == merged.after


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("str", 'gsi1pk: Attr[str] = template("STATUS#{state}")'),
        ("str | None", "gsi1pk: Attr[str]"),
        ("int", "gsi1pk: Attr[str]"),
    ],
)
def test_template_is_added_where_the_class_has_its_parts_in_their_types(kind, line, imported):
    chance = ("open", "paid", "sent", "lost")
    own = [
        each | {"status": {"S": chance[n % 4]}, "gsi1pk": {"S": f"STATUS#{chance[n % 4]}"}}
        for n, each in enumerate(orders())
    ]
    index = IndexSchema(name="gsi1", kind=IndexKind.GLOBAL, keys=KeySchema((KeyAttribute("gsi1pk", "S"),)))
    schema = TableSchema(name="shop", keys=KEYS, indexes=(index,))
    design = design_of(Sample(schema=schema, items=(*own, *refunds()), complete=True))
    text = without(design.source(), "gsi1pk").replace("status: Attr[str]", f'state: Attr[{kind}] = attr(name="status")')
    text = text.replace("import Attr,", "import attr, Attr,")
    merged = merge_models(design, text)
    assert merged.added == ("Order.gsi1pk",)
    assert f"    {line}\n" in merged.after
    assert imported(merged.after).Order.__name__ == "Order"
    assert ("may be template('STATUS#{status}')" in merged.after) == (kind != "str")


def test_fields_stand_below_the_last_one_and_its_docstring():
    text = PLACE + '    """The key."""\n\n    def name(self) -> str:\n        return self.id\n'
    after = merge_models(places(city={"S": "Oslo"}), text).after
    assert '    """The key."""\n    city: Attr[str]\n\n    def name' in after


def test_line_ends_and_an_end_without_one_are_kept():
    text = PLACE.replace("\n", "\r\n").removesuffix("\r\n")
    after = merge_models(places(city={"S": "Oslo"}), text).after
    assert after == f"{text}\r\n    city: Attr[str]\r\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("class Place(:\n", r"does not parse, line 1 \("),
        ("x = '\0'", "does not parse"),
        (PLACE.replace("places", "shop"), "has one model for 'shop', but the sample has several kinds"),
        (
            'from dynamap_async import Prefix, Table\n\nSHOP = Table("shop", discriminator=Prefix("type"))\n',
            "SHOP does not tell kinds of item apart by 'type'",
        ),
    ],
)
def test_module_that_cannot_be_merged_is_refused(text, problem):
    with pytest.raises(ValueError, match=problem):
        merge_models(shop(orders(), refunds()), text)


def test_sample_of_one_kind_is_refused_for_a_module_of_several():
    text = shop(orders(), refunds()).source()
    with pytest.raises(ValueError, match="has one kind of item"):
        merge_models(shop([{**each, "type": {"S": "x"}} for each in orders(3)]), text)


def test_kind_that_is_no_text_stops_new_kinds():
    text = (
        shop(orders(), refunds())
        .source()
        .replace('kind="refund"', "kind=KINDS[0]")
        .replace("class Refund", "class Back")
    )
    merged = merge_models(shop(orders(), refunds()), text)
    assert merged.after == text
    assert merged.left == ("the kind 'refund' has no class, or is that of Back: kind= is no text there",)


def test_same_design_and_module_give_the_same_text(published):
    design, items = published
    sample = Sample(schema=design.schema, items=tuple(itertools.chain.from_iterable(items.values())))
    one, other = (merge_models(design_of(sample), "") for _ in range(2))
    assert one == other


@pytest.mark.parametrize("end", ["\n", "", "\r\n"])
@pytest.mark.parametrize("program", [["git", "apply", "-"], ["patch", "-p1"]])
def test_patch_is_taken_by_git_and_by_patch(program, end, tmp_path):
    if shutil.which(program[0]) is None:
        pytest.skip(f"{program[0]} is not installed")
    text = PLACE.replace("\n", "\r\n") if end == "\r\n" else PLACE.removesuffix("\n") + end
    file = tmp_path / "my shop" / "models.py"
    file.parent.mkdir()
    file.write_bytes(text.encode())
    merged = merge_models(places(city={"S": "Oslo"}), text)
    patch = merged.patch("my shop/models.py")
    if program[0] == "patch":
        program = [*program, "--binary"]
    subprocess.run(program, cwd=tmp_path, input=patch.encode(), check=True, timeout=300, capture_output=True)
    assert file.read_bytes().decode() == merged.after


BY_HAND = """

class Order(Model, table=SHOP, kind="order"):
    who: Attr[str] = attr(name="customer")
    number: Attr[int]
    when: Attr[str]
    pk: PartitionKey[str] = template("C#{who}")
    key: SortKey[str] = template("R#{when}")
"""


def by_hand(keys=BY_HAND):
    """Return a module of refunds and orders, in which a hand gave orders the keys that refunds had."""
    head, _, _ = shop(orders(), refunds()).source().partition("\n\nclass Order(")
    return head.replace("import Attr,", "import Attr, attr,") + keys


WITH_BASE = """

class OfCustomer(Model, table=SHOP, abstract=True):
    who: Attr[str] = attr(name="customer")
    pk: PartitionKey[str] = template("C#{who}")
    key: SortKey[str]


class Order(OfCustomer, kind="order"):
    number: Attr[int]
    when: Attr[str]
    key: SortKey[str] = template("R#{when}")
"""
KEYS_BY_HAND = [
    BY_HAND,
    BY_HAND.replace('"R#{when}"', "LINE").replace("class Order", 'LINE = "R#{when}"\n\n\nclass Order'),
    BY_HAND.replace('"R#{when}"', '"R#" + "{when}"'),
    WITH_BASE,
]


@pytest.mark.parametrize("keys", KEYS_BY_HAND)
def test_new_kind_whose_keys_resemble_those_of_a_class_is_marked_and_the_module_imports(keys, imported, unequal):
    merged = merge_models(shop(orders(), refunds()), by_hand(keys))
    doubt = (
        "template('R#{paid:04d}') is left out, because the keys may then be those of Order: write it, with "
        "distinct_from=(Order,) in the class statement, if no item of one ever has a key of the other"
    )
    assert merged.added == ("Refund",)
    assert merged.left == (f"Refund.sk is a plain key: {doubt}",)
    assert f"    # check: {doubt}\n    sk: SortKey[str]\n" in merged.after
    assert unequal(imported(merged.after), refunds()) == []
    assert merge_models(shop(orders(), refunds()), merged.after).after == merged.after


def test_what_is_said_of_keys_that_resemble_each_other_imports(imported, unequal):
    after = merge_models(shop(orders(), refunds()), by_hand()).after
    followed = re.sub(
        r"    # check: template.*\n    sk: SortKey\[str\]\n", '    sk: SortKey[str] = template("R#{paid:04d}")\n', after
    )
    followed = followed.replace('kind="refund")', 'kind="refund", distinct_from=(Order,))')
    assert unequal(imported(followed), refunds()) == []


def test_new_kind_whose_keys_resemble_no_class_keeps_its_templates():
    merged = merge_models(shop(orders(), refunds()), by_hand(BY_HAND.replace("R#", "X#")))
    assert (merged.added, merged.left) == (("Refund",), ())
    assert 'sk: SortKey[str] = template("R#' in merged.after


@pytest.mark.parametrize(
    "text", [f"attr = datetime = 1\n{PLACE}".replace(", attr\n", "\n"), "attr = datetime = 1\n"], ids=["grown", "new"]
)
def test_no_field_has_a_name_that_something_is_imported_under(imported, text):
    design = places(**{name: {"S": "2024-05-06T07:08:09.123456Z"} for name in ("Attr", "b c", "datetime")})
    merged = merge_models(design, text)
    assert "attr as attr__" in merged.after
    assert "datetime as datetime__" in merged.after
    imported(merged.after)
