"""Records of passes: which version no stored item of a model was behind of, in the library's own table."""

from __future__ import annotations

from typing import Any

from dynamap_async.errors import ServiceError
from dynamap_async.models import Attr, Definition, Model, definition_of
from dynamap_async.operations.library_table import OwnItem
from dynamap_async.operations.put import Put
from dynamap_async.schema import RecordKind


class UpgradeRecord(OwnItem, defer_build=True):
    """What a pass has proved."""

    version: Attr[int]
    """The version that no stored item was behind of at its end."""


class RecordUpgrade(Put[UpgradeRecord, UpgradeRecord]):
    """Record what a pass has proved, unless a later version is recorded."""

    __slots__ = ()

    def __init__(self, name: str, version: int) -> None:
        """Create the operation; nothing is sent yet.

        Args:
            name: its key; see ``upgrade_record_key``.
            version: what was proved.
        """
        super().__init__(
            UpgradeRecord(pk=name, version=version),
            where=UpgradeRecord.pk.missing() | (UpgradeRecord.version <= version),
        )

    def failed(self, error: ServiceError) -> Exception:
        """Return the refusal as it is.

        Args:
            error: the refusal.
        """
        return error


def upgrade_record_key(definition: Definition[Any]) -> str:
    """Return the key of the record of a model.

    Args:
        definition: the model, which has a table.
    """
    table = definition.require_table("upgraded").name
    if definition.kinds is None:
        return RecordKind.UPGRADED.key(table)
    kind = definition.kinds.kind
    return RecordKind.UPGRADED.key(table, kind if isinstance(kind, str) else definition.model.__name__)


def with_versions(model: type[Model]) -> tuple[Definition[Any], ...]:
    """Return the definitions of a model and of the subclasses that share its table, as far as they have versions.

    Args:
        model: the model.
    """
    definition = definition_of(model)
    family = [definition_of(each) for each in definition.family.values()] or [definition]
    return tuple(each for each in family if each.items.upgrades is not None)
