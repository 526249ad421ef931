"""Kinds of published tables: what is generated takes the items apart as the models do that were declared by hand."""

import importlib.util
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest

from dynamap_async import Model, Table
from dynamap_async.generate import design_of

SCENARIOS = Path(__file__).parents[2] / "scenarios"


@pytest.fixture(scope="session")
def declared() -> dict[str, type[Model] | Table]:
    """Return folder and table -> what a scenario test declares for it."""
    found = {}
    for file in sorted(SCENARIOS.glob("test_*.py")):
        text = file.read_text("utf-8")
        if "\nSCENARIO = " in text and "\nMODELS = " in text:
            module = loaded(file)
            found |= {f"{module.SCENARIO}/{name}": place for name, place in module.MODELS.items()}
    return found


def loaded(file: Path) -> ModuleType:
    name = f"declared_in_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def groups(items, kind_of):
    """Return the numbers of the items of each kind."""
    found = defaultdict(list)
    for number, item in enumerate(items):
        found[kind_of(item)].append(number)
    return sorted(found.values())


def kinds_of(place):
    return place.kind_of if isinstance(place, Table) else lambda item: None


def test_kinds_are_those_that_were_declared_by_hand(all_samples, declared, imported):
    different = []
    tables = {name: sample for name, sample in all_samples.items() if name in declared and sample.items}
    for name, sample in tables.items():
        module = imported(design_of(sample).source())
        generated = next((each for each in vars(module).values() if isinstance(each, Table)), None)
        if groups(sample.items, kinds_of(generated)) != groups(sample.items, kinds_of(declared[name])):
            different.append(name)
    assert len(tables) >= 20
    assert different == []
