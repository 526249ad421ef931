"""Models that name one table by text, where nothing tells their items apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dynamap_async.models.callers import warn_caller
from dynamap_async.models.definition import Definition
from dynamap_async.models.settings import SETTINGS, Settings

_LIBRARY: Final = __name__.partition(".")[0]


class SharedTableWarning(UserWarning):
    """Two models name one table, and nothing tells an item of one from an item of the other."""


def warn_of_same_table(new: Definition[Any]) -> None:
    """Warn of another model of the same table whose items would be read as items of the new one, and the reverse.

    Releases of one model differ in their versions, and a subclass is meant to read items of its base. Classes in
    functions come and go. The library's own take no part.

    Args:
        new: the definition of a model that was just made.
    """
    model, own = new.model, _settings(new.model)
    if own.table is None or own.shared is not None or _takes_no_part(model):
        return
    for other in _models(model):
        theirs = _settings(other)
        if theirs.table != own.table or theirs.schema_version != own.schema_version or _takes_no_part(other):
            continue
        found: Definition[Any] | None = other.__dict__.get("__dynamap_definition__")
        if found is not None and not _are_meant(model, other) and _may_mix(new, found):
            name, taken = model.__name__, other.__name__
            message = (
                f"{name} and {taken} both name the table {own.table!r}, and nothing tells their items apart: reading a "
                f'{name} may give what was stored as a {taken}. Share a Table: shared = Table("{own.table}", ...), and '
                f"class {name}(Model, table=shared); or, where you keep them apart, distinct_from={taken}"
            )
            warn_caller(message, SharedTableWarning)
            return


def _settings(model: type[Any]) -> Settings:
    found: Settings = model.__dict__[SETTINGS]
    return found


def _takes_no_part(model: type[Any]) -> bool:
    """Return whether a model comes and goes with a call, or is the library's own, which tells its items apart."""
    return "<locals>" in model.__qualname__ or model.__module__.partition(".")[0] == _LIBRARY


def _models(model: type[Any]) -> Iterator[type[Any]]:
    """Yield all other models with settings, as Python knows them."""
    root = next(each for each in reversed(model.__mro__) if SETTINGS in each.__dict__)
    left = [root]
    while left:
        each = left.pop()
        left += each.__subclasses__()
        if each is not model and SETTINGS in each.__dict__:
            yield each


def _are_meant(model: type[Any], other: type[Any]) -> bool:
    """Return whether one is the other, defined again, or a subclass of it; or they are declared to be distinct."""
    if issubclass(other, _settings(model).distinct_from) or issubclass(model, _settings(other).distinct_from):
        return True
    # Not by their modules too: a module may be loaded a second time, as __main__ is and as tests are.
    names = [[each.__qualname__ for each in one.__mro__] for one in (model, other)]
    return names[0][0] in names[1] or names[1][0] in names[0]


def _may_mix(one: Definition[Any], other: Definition[Any]) -> bool:
    """Return whether an item may be of both models, as far as its key tells."""
    if one.table is None or other.table is None or one.table.keys.names != other.table.keys.names:
        return False
    if other.kinds is not None:
        return True
    from dynamap_async.models.sharing.key_shapes import key_shapes, overlap_of  # for two models of a table only

    shapes = [
        key_shapes(each.model, each.fields.values(), one.table.keys.names, each.items.shards) for each in (one, other)
    ]
    return overlap_of(shapes[0], shapes[1]) is not None
