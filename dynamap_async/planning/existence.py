"""Whether an item counts as stored: by its key, and by its time to live where the model hides expired items.

An item is expired once its time lies before now, both in whole seconds. An item without the attribute, or with one that
is not a number, never expires; one whose time has passed by more than five years, which DynamoDB never deletes, is
expired all the same.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ttl-expired-items.html
"""

from __future__ import annotations

from decimal import Decimal
from functools import partial
from typing import Any

from dynamap_async.codec import encode_any
from dynamap_async.dataclass import dataclass
from dynamap_async.expressions import Comparison, Condition, Function, Value
from dynamap_async.models import Definition
from dynamap_async.request import AnswerFilter
from dynamap_async.wire import Body, WireItem


def expired(definition: Definition[Any], now: int) -> Condition | None:
    """Return the condition that an item is expired; None for a model that does not hide such items.

    Args:
        now: the time of day, in whole epoch seconds.
    """
    expiry = definition.expiry
    if expiry is None:
        return None
    # DynamoDB deletes expired items days later, and lets them be read and written until then.
    return Comparison("<", definition.path(expiry.name), Value(encode_any(now)))


def is_expired(item: WireItem, attribute: str, now: int) -> bool:
    """Return whether a stored item is expired.

    Args:
        attribute: the stored name of the attribute that says when it expires.
        now: the time of day, in whole epoch seconds.
    """
    seconds = item.get(attribute, {}).get("N")
    return seconds is not None and Decimal(seconds) < now


def _without_expired(attribute: str, now: int, answer: Body) -> Body:
    kept = [item for item in answer.get("Items", ()) if not is_expired(item, attribute, now)]
    return {**answer, "Items": kept, "Count": len(kept)}


@dataclass(frozen=True, slots=True)
class ExpiryFilter:
    """How a query or scan leaves out expired items."""

    filters: tuple[Condition, ...] = ()
    """The condition that DynamoDB checks."""
    answer_filter: AnswerFilter | None = None
    """What is done with each answer where the condition names a key, which DynamoDB does not filter by."""
    attribute: str | None = None
    """The stored name of that key attribute."""


def filter_expired(definition: Definition[Any], now: int, unfiltered: tuple[str, ...]) -> ExpiryFilter:
    """Return how a read leaves out expired items; nothing for a model that does not hide them.

    Args:
        now: the time of day, in whole epoch seconds.
        unfiltered: the attributes that DynamoDB does not filter by in this read.
    """
    condition, expiry = expired(definition, now), definition.expiry
    if condition is None or expiry is None:
        return ExpiryFilter()
    if expiry.stored in unfiltered:
        return ExpiryFilter(answer_filter=partial(_without_expired, expiry.stored, now), attribute=expiry.stored)
    # Not "at or after now": an item without the attribute does not expire, and compares as false.
    return ExpiryFilter(filters=(~condition,))


def not_stored(definition: Definition[Any], now: int | None = None) -> Condition:
    """Return the condition that no item has the key of the one that is written.

    Args:
        now: the time of day in epoch seconds, by which an expired item counts as none where the model hides them.
    """
    # The condition is evaluated on the one item with the whole key, so that one of its attributes is enough.
    absent = Function("attribute_not_exists", definition.path(definition.key_fields()[0].name))
    gone = None if now is None else expired(definition, now)
    return absent if gone is None else absent | gone
