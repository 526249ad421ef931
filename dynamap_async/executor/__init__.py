"""How requests are carried out: retries, pages, closing. Asynchronous, and blind to models."""

from dynamap_async.executor.executor import Executor
from dynamap_async.executor.pages import Pages, RawPage

__all__ = ["Executor", "Pages", "RawPage"]
