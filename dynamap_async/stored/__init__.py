"""Many items in wire form: read page by page, and written, in bounded memory. Knows no models.

``flow`` sends the requests of a call for many items; ``parts`` are what it sends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamap_async.lazy_names import lazy_names

if TYPE_CHECKING:
    from dynamap_async.stored.flow import Flow
    from dynamap_async.stored.parts import BulkChunk, ChunkPart, ItemRequest

__all__ = ["BulkChunk", "ChunkPart", "Flow", "ItemRequest"]

_HOMES: Final = {
    "flow": "Flow",
    "parts": "BulkChunk ChunkPart ItemRequest",
}
"""Module -> the names that are imported from it when they are used first."""

if not TYPE_CHECKING:  # checkers would take any name for one of these
    __getattr__ = lazy_names(__name__, _HOMES)
