"""The session: what programs open, await and close."""

from dynamap_async.session.answers import Answers
from dynamap_async.session.batch import Batch
from dynamap_async.session.bound import BoundQuery
from dynamap_async.session.session import Session
from dynamap_async.session.stream import ItemStream

__all__ = ["Answers", "Batch", "BoundQuery", "ItemStream", "Session"]
