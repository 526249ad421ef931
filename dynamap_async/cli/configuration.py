"""The configuration file of the command line: ``dynamap.toml``, or ``[tool.dynamap]`` in ``pyproject.toml``."""

import os
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import field
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NoReturn, TypeGuard, cast

from dynamap_async.cli.endings import CommandError, Status
from dynamap_async.dataclass import dataclass

FILE: Final = "dynamap.toml"
PYPROJECT: Final = "pyproject.toml"
TRUST: Final = "DYNAMAP_TRUST"
"""The environment variable that names a folder of another user's whose configuration is read all the same."""
_PLACE: Final = ("region", "profile", "endpoint_url", "table_prefix")
"""What the file says for all environments, and each environment for itself."""
_UNITS: Final = "max_read_units"
"""The same, but a number."""
_ENGINE: Final = "engine"
"""The same, but one of the engines that ``dynamap local`` starts."""
_NAMES: Final = "table_names"
"""The same, but a table of texts and no text."""


class EngineKind(StrEnum):
    """The engines that ``dynamap local`` can start."""

    MEMORY = "memory"
    MOTO = "moto"
    NATIVE = "native"
    EMBEDDED = "embedded"
    """What ``memory`` was called before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """What a configuration file says."""

    file: Path | None = None
    """The file; None where there is none."""
    models: tuple[str, ...] = ()
    """The modules that declare models: their names, or files that end in ``.py``."""
    migrations: str | None = None
    """The package of migrations: its name, or a file that ends in ``.py``."""
    default: str | None = None
    """The environment that is meant where nobody names one."""
    common: Mapping[str, str] = field(default_factory=dict[str, str])
    """Setting -> value for all environments."""
    environments: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """Name of an environment -> its settings."""
    table_names: Mapping[str | None, Mapping[str, str]] = field(default_factory=dict[str | None, Mapping[str, str]])
    """Name of an environment, None for all -> declared name of a table -> its name in DynamoDB."""

    @property
    def folder(self) -> Path:
        """The folder from which modules are imported: the file's, or else the current one."""
        return Path.cwd() if self.file is None else self.file.parent


def find_configuration(start: Path) -> Configuration:
    """Return the configuration of the nearest folder that has one, from a folder upwards.

    Raises:
        CommandError: the file cannot be read, or says something that makes no sense; or it is another user's.
    """
    for folder in (start, *start.parents):
        if (folder / FILE).is_file():
            _check_owner(folder / FILE)
            return _read(folder / FILE, _toml(folder / FILE))
        if (folder / PYPROJECT).is_file():
            tool: Any = _toml(folder / PYPROJECT).get("tool") or {}
            if isinstance(tool, dict) and "dynamap" in tool:
                _check_owner(folder / PYPROJECT)
                return _read(folder / PYPROJECT, cast("dict[str, Any]", tool)["dynamap"])
    return Configuration()


def _check_owner(file: Path) -> None:
    """Refuse a file that another user put there: modules are imported from its folder."""
    if sys.platform == "win32" or os.environ.get(TRUST) == str(file.parent):
        return
    # Root could change everything anyway; under sudo, the user who called it is trusted as well.
    trusted = {0, os.geteuid()}
    if os.geteuid() == 0 and "SUDO_UID" in os.environ:
        trusted.add(int(os.environ["SUDO_UID"]))
    for each in (file.parent, file):
        if each.lstat().st_uid not in trusted:
            raise CommandError(
                f"{each} belongs to another user (number {each.lstat().st_uid}), whose code would be run; if you trust "
                f"it, set {TRUST}={file.parent}",
                Status.USAGE,
            )


def _toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise CommandError(f"{file} cannot be read: {error}", Status.USAGE) from error


