"""The demo's own work: tables, items, and all questions at once. It prints nothing."""

import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, Final

import anyio

from dynamap_async import Model, Plan, RetryPolicy, Session
from dynamap_async.cli.demo.metering import Evaluated, Meter, survey
from dynamap_async.cli.demo.scenario import Question
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import DynamapError, Outcome, ResourceInUseError, ResourceNotFoundError, TransportError
from dynamap_async.models import definition_of
from dynamap_async.transport import Transport

RETRY: Final = RetryPolicy(max_attempts=3)
CONCURRENT_PUTS: Final = 32

_CLEANUP_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredQuestion:
    """A question's answer, and what it cost."""

    question: Question
    plan: Plan
    model: type[Model]
    found: list[Any]
    """Instances of the model, or tuples of the fields that the plan names."""
    requests: int
    pages: list[Evaluated]

    @property
    def evaluated(self) -> int:
        """How many items DynamoDB read."""
        return sum(page.items for page in self.pages)

    @property
    def read_units(self) -> float:
        """What reading them takes."""
        return sum(page.read_units for page in self.pages)


async def put_all(session: Session, items: Sequence[Model], done: Callable[[], None]) -> None:
    """Put items concurrently, but never more than CONCURRENT_PUTS at a time; call ``done`` after each."""
    limiter = anyio.CapacityLimiter(CONCURRENT_PUTS)

    async def put(item: Model) -> None:
        async with limiter:
            await session.put(item)
        done()

    async with anyio.create_task_group() as tasks:
        for item in items:
            tasks.start_soon(put, item)


async def ask_all(
    questions: Sequence[Question], transport: Transport, table_prefix: str, done: Callable[[], None]
) -> list[AnsweredQuestion]:
    """Ask all questions at once, each on a metered session of its own; return the answers in the questions' order."""
    answers: dict[int, AnsweredQuestion] = {}

    async def ask(number: int) -> None:
        answers[number] = await _ask(questions[number], Meter(transport), table_prefix)
        done()

    async with anyio.create_task_group() as tasks:
        for number in range(len(questions)):
            tasks.start_soon(ask, number)
    return [answers[number] for number in range(len(questions))]


async def _ask(question: Question, meter: Meter, table_prefix: str) -> AnsweredQuestion:
    async with Session(transport=meter, table_prefix=table_prefix, retry=RETRY) as session:
        query = question(session)
        found = await query
        requests, pages = meter.sent, list(meter.answered)
        return AnsweredQuestion(
            question=question,
            plan=query.explain(),
            model=query.spec.model,
            found=found,
            requests=requests,
            pages=await survey(session, pages),
        )


@contextlib.asynccontextmanager
async def tables_of(models: Sequence[type[Model]], session: Session, *, kept: bool) -> AsyncGenerator[None]:
    """Create the tables of models and, unless they are kept, delete them at the end, also after an error."""
    try:
        await session.tables.create(*models)
        yield
    except BaseException as error:
        unreachable = isinstance(error, TransportError) and error.outcome is Outcome.NOT_SENT
        if not kept and not unreachable:
            with contextlib.suppress(DynamapError):
                await _delete_all(session, models)
        raise
    if not kept:
        await _delete_all(session, models)


async def _delete_all(session: Session, models: Sequence[type[Model]]) -> None:
    one_for_each_table = {definition_of(model).require_table("deleted").name: model for model in models}.values()
    with anyio.CancelScope(shield=True), anyio.move_on_after(_CLEANUP_SECONDS):
        for model in one_for_each_table:
            await _delete(session, model)


async def _delete(session: Session, model: type[Model]) -> None:
    while True:
        try:
            await session.tables.delete(model, wait=False)
        except ResourceNotFoundError:  # it was never created
            return
        except ResourceInUseError:  # it is still being created
            await anyio.sleep(_POLL_SECONDS)
        else:
            return
