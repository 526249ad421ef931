"""The keywords of a model's class statement: ``class Tweet(Model, table="tweets")``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict

from dynamap_async.errors import ModelDefinitionError
from dynamap_async.errors.habits import closest

if TYPE_CHECKING:
    from dynamap_async.codec import StoredForm
    from dynamap_async.models.settings import DistinctFrom
    from dynamap_async.models.sharing.table import Kind, Table
    from dynamap_async.schema import TableSettings, Throughput


class ModelKeywords(ConfigDict, total=False):
    """What a class statement of a model takes: the following, and Pydantic's settings, such as ``frozen=True``.

    A new one is declared here, has its place in ``Settings``, and its type or its range checked in ``check_keywords``.
    """

    table: str | Table | None
    """The table's name, before the session's prefix; with a field in braces, ``readings_{at:day}``, that of one table
    per period; or a ``Table`` that models share."""
    kind: Kind | None
    """What tells its items from those of other models of a ``Table``: a text, ``UNMARKED`` or ``BY_KEYS``; the class's
    name by default, and the keys where the ``Table`` has no discriminator."""
    abstract: bool
    """Whether the class only gives fields and indexes to others."""
    throughput: Throughput | None
    """The table's provisioned capacity; without it the table is created on-demand."""
    settings: TableSettings | None
    """What else the table has: billing, stream, recovery, protection, class, encryption, tags."""
    hide_expired: bool | None
    """Whether reads leave out items whose time to live has passed and that DynamoDB has not deleted yet; without it as
    in the base class."""
    distinct_from: DistinctFrom
    """The model, or models, of the same table that could make the same keys: such a key is then of the model whose
    template is more special, and where neither is, the promise that no program writes one."""
    schema_version: int | None
    """The version of the items that are written; older ones are upgraded when they are read, by the functions marked
    with ``upgrade``. An item without a version is of version 1."""
    schema_attribute: str | None
    """The stored name of the attribute that holds an item's version; ``schema_version`` by default."""
    accepts: int | None
    """The latest version that can be read as it is, though newer code writes it."""
    complete_since: int | None
    """The version that no stored item is behind of any more, so that conditions see all items."""
    writes: int | None
    """An older version in which items are written while older programs run that know no other, by the functions marked
    with ``downgrade``."""
    times_stored_as: StoredForm | None
    """The stored form of all fields that are datetimes and have no ``stored_as`` of their own; without it as in the
    base class. A time to live is stored as epoch seconds in any case."""
    absent_when_none: bool | None
    """Whether members that are None are left out where the model is nested in others, if their absence reads back as
    None; without it as in the base class, and otherwise they are stored as NULL."""


_KNOWN: Final = frozenset(ModelKeywords.__annotations__)
_OWN: Final = _KNOWN - ConfigDict.__annotations__.keys()


def split_keywords(
    name: str, bases: tuple[type[Any], ...], keywords: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the keywords of a class statement that this library knows, and those that are Pydantic's or a base's.

    Args:
        name: the class's name.
        bases: its base classes; one with a hook, ``__init_subclass__``, may take any keyword.
        keywords: those that were given.

    Raises:
        ModelDefinitionError: one means nothing, neither here nor to Pydantic nor to a hook.
    """
    hooks = any("__init_subclass__" in k.__dict__ for b in bases for k in b.__mro__ if k not in (BaseModel, object))
    for keyword in keywords:
        if keyword in _KNOWN or keyword.startswith("_") or hooks:
            continue
        close = closest(keyword, _KNOWN)
        hint = f"; did you mean {close[0]}?" if close else f"; known are {', '.join(sorted(_KNOWN))}"
        raise ModelDefinitionError(f"class {name}(..., {keyword}=...): unknown class keyword{hint}", model=name)
    own = {keyword: value for keyword, value in keywords.items() if keyword in _OWN}
    return own, {keyword: value for keyword, value in keywords.items() if keyword not in _OWN}
