"""The application: one session for its whole life, errors as answers, a time limit for each web request."""

from collections.abc import Callable
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from fastapi.staticfiles import StaticFiles

from dynamap_async import Session
from dynamap_async.integrations.fastapi import CancelOnDisconnect, ScopeRequests, add_error_handlers, lifespan
from shop import api, graph, pages
from shop.orders import UnavailableError


def make_app(make_session: Callable[[], Session]) -> FastAPI:
    """Return the application.

    Args:
        make_session: makes the session when the application starts.
    """
    app = FastAPI(title="Shop", lifespan=lifespan(make_session))
    app.add_middleware(ScopeRequests, timeout=10, max_read_units=500, server_timing=True)
    app.add_middleware(CancelOnDisconnect)
    add_error_handlers(app)
    app.add_exception_handler(UnavailableError, unavailable)
    app.include_router(api.router)
    app.include_router(graph.router)
    app.include_router(pages.router)
    app.mount("/static", StaticFiles(directory=Path(__file__).with_name("static")))
    return app


async def unavailable(_request: Request, error: Exception) -> JSONResponse:
    """Answer an order that cannot be filled, like other conflicts."""
    return JSONResponse({"detail": str(error), "code": "unavailable"}, status_code=409)
