"""How requests are carried out: retries, pages, closing. Asynchronous, and blind to models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamap_async.lazy_names import lazy_names

if TYPE_CHECKING:
    from dynamap_async.executor.accounts import Account, Limits, innermost, paying
    from dynamap_async.executor.anyio_scopes import deadline_now, shielded
    from dynamap_async.executor.calls import Chunk, own_instance
    from dynamap_async.executor.completed import CompletedPages
    from dynamap_async.executor.consumed import reported_units
    from dynamap_async.executor.coroutine import BoundCoroutine
    from dynamap_async.executor.executor import Executor
    from dynamap_async.executor.gather import gather_all
    from dynamap_async.executor.ledger import is_async, name_of
    from dynamap_async.executor.pages import MergedPages, Missing, Pages, RawPage, SegmentPages, SeparateReads

__all__ = [
    "Account",
    "BoundCoroutine",
    "Chunk",
    "CompletedPages",
    "Executor",
    "Limits",
    "MergedPages",
    "Missing",
    "Pages",
    "RawPage",
    "SegmentPages",
    "SeparateReads",
    "deadline_now",
    "gather_all",
    "innermost",
    "is_async",
    "name_of",
    "own_instance",
    "paying",
    "reported_units",
    "shielded",
]

_HOMES: Final = {
    "accounts": "Account Limits innermost paying",
    "anyio_scopes": "deadline_now shielded",
    "calls": "Chunk own_instance",
    "completed": "CompletedPages",
    "consumed": "reported_units",
    "coroutine": "BoundCoroutine",
    "executor": "Executor",
    "gather": "gather_all",
    "ledger": "is_async name_of",
    "pages": "MergedPages Missing Pages RawPage SegmentPages SeparateReads",
}
"""Module -> the names that are imported from it when they are used first."""

if not TYPE_CHECKING:  # checkers would take any name for one of these
    __getattr__ = lazy_names(__name__, _HOMES)
