"""The session: what programs open, await and close. What not every program needs is loaded by who uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamap_async.lazy_names import lazy_names

if TYPE_CHECKING:
    from dynamap_async.session.bound_reads import BoundCollection, BoundCollectionScan, BoundQuery, BoundScan
    from dynamap_async.session.bound_statement import BoundStatement
    from dynamap_async.session.bound_writes import BoundExactlyOnce, BoundUpdate
    from dynamap_async.session.bulk import Answers, Batch
    from dynamap_async.session.loader import Loader
    from dynamap_async.session.scope import Allowance, Scope
    from dynamap_async.session.sequential_reads import SequentialRead, SequentialReads, SequentialReadsWarning
    from dynamap_async.session.session import Session, runner_of, scope_of, session_through, transport_of
    from dynamap_async.session.stream import ItemStream
    from dynamap_async.session.transaction import Transaction, TransactionUpdate
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

_HOMES: Final = {
    "bound_reads": "BoundCollection BoundCollectionScan BoundQuery BoundScan",
    "bound_statement": "BoundStatement",
    "bound_writes": "BoundExactlyOnce BoundUpdate",
    "bulk": "Answers Batch",
    "loader": "Loader",
    "scope": "Allowance Scope",
    "sequential_reads": "SequentialRead SequentialReads SequentialReadsWarning",
    "session": "Session runner_of scope_of session_through transport_of",
    "stream": "ItemStream",
    "transaction": "Transaction TransactionUpdate",
    "upgrade_pass": "UpgradePass UpgradeReport",
}
"""Module -> the names that are imported from it when they are used first."""

if not TYPE_CHECKING:  # checkers would take any name for one of these
    __getattr__ = lazy_names(__name__, _HOMES)
