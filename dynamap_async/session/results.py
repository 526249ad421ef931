"""Sending: an operation of one request becomes its result, or its error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, TypeVar

from dynamap_async.errors import ItemValidationError, ServiceError
from dynamap_async.executor import Executor
from dynamap_async.operations import SingleRequest
from dynamap_async.planning import Context
from dynamap_async.request import Request
from dynamap_async.transport import UNREADABLE, unreadable
from dynamap_async.wire import Body, WireItem

R = TypeVar("R")
A = TypeVar("A")


async def send(executor: Executor, context: Context, operation: SingleRequest[R]) -> R:
    """Carry out an operation of one request; a refusal is raised as the operation explains it."""
    request = operation.request(context)
    try:
        response = await executor.send(request)
    except ServiceError as error:
        explain(operation, error)
    return result_of(operation, request, response, context)


def outcome(operation: SingleRequest[R], request: Request, future: asyncio.Future[Body], context: Context) -> R:
    """Return the result of an operation whose request was settled by this future, or raise its error."""
    try:
        response = future.result()
    except ServiceError as error:
        explain(operation, error)
    return result_of(operation, request, response, context)


def result_of(operation: SingleRequest[R], request: Request, response: Body, context: Context) -> R:
    """Return what an operation reads in the answer to its request.

    Raises:
        DamagedResponseError: it cannot be read, because the answer holds what is no value of DynamoDB's.
        ItemValidationError: an item does not fit its model; of a write it says that the write was carried out.
    """
    try:
        return operation.result(response, context)
    except UNREADABLE as error:
        if request.writes and isinstance(error, ItemValidationError):
            error.written = True
            error.args = (f"the {request.operation} was carried out, so do not send it again; but {error}",)
        unreadable(error, request, _items_of(request, response))


def readable(
    read: Callable[[A], R], request: Callable[[], Request], items: Callable[[A], Iterable[WireItem]]
) -> Callable[[A], R]:
    """Return the same function, whose errors are those of ``unreadable``.

    Args:
        read: reads items of an answer.
        request: returns the request that brought them, or one like it.
        items: returns the items in what the function is given.
    """

    def reads(given: A) -> R:
        try:
            return read(given)
        except UNREADABLE as error:
            unreadable(error, request(), items(given))

    return reads


def decoder(
    decode: Callable[[Sequence[WireItem]], R], request: Callable[[], Request]
) -> Callable[[Sequence[WireItem]], R]:
    """Return the same function, which decodes items, with the errors of ``unreadable``."""
    return readable(decode, request, lambda items: items)


def _items_of(request: Request, response: Body) -> list[WireItem]:
    """Return the items of an answer whose form was found right."""
    name = "Item" if "Get" in request.operation else "Attributes"
    parts = response["Responses"] if request.operation == "TransactGetItems" else [response]
    return [part[name] for part in parts if part.get(name)]


def explain(operation: SingleRequest[Any], error: ServiceError) -> NoReturn:
    """Raise what a refusal means to the caller of an operation."""
    failure = operation.failed(error)
    if failure is error:
        raise error
    raise failure from error
