"""The story that the demo tells, in five steps: what one writes, and what it does. What is shown is what runs."""

import ast
import inspect
import textwrap
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeAlias

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Session, SortKey, Version, attr
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import DynamapError
from dynamap_async.testing import RequestLog

Code: TypeAlias = type[Model] | Callable[[Session], Awaitable[Any]]
"""A model, or a function whose body is run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a piece of code: its value or its error, and the requests that it sent."""

    value: Any = None
    """What it returned."""
    error: DynamapError | None = None
    """What it raised instead."""
    requests: Counter[str]
    """API operation -> how many requests of it were sent."""

    @property
    def sent(self) -> str:
        """The requests in words."""
        return "sent: " + (", ".join(f"{count} {name}" for name, count in self.requests.items()) or "nothing")

    @property
    def refused(self) -> str:
        """The error as it is raised."""
        return f"{type(self.error).__name__}: {self.error}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Some lines of code, and what to say about their outcome."""

    code: Code
    tell: Callable[[Outcome], str] | None = None
    is_refused: bool = False
    """Whether it is meant to be refused."""

    @property
    def source(self) -> str:
        """The code, as one would write it inside of a coroutine."""
        source = textwrap.dedent(inspect.getsource(self.code))
        if isinstance(self.code, type):
            return source.rstrip()
        [function] = ast.parse(source).body
        assert isinstance(function, ast.AsyncFunctionDef)  # noqa: S101 - so are all
        body = textwrap.dedent("\n".join(source.splitlines()[function.body[0].lineno - 1 :]))
        head, last = body.rstrip().rpartition("\n")[::2]
        return "\n".join(filter(None, (head, last.removeprefix("return "))))

    async def run(self, session: Session, log: RequestLog) -> Outcome:
        """Run the code, and return its outcome.

        Args:
            log: an observer of the session.

        Raises:
            DynamapError: it failed, and was not meant to.
        """
        if isinstance(self.code, type):
            return Outcome(value=self.code, requests=Counter())
        log.clear()
        value, error = None, None
        try:
            value = await self.code(session)
        except DynamapError as raised:
            if not self.is_refused:
                raise
            error = raised
        return Outcome(value=value, error=error, requests=log.requests)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing to see."""

    title: str
    pieces: tuple[Piece, ...]


class Order(Model, table="orders"):
    user: PartitionKey[str]
    number: SortKey[int]
    city: Attr[str]
    by_city = GlobalIndex("by-city", partition_key="city", sort_key="number")


async def _store(session: Session) -> Order:
    orders = [Order(user="ada", number=n, city="Rome") for n in range(1000)]
    await session.put_many(orders)
    return await session.get(Order, "ada", 7)


async def _get_a_thousand(session: Session) -> Sequence[Order]:
    return await session.gather(*(session.get(Order, "ada", n) for n in range(1000)))


async def _ask_by_city(session: Session) -> tuple[str | None, list[Order]]:
    late = session.query(Order).where(Order.city == "Rome", Order.number >= 990)
    return late.explain().index, await late


async def _ask_for_a_scan(session: Session) -> list[Order]:
    return await session.query(Order).where(Order.number >= 990)


class Account(Model, table="accounts"):
    owner: PartitionKey[str]
    balance: Attr[int]
    version: Version[int] = attr(default=0)


async def _lose_an_update(session: Session) -> None:
    await session.create(Account(owner="ada", balance=100))
    mine = await session.get(Account, "ada")
    yours = await session.get(Account, "ada")
    mine.balance -= 30
    await session.save(mine)
    yours.balance -= 50
    await session.save(yours)


async def _get_one_by_one(session: Session) -> list[Order]:
    async with session.scope("GET /orders", max_read_units=5):
        return [await session.get(Order, "ada", n) for n in range(1000)]


STEPS: Final = (
    Step(
        title="A Pydantic model is the table, its keys and its items",
        pieces=(Piece(code=Order), Piece(code=_store, tell=lambda seen: f"{seen.value!r}; {seen.sent}")),
    ),
    Step(
        title="A thousand gets that wait together become ten requests",
        pieces=(Piece(code=_get_a_thousand, tell=lambda seen: f"{len(seen.value):,} orders; {seen.sent}"),),
    ),
    Step(
        title="The planner finds the index, and refuses what would be a scan",
        pieces=(
            Piece(
                code=_ask_by_city,
                tell=lambda seen: f"{len(seen.value[1])} orders through {seen.value[0]}; {seen.sent}",
            ),
            Piece(code=_ask_for_a_scan, tell=lambda seen: f"{seen.sent}; {seen.refused}", is_refused=True),
        ),
    ),
    Step(
        title="A lost update is refused",
        pieces=(Piece(code=Account), Piece(code=_lose_an_update, tell=lambda seen: seen.refused, is_refused=True)),
    ),
    Step(
        title="A budget stops a loop that asks one by one",
        pieces=(Piece(code=_get_one_by_one, tell=lambda seen: f"{seen.sent}; {seen.refused}", is_refused=True),),
    ),
)
MODELS: Final = (Order, Account)
