"""What the shell completes: environments of the configuration file, and names of models that a command has met.

Completing a line imports no module of the user's: commands that do keep the names that they find in a file.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from dynamap_async.cli.configuration import find_configuration
from dynamap_async.cli.endings import CommandError


def complete_models(incomplete: str) -> list[str]:
    """Return the names of models and tables that begin with a text."""
    return [name for name in _known() if name.startswith(incomplete) and "." not in name]


def complete_indexes(incomplete: str) -> list[str]:
    """Return the names of indexes, each after its model and a dot, that begin with a text."""
    return [name for name in _known() if name.startswith(incomplete) and "." in name]


def complete_environments(incomplete: str) -> list[str]:
    """Return the names of environments that begin with a text."""
    with suppress(CommandError):
        return [name for name in find_configuration(Path.cwd()).environments if name.startswith(incomplete)]
    return []


def keep_names(modules: Sequence[str], folder: Path, names: Iterable[str]) -> None:
    """Store the names that modules declare, for completion in the shell; where that fails, do nothing.

    Args:
        modules: the modules, as the configuration names them.
        folder: where imports begin.
        names: the names of models and tables, and of their indexes, each after its model and a dot.
    """
    text = json.dumps(sorted(names))
    with suppress(OSError, ValueError, RuntimeError):  # the last one where nobody knows a home folder
        file = _file(modules, folder)
        if not file.exists() or file.read_text("utf-8") != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            # Written beside and moved, so that a shell that completes meanwhile never reads half a file.
            beside = file.with_name(f"{file.name}.{os.getpid()}")
            beside.write_text(text, "utf-8")
            beside.replace(file)


def _known() -> list[str]:
    with suppress(CommandError, OSError, ValueError, RuntimeError):
        configuration = find_configuration(Path.cwd())
        found = json.loads(_file(configuration.models, configuration.folder).read_text("utf-8"))
        return [name for name in found if isinstance(name, str)]
    return []


def _file(modules: Sequence[str], folder: Path) -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    project = hashlib.sha256("\0".join((str(folder), *modules)).encode()).hexdigest()[:16]
    return Path(cache) / "dynamap" / f"names-{project}.json"
