"""PartiQL in a session: ``execute_statement``, ``batch_execute_statement`` and ``execute_transaction``."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, overload

from dynamap_async.models import KeyValue, Model, definition_of
from dynamap_async.operations import BatchExecuteStatement, ExecuteTransaction, Statement
from dynamap_async.planning import checked_model
from dynamap_async.session.bound_statement import BoundStatement
from dynamap_async.session.runner import Runner
from dynamap_async.tables import check_period, table_in

M = TypeVar("M", bound=Model)
ItemT = TypeVar("ItemT")


class Statements:
    """What a session does with statements, for what the builders do not cover."""

    _runner: Runner

    @overload
    def execute_statement(
        self,
        statement: str,
        parameters: Sequence[object] = (),
        /,
        *,
        into: type[M],
        consistent_read: bool = False,
        limit: int | None = None,
        page_size: int | None = None,
    ) -> BoundStatement[M]: ...
    @overload
    def execute_statement(
        self,
        statement: str,
        parameters: Sequence[object] = (),
        /,
        *,
        into: None = None,
        consistent_read: bool = False,
        limit: int | None = None,
        page_size: int | None = None,
    ) -> BoundStatement[dict[str, Any]]: ...
    def execute_statement(
        self,
        statement: str,
        parameters: Sequence[object] = (),
        /,
        *,
        into: Any = None,
        consistent_read: bool = False,
        limit: int | None = None,
        page_size: int | None = None,
    ) -> BoundStatement[Any]:
        """Carry out a PartiQL statement: await it for a list, or iterate over it. See ``Statement``.

        Args:
            statement: the text, which names the full table name: see ``table_name``.
            parameters: the values that stand for its question marks, in order.
            into: the model that items become; without it they are dicts of plain values.
            consistent_read: whether all writes answered before must be seen.
            limit: most items to give out.
            page_size: most items that one request evaluates, whether they fit or not.

        Raises:
            EncodeError: a parameter cannot be stored.
            OperationError: the text is empty or too long, or a number is below 1.
            DuplicateItemError: an INSERT found an item of the same key; raised when it is awaited.
            ConditionalCheckFailedError: the WHERE of an UPDATE or DELETE fits no item; raised when it is awaited.
        """
        options: dict[str, Any] = {"consistent_read": consistent_read, "limit": limit, "page_size": page_size}
        made: Statement[Any] = Statement(statement, parameters, into=into, **options)
        return self._runner.statement(made)

    async def batch_execute_statement(self, statements: Iterable[Statement[ItemT]], /) -> list[ItemT | None]:
        """Carry out up to 25 statements in one call, each for itself. See ``BatchExecuteStatement``.

        Returns:
            For each statement the item that it brought back, or None.

        Raises:
            BatchError: some failed; it names each, and carries the results of the others.
            OperationError: these are no statements, or more than 25, or reads among writes.
        """
        return await self._runner.execute(BatchExecuteStatement(statements))

    async def execute_transaction(
        self, statements: Iterable[Statement[ItemT]], /, *, client_request_token: str | None = None
    ) -> list[ItemT | None]:
        """Carry out up to 100 statements, all or none. See ``ExecuteTransaction``.

        Returns:
            For each statement the item that it brought back, or None.

        Raises:
            TransactionCanceledError: nothing was done; ``reasons`` tells for each statement what it met with.
            OperationError: these are no statements, or more than 100, or reads among writes.
        """
        return await self._runner.execute(ExecuteTransaction(statements, client_request_token=client_request_token))

    def table_name(self, model: type[Model], /, *, period: KeyValue | None = None) -> str:
        """Return the full name of a model's table, the session's prefix included, as statements have to spell it.

        Args:
            model: the model.
            period: where the model has one table per period, a value of the field that tells the period.

        Raises:
            ModelDefinitionError: the model has no table.
            OperationError: the period is missing, or superfluous.
            EncodeError: the period is of the wrong type.
        """
        check_period((checked_model(model),), period)
        schema = table_in(definition_of(model), "named in a statement", period)
        return schema.prefixed(self._runner.context.table_prefix).name
