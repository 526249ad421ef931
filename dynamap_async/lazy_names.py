"""``lazy_names``: a package whose names are imported from its modules when they are used first.

A program that reads one item needs little more than half of what all calls together need, and loading the rest takes
time (benchmarks: cold_start). Where a name is always needed, write ``from dynamap_async.room import name``, which loads
its module; where it seldom is, ``from dynamap_async import room``, and ``room.name`` in the place that needs it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package that imports each name when it is first used.

    Args:
        package: its full name.
        homes: module of the package -> the names that are imported from it, with spaces between them. None of them is
            the name of a module too, for importing that module would put it in the place of the name.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def get(name: str) -> Any:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f"{package}.{home}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return get
