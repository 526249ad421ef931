"""Sending: an operation of one request becomes its result, or its error."""

import asyncio
from typing import Any, NoReturn, TypeVar

from dynamap_async.errors import ServiceError
from dynamap_async.executor import Executor
from dynamap_async.operations import Context, SingleRequest
from dynamap_async.wire import Body

R = TypeVar("R")


async def send(executor: Executor, context: Context, operation: SingleRequest[R]) -> R:
    """Carry out an operation of one request; a refusal is raised as the operation explains it."""
    try:
        response = await executor.send(operation.request(context))
    except ServiceError as error:
        explain(operation, error)
    return operation.result(response, context)


def outcome(operation: SingleRequest[R], future: asyncio.Future[Body], context: Context) -> R:
    """Return the result of an operation whose request was settled by this future, or raise its error."""
    try:
        response = future.result()
    except ServiceError as error:
        explain(operation, error)
    return operation.result(response, context)


def explain(operation: SingleRequest[Any], error: ServiceError) -> NoReturn:
    """Raise what a refusal means to the caller of an operation."""
    failure = operation.failed(error)
    if failure is error:
        raise error
    raise failure from error
