"""Keys that only some items have: a new item of the generated model is in an index only if such items are."""

import pytest

from dynamap_async.generate import Sample, design_of
from dynamap_async.generate.module_merge import merge_models
from dynamap_async.models import definition_of
from dynamap_async.schema import IndexKind, IndexSchema, KeyAttribute, KeySchema, TableSchema

STATES = ("open", "held", "paid", "sent")
INDEX = IndexSchema(name="gsi1", kind=IndexKind.GLOBAL, keys=KeySchema((KeyAttribute("gsi1pk", "S"),)))


def order(number, **more):
    item = {
        "pk": {"S": f"C#{number % 20}"},
        "sk": {"S": f"O#{number:06d}"},
        "customer": {"N": str(number % 20)},
        "number": {"N": str(number)},
        "status": {"S": STATES[number % 4]},
    }
    return item | more


def sample_of(items):
    keys = KeySchema((KeyAttribute("pk", "S"),), (KeyAttribute("sk", "S"),))
    return Sample(schema=TableSchema(name="orders", keys=keys, indexes=(INDEX,)), items=tuple(items))


def with_key(item, *, where, text="STATUS#{}", part="status"):
    """Return an item, with the key of the index if it is one of those that have it."""
    value = next(iter(item.get(part, {"S": ""}).values()))
    return item | ({"gsi1pk": {"S": text.format(value)}} if where(item) else {})


def is_waiting(item):
    return item["status"]["S"] in ("open", "held")


def lines_of(sample, name="gsi1pk"):
    """Return the line of a field, and the comments above it."""
    lines = design_of(sample).source().splitlines()
    [at] = [n for n, line in enumerate(lines) if line.strip().startswith(f"{name}:")]
    above = next(n for n in range(at, 0, -1) if not lines[n - 1].strip().startswith("#"))
    return [line.strip() for line in lines[above : at + 1]]


def fresh(imported, sample, **values):
    """Return a new item of the generated model, in wire form."""
    module = imported(design_of(sample).source())
    model = next(each for each in vars(module).values() if getattr(each, "__name__", "") == "Orders")
    return definition_of(model).items.encode(model(**values))


def test_key_of_some_states_has_them_as_its_condition(imported, unequal):
    sample = sample_of(with_key(order(n), where=is_waiting) for n in range(100))
    [line] = lines_of(sample)
    assert line == 'gsi1pk: Attr[str | None] = template("STATUS#{status}", when={"status": ["held", "open"]})'
    assert "gsi1pk" not in fresh(imported, sample, customer=1, number=9_000, status="paid")
    assert "gsi1pk" in fresh(imported, sample, customer=1, number=9_000, status="held")
    assert unequal(imported(design_of(sample).source()), sample.items) == []


@pytest.mark.parametrize(
    ("value", "other", "written"),
    [({"BOOL": True}, {"BOOL": False}, "True"), ({"N": "1"}, {"N": "0"}, "1"), ({"S": 'a"b'}, {"S": "c"}, r'"a\"b"')],
)
def test_key_of_one_value_has_it_as_its_condition(value, other, written, imported, unequal):
    items = [order(n, active=value if n % 3 else other) for n in range(60)]
    sample = sample_of(with_key(item, where=lambda item: item["active"] == value) for item in items)
    assert f'when={{"active": {written}}}' in lines_of(sample)[-1]
    assert unequal(imported(design_of(sample).source()), sample.items) == []


def test_key_of_items_that_have_a_field_has_its_presence_as_the_condition(imported):
    items = [order(n, **({"heldBy": {"S": f"u{n}"}} if n % 3 else {})) for n in range(60)]
    sample = sample_of(with_key(item, where=lambda item: "heldBy" in item) for item in items)
    assert lines_of(sample)[-1].endswith('template("STATUS#{status}", when={"held_by": ...})')
    assert "gsi1pk" not in fresh(imported, sample, customer=1, number=9_000, status="paid")


def test_key_that_is_absent_where_its_part_is_needs_no_condition(imported, unequal):
    items = [order(n, **({"heldBy": {"S": f"u{n}"}} if n % 3 else {})) for n in range(60)]
    sample = sample_of(
        with_key(item, where=lambda item: "heldBy" in item, text="HOLDER#{}", part="heldBy") for item in items
    )
    assert lines_of(sample) == ['gsi1pk: Attr[str | None] = template("HOLDER#{held_by}")']
    assert unequal(imported(design_of(sample).source()), sample.items) == []


def test_key_of_which_nothing_tells_where_it_is_stays_a_plain_field(imported, unequal):
    sample = sample_of(with_key(order(n), where=lambda item: int(item["number"]["N"]) < 30) for n in range(60))
    check, line = lines_of(sample)
    assert line == "gsi1pk: Attr[str | None] = attr(default=None)"
    assert check.startswith("# check: may be template('STATUS#{status}'), but 30 of 60 items have its parts")
    assert "gsi1pk" not in fresh(imported, sample, customer=1, number=9_000, status="paid")
    assert unequal(imported(design_of(sample).source()), sample.items) == []


def test_few_items_do_not_tell_where_a_key_is():
    sample = sample_of(with_key(order(n), where=is_waiting) for n in range(19))
    assert lines_of(sample)[-1] == "gsi1pk: Attr[str | None] = attr(default=None)"


def test_values_of_which_most_stand_in_one_item_do_not_tell_where_a_key_is():
    items = [order(n, place={"S": f"p{n % 12}"}) for n in range(59)]
    sample = sample_of(with_key(item, where=lambda item: len(item["place"]["S"]) == 3) for item in items)
    assert lines_of(sample)[-1] == "gsi1pk: Attr[str | None] = attr(default=None)"


def test_two_fields_that_tell_where_a_key_is_are_a_doubt():
    items = [order(n, open={"BOOL": n % 4 < 2}) for n in range(60)]
    sample = sample_of(with_key(item, where=is_waiting) for item in items)
    check, line = lines_of(sample)
    assert check == "# check: that open tells which items have it may be chance: status does so too"
    assert line.endswith('when={"open": True})')


def test_values_of_a_secret_are_no_condition():
    items = [order(n, pin={"S": "12" if n % 3 else "34"}) for n in range(60)]
    sample = sample_of(with_key(item, where=lambda item: item["pin"]["S"] == "12") for item in items)
    assert lines_of(sample)[-1] == "gsi1pk: Attr[str | None] = attr(default=None)"


def test_condition_uses_the_name_that_a_module_has_for_the_field():
    module = (
        "from dynamap_async import Attr, Model, PartitionKey, SortKey, attr, template\n\n\n"
        'class Orders(Model, table="orders"):\n    pk: PartitionKey[str]\n    sk: SortKey[str]\n'
        '    customer: Attr[int]\n    number: Attr[int]\n    phase: Attr[str] = attr(name="status")\n'
    )
    sample = sample_of(with_key(order(n), where=is_waiting, text="WAITING", part="number") for n in range(100))
    merged = merge_models(design_of(sample), module)
    assert 'template("WAITING", when={"phase": ["held", "open"]})' in merged.after
