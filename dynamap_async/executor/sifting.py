"""Sifting: what becomes of a page's answer before anybody sees it."""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from dynamap_async.errors import ResourceNotFoundError
from dynamap_async.executor.pages import Send
from dynamap_async.request import Request
from dynamap_async.transport import UNREADABLE, unreadable
from dynamap_async.wire import Body

Sieve: TypeAlias = Callable[[Body], Body]
"""Takes out of a page's answer what is not to be given out."""

Missing: TypeAlias = Callable[[ResourceNotFoundError], Body]
"""Gives the answer of a table that does not exist, or raises."""


def sifting(send: Send, sieve: Sieve | None, missing: Missing | None) -> Send:
    """Return what sends a request as before, and sifts its answer."""
    send = send if missing is None else partial(_lenient, send, missing)
    return send if sieve is None else partial(_sifted, send, sieve)


async def _lenient(send: Send, missing: Missing, request: Request) -> Body:
    try:
        return await send(request)
    except ResourceNotFoundError as error:
        return missing(error)


async def _sifted(send: Send, sieve: Sieve, request: Request) -> Body:
    answer = await send(request)
    try:
        return sieve(answer)
    except UNREADABLE as error:
        unreadable(error, request, answer.get("Items") or ())
