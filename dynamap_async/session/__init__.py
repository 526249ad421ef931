"""The session: what programs open, await and close.

What many items, loaders and warnings of reads in sequence need is loaded by who uses it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from dynamap_async.session.bound_reads import BoundCollection, BoundCollectionScan, BoundQuery, BoundScan
from dynamap_async.session.bound_statement import BoundStatement
from dynamap_async.session.bound_writes import BoundExactlyOnce, BoundUpdate
from dynamap_async.session.scope import Allowance, Scope
from dynamap_async.session.session import Session, runner_of, scope_of, session_through, transport_of
from dynamap_async.session.stream import ItemStream
from dynamap_async.session.transaction import Transaction, TransactionUpdate

if TYPE_CHECKING:
    from dynamap_async.session.bulk import Answers, Batch
    from dynamap_async.session.loader import Loader
    from dynamap_async.session.sequential_reads import SequentialRead, SequentialReads, SequentialReadsWarning
    from dynamap_async.session.upgrade_pass import UpgradePass, UpgradeReport

__all__ = [
    "Allowance",
    "Answers",
    "Batch",
    "BoundCollection",
    "BoundCollectionScan",
    "BoundExactlyOnce",
    "BoundQuery",
    "BoundScan",
    "BoundStatement",
    "BoundUpdate",
    "ItemStream",
    "Loader",
    "Scope",
    "SequentialRead",
    "SequentialReads",
    "SequentialReadsWarning",
    "Session",
    "Transaction",
    "TransactionUpdate",
    "UpgradePass",
    "UpgradeReport",
    "runner_of",
    "scope_of",
    "session_through",
    "transport_of",
]

_LOADED_LATER: Final = {
    "Answers": "bulk",
    "Batch": "bulk",
    "Loader": "loader",
    "SequentialRead": "sequential_reads",
    "SequentialReads": "sequential_reads",
    "SequentialReadsWarning": "sequential_reads",
    "UpgradePass": "upgrade_pass",
    "UpgradeReport": "upgrade_pass",
}
"""Name -> the module that it is imported from when it is used first."""

if not TYPE_CHECKING:  # checkers would take any name for one of these

    def __getattr__(name: str) -> Any:
        home = _LOADED_LATER.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{home}"), name)
