"""Accounts: who pays for requests. One for each scope; what is awaited outside of any has an entry of the session's.

Invariant: what an account has of its own is counted in no other's; ``whole`` has what the scopes opened inside of it
have as well. What is reserved is given back once, whether the request is answered, given up or cancelled.
"""

from contextvars import Context, ContextVar
from math import inf
from typing import Final

from dynamap_async.config import Priority
from dynamap_async.errors import CapacityBudgetExceededError
from dynamap_async.executor.budget import Budget, Estimate, Limits
from dynamap_async.executor.tally import Counted
from dynamap_async.request import Request

OUT_OF_REQUESTS: Final = "not sent again: the scope's max_requests are spent"
"""The note of an error after which nothing is sent again, because nobody who waits may send anything."""


class Account:
    """What one scope has used, and may use."""

    __slots__ = (
        "_budget",
        "books",
        "chain",
        "deadline",
        "left",
        "limited",
        "name",
        "outer",
        "own",
        "owner",
        "priority",
        "whole",
    )

    def __init__(
        self,
        owner: object,
        name: str,
        *,
        limits: Limits | None = None,
        priority: Priority | None = None,
        deadline: float = inf,
    ) -> None:
        """Open an account inside of the current one.

        Args:
            owner: the ledger that it belongs to: an account of another session's does not pay for this one's.
            name: what errors call it.
            limits: what it may take.
            priority: that of its requests; None for that of the account around it.
            deadline: the event loop's time after which nobody waits; the earlier one of the account around it counts.
        """
        self.owner: Final = owner
        self.name: Final = name
        self.own: Final = Counted()
        self.whole: Counted = self.own
        """With what the scopes inside of it have; the same as ``own`` until there is one."""
        self.outer: Final = _entered(_CURRENT.get())
        """The account that was current before, of whatever session. One that was left is passed over: where scopes are
        left in another task than they are entered in, they would be inside of each other for ever."""
        self.left: bool = False
        """Whether its scope was left; what is under way, and tasks begun in it, go on to count for it."""
        around = _of(owner, self.outer)
        if around is not None:
            around.divide()
        self.chain: Final[tuple[Account, ...]] = (self, *(around.chain if around else ()))
        """This one, and those of the same session around it, from the inside out."""
        self.books: tuple[Counted, ...] = (self.own, *(each.whole for each in self.chain[1:]))
        """Everything in which what it pays for is entered, but for the session's whole."""
        inherited = Priority.INTERACTIVE if around is None else around.priority
        self.priority: Final[Priority] = inherited if priority is None else priority
        self.deadline: Final[float] = min(deadline, inf if around is None else around.deadline)
        self._budget: Final = Budget(name, limits or Limits(), self.whole)
        self.limited: Final[bool] = bool(limits) or (around is not None and around.limited)
        """Whether this account, or one around it, may not take any amount."""

    def divide(self) -> None:
        """Tell what it has of its own apart from the whole from now on: there is a scope inside of it."""
        if self.whole is self.own:
            self.whole = self.own.copy()
            self._budget.count_by(self.whole)
            self.books = (self.own, *(each.whole for each in self.chain))

    @property
    def budget(self) -> Budget:
        """What it may take, without regard to those around it."""
        return self._budget

    def reserve(self, request: Request, estimate: Estimate) -> Estimate:
        """Set units aside for a request that is to be sent; return them, to be given back once.

        Raises:
            CapacityBudgetExceededError: it would take more than this account, or one around it, may.
        """
        for account in self.chain:
            account.budget.check(request, estimate)
        for account in self.chain:
            account.budget.reserve(*estimate)
        return estimate

    def give_back(self, estimate: Estimate) -> None:
        """Undo ``reserve``."""
        for account in self.chain:
            account.budget.reserve(-estimate[0], -estimate[1])

    @property
    def out_of_requests(self) -> bool:
        """Whether no further request may be sent."""
        return self.limited and any(each.budget.out_of_requests for each in self.chain)

    def refusal(self, request: Request) -> CapacityBudgetExceededError:
        """Return the error of a request that is not sent, of the innermost account that has no request left."""
        spent = next((each for each in self.chain if each.budget.out_of_requests), self)
        return spent.budget.out_of_requests_error(request)


_CURRENT: ContextVar[Account | None] = ContextVar("dynamap_async_account", default=None)


def current(owner: object) -> Account | None:
    """Return the account that pays for what is asked for here of one session; None for the session's own."""
    return _of(owner, _CURRENT.get())


def innermost() -> Account | None:
    """Return the account of the innermost scope here, of whatever session; None outside of any."""
    return _CURRENT.get()


def enter(account: Account) -> None:
    """Let an account pay for what is asked for from here on."""
    _CURRENT.set(account)


def leave(account: Account) -> None:
    """Undo ``enter``. In another task, such as that of a fixture, there is nothing to undo."""
    account.left = True
    if _CURRENT.get() is account:
        _CURRENT.set(_entered(account.outer))  # scopes need not be left in order


def bare_context() -> Context:
    """Return an empty context, but for the account that pays: no scopes, spans or log context of a caller leak."""
    context, account = Context(), _CURRENT.get()
    if account is not None:
        context.run(_CURRENT.set, account)
    return context


def _of(owner: object, account: Account | None) -> Account | None:
    """Return an account, or the innermost one around it, that belongs to a ledger."""
    while account is not None and account.owner is not owner:
        account = account.outer
    return account


def _entered(account: Account | None) -> Account | None:
    """Return an account, or the innermost one around it, that was not left."""
    while account is not None and account.left:
        account = account.outer
    return account
