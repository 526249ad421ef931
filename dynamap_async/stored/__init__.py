"""Many items in wire form: read page by page, and written, in bounded memory. Knows no models.

``scans`` reads the items of a table, ``passes`` works on them, and ``deletions`` removes items. ``flow`` sends the
requests of a call for many items; ``parts`` and ``writes`` are what it sends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamap_async.lazy_names import lazy_names

if TYPE_CHECKING:
    from dynamap_async.stored.deletions import Deletions, WatchDeletions
    from dynamap_async.stored.flow import Flow
    from dynamap_async.stored.parts import BulkChunk, ChunkPart, ItemRequest
    from dynamap_async.stored.passes import ItemPass
    from dynamap_async.stored.scans import StoredPages, TableScan, stored_item, whole_item
    from dynamap_async.stored.writes import WriteChunk, delete_entries

__all__ = [
    "BulkChunk",
    "ChunkPart",
    "Deletions",
    "Flow",
    "ItemPass",
    "ItemRequest",
    "StoredPages",
    "TableScan",
    "WatchDeletions",
    "WriteChunk",
    "delete_entries",
    "stored_item",
    "whole_item",
]

_HOMES: Final = {
    "deletions": "Deletions WatchDeletions",
    "flow": "Flow",
    "parts": "BulkChunk ChunkPart ItemRequest",
    "passes": "ItemPass",
    "scans": "StoredPages TableScan stored_item whole_item",
    "writes": "WriteChunk delete_entries",
}
"""Module -> the names that are imported from it when they are used first."""

if not TYPE_CHECKING:  # checkers would take any name for one of these
    __getattr__ = lazy_names(__name__, _HOMES)
