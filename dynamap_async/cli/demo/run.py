"""One run of the demo from beginning to end. When it returns or raises, nothing that it started is running."""

import asyncio
import os
import secrets
from collections.abc import Generator, Sequence
from contextlib import AsyncExitStack, contextmanager
from typing import Final
from urllib.parse import urlsplit

from dynamap_async import Credentials, Session
from dynamap_async.cli.demo._story import MODELS, STEPS
from dynamap_async.cli.demo.scenario import Scenario
from dynamap_async.cli.demo.screen import Screen
from dynamap_async.cli.demo.work import CONCURRENT_PUTS, RETRY, AnsweredQuestion, ask_all, put_all, tables_of
from dynamap_async.cli.output import number_of
from dynamap_async.dataclass import dataclass
from dynamap_async.testing import LocalEngine, RequestLog
from dynamap_async.transport import AioConfig, Connection, WireTransport

_REGION: Final = "eu-west-1"
_LOCAL_CREDENTIALS: Final = Credentials(access_key_id="local", secret_access_key="local")  # noqa: S106 - none is verified
_CREDENTIALS_IN_ENVIRONMENT: Final = ("AWS_ACCESS_KEY_ID", "AWS_PROFILE")
_CONNECT_TIMEOUT_SECONDS: Final = 5
_READ_TIMEOUT_SECONDS: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoEndpoint:
    """The endpoint that the demo runs on."""

    engine: LocalEngine | str
    """The demo's own engine, or the URL of another."""

    @property
    def own(self) -> bool:
        """Whether the engine is the demo's own: then nobody else has tables there, and none need to be deleted."""
        return isinstance(self.engine, LocalEngine)

    def transport(self) -> WireTransport:
        """Return a transport, with AWS's settings where there are some, else as local engines take it."""
        url = self.engine
        if isinstance(url, LocalEngine):
            return url.transport()
        config = AioConfig(connect_timeout=_CONNECT_TIMEOUT_SECONDS, read_timeout=_READ_TIMEOUT_SECONDS)
        if _is_aws(url) or any(map(os.environ.get, _CREDENTIALS_IN_ENVIRONMENT)):
            return WireTransport(Connection(endpoint_url=url, aio_config=config))
        local = Connection(endpoint_url=url, region=_REGION, credentials=_LOCAL_CREDENTIALS, aio_config=config)
        return WireTransport(local)

    def table_prefix(self) -> str:
        """Return the prefix that keeps the demo's tables apart from all others."""
        return "" if self.own else f"dynamap-demo-{secrets.token_hex(4)}-"


def run_demo(scenarios: Sequence[Scenario], screen: Screen, *, engine: str | None, explain: bool) -> None:
    """Create the scenarios' tables, ask all their questions at once, and print the answers.

    Args:
        engine: the URL of an engine to use instead of one in this process.

    Raises:
        DynamapError: something did not work; errors of concurrent work arrive in an exception group.
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    screen.opening("Published designs of DynamoDB tables, as Pydantic models that answer questions.")
    with _place(engine, screen) as place:
        answers = asyncio.run(_work(scenarios, place, screen))
    numbered = iter(enumerate(answers, 1))
    for scenario in scenarios:
        screen.scenario(scenario)
        for _ in scenario.questions:
            number, answer = next(numbered)
            screen.answer(number, answer, explain=explain)
    screen.closing(answers)


def run_story(screen: Screen, *, engine: str | None) -> None:
    """Run the story, and show each step when it is done.

    Args:
        screen: where to show it.
        engine: the URL of an engine to use instead of one in this process.

    Raises:
        DynamapError: something did not work; errors of concurrent work arrive in an exception group.
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    screen.opening("Five steps: what you write, and what it does. It runs here, without AWS.")
    with _place(engine, screen) as place:
        asyncio.run(_tell(place, screen))
    screen.end_of_story()


@contextmanager
def _place(url: str | None, screen: Screen) -> Generator[DemoEndpoint]:
    if url is not None:
        screen.fact("engine", url)
        yield DemoEndpoint(engine=url)
        return
    with LocalEngine() as engine:
        screen.fact("engine", "a DynamoDB in this process")
        yield DemoEndpoint(engine=engine)


async def _work(scenarios: Sequence[Scenario], place: DemoEndpoint, screen: Screen) -> list[AnsweredQuestion]:
    models = [model for scenario in scenarios for model in scenario.models]
    items = [item for scenario in scenarios for item in scenario.items()]
    questions = [question for scenario in scenarios for question in scenario.questions]
    wire, table_prefix = place.transport(), place.table_prefix()
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(Session(transport=wire, table_prefix=table_prefix, retry=RETRY))
        with screen.step("tables", f"created from {number_of(len(models), 'model')} with their indexes"):
            await stack.enter_async_context(tables_of(models, session, kept=place.own))
        with screen.step("items", f"{len(items)} put, at most {CONCURRENT_PUTS} at a time", len(items)) as done:
            await put_all(session, items, done)
        with screen.step("asked", f"{number_of(len(questions), 'question')}, all at once", len(questions)) as done:
            return await ask_all(questions, wire, table_prefix, done)


async def _tell(place: DemoEndpoint, screen: Screen) -> None:
    log = RequestLog()
    async with (
        Session(transport=place.transport(), table_prefix=place.table_prefix(), retry=RETRY, observer=log) as session,
        tables_of(MODELS, session, kept=place.own),
    ):
        for number, step in enumerate(STEPS, 1):
            with screen.waiting(step.title):
                outcomes = [await piece.run(session, log) for piece in step.pieces]
            screen.told(number, step, outcomes)


def _is_aws(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:  # no address at all, which the transport explains
        return False
    return host.endswith((".amazonaws.com", ".amazonaws.com.cn"))
