"""Transactions: several items, each once, within the service's limits, read, written or refused as one."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, Generic, Never, Self, TypeAlias, TypeVar, cast, final, overload

from dynamap_async.errors import (
    CancellationReason,
    ConditionalCheckFailedError,
    ItemNotFoundError,
    OperationError,
    OutOfRangeError,
    RequestRejectedError,
    ServiceError,
    TransactionCanceledError,
    UniqueViolationError,
    VersionConflictError,
)
from dynamap_async.expressions import Condition
from dynamap_async.limits import (
    CLIENT_REQUEST_TOKEN_LENGTH,
    CLIENT_REQUEST_TOKEN_SECONDS,
    TRANSACTION_ACTIONS,
    TRANSACTION_BYTES,
)
from dynamap_async.models import Definition, KeyValue, Model, definition_of, key_of_item
from dynamap_async.operations.get import Find, Get, read_under
from dynamap_async.operations.keywords import NOT_GIVEN, makes_optional, no_key_keywords
from dynamap_async.operations.operation import Operation, Part, SingleRequest, key_values, part_of, shown_key
from dynamap_async.operations.write import Stored, Write, write_request
from dynamap_async.planning import Context, stored_conditions
from dynamap_async.request import Request, Target, about_tables, identity_of
from dynamap_async.service import table_arn
from dynamap_async.wire import Body

R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R", bound="tuple[Any, ...]")
M = TypeVar("M", bound=Model)
A = TypeVar("A", bound=Model)
B = TypeVar("B", bound=Model)
C = TypeVar("C", bound=Model)
D = TypeVar("D", bound=Model)
E = TypeVar("E", bound=Model)
T = TypeVar("T")

_MARGIN_SECONDS: Final = 60.0
RESENDABLE_SECONDS: Final = CLIENT_REQUEST_TOKEN_SECONDS - _MARGIN_SECONDS
"""How long after its first sending a request with a token is sent again."""


def checked_token(token: str | None) -> str | None:
    """Return the token that a caller gave; None where none was.

    Args:
        token: what the caller gave.

    Raises:
        OperationError: it is no text.
        OutOfRangeError: it is empty or too long.
    """
    given: object = token  # whatever the checkers say, a program may pass anything
    if given is not None and (not isinstance(given, str) or not 1 <= len(given) <= CLIENT_REQUEST_TOKEN_LENGTH):
        kind = OutOfRangeError if isinstance(given, str) else OperationError
        raise kind(
            f"client_request_token={token!r}: give a string of 1 to {CLIENT_REQUEST_TOKEN_LENGTH} characters, such as "
            "str(uuid4())"
        )
    return token


def token_to_send(token: str | None) -> str:
    """Return the caller's token, or a new one for this execution alone.

    Args:
        token: what the caller gave; None where nothing was.
    """
    # As random as a UUID, at a tenth of the cost of making one (benchmarks: transaction_10).
    return token or os.urandom(16).hex()


_REMEDY: Final = "Read the items again, decide, and write then."


class Transact(SingleRequest[R_co]):
    """An operation on several items at once. One on no items is done without a request."""

    __slots__ = ()

    @property
    @abstractmethod
    def parts(self) -> Sequence[SingleRequest[Any]]:
        """What is done, item by item."""

    @abstractmethod
    def nothing(self) -> R_co:
        """Return the result of a transaction without parts."""

    @abstractmethod
    def explained(self, reason: CancellationReason, part: SingleRequest[Any]) -> CancellationReason:
        """Return a reason with what is known of the part that it is about.

        Args:
            reason: why DynamoDB refused the part.
            part: the part that it is about.
        """

    def failed(self, error: ServiceError) -> Exception:
        """Return the error of a cancelled transaction with the model, key, and stored item of each part.

        Args:
            error: the refusal.
        """
        if not isinstance(error, TransactionCanceledError) or len(error.reasons) != len(self.parts):
            return error
        error.reasons = tuple(
            self.explained(_of_transaction(reason, error), part)
            for reason, part in zip(error.reasons, self.parts, strict=True)
        )
        error.args = (_cancelled(error),)
        return error


def check_count(parts: Sequence[Any]) -> None:
    """Refuse more parts than a transaction may have.

    Args:
        parts: what is done, item by item.

    Raises:
        OutOfRangeError: there are more.
    """
    if len(parts) > TRANSACTION_ACTIONS:
        raise OutOfRangeError(
            f"a transaction may have {TRANSACTION_ACTIONS} actions, and this one has {len(parts)}; make several, each "
            "of which is all or nothing by itself"
        )


def targets_of(parts: Sequence[Part]) -> tuple[Target, ...]:
    """Return the items of a transaction's parts.

    Args:
        parts: what is done, item by item.

    Raises:
        OutOfRangeError: two parts are about one item, which the service refuses.
        OperationError: they are about tables of two accounts or regions.
    """
    targets = tuple([part.target for part in parts])
    if len({target.identity for target in targets}) < len(targets):
        _refuse_twice(parts)
    _refuse_several_accounts(parts)
    return targets


def _refuse_several_accounts(parts: Sequence[Part]) -> None:
    """Raise OperationError if parts name tables of two accounts or regions; DynamoDB has transactions in one.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
    """
    owners = {(arn.account, arn.region): part.table for part in parts if (arn := table_arn(part.table)) is not None}
    if len(owners) > 1:
        one, other, *_ = owners.values()
        raise OperationError(
            f"a transaction is of one account and region, and {one} and {other} are of two; make it two transactions"
        )


def _refuse_twice(parts: Sequence[Part]) -> None:
    seen: dict[str, int] = {}
    for position, part in enumerate(parts):
        earlier = seen.setdefault(part.target.identity, position)
        if earlier != position:
            raise OutOfRangeError(
                f"actions {earlier} and {position} of the transaction are about the same item of {part.table!r}, "
                f"{part.target.key}; combine them into one action"
            )


def _of_transaction(reason: CancellationReason, error: TransactionCanceledError) -> CancellationReason:
    """Return a reason whose error is that of the call that DynamoDB answered."""
    own = reason.error
    if isinstance(own, ServiceError):
        own.request_id, own.attempts = error.request_id, error.attempts
    return reason


def _cancelled(error: TransactionCanceledError) -> str:
    failed = error.failures
    told = "; ".join(map(_told, failed[:3])) + (f"; and {len(failed) - 3} more" if len(failed) > 3 else "")
    return f"{error.operation} on {error.table}: cancelled, because of {told}. Nothing was written. {_remedy(error)}"


def _told(reason: CancellationReason) -> str:
    what = f"action {reason.position} ({reason.operation} of {reason.model} with {shown_key(reason.key)})"
    match reason.error:
        case VersionConflictError() as error:
            why = f"based on version {error.expected}, but version {error.stored} is stored"
        case ItemNotFoundError():
            why = "there is no such item"
        case UniqueViolationError() as error:
            why = str(error).partition(". ")[0]
        case ConditionalCheckFailedError():
            why = ""  # the service says no more than that it failed
        case RequestRejectedError() as error:
            why = str(error).partition(f"{error.service_code}: ")[2].rstrip(".")
        case _:
            why = (reason.message or "").rstrip(".")
    return f"{what}: {reason.code}" + (f" ({why})" if why else "")


def _remedy(error: TransactionCanceledError) -> str:
    if error.retryable:
        return "It was tried until the session's retries were spent; try again later."
    if any(isinstance(reason.error, ConditionalCheckFailedError) for reason in error.failures):
        return _REMEDY
    return "`reasons` has one for each action."


GetOf: TypeAlias = Get[M] | tuple[type[M], KeyValue] | tuple[type[M], KeyValue, KeyValue]
"""An item that must exist: ``Get(Model, key)``, or a tuple of the model and its key values."""
FindOf: TypeAlias = Find[M] | tuple[type[M], KeyValue] | tuple[type[M], KeyValue, KeyValue]
"""An item that may be absent: ``Find(Model, key)``, or a tuple of the model and its key values."""


class TransactRead(Transact[R], Generic[R]):
    """What ``TransactGet`` and ``TransactFind`` share."""

    __slots__ = ("_finds",)

    _finds: tuple[Find[Any], ...]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._finds))})"

    @property
    def parts(self) -> Sequence[SingleRequest[Any]]:
        """What is read, item by item, each once."""
        return tuple(dict.fromkeys(self._finds))

    def nothing(self) -> R:
        """Return no items."""
        return cast("R", ())  # only the overload for any number of keys gives none

    def request(self, context: Context) -> Request:
        """Return the TransactGetItems request.

        Args:
            context: what the session adds: its table prefix, its clock and its settings.

        Raises:
            OutOfRangeError: one item is asked for in two ways.
        """
        parts = [part_of("Get", find.request(context)) for find in self._finds]
        if len({part.target.identity for part in parts}) < len(parts):
            parts = [part_of("Get", find.request(context)) for find in self.parts]
            targets_of(parts)
        return Request(
            operation="TransactGetItems",
            body={"TransactItems": [part.action for part in parts]},
            **about_tables([part.table for part in parts]),
        )

    def _found(self, response: Body, context: Context) -> list[Any]:
        slots: Sequence[Body] = response["Responses"]
        if len(slots) < len(self._finds):  # some were asked for more than once
            by_find = dict(zip(self.parts, slots, strict=True))
            slots = [by_find[find] for find in self._finds]
        return [find.result(slot, context) for find, slot in zip(self._finds, slots, strict=True)]

    def read(self, result: Any) -> Sequence[Model]:
        """Return the items that there are.

        Args:
            result: the result of the operation.
        """
        return tuple(item for item in result if item is not None)

    def explained(self, reason: CancellationReason, part: SingleRequest[Any]) -> CancellationReason:
        """Return a reason with the model and key of the item.

        Args:
            reason: why DynamoDB refused the part.
            part: the part that it is about.
        """
        assert isinstance(part, Find)  # noqa: S101 - made here
        absent = part.not_found()
        return replace(reason, model=absent.model, key=absent.key or {})


@final
class TransactGet(TransactRead[R], Generic[R]):
    """Read up to 100 items, of any tables, as they are at one moment; all of them must exist.

    The result is a tuple in the order asked for. It sees no transaction half done.

    Cost: one TransactGetItems; two read units per 4 KB of each item, at least two.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactGetItems.html
    """

    __slots__ = ()

    @overload
    def __init__(self: TransactGet[tuple[A]], a: GetOf[A], /) -> None: ...
    @overload
    def __init__(self: TransactGet[tuple[A, B]], a: GetOf[A], b: GetOf[B], /) -> None: ...
    @overload
    def __init__(self: TransactGet[tuple[A, B, C]], a: GetOf[A], b: GetOf[B], c: GetOf[C], /) -> None: ...
    @overload
    def __init__(
        self: TransactGet[tuple[A, B, C, D]], a: GetOf[A], b: GetOf[B], c: GetOf[C], d: GetOf[D], /
    ) -> None: ...
    @overload
    def __init__(
        self: TransactGet[tuple[A, B, C, D, E]], a: GetOf[A], b: GetOf[B], c: GetOf[C], d: GetOf[D], e: GetOf[E], /
    ) -> None: ...
    @overload
    def __init__(self: TransactGet[tuple[A, ...]], *gets: GetOf[A]) -> None: ...
    def __init__(self, *gets: Any) -> None:
        """Create the read of the items; nothing is sent yet.

        Args:
            gets: each a ``Get``, or a tuple of a model and its key values.

        Raises:
            OperationError: these are no reads, or more than 100, or the number of key values does not fit.
            EncodeError: a key value is of the wrong type, empty or too long.
        """
        self._finds = tuple(_find_of(get, Get) for get in gets)
        check_count(self._finds)

    def result(self, response: Body, context: Context) -> R:
        """Return the items, in the order asked for.

        Args:
            response: the answer's body, as decoded from JSON.
            context: what the session adds: its table prefix, its clock and its settings.

        Raises:
            ItemNotFoundError: one of them does not exist.
        """
        items = self._found(response, context)
        for find, item in zip(self._finds, items, strict=True):
            if item is None:
                raise find.not_found()
        return cast("R", tuple(items))  # which the overloads of the constructor say


@final
class TransactFind(TransactRead[R], Generic[R]):
    """Read up to 100 items, of any tables, as they are at one moment; the place of an absent one holds None.

    Cost: as ``TransactGet``.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactGetItems.html
    """

    __slots__ = ()

    @overload
    def __init__(self: TransactFind[tuple[A | None]], a: FindOf[A], /) -> None: ...
    @overload
    def __init__(self: TransactFind[tuple[A | None, B | None]], a: FindOf[A], b: FindOf[B], /) -> None: ...
    @overload
    def __init__(
        self: TransactFind[tuple[A | None, B | None, C | None]], a: FindOf[A], b: FindOf[B], c: FindOf[C], /
    ) -> None: ...
    @overload
    def __init__(
        self: TransactFind[tuple[A | None, B | None, C | None, D | None]],
        a: FindOf[A],
        b: FindOf[B],
        c: FindOf[C],
        d: FindOf[D],
        /,
    ) -> None: ...
    @overload
    def __init__(
        self: TransactFind[tuple[A | None, B | None, C | None, D | None, E | None]],
        a: FindOf[A],
        b: FindOf[B],
        c: FindOf[C],
        d: FindOf[D],
        e: FindOf[E],
        /,
    ) -> None: ...
    @overload
    def __init__(self: TransactFind[tuple[A | None, ...]], *finds: FindOf[A]) -> None: ...
    def __init__(self, *finds: Any) -> None:
        """Create the read of the items; nothing is sent yet.

        Args:
            finds: each a ``Find``, or a tuple of a model and its key values.

        Raises:
            OperationError: these are no reads, or more than 100, or the number of key values does not fit.
            EncodeError: a key value is of the wrong type, empty or too long.
        """
        self._finds = tuple(_find_of(find, Find) for find in finds)
        check_count(self._finds)

    def result(self, response: Body, context: Context) -> R:
        """Return the items, in the order asked for; None where there is none.

        Args:
            response: the answer's body, as decoded from JSON.
            context: what the session adds: its table prefix, its clock and its settings.
        """
        return cast("R", tuple(self._found(response, context)))  # which the overloads of the constructor say


def _find_of(subject: Any, kind: type[Any]) -> Find[Any]:
    if issubclass(type(subject), kind):
        find: Find[Any] = subject.find if kind is Get else subject
        return find
    parts: tuple[Any, ...] = subject if issubclass(type(subject), tuple) else ()
    if not 2 <= len(parts) <= 3:
        raise OperationError(
            f"{subject!r} does not name an item; write (Model, partition), (Model, partition, sort) or "
            f"{kind.__name__}(Model, ...)"
        )
    return Find(*parts)


class Check(Write[None]):
    """Demand something of an item that the transaction does not write. It is sent in a transaction only.

    Cost: two write units per KB of the stored item, at least two.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ConditionCheck.html
    """

    __slots__ = ("_conditions", "_definition", "_key")

    @makes_optional(1)
    def __init__(
        self,
        model: type[Model],
        partition: KeyValue,
        sort: KeyValue | None = None,
        /,
        *,
        where: Condition,
        **fields: Never,
    ) -> None:
        """Create the check of an item; nothing is sent yet.

        Args:
            model: the item's model.
            partition: the partition key's value.
            sort: the sort key's value, where the table has one.
            where: what must hold of the stored item.
            fields: nothing: the key is given by its position.

        Raises:
            EncodeError: a key value is of the wrong type, empty or too long.
            OperationError: the number of key values does not fit.
            ExpressionError: the condition is not about this model.
        """
        if fields or partition is NOT_GIVEN:
            raise no_key_keywords("Check", model, fields, ("where",))
        self._definition: Definition[Any] = definition_of(model)
        self._definition.require_table("checked")
        self._key = self._definition.key((partition,) if sort is None else (partition, sort))
        self._conditions = stored_conditions(model, (where,))

    def __repr__(self) -> str:
        return f"Check({self._definition.model.__name__}, {self._key})"

    @property
    def definition(self) -> Definition[Any]:
        """The model of the item."""
        return self._definition

    def after(self, before: Stored) -> Stored:
        """Return the item as it is: a check changes nothing.

        Args:
            before: what is stored until then, at least its unique attributes; None where there is no item.
        """
        return before

    def on_condition(self, *conditions: Condition) -> Self:
        """Return the same check with more conditions.

        Args:
            conditions: what must hold of the stored item, beside the conditions that there are.
        """
        return self._with_members(_conditions=(*self._conditions, *conditions))

    def request(self, context: Context) -> Request:
        """Return the ConditionCheck, which is no request of its own.

        Args:
            context: what the session adds: its table prefix, its clock and its settings.
        """
        table = context.tables.full(self._definition.table_name(self._key, "checked"))
        target = Target(self._key, identity_of(table, self._key))
        return write_request("ConditionCheck", table, target, {"Key": self._key}, self._conditions)

    def result(self, response: Body, context: Context) -> None:
        """Nothing: the condition held.

        Args:
            response: the answer's body, as decoded from JSON.
            context: what the session adds: its table prefix, its clock and its settings.
        """


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
        """Create the transaction; nothing is sent yet.

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
        """Return the transaction of these actions, with the same token.

        Args:
            actions: the writes and checks, in order.
        """
        own = object.__new__(type(self))  # copy.copy asks how the class is pickled (benchmarks: transaction_10)
        own._actions, own._token = tuple(actions), self._token
        check_count(own._actions)
        return own

    def check_one_more(self, actions: Sequence[Write[Any]], action: Write[Any]) -> None:
        """Check that a transaction of these actions may have another one; that is less work than to make it.

        Args:
            actions: those that there are.
            action: the one to come.

        Raises:
            OperationError: there are 100 already.
        """
        if len(actions) >= TRANSACTION_ACTIONS:
            check_count((*actions, action))

    def request(self, context: Context) -> Request:
        """Return the TransactWriteItems request; sent again as it is, it writes once.

        Args:
            context: what the session adds: its table prefix, its clock and its settings.

        Raises:
            OutOfRangeError: two actions are about one item, or the items are over 4 MB together.
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
        """Record that every action was carried out.

        Args:
            response: the answer's body, as decoded from JSON.
            context: what the session adds: its table prefix, its clock and its settings.
        """
        for action in self._actions:
            action.acknowledged()

    def explained(self, reason: CancellationReason, part: SingleRequest[Any]) -> CancellationReason:
        """Return a reason with the model and key of its action, and what the action alone would have raised.

        Args:
            reason: why DynamoDB refused the part.
            part: the part that it is about.
        """
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

    Args:
        position: its number, from 0 on, for the message.
        action: what was given.

    Raises:
        OperationError: it is no write.
    """
    if not isinstance(action, Write):
        raise OperationError(
            f"action {position} of the transaction, {action!r}, is not a write; give Put(item), Update(Model, key), "
            "Delete(item), Check(Model, key, where=...) and so on"
        )


