"""Errors as pages: with the shop's look, a sentence and a way back. The library says what its errors mean."""

from collections.abc import Mapping
from typing import Final

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from dynamap_async.errors import DynamapError
from dynamap_async.integrations.failures import failure_of
from shop.pages import templates

TITLES: Final = {404: "Not found", 422: "That does not fit"}


def add_error_pages(app: FastAPI) -> None:
    """Let an application answer every error with a page."""
    for kind in (HTTPException, RequestValidationError, DynamapError, ExceptionGroup):
        app.add_exception_handler(kind, explained)
    app.add_exception_handler(Exception, unexplained)


async def explained(request: Request, error: Exception) -> Response:
    """Answer an error that has a meaning for visitors; others are raised on."""
    match error:
        case HTTPException(status_code=404, detail="Not Found"):
            return error_page(request, 404, f"The shop has nothing at {request.url.path}.")
        case HTTPException():
            return error_page(request, error.status_code, error.detail, error.headers)
        case RequestValidationError():
            wrong = [f"{each['loc'][-1]}: {each['msg']}." for each in error.errors()]
            return error_page(request, 422, " ".join(wrong))
        case _:
            failure = failure_of(error)
            if failure is None:
                raise error
            return error_page(request, failure.status, failure.detail, failure.headers(retry_after_seconds=1))


async def unexplained(request: Request, _error: Exception) -> Response:
    """Answer a fault of the program, which the server logs."""
    return error_page(request, 500, "It is not your fault, and the shop will look after it.")


def error_page(request: Request, status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """Render the page of an error."""
    context = {"title": TITLES.get(status, "Something went wrong"), "detail": detail}
    return templates.TemplateResponse(request, "error.html", context, status_code=status, headers=headers)
