"""The programs of this folder, as modules that tests can run."""

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).parent
PROGRAMS = ("models", "right", "wrong", "contract", "cannot_refuse")


@pytest.fixture(scope="session")
def program() -> Iterator[Callable[[str], ModuleType]]:
    """Return the function that imports a program by its name, with the programs that it imports itself."""
    forget_programs()  # those of other folders have such names, too
    sys.path.insert(0, str(HERE))
    try:
        yield importlib.import_module
    finally:
        sys.path.remove(str(HERE))
        forget_programs()


def forget_programs() -> None:
    """Have the next import look for the programs."""
    for name in PROGRAMS:
        sys.modules.pop(name, None)