def _check_bytes(targets: Sequence[Target]) -> None:
    if sum([target.json_bytes or target.size_bytes for target in targets]) <= TRANSACTION_BYTES:
        return  # nothing has to be measured
    total = sum(target.size_bytes for target in targets)
    if total > TRANSACTION_BYTES:
        raise OutOfRangeError(
            f"the items of the transaction have {total:,} bytes together, and one transaction may write "
            f"{TRANSACTION_BYTES:,} (4 MB); make several, each of which is all or nothing by itself"
        )


@final
class ExactlyOnce(TransactWrite, Generic[T]):
    """Carry out one write as a transaction of its own, so that it can be sent again and is done once all the same.

    DynamoDB remembers the transaction's client request token for ten minutes; this gives up before. A transaction
    returns nothing, so the result is None; ``then_get()`` reads the item afterwards. Errors are those of the write
    itself.

    Cost: one TransactWriteItems; two write units per KB of the item, twice what the write alone takes.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
    """

    __slots__ = ()

    def __init__(self, write: Write[Any], /, *, client_request_token: str | None = None) -> None:
        """Create the transaction of one write; nothing is sent yet.

        Args:
            write: a ``Put``, ``Update`` or other write of one item.
            client_request_token: 1 to 36 characters that stand for this write, also in another process: with the same
                token within ten minutes it is not done again.

        Raises:
            OperationError: this is no write, or the token is empty or too long.
        """
        super().__init__((write,), client_request_token=client_request_token)

    def __repr__(self) -> str:
        return f"ExactlyOnce({self.actions[0]!r})"

    def then_get(self) -> ThenGet[T]:
        """Return the same, with a consistent read of the item behind it, whose result is the item.

        The item is as it is at that moment: others may have written in between.

        Cost: one GetItem more; a read unit per 4 KB.
        """
        return ThenGet(self)

    def failed(self, error: ServiceError) -> Exception:
        """Return what the write on its own would have raised.

        Args:
            error: the refusal.
        """
        explained = super().failed(error)
        if not isinstance(explained, TransactionCanceledError):
            return explained
        own = next((reason.error for reason in explained.failures if reason.error is not None), None)
        return explained if own is None else own


@final
class ThenGet(Operation[R_co], Generic[R_co]):
    """A write that is done exactly once, and then a consistent read of its item. Made by ``ExactlyOnce``.

    Cost: that of the write, and one GetItem with a read unit per 4 KB.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_GetItem.html
    """

    __slots__ = ("_write",)

    def __init__(self, write: ExactlyOnce[Any]) -> None:
        """Create the write with the read behind it, for ``ExactlyOnce.then_get``.

        Args:
            write: what is done first.
        """
        self._write = write

    @property
    def write(self) -> ExactlyOnce[Any]:
        """What is done first."""
        return self._write

    def __repr__(self) -> str:
        return f"{self._write!r}.then_get()"

    def get(self) -> Operation[R_co]:
        """Return the read; of a new item that gets its key by being written, only after that."""
        write = self._write.actions[0]
        definition = write.definition
        if write.item is None:
            key = write.wire_key()
            values = list(key_values(definition, key).values())
        else:
            key = key_of_item(write.item, definition)
            values = [getattr(write.item, field.name) for field in definition.key_fields()]
        get: Get[Any] = Get(definition.model, *values, consistent_read=True)
        return cast("Operation[R_co]", read_under(get, key))
