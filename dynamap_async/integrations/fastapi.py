"""FastAPI: a session for the life of the application, errors as answers, pages with a next link.

Needs the extra ``fastapi``. See docs/how-to/fastapi.md.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, Field

from dynamap_async.config import Priority
from dynamap_async.errors import ConfigurationError, DynamapError
from dynamap_async.integrations.asgi import SCOPE, SESSION, asked_of
from dynamap_async.integrations.disconnects import SAFE_METHODS, CancelOnDisconnect
from dynamap_async.integrations.failures import Failures
from dynamap_async.integrations.missing_packages import missing_extra
from dynamap_async.integrations.page_answers import CursorPage, link_header
from dynamap_async.integrations.scopes import ScopeRequests
from dynamap_async.integrations.sessions import checked_make, opened_session
from dynamap_async.operations import Page
from dynamap_async.session import Allowance, Scope, Session, scope_of

try:
    from fastapi import Depends, FastAPI, Query, Request, Response
    from fastapi.requests import HTTPConnection
    from fastapi.responses import JSONResponse
except ModuleNotFoundError as _missing:
    raise missing_extra("fastapi", _missing) from None

__all__ = [
    "SAFE_METHODS",
    "CancelOnDisconnect",
    "CursorPage",
    "ErrorBody",
    "OpenSession",
    "PageRequest",
    "RequestScope",
    "ScopeRequests",
    "add_error_handlers",
    "current_scope",
    "current_session",
    "error_responses",
    "lifespan",
    "paging",
    "scoped",
]

ItemT = TypeVar("ItemT")


def lifespan(
    make: Callable[[], Session],
    /,
    *,
    freeze_gc: bool = False,
    on_start: Callable[[Session], Awaitable[object]] | None = None,
) -> Callable[[Any], AbstractAsyncContextManager[Mapping[str, Any]]]:
    """Return the lifespan of an application: a session is opened when it starts, and closed when it ends.

    ``app = FastAPI(lifespan=lifespan(lambda: Session(region="eu-west-1")))``. In a lifespan of your own, enter it and
    yield its state: ``async with lifespan(make)(app) as state: yield {**state, ...}``.

    Args:
        make: makes the session; called at each start, for a session is used once.
        freeze_gc: whether, once the session is open, ``gc.collect()`` and ``gc.freeze()`` keep all that was loaded by
            then from the garbage collector, which otherwise stops the application for some 50 ms now and again. When
            the application ends, it is given back. It holds for the whole process.
        on_start: is awaited with the open session before the application serves, such as
            ``lambda session: session.tables.verify(Tweet)``; what it raises ends the start.

    Raises:
        ConfigurationError: it is no plain function.
    """
    checked_make(make, "lifespan")

    @asynccontextmanager
    async def opened(_app: Any) -> AsyncGenerator[Mapping[str, Any]]:
        async with opened_session(make, freeze_gc=freeze_gc) as session:
            if on_start is not None:
                await on_start(session)
            yield {SESSION: session}

    return opened


async def current_session(connection: HTTPConnection) -> Session:
    """Return the application's session; a dependency, also of websockets. ``OpenSession`` is short for it.

    Tests put another one in its place: ``app.dependency_overrides[current_session] = lambda: session``. It then
    reaches dependencies only; ``ScopeRequests`` looks into the state of the connection.

    Args:
        connection: the web request, or websocket.

    Raises:
        ConfigurationError: the application was not started, or has no ``lifespan``.
    """
    session = getattr(connection.state, SESSION, None)
    if not isinstance(session, Session):
        raise ConfigurationError(
            "the application has no session; write FastAPI(lifespan=lifespan(...)). A test client runs the lifespan "
            "only as a context manager: `with TestClient(app) as client`"
        )
    return session


OpenSession = Annotated[Session, Depends(current_session)]
"""The application's session, as a parameter of a path operation: ``async def read(session: OpenSession)``."""


async def current_scope(connection: HTTPConnection) -> Scope:
    """Return the scope of this web request; a dependency. ``RequestScope`` is short for it.

    Args:
        connection: the web request.

    Raises:
        ConfigurationError: the application has no ``ScopeRequests`` middleware.
    """
    scope = getattr(connection.state, SCOPE, None)
    if not isinstance(scope, Scope):
        raise ConfigurationError("the request has no scope; write app.add_middleware(ScopeRequests)")
    return scope


RequestScope = Annotated[Scope, Depends(current_scope)]
"""The scope of this web request, as a parameter of a path operation: ``async def read(scope: RequestScope)``."""


