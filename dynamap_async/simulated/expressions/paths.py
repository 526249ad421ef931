"""Paths to attributes and into them, and projections."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from dynamap_async.simulated.expressions.reader import Reader
from dynamap_async.simulated.values import Item, Value

Path: TypeAlias = tuple[str | int, ...]
"""The name of an attribute, then names of members of maps and numbers of elements of lists."""


def read_path(reader: Reader) -> Path:
    """Read a path, such as ``a.b[3]``."""
    path: list[str | int] = [reader.name()]
    while True:
        if reader.takes("."):
            path.append(reader.name())
        elif reader.takes("["):
            path.append(reader.index())
        else:
            return tuple(path)


def find(item: Item, path: Path) -> Value | None:
    """Return the value at a path; None if there is none."""
    value = item.get(str(path[0]))
    for step in path[1:]:
        if value is None:
            return None
        if isinstance(step, str):
            value = value["M"].get(step) if "M" in value else None
        else:
            elements = value.get("L")
            value = elements[step] if elements is not None and step < len(elements) else None
    return value


def shown(path: Path) -> str:
    """Return a path as the service's errors show it."""
    return f"[{', '.join(step if isinstance(step, str) else f'[{step}]' for step in path)}]"


def overlap_of(paths: Iterable[Path]) -> str | None:
    """Return what is wrong with paths that one expression may not have together; None if nothing is."""
    seen: list[Path] = []
    for path in paths:
        for other in seen:
            shared = min(len(path), len(other))
            if path[:shared] == other[:shared]:
                kind = "overlap"
            elif any(path[:at] == other[:at] and type(path[at]) is not type(other[at]) for at in range(1, shared)):
                kind = "conflict"
            else:
                continue
            return (
                f"Two document paths {kind} with each other; must remove or rewrite one of these paths; "
                f"path one: {shown(other)}, path two: {shown(path)}"
            )
        seen.append(path)
    return None


def read_projection(reader: Reader) -> tuple[Path, ...]:
    """Read a projection expression."""
    paths = [read_path(reader)]
    while reader.takes(","):
        paths.append(read_path(reader))
    if fault := overlap_of(paths):
        reader.note(fault)
    return tuple(paths)


def projected(item: Item, paths: Iterable[Path]) -> Item:
    """Return what an item has at paths, in the same shape. Elements of lists lose their places."""
    tree: dict[Any, Any] = {}
    for path in paths:
        node = tree
        for step in path:
            node = node.setdefault(step, {})
    return _cut({"M": item}, tree)["M"] if tree else {}


def _cut(value: Value, tree: dict[Any, Any]) -> Any:
    if not tree:
        return value
    if "M" in value:
        members = value["M"]
        found = {name: _cut(members[name], below) for name, below in tree.items() if name in members}
        return {"M": {name: each for name, each in found.items() if each is not None}}
    if "L" in value:
        elements = value["L"]
        kept = [
            _cut(elements[at], tree[at])
            for at in sorted(at for at in tree if isinstance(at, int) and at < len(elements))
        ]
        return {"L": [each for each in kept if each is not None]} if kept else None
    return None
