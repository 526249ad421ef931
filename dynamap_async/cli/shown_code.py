"""The Python that does what a command does, for ``--show-code``: a program that runs as it is printed."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from dynamap_async.cli.endings import CommandError, Status
from dynamap_async.cli.output import show
from dynamap_async.cli.place import Place
from dynamap_async.config import Credentials
from dynamap_async.source_text import comment, literal

if TYPE_CHECKING:
    from dynamap_async.cli.catalog import Catalog, Declared

_WIDTH: Final = 100
_INDENT: Final = "    "
_TAKEN: Final = ("AioConfig", "Credentials", "Index", "Path", "PlanPrices", "Priority", "Session", "TablePlan")
"""What programs call something else than a model."""


class Program:
    """A Python program that does what a command does, built line by line."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._imports: dict[str, set[str]] = {}
        self._folders: list[str] = []
        self._lines: list[str] = []

    def use(self, module: str, *names: str) -> None:
        """Import names from a module; without names, import the module."""
        self._imports.setdefault(module, set()).update(names)

    def models(
        self, catalog: "Catalog", declared: "Iterable[Declared]", modules: Sequence[str] | None = None
    ) -> list[str]:
        """Import models and tables; return their names in the program.

        Args:
            catalog: everything that the modules declare.
            modules: where they were found, if not in the modules of the place.

        Raises:
            CommandError: two of them have one name.
        """
        names: list[str] = []
        for each in declared:
            module, own = catalog.home(each)
            name = f"{own}Model" if own in _TAKEN else own
            if name in names:
                raise CommandError(f"--show-code: {name} is declared more than once; name other models", Status.USAGE)
            self.use(module, own if own == name else f"{own} as {name}")
            names.append(name)
        self._imported_from(self._place.models if modules is None else modules)
        return names

    def modules(self, given: Sequence[str]) -> list[str]:
        """Import modules; return their names in the program.

        Args:
            given: their names, or files that end in ``.py``.
        """
        names = [Path(each).stem if each.endswith(".py") else each for each in given]
        for each in names:
            self.use(each)
        self._imported_from(given)
        return names

    def _imported_from(self, modules: Sequence[str]) -> None:
        files = [str(Path(each).parent) for each in modules if each.endswith(".py")]
        self._folders = [*dict.fromkeys(files or [str(self._place.folder)])]

    def add(self, *lines: str) -> None:
        """Add lines."""
        self._lines += lines

    def call(
        self, start: str, called: Callable[..., Any], given: Iterable[str], named: Mapping[str, Any], end: str = ")"
    ) -> None:
        """Add a call, on several lines if it is long.

        Args:
            start: what stands before its arguments, such as ``plan = await session.tables.plan(``.
            called: what is called: arguments that are its defaults are left out.
            given: its first arguments, as code.
            named: the others by their names, as values.
            end: what stands after them.
        """
        defaults = {name: each.default for name, each in inspect.signature(called).parameters.items()}
        told = [f"{name}={self.code(value)}" for name, value in named.items() if value != defaults.get(name)]
        arguments, indent = [*given, *told], start[: -len(start.lstrip())]
        line = f"{start}{', '.join(arguments)}{end}"
        if len(line) <= _WIDTH:
            self.add(line)
        else:
            self.add(start, *(f"{indent}{_INDENT}{each}," for each in arguments), f"{indent}{end}")

    def code(self, value: Any) -> str:
        """Return the code of a value, and add the imports that it needs."""
        match value:
            case str():
                return literal(value)
            case date():  # a datetime is one, too
                self.use("datetime", type(value).__name__)
                return f"{type(value).__name__}.fromisoformat({self.code(value.isoformat())})"
            case set():
                return f"{{{', '.join(sorted(map(self.code, cast('set[str]', value))))}}}"
            case Mapping():
                pairs = cast("Mapping[str, Any]", value).items()
                return f"{{{', '.join(f'{self.code(key)}: {self.code(each)}' for key, each in pairs)}}}"
            case Credentials():
                # Those of an engine on this machine: no command holds any others.
                self.use("dynamap_async", "Credentials")
                keys = (value.access_key_id, value.secret_access_key)
                return "Credentials(access_key_id={}, secret_access_key={})".format(*map(self.code, keys))
            case _:
                return repr(value)

    def show(self, *, full_names: bool = False) -> None:
        """Print the program, with a session around its lines."""
        from dynamap_async.session import Session

        body, self._lines = self._lines, []
        self.use("asyncio")
        self.use("dynamap_async", "Session")
        settings = self._place.session_settings(full_names=full_names)
        if settings.get("endpoint_url") is not None:
            settings["endpoint_url"] = self._place.shown("endpoint_url")  # without a password
        if settings.pop("aio_config", None) is not None:  # as an engine on this machine is asked without a proxy
            self.use("aiobotocore.config", "AioConfig")
            aside = ["aio_config=AioConfig(proxies={})"]
        else:
            aside = []
        told = {name: each for name, each in settings.items() if each}
        self.call("async with Session(", Session, aside, told, ") as session:")
        block = [*self._lines, *(f"{_INDENT}{line}" for line in body)]
        self._lines = ["", "async def main():", *(f"{_INDENT}{line}" for line in block), "", "", "asyncio.run(main())"]
        self.show_plain()

    def show_plain(self) -> None:
        """Print the program, without a session."""
        if self._folders:
            show(comment(f"Run it where its models can be imported: in {', or '.join(self._folders)}"))
        own = sorted(
            f"from {module} import {', '.join(sorted(names))}" for module, names in self._imports.items() if names
        )
        whole = sorted(f"import {module}" for module, names in self._imports.items() if not names)
        show("\n".join([*whole, *own, "", *self._lines]))
