"""What is written, what handles it, and how that is told."""

from __future__ import annotations

from dynamap_async import Attr, Model, PartitionKey, TableSettings

GROUP = "acceptance"


class Reading(Model, table="readings", settings=TableSettings(stream="new-and-old")):
    """An item whose value counts its changes."""

    sensor: PartitionKey[str]
    value: Attr[int]
    text: Attr[str]
