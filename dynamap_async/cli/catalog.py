"""The models and tables that the user's modules declare, by name. Only this imports them."""

import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NoReturn, TypeAlias, TypeGuard

import pydantic

import dynamap_async
from dynamap_async.cli.completion import keep_names
from dynamap_async.cli.endings import CommandError, Status
from dynamap_async.models import Model, Table, definition_of
from dynamap_async.schema import TableSchema

Declared: TypeAlias = type[Model] | Table
"""What a module declares, and ``session.tables`` takes."""

_PACKAGES: Final = (importlib, dynamap_async, pydantic)
_NOT_THEIRS: Final = ("<frozen ", *(os.path.dirname(str(package.__file__)) for package in _PACKAGES))
"""Where code stands that is not the user's."""


class Catalog:
    """What modules declare: models with a table, and tables that several models share.

    Args:
        modules: the modules; what they import is theirs, too.
    """

    def __init__(self, modules: Iterable[ModuleType]) -> None:
        self._names: dict[Declared, tuple[str, str]] = {}
        for module in modules:
            for name, value in vars(module).items():
                if isinstance(value, Table):
                    self._names.setdefault(value, (module.__name__, name))
                elif _is_model(value) and definition_of(value).table is not None:
                    # By the class's own module: programs import it from there, wherever else it was found.
                    self._names.setdefault(value, (value.__module__, value.__name__))

    @property
    def all(self) -> tuple[Declared, ...]:
        """All models and tables, in the order in which they were found."""
        return tuple(self._names)

    @property
    def names(self) -> list[str]:
        """The names of all models, tables and indexes; those of indexes as ``Model.index``."""
        names = [name for _, name in self._names.values()]
        return names + [
            f"{name}.{index.name}" for each, (_, name) in self._names.items() for index in schema_of(each).indexes
        ]

    def name(self, declared: Declared) -> str:
        """Return the name by which commands know a model or table."""
        return self._names[declared][1]

    def home(self, declared: Declared) -> tuple[str, str]:
        """Return the module that declares a model or table, and its name there."""
        return self._names[declared]

    def find(self, name: str) -> Declared:
        """Return the model or table of a name.

        Args:
            name: the name of a model, or of the variable that holds a table; after a module and a colon, or alone.

        Raises:
            CommandError: nothing has it, or several things do.
        """
        module, _, short = name.rpartition(":")
        found = [each for each, (of, own) in self._names.items() if own == short and module in ("", of)]
        if len(found) == 1:
            return found[0]
        if found:
            several = " or ".join(f"{self._names[each][0]}:{short}" for each in found)
            raise CommandError(f"{name!r} is declared more than once; name one of them: {several}", Status.USAGE)
        known = ", ".join(sorted(own for _, own in self._names.values()))
        raise CommandError(f"there is no model or table {name!r}; known models: {known or 'none'}", Status.USAGE)

    def sharing(self, chosen: Iterable[Declared]) -> tuple[Declared, ...]:
        """Return everything that shares a table with the chosen models: a table is compared with all its models."""
        names = {schema_of(each).name for each in chosen}
        return tuple(each for each in self._names if schema_of(each).name in names)


def _is_model(value: object) -> TypeGuard[type[Model]]:
    return isinstance(value, type) and issubclass(value, Model) and value is not Model


def schema_of(declared: Declared) -> TableSchema:
    """Return the schema of a declared table, before any prefix."""
    schema = declared.schema if isinstance(declared, Table) else definition_of(declared).table
    assert schema is not None  # noqa: S101 - the catalogue holds nothing else
    return schema


def periods_of(declared: Declared) -> Any:
    """Return the periods of a model that has a table for each; None for anything else."""
    return None if isinstance(declared, Table) else definition_of(declared).periods


def load_catalog(modules: Sequence[str], folder: Path) -> Catalog:
    """Return the catalog of modules.

    Args:
        modules: their names, or files that end in ``.py``.
        folder: where imports begin, as if Python had been started there.

    Raises:
        CommandError: none is named, one cannot be imported, or they have no model with a table.
    """
    if not modules:
        raise CommandError(
            "no module with models is given; write models = ['shop.models'] in dynamap.toml, or under [tool.dynamap] "
            "in pyproject.toml, or add --models shop.models",
            Status.USAGE,
        )
    catalog = Catalog([load_module(each, folder) for each in modules])
    if not catalog.all:
        raise CommandError(f"{', '.join(modules)} has no model with a table", Status.USAGE)
    keep_names(modules, folder, catalog.names)
    return catalog


def load_module(name: str, folder: Path) -> ModuleType:
    """Import a module and return it.

    Args:
        name: its name, or a file that ends in ``.py``.

    Raises:
        CommandError: it cannot be imported.
    """
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return load_file(Path(name)) if name.endswith(".py") else _import(name, folder)


def load_file(file: Path) -> ModuleType:
    """Run a file as a module and return it; it is not imported under its name anywhere else.

    Raises:
        CommandError: it cannot be imported.
    """
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise CommandError(f"{file} cannot be imported: the file does not exist", Status.USAGE)
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(file.stem)
    sys.modules[file.stem] = module  # annotations are evaluated in the module that a class names
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the user's code may raise anything
        if before is None:
            del sys.modules[file.stem]
        else:
            sys.modules[file.stem] = before
        refuse(str(file), error)
    return module


def _import(name: str, folder: Path) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # Either the module itself is missing, or one that it imports, which its own traceback explains better.
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise CommandError(
                f"there is no module {name!r} in {folder}, nor among the installed packages",
                Status.USAGE,
            ) from error
        refuse(name, error)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - as above
        refuse(name, error)


def refuse(module: str, error: BaseException) -> NoReturn:
    """Raise the error of a module that cannot be used, with the traceback of its own code."""
    frames = [each for each in traceback.extract_tb(error.__traceback__) if not each.filename.startswith(_NOT_THEIRS)]
    told = "".join([*traceback.format_list(frames), *traceback.format_exception_only(error)]).rstrip()
    raise CommandError(f"{module} cannot be imported:\n{told}", Status.USAGE) from error
