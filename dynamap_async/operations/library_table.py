"""The library's own table: one for all models of a session, for what their items cannot hold.

``RecordKind`` (``schema/record_kinds.py``) lists the kinds of items in it. The table is made when it is needed first:
by ``session.tables.create`` for models with counters or unique values, by migrations, by named passes of upgrades, and
by plans that are applied under a required lock.
"""

from __future__ import annotations

from typing import Any, Final

from dynamap_async.models import Definition, Model, PartitionKey, definition_of
from dynamap_async.planning import TableNames
from dynamap_async.request import Target, identity_of
from dynamap_async.schema import TableSchema
from dynamap_async.wire import WireKey

OWN_TABLE_NAME: Final = "dynamap"
"""The table's name, without a session's prefix."""


# Completed when it is used first, as its subclasses are: few programs use one.
class OwnItem(Model, table=OWN_TABLE_NAME, defer_build=True):
    """An item of the library's own table; each kind has a subclass, but for counters."""

    pk: PartitionKey[str]


def own_table(names: TableNames) -> TableSchema:
    """Return the library's own table of a session.

    Args:
        names: the session's names of tables.
    """
    return definition_of(OwnItem).require_table("created").named(names.full(OWN_TABLE_NAME))


def own_target(names: TableNames, name: str) -> Target:
    """Return what a request about one item of the library's own table names as its target.

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
