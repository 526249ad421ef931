"""What the stub server answers. Pages are made once; only reads by key, which must match, are put together."""

import re
import zlib
from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json, to_json

from benchmarks.items import PAGE, PYNAMODB_TABLE, stream_of, wire, wire_key

_STREAM = re.compile(rb'\{"S": ?"stream-(\d+)"\}')
_ZONES = ("Z", "+0000")
_HEAD = (
    b"HTTP/1.1 200 OK\r\nServer: stub\r\nContent-Type: application/x-amz-json-1.0\r\nx-amzn-RequestId: STUB\r\n"
    b"x-amz-crc32: %d\r\nContent-Length: %d\r\n\r\n"
)


def http(body: bytes, checksum: int | None = None) -> bytes:
    """Return a whole response."""
    return _HEAD % (zlib.crc32(body) if checksum is None else checksum, len(body)) + body


class Pages:
    """Pages of a query or scan: one prepared body, and an end that says whether and where it goes on.

    Args:
        user_id: the partition key of all items.
        zone: how the instants end.
        found: how many items all pages have together.
    """

    def __init__(self, user_id: str, zone: str, found: int) -> None:
        self._user_id = user_id
        self._zone = zone
        self._count = -(-found // PAGE)
        self._open = self._body(PAGE)
        self._checksum = zlib.crc32(self._open)
        self._last = http(self._body(found - (self._count - 1) * PAGE) + b"}")

    def _body(self, items: int) -> bytes:
        made = [wire(self._user_id, number, self._zone) for number in range(items)]
        return to_json({"Count": items, "ScannedCount": items, "Items": made})[:-1]

    def page(self, body: bytes) -> bytes:
        """Return the page that the request asks for."""
        number = 0
        if self._count > 1 and b'"ExclusiveStartKey"' in body:
            # The number of the page lies in the microseconds of the sort key, which no client looks at.
            start = from_json(body)["ExclusiveStartKey"]["posted_at"]["S"]
            number = int(start.removesuffix(self._zone)[-6:])
        if number + 1 >= self._count:
            return self._last
        key = wire_key(self._user_id, PAGE - 1, self._zone)
        key["posted_at"]["S"] = key["posted_at"]["S"].replace(".000000", f".{number + 1:06d}")
        tail = b',"LastEvaluatedKey":' + to_json(key) + b"}"
        return http(self._open + tail, zlib.crc32(tail, self._checksum))


class Answers:
    """The answers to every operation that the libraries under measure send.

    Args:
        scanned: how many items a scan finds, all segments together.
    """

    def __init__(self, *, scanned: int) -> None:
        self._scanned = scanned
        self._made: dict[tuple[str, str, int], Pages] = {}
        nothing = http(b"{}")
        self._fixed = {
            "putitem": nothing,
            "updateitem": nothing,
            "deleteitem": nothing,
            "transactwriteitems": nothing,
            "batchwriteitem": http(b'{"UnprocessedItems":{}}'),
            "listtables": http(b'{"TableNames":[]}'),
            "describeendpoints": http(b'{"Endpoints":[{"Address":"127.0.0.1","CachePeriodInMinutes":1440}]}'),
        }
        key = wire_key("")
        self._rest = {
            zone: to_json({k: v for k, v in wire("", 0, zone).items() if k not in key})[1:] for zone in _ZONES
        }

    def answer(self, operation: str, body: bytes) -> bytes:
        """Return the response to a request."""
        fixed = self._fixed.get(operation)
        if fixed is not None and b'"ALL_NEW"' not in body:
            return fixed
        zone = "+0000" if PYNAMODB_TABLE.encode() in body else "Z"
        if operation == "updateitem":
            return http(b'{"Attributes":%b}' % self._item(from_json(body)["Key"], zone))
        if operation == "getitem":
            return http(b'{"Item":%b}' % self._item(from_json(body)["Key"], zone))
        if operation == "query":
            long = _STREAM.search(body)
            if long is None:
                return self._pages("user-000000", zone, PAGE).page(body)
            return self._pages(stream_of(int(long[1])), zone, int(long[1])).page(body)
        if operation == "scan":
            segments = int(from_json(body).get("TotalSegments", 1))
            return self._pages("user-000000", zone, self._scanned // segments).page(body)
        if operation == "batchgetitem":
            return self._batch(body, zone)
        raise ValueError(f"the stub has no answer to {operation}")

    def _pages(self, user_id: str, zone: str, found: int) -> Pages:
        """Return the pages of a query or segment, made at its first request."""
        asked = (user_id, zone, found)
        if asked not in self._made:
            self._made[asked] = Pages(*asked)
        return self._made[asked]

    def _item(self, key: Mapping[str, Any], zone: str) -> bytes:
        """Return the item that has a key: libraries may refuse one with another."""
        user_id, posted_at = key["user_id"]["S"].encode(), key["posted_at"]["S"].encode()
        return b'{"user_id":{"S":"%b"},"posted_at":{"S":"%b"},%b' % (user_id, posted_at, self._rest[zone])

    def _batch(self, body: bytes, zone: str) -> bytes:
        (asked,) = from_json(body)["RequestItems"].items()
        table, keys = asked[0], asked[1]["Keys"]
        found = b",".join(self._item(key, zone) for key in keys)
        return http(b'{"Responses":{"%b":[%b]},"UnprocessedKeys":{}}' % (table.encode(), found))
