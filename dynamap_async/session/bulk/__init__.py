"""Many items at once: bulk reads and writes, in calls that are full and in bounded memory."""

from __future__ import annotations

from dynamap_async.session.bulk.batch import Batch, Progress
from dynamap_async.session.bulk.item_chunks import PlainPuts
from dynamap_async.session.bulk.many_items import ManyItems, of_key, several
from dynamap_async.session.bulk.result_stream import Answers

__all__ = ["Answers", "Batch", "ManyItems", "PlainPuts", "Progress", "of_key", "several"]
