"""The scenarios that the demo ships: complete, and stored exactly as they were published."""

import json
from importlib.resources import files
from pathlib import Path

import pytest

from dynamap_async.cli.demo.command import ScenarioName
from dynamap_async.cli.demo.scenario import words_of
from dynamap_async.cli.demo.scenarios import SCENARIOS
from dynamap_async.models import definition_of

PUBLISHED = Path(__file__).parents[2] / "scenarios" / "data"
FOLDERS = {
    "forum": "forum-product-catalog",
    "devices": "device-state-log",
    "sessions": "session-management",
    "chat": "chat",
}
EVERY_SCENARIO = pytest.mark.parametrize("name", SCENARIOS)
EVERY_QUESTION = pytest.mark.parametrize(
    "question", [each for scenario in SCENARIOS.values() for each in scenario.questions], ids=lambda each: each.__name__
)


def stored_items(name):
    found = {}
    for item in SCENARIOS[name].items():
        definition = definition_of(type(item))
        found.setdefault(definition.table.name, []).append(definition.items.encode(item))
    return found


def in_any_order(tables):
    return {table: sorted(json.dumps(item, sort_keys=True) for item in items) for table, items in tables.items()}


def test_command_line_names_every_scenario():
    assert list(SCENARIOS) == list(ScenarioName) == list(FOLDERS)


@EVERY_SCENARIO
def test_shipped_items_are_stored_to_the_letter_as_they_were_published(name):
    published = json.loads((PUBLISHED / FOLDERS[name] / "items.json").read_text("utf-8"))
    assert in_any_order(stored_items(name)) == in_any_order(published)


@EVERY_SCENARIO
def test_every_entry_of_the_data_belongs_to_a_model(name):
    scenario = SCENARIOS[name]
    assert {type(item) for item in scenario.items()} == set(scenario.models)


@EVERY_SCENARIO
def test_data_has_a_line_in_the_attribution(name):
    text = (files("dynamap_async.cli.demo") / "data" / "ATTRIBUTION.md").read_text("utf-8")
    assert f"| {name}.json |" in text


@EVERY_QUESTION
def test_question_asks_in_one_line_and_remarks_in_sentences(question):
    asked, remarks = words_of(question)
    assert asked.endswith("?")
    assert len(asked) <= 76
    assert all(remark.endswith(".") for remark in remarks)


def test_question_without_docstring_is_shown_by_its_name():
    def newest_first(session): ...

    assert words_of(newest_first) == ("newest_first", [])
