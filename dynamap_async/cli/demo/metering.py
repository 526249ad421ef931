"""Counts what a question costs: the requests that it sends, and the read units of what they evaluate."""

import re
from dataclasses import replace
from typing import Final

from dynamap_async import Session
from dynamap_async.capacity import page_read_units
from dynamap_async.codec import item_size
from dynamap_async.dataclass import dataclass
from dynamap_async.operations import SingleRequest
from dynamap_async.planning import Context
from dynamap_async.request import Request
from dynamap_async.transport import Transport
from dynamap_async.wire import Body

_PLACEHOLDER: Final = re.compile(r"[#:]\w+")
_AFTER_READING: Final = ("FilterExpression", "ProjectionExpression", "Select")


class Meter:
    """A transport that sends through another one, and records what was sent.

    The lender opens and closes the other one; a session on top of a meter does neither.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.sent: int = 0
        """How many requests were sent, attempts that failed included."""
        self.answered: list[Request] = []
        """Those that DynamoDB carried out."""

    @property
    def max_connections(self) -> int:
        """How many requests can travel at the same time."""
        return self._transport.max_connections

    async def open(self) -> None:
        """Do nothing: the transport is open."""

    async def send(self, request: Request) -> Body:
        """Send the request; errors are the transport's."""
        self.sent += 1
        answer = await self._transport.send(request)
        self.answered.append(request)
        return answer

    async def close(self) -> None:
        """Do nothing: the transport is still needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """The items that DynamoDB reads and charges for a page: whole, and before any filter."""

    items: int
    size_bytes: int
    consistent: bool

    @property
    def read_units(self) -> float:
        """The read units of the page."""
        return page_read_units(self.size_bytes, consistent=self.consistent)


class Survey(SingleRequest[Evaluated]):
    """Reads a page again without its filter and projection, from the same place and with the same limit.

    The limits of a page, ``Limit`` and 1 MB, count items before the filter: what comes back is what was evaluated.
    """

    def __init__(self, request: Request) -> None:
        self._request = request

    def request(self, context: Context) -> Request:
        """Return the request, reduced to what decides which items are read."""
        body = {name: value for name, value in self._request.body.items() if name not in _AFTER_READING}
        used = _PLACEHOLDER.findall(body.get("KeyConditionExpression", ""))
        for member in ("ExpressionAttributeNames", "ExpressionAttributeValues"):
            kept = {key: value for key, value in body.pop(member, {}).items() if key in used}
            if kept:
                body[member] = kept
        return replace(self._request, body=body)

    def result(self, response: Body, context: Context) -> Evaluated:
        """Return the number and the size of the items."""
        items = response["Items"]
        consistent = self._request.body.get("ConsistentRead", False)
        return Evaluated(items=len(items), size_bytes=sum(map(item_size, items)), consistent=consistent)


async def survey(session: Session, pages: list[Request]) -> list[Evaluated]:
    """Return what each page of a question evaluated, read again so that it does not count as the question's."""
    return [await session.execute(Survey(page)) for page in pages]
