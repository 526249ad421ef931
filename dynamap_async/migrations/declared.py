"""Declared migrations: functions that are to run once, each with an id, found in the modules of a package."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Callable, Coroutine, Iterable, Iterator
from types import ModuleType
from typing import Any, Final, TypeAlias

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import OperationError
from dynamap_async.migrations.run import Migration
from dynamap_async.session import Session

MigrationFunction: TypeAlias = Callable[[Session, Migration], Coroutine[Any, Any, None]]
"""The function of a migration. It is called with a session and the run."""

_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredMigration:
    """A function that is to run once, as ``@migration`` declares it."""

    id: str
    """The name that it is recorded under. Migrations run in the order of their ids."""
    function: MigrationFunction
    """The function that migrates."""
    undo: MigrationFunction | None = None
    """The function that takes the migration back; None if there is none."""
    fenced: bool = False
    """Whether each of its writes is checked by DynamoDB against the lease."""

    def __call__(self, session: Session, run: Migration) -> Coroutine[Any, Any, None]:
        """Call the function.

        Args:
            session: the session to read and write with.
            run: the run, which has the scans.
        """
        return self.function(session, run)

    @property
    def source_hash(self) -> str | None:
        """A hash of the function's source, as text; None if the source cannot be found."""
        try:
            source = inspect.getsource(self.function)
        except (OSError, TypeError):
            return None
        return hashlib.sha256(textwrap.dedent(source).encode()).hexdigest()[:16]


def migration(
    name: str, /, *, undo: MigrationFunction | None = None, fenced: bool = False
) -> Callable[[MigrationFunction], DeclaredMigration]:
    """Declare a migration: a function ``async def f(session: Session, run: Migration) -> None`` that is to run once.

    Args:
        name: its id: 1 to 200 letters, digits, ``-``, ``_`` and ``.``. Migrations run in the order of their ids, so
            begin it with a date. It is recorded, and so never changes.
        undo: what takes it back, for ``dynamap migrate --undo``: a function of the same form.
        fenced: whether each write goes in a transaction that checks the lease, so that DynamoDB refuses it once another
            process has it. It costs twice the write units and two more for each write, which go one after the other.

    Raises:
        OperationError: the id cannot be one, or the function is no such function.
    """
    if _ID.fullmatch(name) is None:
        raise OperationError(
            f"{name!r} cannot be the id of a migration; use 1 to 200 letters, digits, '-', '_' and '.', such as "
            "'2026-11-remove-drafts'"
        )

    if undo is not None:
        _check(name, undo)

    def declare(function: MigrationFunction) -> DeclaredMigration:
        _check(name, function)
        return DeclaredMigration(id=name, function=function, undo=undo, fenced=fenced)

    return declare


def _check(name: str, function: object) -> None:
    problem = None
    if not inspect.iscoroutinefunction(function):
        problem = "is no coroutine function"
    else:
        try:
            inspect.signature(function).bind(None, None)
        except TypeError as error:
            problem = f"cannot be called with (session, run): {error}"
    if problem is not None:
        raise OperationError(
            f"migration {name!r}: {function!r} {problem}; write async def f(session: Session, run: Migration) -> None"
        )


def find_migrations(*modules: ModuleType) -> tuple[DeclaredMigration, ...]:
    """Return the migrations that modules, and the modules in packages, declare, in the order of their ids.

    Args:
        modules: modules or packages; the modules of a package are imported.

    Raises:
        OperationError: two of them have the same id.
    """
    return in_order(each for module in modules for part in _parts(module) for each in _declared_in(part))


def in_order(declared: Iterable[DeclaredMigration]) -> tuple[DeclaredMigration, ...]:
    """Return migrations in the order of their ids, each once.

    Args:
        declared: the migrations.

    Raises:
        OperationError: two of them have the same id.
    """
    found: dict[str, DeclaredMigration] = {}
    for each in declared:
        if found.setdefault(each.id, each) is not each:
            raise OperationError(f"two migrations have the id {each.id!r}; give one of them another id")
    return tuple(found[name] for name in sorted(found))


def _parts(module: ModuleType) -> Iterator[ModuleType]:
    yield module
    for part in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{module.__name__}."):
        yield importlib.import_module(part.name)


def _declared_in(module: ModuleType) -> Iterator[DeclaredMigration]:
    return (value for value in vars(module).values() if isinstance(value, DeclaredMigration))
