"""The session: what programs open, await and close."""

from __future__ import annotations

from dynamap_async.session.bound_reads import BoundCollection, BoundQuery, BoundScan
from dynamap_async.session.bound_statement import BoundStatement
from dynamap_async.session.bound_writes import BoundExactlyOnce, BoundUpdate
from dynamap_async.session.bulk import Answers, Batch
from dynamap_async.session.loader import Loader
from dynamap_async.session.scope import Allowance, Scope
from dynamap_async.session.sequential_reads import SequentialRead, SequentialReads, SequentialReadsWarning
from dynamap_async.session.session import Session, scope_of
from dynamap_async.session.stream import ItemStream
from dynamap_async.session.transaction import Transaction, TransactionUpdate

__all__ = [
    "Allowance",
    "Answers",
    "Batch",
    "BoundCollection",
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
    "scope_of",
]
