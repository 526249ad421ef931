"""Leases: who of several processes may do what one at a time may do, kept in the library's own table."""

from __future__ import annotations

from dynamap_async.leases.lease import Lease, LeasedTransport
from dynamap_async.leases.records import LEASE_SECONDS, LeaseCheck, LeaseItem, LeaseRecords, LeaseWatch

__all__ = [
    "LEASE_SECONDS",
    "Lease",
    "LeaseCheck",
    "LeaseItem",
    "LeaseRecords",
    "LeaseWatch",
    "LeasedTransport",
]