def scoped(
    *,
    max_read_units: float | None = None,
    max_write_units: float | None = None,
    max_requests: int | None = None,
    timeout: float | None = None,
    priority: Priority | None = None,
) -> Callable[..., AsyncGenerator[Scope]]:
    """Return a dependency that opens a scope around one path operation, or around all of a router.

    ``@app.get("/feed", dependencies=[Depends(scoped(max_read_units=50, timeout=0.3))])``. Its budget holds beside the
    one of ``ScopeRequests``. A parameter ``Annotated[Scope, Depends(scoped(...))]`` gives the scope itself.

    Args:
        max_read_units: the most read units.
        max_write_units: the most write units.
        max_requests: the most HTTP requests to DynamoDB.
        timeout: seconds after which the path operation is cancelled, and ``ScopeTimeoutError`` is answered. It needs
            an ``async def`` path operation: a thread cannot be cancelled.
        priority: how urgent what it asks for is.

    Raises:
        ConfigurationError: a limit is no number, or is negative, or the priority is none.
    """
    allowance = Allowance(
        max_read_units=max_read_units,
        max_write_units=max_write_units,
        max_requests=max_requests,
        timeout=timeout,
        priority=priority,
    )

    async def opened(connection: HTTPConnection, session: OpenSession) -> AsyncGenerator[Scope]:
        async with scope_of(session, asked_of(connection.scope), allowance) as scope:
            yield scope

    return opened


def add_error_handlers(app: FastAPI, *, retry_after_seconds: float = 1.0) -> None:
    """Answer the library's errors in an application by their meaning: 404, 409, 422, 503 and so on.

    Answers of status 503 and 504 are logged, for each kind of error at most one in 10 seconds. Errors that are the
    program's own fault stay what they are: FastAPI answers 500, and the server logs them. Errors in websockets stay
    what they are, too. An application that is mounted inside of another needs handlers of its own.

    Args:
        app: the application.
        retry_after_seconds: what the header Retry-After says, where waiting may help.
    """
    failures = Failures()

    async def answer(connection: HTTPConnection, error: Exception) -> Response:
        if not isinstance(connection, Request):  # a websocket takes no HTTP answer
            raise error
        failure = failures.of(error, asked_of(connection.scope))
        if failure is None:
            raise error
        headers = failure.headers(retry_after_seconds)
        return JSONResponse(failure.body(), status_code=failure.status, headers=headers)

    app.add_exception_handler(DynamapError, answer)
    app.add_exception_handler(ExceptionGroup, answer)  # task groups raise what their tasks raise as a group


class ErrorBody(BaseModel):
    """The JSON object with which errors are answered; some have further members."""

    detail: str = Field(description="One sentence for people.")
    code: str = Field(description="A stable name of the kind of error.", examples=["item-not-found"])


_MEANINGS: Final = {
    400: "The cursor belongs to another query",
    404: "The item does not exist",
    409: "The item is not as the request expects it",
    413: "The item is too large",
    503: "The database is busy or cannot be reached",
    504: "The database did not answer in time",
}


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return what a path operation's ``responses=`` takes, so that OpenAPI lists answers to errors.

    Args:
        statuses: the HTTP statuses to list, such as 404; FastAPI lists 422 by itself.

    Raises:
        ConfigurationError: no error of the library is answered with such a status.
    """
    unknown = [status for status in statuses if status not in _MEANINGS]
    if unknown:
        known = ", ".join(map(str, _MEANINGS))
        raise ConfigurationError(f"error_responses takes {known}; not {', '.join(map(str, unknown))}")
    return {status: {"model": ErrorBody, "description": _MEANINGS[status]} for status in statuses}


class PageRequest:
    """What a client asks for with ``?size=...&after=...``; the result of the dependency ``paging``.

    Args:
        request: the request, of whose address the link to the next page is made.
        response: what the header ``Link`` is set on.
    """

    def __init__(self, size: int, after: str | None, request: Request, response: Response) -> None:
        self.size: int = size
        """How many items."""
        self.after: str | None = after
        """The cursor of the page before; None for the first page."""
        self._request: Final = request
        self._response: Final = response

    def response(self, page: Page[ItemT]) -> CursorPage[ItemT]:
        """Return a page as the response, with a link to the next one, in the body and as the header ``Link``.

        The link is a path with a query, without scheme and host, so that it holds behind a proxy too.

        Args:
            page: what ``.page(size=..., after=...)`` of a query gave.
        """
        link: str | None = None
        if page.cursor is not None:
            url = self._request.url.include_query_params(after=page.cursor, size=self.size)
            link = f"{url.path}?{url.query}"
            self._response.headers["Link"] = link_header(link)
        return CursorPage(items=page.items, cursor=page.cursor, next=link)


def paging(*, size: int = 20, most: int = 100) -> Callable[..., Coroutine[Any, Any, PageRequest]]:
    """Return a dependency that reads the query parameters ``size`` and ``after``.

    ``paging: Annotated[PageRequest, Depends(paging(size=50))]``; then ``.page(size=paging.size, after=paging.after)``
    of a query, and ``return paging.response(page)``.

    Args:
        size: how many items a page has where the client does not say.
        most: how many it may ask for.

    Raises:
        ConfigurationError: ``size`` is more than ``most``, or less than 1.
    """
    if not 1 <= size <= most:
        raise ConfigurationError(f"paging(size={size}, most={most}): size must be at least 1, and most at least size")

    async def asked(
        request: Request,
        response: Response,
        *,
        size: Annotated[int, Query(ge=1, le=most, description="How many items.")] = size,
        after: Annotated[str | None, Query(description="The cursor of the page before.")] = None,
    ) -> PageRequest:
        return PageRequest(size, after or None, request, response)

    return asked
