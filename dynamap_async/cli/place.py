"""Where a command goes: environment, region, profile, endpoint and prefix, each with what says so.

An option comes first, then a variable of the process's environment, then the configuration file.
"""

import os
import shlex
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

from dynamap_async.cli.configuration import Configuration
from dynamap_async.cli.endings import CommandError, Status
from dynamap_async.dataclass import dataclass

if TYPE_CHECKING:
    from dynamap_async.planning import TableNames
    from dynamap_async.session import Session

ENVIRONMENT: Final = "DYNAMAP_ENV"
"""The variable that names the environment."""
_VARIABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "region": ("AWS_DEFAULT_REGION",),
    # Keys of the process's environment are more than a profile of the file, which build servers do not have.
    "profile": ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE"),
    "endpoint_url": ("AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL"),
    "table_prefix": (),
}
_UNITS: Final = "max_read_units"
_ENGINE: Final = "engine"
_NO_PROFILE: Final = ("AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE")
_THIS_MACHINE: Final = ("localhost", "127.0.0.1", "::1")


class Setting(NamedTuple):
    """A value, and where it comes from."""

    value: str | None
    source: str

    @property
    def is_from_variable(self) -> bool:
        """Whether it comes from an environment variable, which sessions read themselves."""
        return self.source.startswith("$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The tables that a command works on: endpoint, Region and prefix, and the modules with their models."""

    configuration: Configuration
    """The configuration file."""
    environment: Setting
    """The environment's name; None where the file has none."""
    settings: Mapping[str, Setting]
    """``region``, ``profile``, ``endpoint_url``, ``table_prefix``, and ``max_read_units`` and ``engine`` where they are
    set -> what holds."""
    models: tuple[str, ...]
    """The modules that declare models: their names, or files."""
    models_source: str
    """Where ``models`` comes from."""
    table_names: Mapping[str, str]
    """Declared name of a table -> its name in DynamoDB, where the file gives one."""
    is_guarded: bool
    """Whether changes have to be confirmed with the environment's name."""
    sessions: list["Session"] = field(default_factory=list["Session"], compare=False)
    """The sessions that a command has made, whose usage is what it cost."""

    @property
    def prefix(self) -> str:
        """The prefix of every table's name."""
        return self.settings["table_prefix"].value or ""

    @property
    def max_read_units(self) -> float | None:
        """The most read units that a command may take whose options say nothing else; None for no maximum."""
        setting = self.settings.get(_UNITS)
        return None if setting is None else float(setting.value or 0)

    @property
    def engine(self) -> str | None:
        """The engine that ``dynamap local`` starts here, where the file names one."""
        setting = self.settings.get(_ENGINE)
        return None if setting is None else setting.value

    @property
    def names(self) -> "TableNames":
        """How declared table names become DynamoDB's there."""
        from dynamap_async.planning import table_names

        return table_names(self.prefix, self.table_names)

    @property
    def port_here(self) -> int | None:
        """The port of an endpoint on this machine; None for any other endpoint, or one without a port."""
        url = self.settings["endpoint_url"].value
        try:
            return urlsplit(url).port if url is not None and _is_here(url) else None
        except ValueError:
            return None  # it is no port

    @property
    def folder(self) -> Path:
        """The folder from which modules are imported."""
        return self.configuration.folder

    @property
    def options(self) -> tuple[str, ...]:
        """The options that make another command work on the same tables."""
        named = [("--models", each) for each in self.models if self.models_source == "--models"]
        named += [("--env", self.environment.value or "")] if self.environment.source == "--env" else []
        settings = self.settings.items()
        named += [(each.source, self.shown(name)) for name, each in settings if each.source.startswith("--")]
        return tuple(f"{option} {shlex.quote(value)}" for option, value in named)

    def session(self, *, full_names: bool = False) -> "Session":
        """Return a new session with these settings.

        Args:
            full_names: whether tables are named to it as DynamoDB knows them.
        """
        from dynamap_async.session import Session

        session = Session(**self.session_settings(full_names=full_names))
        self.sessions.append(session)
        return session

    def session_settings(self, *, full_names: bool = False) -> dict[str, Any]:
        """Return the arguments of a session with these settings."""
        named: dict[str, Any] = {} if full_names else {"table_prefix": self.prefix, "table_names": self.table_names}
        given = {name: self.settings[name] for name in ("region", "profile", "endpoint_url")}
        told: dict[str, Any] = {name: each.value for name, each in given.items() if not each.is_from_variable}
        url = given["endpoint_url"].value
        # Local engines take any credentials, and who runs one may have none for AWS.
        if url is not None and _is_here(url) and _has_no_keys(given["profile"].value):
            from dynamap_async.testing.engine import local_settings

            told = local_settings(url) | ({"region": region} if (region := given["region"].value) else {})
        return told | named

    def __str__(self) -> str:
        """Return the text that questions name it by."""
        where = [self.shown(name) for name in ("endpoint_url", "region", "profile") if self.settings[name].value]
        named = f"environment {self.environment.value}" if self.environment.value else "AWS"
        return f"{named} ({', '.join(where)})" if where else named

    def shown(self, name: str) -> str:
        """Return a setting's value as it may be printed: a URL without its password."""
        value = self.settings[name].value or "none"
        parts = urlsplit(value) if name == "endpoint_url" else None
        if parts is None or "@" not in parts.netloc:
            return value
        return parts._replace(netloc=f"***@{parts.netloc.rpartition('@')[2]}").geturl()


def place_of(
    configuration: Configuration, *, models: tuple[str, ...], environment: str | None, given: Mapping[str, str | None]
) -> Place:
    """Return the tables that a command works on, from options, environment and configuration.

    Args:
        models: the modules that the options name.
        environment: the environment that the options name.
        given: setting -> what the options say; None for nothing.

    Raises:
        CommandError: there is no such environment, or nobody says which is meant.
    """
    chosen = _environment(configuration, environment)
    own = configuration.environments.get(chosen.value or "", {})
    file = configuration.file.name if configuration.file else ""
    settings: dict[str, Setting] = {}
    # Settings that no variable names, and that most places do not have.
    more = [name for name in (_UNITS, _ENGINE) if name in {**configuration.common, **own}]
    named: dict[str, tuple[str, ...]] = {**_VARIABLES, **dict.fromkeys(more, ())}
    for name, variables in named.items():
        variable = next((each for each in variables if os.environ.get(each)), None)
        # An option stands over a variable, and a variable over the file, whose environments stand over its common
        # settings.
        if (option := given.get(name)) is not None:
            settings[name] = Setting(option, f"--{name.replace('_', '-')}")
        elif variable is not None:
            # The session finds these keys by itself; a profile of the file would stand before them.
            value = None if variable in _NO_PROFILE else os.environ[variable]
            settings[name] = Setting(value, f"${variable}")
        elif name in own:
            settings[name] = Setting(own[name], f"{file}, env.{chosen.value}")
        elif name in configuration.common:
            settings[name] = Setting(configuration.common[name], file)
        else:
            settings[name] = Setting(None, "not set")
    return Place(
        configuration=configuration,
        environment=chosen,
        settings=settings,
        models=models or configuration.models,
        models_source="--models" if models else file if configuration.models else "not set",
        table_names={**configuration.table_names.get(None, {}), **configuration.table_names.get(chosen.value, {})},
        is_guarded="guard" in own,
    )


def _environment(configuration: Configuration, given: str | None) -> Setting:
    known = configuration.environments
    file = configuration.file.name if configuration.file else "dynamap.toml"
    variable = os.environ.get(ENVIRONMENT)
    if given is not None:
        chosen = Setting(given, "--env")
    elif variable:
        chosen = Setting(variable, f"${ENVIRONMENT}")
    elif configuration.default is not None:
        return Setting(configuration.default, file)
    elif known:
        raise CommandError(
            f"{configuration.file} has several environments; choose one with --env {' | '.join(known)}, or write "
            "default = '...' there",
            Status.USAGE,
        )
    else:
        return Setting(None, "not set")
    if chosen.value not in known:
        there = (
            f"{configuration.file} has {', '.join(known) or 'none'}" if configuration.file else f"there is no {file}"
        )
        raise CommandError(f"{chosen.source}: there is no environment {chosen.value!r}; {there}", Status.USAGE)
    return chosen


def _is_here(url: str) -> bool:
    try:
        return urlsplit(url).hostname in _THIS_MACHINE
    except ValueError:
        return False  # the session says what is wrong with it


def _has_no_keys(profile: str | None) -> bool:
    """Return whether this machine names no access key for AWS, so that an engine's own key is used."""
    files = (
        os.environ.get("AWS_SHARED_CREDENTIALS_FILE", "~/.aws/credentials"),
        os.environ.get("AWS_CONFIG_FILE", "~/.aws/config"),
    )
    names = (*_VARIABLES["profile"], "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI")
    named = profile is not None or any(os.environ.get(name) for name in names)
    return not named and not any(Path(each).expanduser().exists() for each in files)
