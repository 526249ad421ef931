"""The library's own table: one for all models of a session, for what items cannot hold themselves.

Its items are told apart by the beginning of their partition key: ``counter#`` and ``unique#``. It is made by
``session.tables.create`` for models that need it.
"""

from __future__ import annotations

from typing import Any, Final

from dynamap_async.models import Definition, Model, PartitionKey, definition_of
from dynamap_async.request import Target, identity_of
from dynamap_async.schema import TableSchema
from dynamap_async.wire import WireKey

OWN_TABLE_NAME: Final = "dynamap"
"""The table's name, before the session's prefix."""


class OwnItem(Model, table=OWN_TABLE_NAME, defer_build=True):  # few programs have one: completed when it is used
    """Something that the library stores for a model."""

    pk: PartitionKey[str]


def own_table(prefix: str) -> TableSchema:
    """Return the library's own table of a session with this table prefix.

    Args:
        prefix: the session's table prefix.
    """
    return definition_of(OwnItem).require_table("created").prefixed(prefix)


def own_target(prefix: str, name: str) -> Target:
    """Return the item of the library's own table that has this name.

    Args:
        prefix: the session's table prefix.
        name: the partition key of the item.
    """
    key: WireKey = {"pk": {"S": name}}
    return Target(key, identity_of(prefix + OWN_TABLE_NAME, key))


def needs_own_table(definition: Definition[Any]) -> bool:
    """Return whether writing a model's items needs the library's own table.

    Args:
        definition: the model.
    """
    return bool(definition.uniques) or definition.numbered is not None
