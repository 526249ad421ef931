"""How requests reach DynamoDB and answers come back. The only home of aiobotocore.

aiobotocore costs 100 ms and 10 MiB (benchmarks: import_time, stream), so it is loaded when something of it is needed:
by who names one of its classes here, or by a transport that has to look something up, in a thread, when it is opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamap_async.lazy_names import lazy_names
from dynamap_async.transport.answer_forms import (
    UNREADABLE,
    damage_of,
    damage_of_refusal,
    damage_of_values,
    fault_of_values,
    unreadable,
)
from dynamap_async.transport.connection import Connection
from dynamap_async.transport.failures import damaged, too_slow
from dynamap_async.transport.http import WireTransport
from dynamap_async.transport.protocol import Transport
from dynamap_async.transport.translate import statement_error

if TYPE_CHECKING:
    from dynamap_async.transport.aio import AioClient, AioConfig, AioSession
    from dynamap_async.transport.client import ClientTransport
    from dynamap_async.transport.identity import caller_identity

__all__ = [
    "UNREADABLE",
    "AioClient",
    "AioConfig",
    "AioSession",
    "ClientTransport",
    "Connection",
    "Transport",
    "WireTransport",
    "caller_identity",
    "damage_of",
    "damage_of_refusal",
    "damage_of_values",
    "damaged",
    "fault_of_values",
    "statement_error",
    "too_slow",
    "unreadable",
]

_HOMES: Final = {"aio": "AioClient AioConfig AioSession", "client": "ClientTransport", "identity": "caller_identity"}
"""Module -> the names that are imported from it when they are used first."""

if not TYPE_CHECKING:  # checkers would take any name for one of these
    __getattr__ = lazy_names(__name__, _HOMES)
