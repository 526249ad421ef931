"""Several writes and checks, done all or not at all."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Self

from dynamap_async.errors import CancellationReason, ConditionalCheckFailedError, OperationError, ServiceError
from dynamap_async.limits import TRANSACTION_ACTIONS, TRANSACTION_BYTES
from dynamap_async.operations.operation import SingleRequest
from dynamap_async.operations.tokens import RESENDABLE_SECONDS, checked_token, token_to_send
from dynamap_async.operations.transact import Transact, check_count, key_values, targets_of
from dynamap_async.operations.write import Write
from dynamap_async.planning import Context
from dynamap_async.request import Request, Target, about_tables
from dynamap_async.wire import Body


class TransactWrite(Transact[None]):
    """Carry out writes and checks of up to 100 items, of any tables, as one: all of them or none.

    Without actions nothing is sent. Each execution has a client request token of its own, unless one is given, so that
    sending again after a lost answer never writes twice.

    Cost: one TransactWriteItems; two write units per KB of each item, twice what the writes alone take, and the same
    for a check. A cancelled transaction is charged too.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
    """

    __slots__ = ("_actions", "_token")

    def __init__(self, actions: Iterable[Write[Any]], /, *, client_request_token: str | None = None) -> None:
        """Take the actions.

        Args:
            actions: ``Put``, ``Create``, ``Save``, ``Update``, ``Delete`` and ``Check`` operations, in any order, each
                on another item.
            client_request_token: 1 to 36 characters that stand for this transaction: executed again with the same token
                within ten minutes, it succeeds and writes nothing.

        Raises:
            OperationError: these are no writes, or more than 100, or the token is empty or too long.
        """
        self._actions = tuple(actions)
        for position, action in enumerate(self._actions):
            check_action(position, action)
        check_count(self._actions)
        self._token = checked_token(client_request_token)

    def __repr__(self) -> str:
        return f"TransactWrite([{', '.join(map(repr, self._actions))}])"

    @property
    def actions(self) -> tuple[Write[Any], ...]:
        """The writes and checks, in order."""
        return self._actions

    @property
    def token(self) -> str | None:
        """The token that the caller gave."""
        return self._token

    @property
    def parts(self) -> Sequence[SingleRequest[Any]]:
        """What is done, item by item."""
        return self._actions

    def nothing(self) -> None:
        """Nothing: there is nothing to write."""

    def of(self, actions: Iterable[Write[Any]]) -> Self:
        """Return the transaction of these actions, with the same token."""
        own = object.__new__(type(self))  # copy.copy asks how the class is pickled (benchmarks: transaction_10)
        own._actions, own._token = tuple(actions), self._token
        check_count(own._actions)
        return own

    def check_one_more(self, actions: Sequence[Write[Any]], action: Write[Any]) -> None:
        """Check that a transaction of these actions may have another one; that is less work than to make it.

        Raises:
            OperationError: there are 100 already.
        """
        if len(actions) >= TRANSACTION_ACTIONS:
            check_count((*actions, action))

    def request(self, context: Context) -> Request:
        """Return the TransactWriteItems request; sent again as it is, it writes once.

        Raises:
            OperationError: two actions are about one item, or the items are over 4 MB together.
        """
        parts = [action.part(context) for action in self._actions]
        targets = targets_of(parts)
        _check_bytes(targets)
        return Request(
            operation="TransactWriteItems",
            body={
                "TransactItems": [part.action for part in parts],
                "ClientRequestToken": token_to_send(self._token),
            },
            **about_tables([part.table for part in parts]),
            targets=targets,
            writes=True,
            conditional=True in [part.conditional for part in parts],
            resendable_seconds=RESENDABLE_SECONDS,
        )

    def result(self, response: Body, context: Context) -> None:
        """Take note that every action was carried out."""
        for action in self._actions:
            action.acknowledged()

    def explained(self, reason: CancellationReason, part: SingleRequest[Any]) -> CancellationReason:
        """Return a reason with the model and key of its action, and what the action alone would have raised."""
        assert isinstance(part, Write)  # noqa: S101 - checked when it was given
        target = part.request(Context()).target
        key = {} if target is None else key_values(part.definition, target.key)
        error = part.failed(reason.error) if isinstance(reason.error, ServiceError) else reason.error
        if error is not reason.error and error is not None:
            error.__cause__ = reason.error
        item = error.item if isinstance(error, ConditionalCheckFailedError) else None
        return replace(reason, model=part.definition.model.__name__, key=key, item=item, error=error)


def check_action(position: int, action: object) -> None:
    """Refuse what cannot be an action of a transaction.

    Raises:
        OperationError: it is no write.
    """
    if not isinstance(action, Write):
        raise OperationError(
            f"action {position} of the transaction, {action!r}, is no write; give Put(item), Update(Model, key), "
            "Delete(item), Check(Model, key, where=...) and so on"
        )


def _check_bytes(targets: Sequence[Target]) -> None:
    if sum([target.json_bytes or target.size_bytes for target in targets]) <= TRANSACTION_BYTES:
        return  # nothing has to be measured
    total = sum(target.size_bytes for target in targets)
    if total > TRANSACTION_BYTES:
        raise OperationError(
            f"the items of the transaction are {total:,} bytes together, and {TRANSACTION_BYTES:,} (4 MB) is what one "
            "may write; it is not split, because parts of it would no longer be all or nothing"
        )
