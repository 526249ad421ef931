"""The help of each command: plain text in sections, which no version of Typer changes, and which needs no Rich."""

import inspect
from collections.abc import Iterable
from typing import Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

_OPTIONS: Final = "Options"
_EXAMPLE: Final = "$ "
"""How a paragraph of a docstring begins that shows a command as it is typed."""

_NOT_GIVEN: Final = {"help": False, "install_completion": False, "show_completion": False}
"""Values of Typer's own flags where they are not given. For a flag without one, Typer loads Pydantic."""


class Command(TyperCommand):
    """A command."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Return the context of the parsed arguments."""
        return super().make_context(info_name, args, parent, default_map=_NOT_GIVEN, **extra)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the text behind the command's name in the line of its usage."""
        arguments = [each for each in self.get_params(ctx) if each.param_type_name == "argument"]
        return [
            "[OPTIONS]",
            *(each.name if each.required else f"[{each.name}]" for each in map(ShownParameter, arguments)),
        ]

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write what the command does."""
        _write_text(self.help or "", formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options of the command."""
        _write_parameters(self.get_params(ctx), formatter)


class CommandGroup(TyperGroup):
    """A group of commands, such as ``dynamap generate``."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Return the context of the parsed arguments."""
        return super().make_context(info_name, args, parent, default_map=_NOT_GIVEN, **extra)

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the description of the group."""
        _write_text(self.help or "", formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands of the group, and its options."""
        self.format_commands(ctx, formatter)
        _write_parameters(self.get_params(ctx), formatter)


class ShownParameter:
    """An argument or option as help and the reference show it."""

    def __init__(self, parameter: Any) -> None:
        self._parameter = parameter
        self.required: bool = parameter.required
        own: str = parameter.metavar or parameter.name.upper()
        self.name: str = own if parameter.nargs != -1 else f"{own}..."

    @property
    def names(self) -> str:
        """The names by which it is given."""
        if self._parameter.param_type_name == "argument":
            return self.name
        value = f" {self._parameter.metavar}" if self._parameter.metavar and not self._parameter.is_flag else ""
        names = sorted((*self._parameter.opts, *self._parameter.secondary_opts), key=lambda name: name.startswith("--"))
        return ", ".join(f"{name}{value}" for name in names)

    @property
    def meaning(self) -> str:
        """Its help, with the default where that is a number."""
        default = self._parameter.default
        is_number = isinstance(default, int | float) and not isinstance(default, bool)
        note = f" Default: {default:g}." if is_number else " Required." if self._is_required_option else ""
        return f"{self._parameter.help}{note}"

    @property
    def _is_required_option(self) -> bool:
        return self.required and self._parameter.param_type_name == "option"

    @property
    def section(self) -> str:
        """The heading that it is listed under."""
        if self._parameter.param_type_name == "argument":
            return "Arguments"
        return self._parameter.rich_help_panel or _OPTIONS


def group(name: str) -> typer.Typer:
    """Return a group without commands, to which they are added with ``command(cls=Command)``."""
    return typer.Typer(name=name, cls=CommandGroup, add_completion=False, no_args_is_help=True, rich_markup_mode=None)


def _write_text(text: str, formatter: Any) -> None:
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        formatter.write_paragraph()
        with formatter.indentation():
            if paragraph.startswith(_EXAMPLE):
                formatter.write(f"  {paragraph}\n")
            else:
                formatter.write_text(" ".join(paragraph.split()))


def _write_parameters(parameters: Iterable[Any], formatter: Any) -> None:
    sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], _OPTIONS: []}
    for each in map(ShownParameter, parameters):
        sections.setdefault(each.section, []).append((each.names, each.meaning))
    for heading, lines in sections.items():
        if lines:
            with formatter.section(heading):
                formatter.write_dl(lines)
