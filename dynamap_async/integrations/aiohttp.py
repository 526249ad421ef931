"""aiohttp's server: a session for the life of the application, errors as answers, a scope around each request.

aiohttp comes with this library. See docs/how-to/aiohttp.md.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, TypeVar

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from dynamap_async.config import Priority
from dynamap_async.errors import ConfigurationError, DynamapError, ScopeTimeoutError
from dynamap_async.integrations.disconnects import SAFE_METHODS, checked_methods
from dynamap_async.integrations.failures import Failures
from dynamap_async.integrations.page_answers import CursorPage, link_header
from dynamap_async.integrations.scopes import ScopeEnded, checked_ended, server_timing
from dynamap_async.integrations.sessions import checked_make, opened_session
from dynamap_async.operations import Page
from dynamap_async.session import Allowance, Scope, Session, scope_of

__all__ = [
    "SAFE_METHODS",
    "SCOPE",
    "SESSION",
    "CursorPage",
    "PageRequest",
    "error_middleware",
    "finishing_middleware",
    "page_request",
    "read_body",
    "respond",
    "scope_middleware",
    "session_context",
    "session_of",
]

SESSION: Final[web.AppKey[Session]] = web.AppKey("dynamap_session", Session)
"""The session, as ``app[SESSION]``, and ``request.config_dict[SESSION]``, also in applications inside of others."""
SCOPE: Final[web.RequestKey[Scope]] = web.RequestKey("dynamap_scope", Scope)
"""The scope of a web request, as ``request[SCOPE]``, where there is a ``scope_middleware``."""

_JSON: Final = "application/json"
BodyT = TypeVar("BodyT", bound=BaseModel)
ItemT = TypeVar("ItemT")


def session_context(
    make: Callable[[], Session], /, *, freeze_gc: bool = False
) -> Callable[[web.Application], AbstractAsyncContextManager[None]]:
    """Return what ``app.cleanup_ctx`` takes: a session is opened when the application starts, and closed when it ends.

    ``app.cleanup_ctx.append(session_context(lambda: Session(region="eu-west-1")))``.

    Args:
        make: makes the session; called at each start, for a session is used once.
        freeze_gc: whether, once the session is open, ``gc.collect()`` and ``gc.freeze()`` keep all that was loaded by
            then from the garbage collector, which otherwise stops the application for some 50 ms now and again. When
            the application ends, it is given back. It holds for the whole process.

    Raises:
        ConfigurationError: it is no plain function.
    """
    checked_make(make, "session_context")

    @asynccontextmanager
    async def opened(app: web.Application) -> AsyncGenerator[None]:
        async with opened_session(make, freeze_gc=freeze_gc) as session:
            app[SESSION] = session
            yield

    return opened


def session_of(request: web.Request) -> Session:
    """Return the application's session.

    Args:
        request: a request to the application.

    Raises:
        ConfigurationError: neither the application nor one around it has a ``session_context``.
    """
    session = request.config_dict.get(SESSION)
    if session is None:
        raise ConfigurationError("the application has no session; write app.cleanup_ctx.append(session_context(...))")
    return session


def error_middleware(*, retry_after_seconds: float = 1.0) -> Middleware:
    """Return a middleware that answers errors of the library by their meaning: 404, 409, 422, 503 and so on.

    Answers of status 503 and 504 are logged, for each kind of error at most one in 10 seconds. Errors that are the
    program's own fault stay what they are: aiohttp logs them and answers 500. So do errors after an answer has begun,
    as on a websocket: aiohttp logs them and closes the connection.

    Args:
        retry_after_seconds: what the header Retry-After says, where waiting may help.
    """
    failures = Failures()

    @web.middleware
    async def answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except (DynamapError, ExceptionGroup) as error:  # task groups raise what their tasks raise as a group
            failed = None if _has_begun(request) else _failed(failures, error, request, retry_after_seconds)
            if failed is None:
                raise
            return failed

    return answer_errors


def scope_middleware(
    *,
    max_read_units: float | None = None,
    max_write_units: float | None = None,
    max_requests: int | None = None,
    timeout: float | None = None,
    priority: Priority | None = None,
    server_timing: bool = False,
    ended: ScopeEnded | None = None,
    unscoped: Collection[str] = (),
) -> Middleware:
    """Return a middleware that opens a scope around each web request: ``request[SCOPE]``.

    Put it before ``error_middleware`` in the list. A request whose time is over is answered with 504.

    Args:
        max_read_units: the most read units that one request may take.
        max_write_units: the most write units.
        max_requests: the most HTTP requests to DynamoDB.
        timeout: seconds after which the handler is cancelled.
        priority: how urgent what it asks for is.
        server_timing: whether each answer has a header Server-Timing with what was used; it shows your costs to every
            client. An answer that its handler began by itself has none.
        ended: told of each scope after its handler, to log its usage, for example; a plain function.
        unscoped: the paths of routes that have no scope, as they were added: those of websockets, which last, such as
            ``{"/rooms/{name}"}``.

    Raises:
        ConfigurationError: a limit is no number, or is negative, or the priority is none; ``unscoped`` is one text;
            ``ended`` is async.
    """
    lasting, told, failures = _paths(unscoped), checked_ended(ended), Failures()
    allowance = Allowance(
        max_read_units=max_read_units,
        max_write_units=max_write_units,
        max_requests=max_requests,
        timeout=timeout,
        priority=priority,
    )

    @web.middleware
    async def open_scope(request: web.Request, handler: Handler) -> web.StreamResponse:
        path = _path_of_route(request)
        if path in lasting:  # not what the client says, which would let it choose
            return await handler(request)
        scope = scope_of(session_of(request), f"{request.method} {path}", allowance)
        try:
            return await _within(scope, request, handler, failures, tell=server_timing)
        finally:
            if told is not None:
                told(scope)

    return open_scope


def _paths(unscoped: Collection[str]) -> frozenset[str]:
    if isinstance(unscoped, str):
        raise ConfigurationError(f"scope_middleware(unscoped={unscoped!r}): write {{{unscoped!r}}} for one path")
    return frozenset(unscoped)


def _path_of_route(request: web.Request) -> str:
    resource = request.match_info.route.resource
    return request.path if resource is None else resource.canonical


def _tell(answer: web.StreamResponse, scope: Scope) -> None:
    answer.headers["Server-Timing"] = server_timing(scope.usage)


async def _within(
    scope: Scope, request: web.Request, handler: Handler, failures: Failures, *, tell: bool
) -> web.StreamResponse:
    answer: web.StreamResponse | None
    try:
        async with scope:
            request[SCOPE] = scope
            answer = await handler(request)
    except ScopeTimeoutError as error:
        answer = None if _has_begun(request) else _failed(failures, error, request, 1)
        if answer is None:
            raise
    except web.HTTPException as refusal:
        # aiohttp's refusals are answers that are raised.
        if tell:
            _tell(refusal, scope)
        raise
    if tell and not answer.prepared:
        _tell(answer, scope)
    return answer


def _has_begun(request: web.Request) -> bool:
    """Return whether a part of the answer was sent: no other can follow, and aiohttp closes the connection."""
    return request.writer.output_size > 0


def finishing_middleware(methods: Collection[str] = SAFE_METHODS) -> Middleware:
    """Return a middleware that lets handlers finish when the client disconnects, but for safe methods.

    It is of use with ``web.run_app(app, handler_cancellation=True)``, by which aiohttp cancels the handler of every
    client that has gone. Put it first in the list.

    Args:
        methods: whose handlers are cancelled all the same, in upper case.

    Raises:
        ConfigurationError: one of them is not in upper case, or they are one text.
    """
    cancelled = checked_methods(methods)

    @web.middleware
    async def finish(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.method in cancelled:
            return await handler(request)
        # A task of its own: a cancellation of this one reaches the wait, and not the handler.
        task = asyncio.ensure_future(handler(request))
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            await _ended(task)
            raise
        return task.result()

    return finish


async def _ended(task: "asyncio.Future[Any]") -> None:
    """Wait for the handler of a client that has gone. A second cancellation, as at shutdown, ends it."""
    try:
        await asyncio.wait((task,))
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait((task,))
    if not task.cancelled():
        task.exception()  # nobody is there to be told


async def read_body(request: web.Request, model: type[BodyT], /) -> BodyT:
    """Read the JSON body of a request as a model.

    Args:
        request: the request whose body is read.
        model: a Pydantic model, with or without a table.

    Raises:
        aiohttp.web.HTTPUnprocessableEntity: it does not fit; the answer lists each fault.
    """
    try:
        return model.model_validate_json(await request.read())
    except ValidationError as error:
        faults = error.errors(include_url=False, include_context=False, include_input=False)
        raise _unprocessable(faults) from error


def respond(value: Any, /, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    """Return a model, or anything made of models and plain values, as a JSON answer.

    Args:
        value: what becomes the body.
        status: the HTTP status.
        headers: further headers.
    """
    return web.Response(body=to_json(value), status=status, headers=headers, content_type=_JSON)


class PageRequest:
    """What a client asks for with ``?size=...&after=...``; the result of ``page_request``.

    Args:
        request: the request, of whose address the link to the next page is made.
    """

    def __init__(self, size: int, after: str | None, request: web.Request) -> None:
        self.size: int = size
        """How many items."""
        self.after: str | None = after
        """The cursor of the page before; None for the first page."""
        self._request: Final = request

    def response(self, page: Page[ItemT]) -> web.Response:
        """Return a page as a ``CursorPage`` in JSON, with a link to the next one there and in the header ``Link``.

        The link is a path with a query, without scheme and host, so that it holds behind a proxy too.

        Args:
            page: what ``.page(size=..., after=...)`` of a query gave.
        """
        if page.cursor is None:
            return respond(CursorPage(items=page.items))
        link = str(self._request.rel_url.update_query(after=page.cursor, size=self.size))
        headers = {"Link": link_header(link)}
        return respond(CursorPage(items=page.items, cursor=page.cursor, next=link), headers=headers)


def page_request(request: web.Request, /, *, size: int = 20, most: int = 100) -> PageRequest:
    """Read the query parameters ``size`` and ``after``.

    Args:
        request: the web request.
        size: how many items a page has where the client does not say.
        most: how many it may ask for.

    Raises:
        aiohttp.web.HTTPUnprocessableEntity: the size is no number from 1 to ``most``.
    """
    text = request.query.get("size", str(size))
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= most):
        raise _unprocessable([{"loc": ["size"], "msg": f"size is a number from 1 to {most}", "type": "size"}])
    return PageRequest(int(text), request.query.get("after") or None, request)


def _unprocessable(faults: Any) -> web.HTTPUnprocessableEntity:
    text = to_json({"detail": faults, "code": "unprocessable"}).decode()
    return web.HTTPUnprocessableEntity(text=text, content_type=_JSON)


def _failed(
    failures: Failures, error: Exception, request: web.Request, retry_after_seconds: float
) -> web.Response | None:
    failure = failures.of(error, f"{request.method} {_path_of_route(request)}")
    if failure is None:
        return None
    return respond(failure.body(), status=failure.status, headers=failure.headers(retry_after_seconds))
