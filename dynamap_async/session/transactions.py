"""Transactions of a session: ``transaction``, ``transact_write``, ``transact_get`` and ``transact_find``."""

from collections.abc import Iterable
from typing import Any, TypeVar, overload

from dynamap_async.models import Model
from dynamap_async.operations import FindOf, GetOf, TransactFind, TransactGet, TransactWrite, Write
from dynamap_async.session.runner import Runner
from dynamap_async.session.transaction import Transaction

A = TypeVar("A", bound=Model)
B = TypeVar("B", bound=Model)
C = TypeVar("C", bound=Model)
D = TypeVar("D", bound=Model)
E = TypeVar("E", bound=Model)


class Transactions:
    """What a session does with several items as one."""

    _runner: Runner

    def transaction(self, *, client_request_token: str | None = None) -> Transaction:
        """Return a transaction, to be used as ``async with session.transaction() as tx``. See ``Transaction``."""
        return Transaction(self._runner, client_request_token=client_request_token)

    async def transact_write(
        self, actions: Iterable[Write[Any]], /, *, client_request_token: str | None = None
    ) -> None:
        """Carry out ``Put``, ``Update``, ``Delete``, ``Check`` and other writes, all or none. See ``TransactWrite``."""
        await self._runner.execute(TransactWrite(actions, client_request_token=client_request_token))

    @overload
    async def transact_get(self, a: GetOf[A], /) -> tuple[A]: ...
    @overload
    async def transact_get(self, a: GetOf[A], b: GetOf[B], /) -> tuple[A, B]: ...
    @overload
    async def transact_get(self, a: GetOf[A], b: GetOf[B], c: GetOf[C], /) -> tuple[A, B, C]: ...
    @overload
    async def transact_get(self, a: GetOf[A], b: GetOf[B], c: GetOf[C], d: GetOf[D], /) -> tuple[A, B, C, D]: ...
    @overload
    async def transact_get(
        self, a: GetOf[A], b: GetOf[B], c: GetOf[C], d: GetOf[D], e: GetOf[E], /
    ) -> tuple[A, B, C, D, E]: ...
    @overload
    async def transact_get(self, *gets: GetOf[A]) -> tuple[A, ...]: ...
    async def transact_get(self, *gets: Any) -> tuple[Any, ...]:
        """Read up to 100 items as they are at one moment; ItemNotFoundError if one is absent. See ``TransactGet``."""
        found: tuple[Any, ...] = await self._runner.execute(TransactGet(*gets))
        return found

    @overload
    async def transact_find(self, a: FindOf[A], /) -> tuple[A | None]: ...
    @overload
    async def transact_find(self, a: FindOf[A], b: FindOf[B], /) -> tuple[A | None, B | None]: ...
    @overload
    async def transact_find(
        self, a: FindOf[A], b: FindOf[B], c: FindOf[C], /
    ) -> tuple[A | None, B | None, C | None]: ...
    @overload
    async def transact_find(
        self, a: FindOf[A], b: FindOf[B], c: FindOf[C], d: FindOf[D], /
    ) -> tuple[A | None, B | None, C | None, D | None]: ...
    @overload
    async def transact_find(
        self, a: FindOf[A], b: FindOf[B], c: FindOf[C], d: FindOf[D], e: FindOf[E], /
    ) -> tuple[A | None, B | None, C | None, D | None, E | None]: ...
    @overload
    async def transact_find(self, *finds: FindOf[A]) -> tuple[A | None, ...]: ...
    async def transact_find(self, *finds: Any) -> tuple[Any, ...]:
        """Read up to 100 items as they are at one moment; None for each that is absent. See ``TransactFind``."""
        found: tuple[Any, ...] = await self._runner.execute(TransactFind(*finds))
        return found
