"""The session: what programs open, await and close."""

from dynamap_async.session.bound import BoundQuery
from dynamap_async.session.session import Session
from dynamap_async.session.stream import ItemStream

__all__ = ["BoundQuery", "ItemStream", "Session"]
