"""A transaction as a block: what is given to it inside is sent as one when the block ends well.

Invariant: nothing is sent before the end of the block, and nothing at all if an exception or a cancellation ends it.
"""

from __future__ import annotations

from collections.abc import Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, Never, Self, TypeVar, Unpack, cast, overload

from dynamap_async.errors import OperationError, SessionStateError
from dynamap_async.errors.habits import EnteredByAsyncWith
from dynamap_async.expressions import Condition
from dynamap_async.models import KeyValue, Model
from dynamap_async.operations import (
    Check,
    Create,
    Delete,
    Put,
    Replace,
    Save,
    TransactWrite,
    Updatable,
    Update,
    UpdateSpec,
    Write,
)
from dynamap_async.operations.keywords import NOT_GIVEN, makes_optional, no_key_keywords
from dynamap_async.operations.transactions import check_action
from dynamap_async.operations.write_options import OPTIONS, WriteOptions, unknown_options
from dynamap_async.session.runner import Runner

M = TypeVar("M")
MA = TypeVar("MA", bound=Model)


class Recorded:
    """What a transaction has recorded: it is sent when the block ends, and not by being awaited."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<recorded; sent when the block of the transaction ends>"

    if not TYPE_CHECKING:  # checkers refuse to await it

        def __await__(self) -> Generator[Any]:
            raise SessionStateError(
                "a transaction records, and sends all together when its block ends; write tx.put(...), tx.update(...) "
                "and so on without await"
            )


_RECORDED: Final = Recorded()


class TransactionUpdate(Updatable[M], Recorded, Generic[M]):
    """An update inside a transaction. It joins when it is made, and what a method returns takes its place there.

    So ``tx.update(Tweet, "ada", 7).add(Tweet.likes, 1)`` is complete as it stands, and is not awaited. As of other
    updates, each method returns a new one; the one before it is out of the transaction, and refuses to be changed.
    """

    __slots__ = ("_position", "_spec", "_transaction", "_update")

    def __init__(self, transaction: Transaction, position: int, update: Update[M, Any]) -> None:
        """Create an update of a transaction.

        Args:
            transaction: what it joined.
            position: which of the actions it is.
            update: what is changed until now.
        """
        self._transaction = transaction
        self._position = position
        self._update = update
        self._spec = update.spec

    def __repr__(self) -> str:
        return f"<TransactionUpdate {self._spec}>"

    def _with(self, spec: UpdateSpec) -> Self:
        update = Update[M, Any].of(spec)
        self._transaction._change(self._position, self._update, update)  # noqa: SLF001 - of this module
        return type(self)(self._transaction, self._position, update)


class Transaction(EnteredByAsyncWith):
    """Writes and checks that are carried out all or not at all: ``async with session.transaction() as tx``.

    Its methods only record what to do; to await one raises SessionStateError. Items are taken as they are then, but
    those with hooks or a number at the end of the block, when the hooks have run. Leaving the block sends them, and
    raises what ``TransactWrite`` raises: TransactionCanceledError if one of them could not be done, and so none was.
    Versions and timestamps of the instances move on then, not before. An exception inside the block sends nothing. A
    block without actions sends nothing either.

    Cost:
        As ``TransactWrite``: one TransactWriteItems; two write units per KB of each item, and the same for a check.

    Source:
        https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
    """

    def __init__(self, runner: Runner, *, client_request_token: str | None = None) -> None:
        """Create a transaction of a session; it begins when it is entered.

        Args:
            runner: the session's.
            client_request_token: 1 to 36 characters that stand for this transaction; see ``Session.transaction``.

        Raises:
            OperationError: the token is empty or too long.
            SessionStateError: the session is not open.
        """
        runner.executor.check_open()
        self._runner = runner
        self._empty = TransactWrite((), client_request_token=client_request_token)
        self._actions: list[Write[Any]] = []
        self._open = False
        self._entered = False

    @property
    def actions(self) -> tuple[Write[Any], ...]:
        """What was given to it until now, in order; also after its end."""
        return tuple(self._actions)

    def put(self, item: Model, /, **options: Unpack[WriteOptions]) -> None:
        """Write an item, replacing the stored one. See ``Put``.

        Args:
            item: the model instance.
            options: ``where`` and ``read_first``, as of ``Put``.

        Raises:
            EncodeError: a value cannot be stored, or a key is empty or too long.
            ItemTooLargeError: the item is over 400 KB.
            ExpressionError: the condition is not about this model.
            OperationError: it is not an instance of a model, or there are 100 actions already.
            SessionStateError: the block was not entered, or was left, or the session is closed.

        Cost:
            Two write units per KB of the item, as a part of the transaction.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
        """
        if not options.keys() <= OPTIONS:
            raise unknown_options("put", item, options)
        return self._take(Put(item, **options))

    def create(self, item: Model, /, *, where: Condition | None = None, **fields: Never) -> None:
        """Write an item that must not exist yet. See ``Create``.

        Args:
            item: the model instance.
            where: what must hold besides.
            fields: nothing: values are the item's.

        Raises:
            EncodeError: a value cannot be stored, or a key is empty or too long.
            ItemTooLargeError: the item is over 400 KB.
            ExpressionError: the condition is not about this model.
            OperationError: it is not an instance of a model, or there are 100 actions already.
            SessionStateError: the block was not entered, or was left, or the session is closed.

        Cost:
            Two write units per KB of the item, as a part of the transaction.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
        """
        return self._take(Create(item, where=where, **fields))

    def save(self, item: Model, /, *, where: Condition | None = None, **fields: Never) -> None:
        """Write what changed of an item; one in which nothing changed must still be as it was. See ``Save``.

        Args:
            item: the model instance.
            where: what must hold of the stored item.
            fields: nothing: values are the item's.

        Raises:
            EncodeError: a value cannot be stored, or a key is empty or too long.
            ItemTooLargeError: the item is over 400 KB.
            ExpressionError: the condition is not about this model.
            OperationError: the item's key was changed, or there are 100 actions already.
            SessionStateError: the block was not entered, or was left, or the session is closed.

        Cost:
            Two write units per KB of the item, as a part of the transaction.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
        """
        return self._take(Save(item, where=where, **fields))

    def replace(self, item: Model, /, *, where: Condition | None = None, **fields: Never) -> None:
        """Write an item whatever version is stored. See ``Replace``.

        Args:
            item: the model instance.
            where: what must hold of the stored item.
            fields: nothing: values are the item's.

        Raises:
            EncodeError: a value cannot be stored, or a key is empty or too long.
            ItemTooLargeError: the item is over 400 KB.
            ExpressionError: the condition is not about this model.
            OperationError: it is not an instance of a model, or there are 100 actions already.
            SessionStateError: the block was not entered, or was left, or the session is closed.

        Cost:
            Two write units per KB of the item, as a part of the transaction.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
        """
        return self._take(Replace(item, where=where, **fields))

    @overload
    def delete(self, item: Model, /, **options: Unpack[WriteOptions]) -> None: ...
    @overload
    def delete(
        self,
        model: type[Model],
        partition: KeyValue,
        sort: KeyValue | None = None,
        /,
        **options: Unpack[WriteOptions],
    ) -> None: ...
    def delete(self, target: Any, /, *key: Any, **options: Unpack[WriteOptions]) -> None:
        """Remove an item, given as an instance or as model and key. See ``Delete``.

        Args:
            target: the instance, or the model.
            key: after a model, the partition key's value, and the sort key's where the table has one.
            options: ``where`` and ``read_first``, as of ``Delete``.

        Raises:
            EncodeError: a key value is of the wrong type, empty or too long.
            ExpressionError: the condition is not about this model.
            OperationError: the number of key values does not fit, or there are 100 actions already.
            SessionStateError: the block was not entered, or was left, or the session is closed.

        Cost:
            Two write units per KB of the item, as a part of the transaction.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
        """
        if not options.keys() <= OPTIONS:
            raise unknown_options("delete", target, options, by_key=True)
        return self._take(Delete(target, *key, **options))

    @overload
    def update(self, item: MA, /) -> TransactionUpdate[MA]: ...
    @overload
    def update(
        self, model: type[MA], partition: KeyValue, sort: KeyValue | None = None, /
    ) -> TransactionUpdate[MA]: ...
    def update(self, subject: Any, /, *key: Any, **fields: Any) -> TransactionUpdate[Any]:
        """Change parts of an item, given as an instance or as model and key; the methods say how. See ``Update``.

        Args:
            subject: the instance, or the model.
            key: after a model, the partition key's value, and the sort key's where the table has one.
            fields: nothing: the key is given by its position, and ``set_fields`` takes names of fields.

        Raises:
            EncodeError: a key value is of the wrong type, empty or too long.
            OperationError: the number of key values does not fit, or there are 100 actions already.
            SessionStateError: the block was not entered, or was left, or the session is closed.

        Cost:
            Two write units per KB of the item, as a part of the transaction.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
        """
        if fields:
            raise no_key_keywords("update", subject, fields)
        update: Update[Any, Any] = Update(subject, *key)
        self._take(update)
        return TransactionUpdate(self, len(self._actions) - 1, update)

    def _change(self, position: int, before: Update[Any, Any], after: Update[Any, Any]) -> None:
        self._check()
        if self._actions[position] is not before:
            raise OperationError(
                f"another update has taken the place of this one, {before!r}; go on with what its method returned: "
                "update = update.set(...)"
            )
        self._actions[position] = after

    @makes_optional(1)
    def check(
        self,
        model: type[Model],
        partition: KeyValue,
        sort: KeyValue | None = None,
        /,
        *,
        where: Condition,
        **fields: Never,
    ) -> None:
        """Demand something of an item that the transaction does not write. See ``Check``.

        Args:
            model: the item's model.
            partition: the partition key's value.
            sort: the sort key's value, where the table has one.
            where: what must hold of the stored item.
            fields: nothing: the key is given by its position.

        Raises:
            EncodeError: a key value is of the wrong type, empty or too long.
            ExpressionError: the condition is not about this model.
            OperationError: the number of key values does not fit, or there are 100 actions already.
            SessionStateError: the block was not entered, or was left, or the session is closed.

        Cost:
            Two write units per KB of the stored item, at least two, as a part of the transaction.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ConditionCheck.html
        """
        if fields or partition is NOT_GIVEN:
            raise no_key_keywords("check", model, fields, ("where",))
        return self._take(Check(model, partition, sort, where=where))

    def add(self, action: Write[Any], /) -> None:
        """Take any write or check as it is.

        Args:
            action: a ``Put``, ``Update``, ``Delete``, ``Check`` or other write.

        Raises:
            OperationError: it is no write, or there are 100 actions already.
            SessionStateError: the block was not entered, or was left, or the session is closed.

        Cost:
            Two write units per KB of its item, as a part of the transaction.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
        """
        self._check()
        check_action(len(self._actions), action)
        return self._take(action)

    def _take(self, action: Write[Any]) -> None:
        self._check()
        self._empty.check_one_more(self._actions, action)
        self._actions.append(action)
        return cast("None", _RECORDED)  # None to checkers, so that they refuse to await it

    def _check(self) -> None:
        if not self._open:
            raise SessionStateError(
                "a transaction accepts actions only inside `async with session.transaction() as tx:`; begin a new one"
            )
        self._runner.executor.check_open()

    async def __aenter__(self) -> Self:
        """Begin.

        Raises:
            SessionStateError: the transaction was used before.
        """
        if self._entered:
            raise SessionStateError("a transaction can be used once; begin a new one with session.transaction()")
        self._open = self._entered = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Send what was given, unless an exception or a cancellation ended the block.

        Raises:
            TransactionCanceledError: one of the actions could not be carried out, so none was.
            OperationError: two actions are about one item, or the items are too large together.
        """
        self._open = False
        if error is None:
            await self._runner.execute(self._empty.of(self._actions))
