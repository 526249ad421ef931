"""The items that every question is asked with, as plain values and in wire form.

Each library stores instants in a form of its own, and reads the form that it writes.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

TABLE = "posts"
PYNAMODB_TABLE = "posts-pynamodb"  # the server answers this name with instants in PynamoDB's form
START = datetime(2026, 1, 1, tzinfo=UTC)
TEXT = "The quick brown fox jumps over the lazy dog, again and again. " * 10
PAGE = 100


def instant(number: int) -> datetime:
    """Return the sort key's value of the item at a position."""
    return START + timedelta(seconds=number)


def stored_instant(number: int, zone: str = "Z") -> str:
    """Return it as it is stored."""
    return instant(number).strftime("%Y-%m-%dT%H:%M:%S.%f") + zone


def stream_of(count: int) -> str:
    """Return the partition key whose query finds that many items; any other key's finds one page."""
    return f"stream-{count}"


def plain(user_id: str, number: int = 0) -> dict[str, Any]:
    """Return the reference item: 10 attributes, about 1 KB."""
    return {
        "user_id": user_id,
        "posted_at": instant(number),
        "title": "An item of the usual size",
        "likes": 1234,
        "score": 98.5,
        "public": True,
        "tags": {"alpha", "beta", "gamma"},
        "place": {"city": "London", "country": "GB", "postcode": "N1 9GU"},
        "history": [1, 20, 300],
        "text": TEXT[:600],
    }


def wire_key(user_id: str, number: int = 0, zone: str = "Z") -> dict[str, Any]:
    """Return the key of an item in wire form."""
    return {"user_id": {"S": user_id}, "posted_at": {"S": stored_instant(number, zone)}}


def wire(user_id: str, number: int = 0, zone: str = "Z") -> dict[str, Any]:
    """Return the reference item in wire form."""
    return {
        **wire_key(user_id, number, zone),
        "title": {"S": "An item of the usual size"},
        "likes": {"N": "1234"},
        "score": {"N": "98.5"},
        "public": {"BOOL": True},
        "tags": {"SS": ["alpha", "beta", "gamma"]},
        "place": {"M": {"city": {"S": "London"}, "country": {"S": "GB"}, "postcode": {"S": "N1 9GU"}}},
        "history": {"L": [{"N": "1"}, {"N": "20"}, {"N": "300"}]},
        "text": {"S": TEXT[:600]},
    }


def users(count: int) -> list[str]:
    """Return that many distinct partition key values."""
    return [f"user-{number:06d}" for number in range(count)]
