"""Whole designs: published tables become modules that open every item and write it back as it was."""

import itertools
import json
import re

import pytest

from dynamap_async.generate import Sample, design_of
from dynamap_async.models import definition_of
from dynamap_async.schema import KeyAttribute, KeySchema, TableSchema, TableSettings


def sample_of(design, items):
    return Sample(schema=design.schema, items=tuple(itertools.chain.from_iterable(items.values())))


def test_every_item_of_a_scenario_is_opened_and_written_back_as_it_is(scenario, imported, unequal):
    assert unequal(imported(design_of(scenario).source()), scenario.items) == []


def test_every_item_of_a_published_design_is_opened_and_written_back_as_it_is(published, imported, unequal):
    sample = sample_of(*published)
    assert unequal(imported(design_of(sample).source(values=True)), sample.items) == []


def test_literals_are_opened_and_written_back_too(published, imported, unequal):
    sample = sample_of(*published)
    assert unequal(imported(design_of(sample).source(enums=True)), sample.items) == []


def test_kinds_are_the_published_entities(published):
    design, items = published
    found = design_of(sample_of(design, items)).models
    assert sorted(model.count for model in found) == sorted(map(len, items.values()))
    assert len(found) == len(design.entities)


def test_patterns_are_the_published_ones(published):
    design, items = published
    models = design_of(sample_of(design, items)).models
    for name, entity in design.entities.items():
        told = {key: pattern for key, pattern in entity.keys.items() if key not in entity.joined}
        wanted = {key: in_stored_names(entity, pattern, key) for key, pattern in told.items()}
        found = [patterns_of(model) for model in models]
        assert wanted in [{key: each[key] for key in each if key not in entity.joined} for each in found], name


def in_stored_names(entity, pattern, key):
    """Return a published pattern with ? for parts that only the key holds, or for a key that is a value as it is."""
    stored = {name for name, kind in entity.attributes.items() if not kind.endswith("-")}
    shown = re.sub(r"{(\w+)(:\w+)?}", lambda part: part[0] if part[1] in stored else "{?}", pattern)
    return "{?}" if shown == f"{{{key}}}" else shown


def patterns_of(model):
    names = {field.name: field.attribute or "?" for field in model.fields}
    texts = {
        field.attribute: field.pattern.text if field.pattern else "{" + field.name + "}"
        for field in model.fields
        if field.pattern or field.role != "Attr"
    }
    named = {
        key: re.sub(r"{(\w+)(:\w+)?}", lambda part: "{" + names[part[1]] + (part[2] or "") + "}", text)
        for key, text in texts.items()
    }
    return {key: "{?}" if text == f"{{{key}}}" else re.sub(r"{\?:\w+}", "{?}", text) for key, text in named.items()}


def test_same_items_in_any_order_of_attributes_give_the_same_text(published):
    sample = sample_of(*published)
    turned = tuple(dict(reversed(item.items())) for item in sample.items)
    again = Sample(schema=sample.schema, items=turned)
    assert design_of(sample).source() == design_of(sample).source() == design_of(again).source()


def test_module_that_python_cannot_read_is_never_given(all_samples, monkeypatch):
    monkeypatch.setattr("dynamap_async.generate.source.docstring", lambda *lines: '"""')
    with pytest.raises(SyntaxError):
        design_of(next(iter(all_samples.values()))).source()


def test_no_sampled_value_is_shown_unless_asked_for(published):
    design, items = published
    sample = sample_of(design, items)
    text = design_of(sample).source()
    constants = {pattern for entity in design.entities.values() for pattern in entity.keys.values()}
    plain = [value for item in sample.items for name, value in item.items() if name != design.marker]
    values = {each for value in plain for each in re.findall(r'"([^" ]{5,})"', json.dumps(value))} - constants
    assert len(values) > 10
    assert [value for value in values - {"street", "number"} if re.search(rf"\b{re.escape(value)}\b", text)] == []


@pytest.mark.parametrize(
    ("others", "head", "member"),
    [
        (
            [{}],
            "class Address(Model, absent_when_none=True):",
            'flat: Attr[str | None] = attr(name="Flat", default=None)',
        ),
        (
            [{"Flat": {"NULL": True}}],
            "class Address(Model):",
            'flat: Attr[str | None] = attr(name="Flat", default=None)',
        ),
        ([{}, {"Flat": {"NULL": True}}], "class Address(TypedDict):", "Flat: NotRequired[str | None]"),
    ],
)
def test_members_of_maps_that_are_absent_or_null_are_written_back_so(others, head, member, imported, unequal):
    whole = {"city": {"S": "York"}, "street": {"S": "High Street"}}
    maps = [{**whole, **each} for each in ({"Flat": {"S": "3a"}}, *others)]
    keys = KeySchema((KeyAttribute("id", "S"),))
    items = tuple({"id": {"S": str(n)}, "address": {"M": each}} for n, each in enumerate(maps))
    text = design_of(Sample(schema=TableSchema(name="shops", keys=keys), items=items)).source()
    assert head in text
    assert f"\n    {member}\n" in text
    assert unequal(imported(text), items) == []


def versioned(version):
    keys = KeySchema((KeyAttribute("id", "S"),))
    items = tuple({"id": {"S": str(n)}, **({"schema_version": {"N": version}} if version else {})} for n in range(3))
    return Sample(schema=TableSchema(name="log", keys=keys), items=items)


def test_version_that_this_library_stores_is_said_by_the_class(imported, unequal):
    text = design_of(versioned("1")).source()
    assert 'class Log(Model, table="log", schema_version=1):' in text
    assert "schema_version:" not in text
    assert unequal(imported(text), versioned("1").items) == []


def test_later_version_stays_a_field_with_a_doubt(imported, unequal):
    text = design_of(versioned("3")).source()
    assert "# check: may be what schema_version= of this library stores: name it there, and write its upgrades" in text
    assert "schema_version: Attr[int]" in text
    assert unequal(imported(text), versioned("3").items) == []


def test_table_without_items_has_no_version():
    keys = KeySchema((KeyAttribute("id", "S"),))
    assert "schema_version" not in design_of(Sample(schema=TableSchema(name="log", keys=keys), items=())).source()


@pytest.mark.parametrize("length", [118, 119])
def test_settings_stand_on_one_line_if_that_is_no_longer_than_118_characters(length, imported):
    line = '    settings=TableSettings(tags={"team": "?"}),'
    settings = TableSettings(tags={"team": "x" * (length - len(line) + 1)})
    keys = KeySchema((KeyAttribute("id", "S"),))
    sample = Sample(schema=TableSchema(name="log", keys=keys, settings=settings), items=({"id": {"S": "a"}},))
    text = design_of(sample).source()
    [first] = [each for each in text.splitlines() if each.startswith("    settings=")]
    assert len(first) == (length if length == 118 else len("    settings=TableSettings("))
    assert definition_of(imported(text).Log).table.settings == settings
