"""A simulated DynamoDB in this process. It stands apart from the code that it tests."""

from __future__ import annotations

from dynamap_async.simulated.service import Service

__all__ = ["Service"]
