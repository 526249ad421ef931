"""Writing: what happens around the write of one item, in one order.

1. The item is made ready: what has to be awaited (hooks, numbers) is awaited, in the caller's task.
2. It is encoded, as it is then.
3. The request is sent by the executor.
4. A refusal becomes the caller's error, with the stored item as an instance; an acknowledgement moves the instance on.
"""

import asyncio
from typing import Any, NoReturn, TypeVar

from dynamap_async.errors import ServiceError
from dynamap_async.executor import Executor
from dynamap_async.operations import Context, Put, SingleRequest, Write
from dynamap_async.wire import Body

R = TypeVar("R")


class Writing:
    """Makes writes ready, and carries them out."""

    def __init__(self, executor: Executor, context: Context) -> None:
        self._executor = executor
        self._context = context

    async def ready(self, write: Write[R]) -> Write[R]:
        """Return a write that can be encoded now: the same one where nothing has to be done before."""
        if not write.definition.prepares:
            return write
        return write.encoded() if isinstance(write, Put) else write

    async def write(self, write: Write[R]) -> R:
        """Carry out the write of one item."""
        return await send(self._executor, self._context, await self.ready(write))


async def send(executor: Executor, context: Context, operation: SingleRequest[R]) -> R:
    """Carry out an operation of one request; a refusal is raised as the operation explains it."""
    try:
        response = await executor.send(operation.request(context))
    except ServiceError as error:
        _explain(operation, error)
    return operation.result(response)


def outcome(operation: SingleRequest[R], future: asyncio.Future[Body]) -> R:
    """Return the result of an operation whose request was settled by this future, or raise its error."""
    try:
        response = future.result()
    except ServiceError as error:
        _explain(operation, error)
    return operation.result(response)


def _explain(operation: SingleRequest[Any], error: ServiceError) -> NoReturn:
    failure = operation.failed(error)
    if failure is error:
        raise error
    raise failure from error
