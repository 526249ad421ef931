"""``dynamap guide``: the rules of this library and a program for each common task, for newcomers and for agents."""

from importlib.resources import files

from dynamap_async.cli.output import show


def guide() -> None:
    """Print ten rules and a program for each common task, as Markdown."""
    show((files("dynamap_async.cli") / "guide.md").read_text("utf-8").rstrip("\n"))