def _read(file: Path, given: Any) -> Configuration:
    _check_names(file, "", given, ("models", "migrations", "default", "env", *_PLACE, _UNITS, _ENGINE, _NAMES))
    models, default, environments = given.get("models", []), given.get("default"), given.get("env", {})
    if not _is_texts(models):
        _refuse(file, "models must be a list of modules, such as models = ['shop.models']")
    migrations = given.get("migrations")
    if migrations is not None and not isinstance(migrations, str):
        _refuse(file, "migrations must be the name of a package, such as migrations = 'shop.migrations'")
    if not isinstance(environments, dict):
        _refuse(file, "env must have a table for each environment, such as [env.local]")
    known: dict[str, Mapping[str, str]] = {}
    names: dict[str | None, Mapping[str, str]] = {None: _table_names(file, "", given)}
    for name, settings in cast("dict[str, Any]", environments).items():
        _check_names(file, f"env.{name}", settings, (*_PLACE, _UNITS, _ENGINE, _NAMES, "guard"))
        names[name] = _table_names(file, f"env.{name}.", settings)
        texts = {key: each for key, each in settings.items() if key not in (_UNITS, _NAMES)}
        known[name] = _texts(file, f"env.{name}.", texts) | _units(file, f"env.{name}.", settings)
        _check_engine(file, f"env.{name}.", known[name])
        if known[name].get("guard", "name") != "name":
            _refuse(file, f"env.{name}.guard = {known[name]['guard']!r}: the only guard is guard = 'name'")
    if default is not None and default not in known:
        _refuse(file, f"default = {default!r} is not an environment; known environments: {_listed(known)}")
    common = _texts(file, "", {name: given[name] for name in (*_PLACE, _ENGINE) if name in given})
    common |= _units(file, "", given)
    _check_engine(file, "", common)
    # A file is named from the folder of the configuration, wherever the command is run.
    named = tuple(_from(file, each) for each in models)
    package = None if migrations is None else _from(file, migrations)
    return Configuration(
        file=file,
        models=named,
        migrations=package,
        default=default,
        common=common,
        environments=known,
        table_names=names,
    )


def _from(file: Path, module: str) -> str:
    return str(file.parent / module) if module.endswith(".py") else module


def _check_names(file: Path, where: str, given: Any, known: tuple[str, ...]) -> None:
    if not isinstance(given, dict):
        _refuse(file, f"{where or 'tool.dynamap'} must be a table of settings")
    for name in cast("dict[str, Any]", given):
        if name not in known:
            near = get_close_matches(name, known, 1)
            meant = f"did you mean {near[0]}?" if near else f"the settings are {', '.join(known)}"
            _refuse(file, f"{where + '.' if where else ''}{name} is not a setting; {meant}")


def _is_texts(given: Any) -> TypeGuard[list[str]]:
    return isinstance(given, list) and all(isinstance(each, str) for each in cast("list[object]", given))


def _table_names(file: Path, where: str, settings: Mapping[str, Any]) -> dict[str, str]:
    given: object = settings.get(_NAMES, {})
    if not isinstance(given, dict):
        _refuse(file, f"{where}{_NAMES} must have a line for each table, such as users = 'legacy_users'")
    return _texts(file, f"{where}{_NAMES}.", cast("dict[str, Any]", given))


def _check_engine(file: Path, where: str, settings: Mapping[str, str]) -> None:
    engine = settings.get(_ENGINE)
    if engine is not None and engine not in [*EngineKind]:
        url = f"; the address of one that runs is {where}endpoint_url = {engine!r}" if "://" in engine else ""
        _refuse(file, f"{where}{_ENGINE} = {engine!r}: `dynamap local` starts 'memory', 'moto' or 'native'{url}")


def _units(file: Path, where: str, settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the setting ``max_read_units`` as text; nothing if the file does not have it."""
    if _UNITS not in settings:
        return {}
    units: object = settings[_UNITS]
    if isinstance(units, bool) or not isinstance(units, int | float) or not 1 <= units < float("inf"):
        _refuse(file, f"{where}{_UNITS} = {units!r} is not a number of units, 1 or more")
    return {_UNITS: str(units)}


def _texts(file: Path, where: str, given: Mapping[str, Any]) -> dict[str, str]:
    for name, value in given.items():
        if not isinstance(value, str):
            _refuse(file, f"{where}{name} = {value!r} is not a string")
    return dict(given)


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(names) or "none"


def _refuse(file: Path, problem: str) -> NoReturn:
    raise CommandError(f"{file}: {problem}", Status.USAGE)
