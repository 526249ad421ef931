"""The library's own table: one for all models of a session, for what items cannot hold themselves.

Its items are told apart by the beginning of their partition key: ``counter#`` and ``unique#``. It is made by
``session.tables.create`` for models that need it.
"""

from __future__ import annotations

from typing import Any, Final

from dynamap_async.models import Definition, Model, PartitionKey, definition_of
from dynamap_async.planning import TableNames
from dynamap_async.request import Target, identity_of
from dynamap_async.schema import TableSchema
from dynamap_async.wire import WireKey

OWN_TABLE_NAME: Final = "dynamap"
"""The table's name, before a session's names of tables."""


class OwnItem(Model, table=OWN_TABLE_NAME, defer_build=True):  # few programs have one: completed when it is used
    """Something that the library stores for a model."""

    pk: PartitionKey[str]


def own_table(names: TableNames) -> TableSchema:
    """Return the library's own table of a session.

    Args:
        names: the session's names of tables.
    """
    return definition_of(OwnItem).require_table("created").named(names.full(OWN_TABLE_NAME))


def own_target(names: TableNames, name: str) -> Target:
    """Return the item of the library's own table that has this name.

    Args:
        names: the session's names of tables.
        name: the partition key of the item.
    """
    key: WireKey = {"pk": {"S": name}}
    return Target(key, identity_of(names.full(OWN_TABLE_NAME), key))


def needs_own_table(definition: Definition[Any]) -> bool:
    """Return whether writing a model's items needs the library's own table.

    Args:
        definition: the model.
    """
    return bool(definition.uniques) or definition.numbered is not None
