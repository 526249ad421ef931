"""How requests are carried out: retries, pages, closing. Asynchronous, and blind to models."""

from dynamap_async.executor.completed import CompletedPages
from dynamap_async.executor.executor import Executor
from dynamap_async.executor.merged import MergedPages
from dynamap_async.executor.pages import Pages, RawPage
from dynamap_async.executor.segments import SegmentPages
from dynamap_async.executor.together import together

__all__ = ["CompletedPages", "Executor", "MergedPages", "Pages", "RawPage", "SegmentPages", "together"]
