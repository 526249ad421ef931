"""How requests are carried out: retries, pages, closing. Asynchronous, and blind to models."""

from dynamap_async.executor.account import Account, enter, innermost, leave
from dynamap_async.executor.budget import Limits
from dynamap_async.executor.chunks import Chunk
from dynamap_async.executor.completed import CompletedPages
from dynamap_async.executor.executor import Executor
from dynamap_async.executor.merged import MergedPages
from dynamap_async.executor.observers import is_async, name_of
from dynamap_async.executor.pages import Pages, RawPage
from dynamap_async.executor.pending import own_instance
from dynamap_async.executor.segments import SegmentPages
from dynamap_async.executor.together import together

__all__ = [
    "Account",
    "Chunk",
    "CompletedPages",
    "Executor",
    "Limits",
    "MergedPages",
    "Pages",
    "RawPage",
    "SegmentPages",
    "enter",
    "innermost",
    "is_async",
    "leave",
    "name_of",
    "own_instance",
    "together",
]
