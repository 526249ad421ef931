"""What a restored table has otherwise than its source: how it is paid for, its indexes, its encryption. Pure.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_RestoreTableToPointInTime.html
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import OperationError
from dynamap_async.schema import Encryption, IndexKind, OnDemand, TableSchema, Throughput
from dynamap_async.tables.setting_requests import encryption_to_wire
from dynamap_async.wire import Body

_OVERRIDES: Final[Mapping[IndexKind, str]] = {
    IndexKind.LOCAL: "LocalSecondaryIndexOverride",
    IndexKind.GLOBAL: "GlobalSecondaryIndexOverride",
}
_OF_INDEXES: Final = ("IndexName", "KeySchema", "Projection", "ProvisionedThroughput", "OnDemandThroughput")
"""The members of an index that a request to restore takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreOverrides:
    """What a restored table has otherwise than its source; what is None, or empty, is as there.

    Raises:
        OperationError: one of them has a wrong type, or a restore does not take it.
    """

    billing: OnDemand | Throughput | None = None
    """How it is paid for."""
    without_indexes: Collection[str] = ()
    """The names of the indexes that it does not get."""
    encryption: Encryption | None = None
    """The key that it is encrypted with."""

    def __post_init__(self) -> None:
        billing, names, encryption = self.billing, self.without_indexes, self.encryption
        if billing is not None and not isinstance(billing, OnDemand | Throughput):
            raise OperationError(f"billing={billing!r}: write billing=OnDemand() or Throughput(read=5, write=5)")
        if isinstance(billing, OnDemand) and billing.warm:
            raise OperationError(
                f"billing={billing!r}: a restore takes no warm throughput; leave warm_read and warm_write out, and "
                "give them to the new table by plan and apply"
            )
        if isinstance(names, str) or not all(isinstance(each, str) for each in names):
            raise OperationError(f'without_indexes={names!r} is no list of names of indexes; write ["by-city"]')
        if encryption is not None and not isinstance(encryption, Encryption):
            raise OperationError(f'encryption={encryption!r}: write encryption=Encryption(kms_key="...")')

    @property
    def needs_source(self) -> bool:
        """Whether the indexes of the source have to be known: a request names those that are kept."""
        return bool(self.without_indexes) or isinstance(self.billing, Throughput)

    def to_wire(self, declared: TableSchema, source: Body) -> Body:
        """Return the members of a request to restore.

        Args:
            declared: the table as models declare it; its global indexes have their units.
            source: the indexes of the source as DynamoDB describes them, by kind; empty where they are not needed.

        Raises:
            OperationError: an index to leave out is none of the source.
        """
        members: dict[str, Any] = {}
        if isinstance(self.billing, Throughput):
            members = {"BillingModeOverride": "PROVISIONED", "ProvisionedThroughputOverride": self.billing.to_wire()}
        elif self.billing is not None:
            members["BillingModeOverride"] = "PAY_PER_REQUEST"
            if most := self.billing.to_wire().get("OnDemandThroughput"):
                members["OnDemandThroughputOverride"] = most
        if self.encryption is not None:
            members["SSESpecificationOverride"] = encryption_to_wire(self.encryption)
        listed: dict[IndexKind, list[dict[str, Any]]] = {kind: source.get(kind.wire_name) or [] for kind in _OVERRIDES}
        known = [each["IndexName"] for indexes in listed.values() for each in indexes]
        if unknown := next((name for name in self.without_indexes if name not in known), None):
            there = f"its indexes are {', '.join(known)}" if known else "it has no indexes"
            raise OperationError(f"without_indexes: {declared.name} has no index {unknown!r}; {there}")
        for kind, override in _OVERRIDES.items():
            kept = [each for each in listed[kind] if each["IndexName"] not in self.without_indexes]
            if len(kept) < len(listed[kind]) or (kept and kind.has_throughput and isinstance(self.billing, Throughput)):
                members[override] = [self._kept(declared, each) for each in kept]
        return members

    def _kept(self, declared: TableSchema, index: Mapping[str, Any]) -> dict[str, Any]:
        """Return an index that is kept, as a request names it."""
        kept = {member: index[member] for member in _OF_INDEXES if index.get(member)}
        units = kept.pop("ProvisionedThroughput", None)
        most = kept.pop("OnDemandThroughput", None)
        if isinstance(self.billing, Throughput):
            own = next((each.throughput for each in declared.global_indexes if each.name == index["IndexName"]), None)
            units = (own or self.billing).to_wire()
        elif self.billing is None and units is not None and units.get("ReadCapacityUnits"):  # 0 where it is on demand
            units = {name: units[name] for name in ("ReadCapacityUnits", "WriteCapacityUnits")}
        else:
            units = None
        return {**kept, **({"ProvisionedThroughput": units} if units else {"OnDemandThroughput": most} if most else {})}
