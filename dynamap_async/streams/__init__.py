"""Change streams: what a stream tells of each change of an item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dynamap_async.lazy_names import lazy_names

if TYPE_CHECKING:
    from dynamap_async.streams.changes import (
        BatchItemFailures,
        ChangeDecoder,
        ItemChange,
        UnknownKinds,
        batch_item_failures,
        decode_changes,
    )
    from dynamap_async.streams.checkpoints import Checkpoints, MemoryCheckpoints, ShardRecord
    from dynamap_async.streams.consumer import Consumer, ConsumerStatistics, ShardStatistics
    from dynamap_async.streams.discovery import DISCOVERY_SECONDS, Discovery
    from dynamap_async.streams.following import ItemChanges, Start
    from dynamap_async.streams.reading import OnGap, ShardPage, ShardReader
    from dynamap_async.streams.requests import StreamDescription, StreamName, StreamRequests
    from dynamap_async.streams.room import Room
    from dynamap_async.streams.work import ChangeList

__all__ = [
    "DISCOVERY_SECONDS",
    "BatchItemFailures",
    "ChangeDecoder",
    "ChangeList",
    "Checkpoints",
    "Consumer",
    "ConsumerStatistics",
    "Discovery",
    "ItemChange",
    "ItemChanges",
    "MemoryCheckpoints",
    "OnGap",
    "Room",
    "ShardPage",
    "ShardReader",
    "ShardRecord",
    "ShardStatistics",
    "Start",
    "StreamDescription",
    "StreamName",
    "StreamRequests",
    "UnknownKinds",
    "batch_item_failures",
    "decode_changes",
]

_HOMES: Final = {
    "changes": "BatchItemFailures ChangeDecoder ItemChange UnknownKinds batch_item_failures decode_changes",
    "checkpoints": "Checkpoints MemoryCheckpoints ShardRecord",
    "consumer": "Consumer ConsumerStatistics ShardStatistics",
    "discovery": "DISCOVERY_SECONDS Discovery",
    "following": "ItemChanges Start",
    "reading": "OnGap ShardPage ShardReader",
    "requests": "StreamDescription StreamName StreamRequests",
    "room": "Room",
    "work": "ChangeList",
}
"""Module -> the names that are imported from it when they are used first."""

if not TYPE_CHECKING:  # checkers would take any name for one of these
    __getattr__ = lazy_names(__name__, _HOMES)
