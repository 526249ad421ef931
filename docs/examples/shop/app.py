"""The application: pages, and below ``/api`` an application of its own, with the same session and errors as JSON."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from fastapi import Depends, FastAPI, Request
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles

from dynamap_async import Session
from dynamap_async.integrations.fastapi import CancelOnDisconnect, ScopeRequests, add_error_handlers, lifespan, scoped
from shop import api, graph, pages
from shop.error_pages import add_error_pages
from shop.orders import UnavailableError

REQUEST_SECONDS: Final = 10
PAGE_SECONDS: Final = 8
"""A page gives up a little before the middleware does: it then answers with a page, the middleware with JSON."""


def make_app(
    make_session: Callable[[], Session], *, on_start: Callable[[Session], Awaitable[object]] | None = None
) -> FastAPI:
    """Return the application.

    Args:
        make_session: makes the session when the application starts.
        on_start: what to do then with the open session, such as to prepare the table.
    """
    app = FastAPI(
        lifespan=lifespan(make_session, on_start=on_start),
        openapi_url=None,
        dependencies=[Depends(scoped(timeout=PAGE_SECONDS))],
    )
    app.add_middleware(ScopeRequests, timeout=REQUEST_SECONDS, max_read_units=500, server_timing=True)
    app.add_middleware(CancelOnDisconnect)
    add_error_pages(app)
    app.include_router(pages.router)
    app.mount("/static", StaticFiles(directory=Path(__file__).with_name("static")))
    app.mount("/api", make_api())
    return app


def make_api() -> FastAPI:
    """Return the API, with JSON and GraphQL."""
    app = FastAPI(title="Shop")
    add_error_handlers(app)
    app.add_exception_handler(UnavailableError, unavailable)
    app.include_router(api.router)
    app.include_router(graph.router)
    return app


async def unavailable(_request: Request, error: Exception) -> JSONResponse:
    """Answer an order that cannot be filled, like other conflicts."""
    return JSONResponse({"detail": str(error), "code": "unavailable"}, status_code=409)
