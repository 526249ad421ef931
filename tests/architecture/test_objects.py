"""What must be in the head at once: a class with its bases is not long."""

import inspect
import pkgutil
from importlib import import_module

import dynamap_async
from dynamap_async import Session

CLASS_LINES = 625
PUBLIC_SURFACE = {Session}
"""Long because it has a verb for each thing that can be asked, each a line or two with its docstring."""


def classes() -> set[type]:
    """Return every class that the package defines."""
    names = [found.name for found in pkgutil.walk_packages(dynamap_async.__path__, "dynamap_async.")]
    modules = [import_module(name) for name in names if not name.endswith("__main__")]
    return {
        each
        for module in modules
        for each in vars(module).values()
        if inspect.isclass(each) and each.__module__ == module.__name__
    }


def lines_of(cls: type) -> int:
    own = [each for each in cls.__mro__ if each.__module__.startswith("dynamap_async")]
    return sum(len(inspect.getsourcelines(each)[0]) for each in own)


def test_a_class_with_its_bases_is_read_in_one_sitting() -> None:
    lengths = {f"{each.__module__}.{each.__qualname__}": lines_of(each) for each in classes() - PUBLIC_SURFACE}
    assert {name: lines for name, lines in lengths.items() if lines > CLASS_LINES} == {}
