"""Stating: several PartiQL statements carried out in one call, and what became of each."""

from typing import Any, TypeVar

from dynamap_async.errors import BatchError, ItemFailure, ItemValidationError
from dynamap_async.executor import Executor
from dynamap_async.models import Model
from dynamap_async.operations import Statement, Statements
from dynamap_async.planning import Context
from dynamap_async.request import Request
from dynamap_async.session.hooks import SessionHooks
from dynamap_async.session.sending import decoder
from dynamap_async.transport import statement_error

ItemT = TypeVar("ItemT")


async def state(
    executor: Executor, context: Context, hooks: SessionHooks, operation: Statements[ItemT]
) -> list[ItemT | None]:
    """Carry out several statements and return what each brought back. Without statements nothing is sent.

    Raises:
        BatchError: some failed on their own.
        DamagedResponseError: the answer does not speak of each of them.
    """
    if not operation.statements:
        return []
    request = operation.request(context)
    responses = (await executor.send(request))["Responses"]
    results: list[Any] = []
    failures: list[ItemFailure] = []
    for position, (statement, response) in enumerate(zip(operation.statements, responses, strict=True)):
        error = statement_error(request, response)
        try:
            results.append(None if error is not None else await _read(hooks, statement, request, response.get("Item")))
        except ItemValidationError as misfit:
            results.append(None)
            failures.append(ItemFailure(position, statement, misfit))
        if error is not None:
            failures.append(ItemFailure(position, statement, statement.failed(error)))
    if failures:
        raise BatchError(failures, total=len(results), results=results)
    return results


async def _read(hooks: SessionHooks, statement: Statement[Any], request: Request, item: Any) -> Any:
    if not item:
        return None
    [found] = decoder(statement.decode, lambda: request)([item])
    if isinstance(found, Model):
        await hooks.read((found,))
    return found
