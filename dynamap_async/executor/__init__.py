"""How requests are carried out: retries, pages, closing. Asynchronous, and blind to models."""

from __future__ import annotations

from dynamap_async.executor.accounts import Account, Limits, innermost, paying
from dynamap_async.executor.anyio_scopes import deadline_now, shielded
from dynamap_async.executor.calls import Chunk, own_instance
from dynamap_async.executor.completed import CompletedPages
from dynamap_async.executor.coroutine import BoundCoroutine
from dynamap_async.executor.executor import Executor
from dynamap_async.executor.gather import gather_all
from dynamap_async.executor.ledger import is_async, name_of
from dynamap_async.executor.pages import MergedPages, Pages, RawPage, SegmentPages

__all__ = [
    "Account",
    "BoundCoroutine",
    "Chunk",
    "CompletedPages",
    "Executor",
    "Limits",
    "MergedPages",
    "Pages",
    "RawPage",
    "SegmentPages",
    "deadline_now",
    "gather_all",
    "innermost",
    "is_async",
    "name_of",
    "own_instance",
    "paying",
    "shielded",
]
