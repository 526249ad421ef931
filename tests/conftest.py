"""Engines and sessions for every test that talks to a DynamoDB, and a clock for those that must not wait.

Nothing here knows any model. A test that is marked ``virtual_clock`` runs on an event loop whose time jumps ahead
whenever the loop has nothing to do, and fails if it leaves a task behind.
"""

import asyncio
import gc
import inspect
import os
import random
import re
import secrets
import shlex
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache, partial
from itertools import count
from pathlib import Path
from types import FrameType, MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple, TypeAlias
from uuid import uuid4

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from dynamap_async import Session
from dynamap_async.request import Request
from dynamap_async.testing import Engine, LocalEngine, NativeEngine, Transition, VirtualClockLoop
from dynamap_async.testing.native_program import EXECUTABLE, find_program

ON_VIRTUAL_CLOCK = ("tests/concurrency", "tests/unit/session", "tests/unit/stored")
"""Folders in which every asynchronous test is marked ``virtual_clock``."""

LOOP = "DYNAMAP_LOOP"
"""The event loop of all tests: ``uvloop``, ``eager`` (tasks that begin at once), or both; else asyncio's usual one.

What runs on a virtual clock stays on asyncio's own, with tasks that begin at once where that is asked for.
"""
ON_LOOP = frozenset(filter(None, os.environ.get(LOOP, "").split(",")))
LOOPS = {"asyncio": (), "uvloop": ("uvloop",), "eager tasks": ("eager",), "uvloop, eager tasks": ("uvloop", "eager")}
"""What tests that run on each kind of event loop call it -> what makes it one."""

Refused: TypeAlias = dict[str, dict[int, list[str]]]
"""What a type checker reports: file -> line -> messages."""


class Checker(NamedTuple):
    """A type checker in strict mode."""

    options: tuple[str, ...]
    report: str
    """How a line of its output gives a file, a line and a message."""
    settings: Mapping[str, str] = MappingProxyType({})
    """File -> text of what it reads in the folder of the modules."""


MYPY = ("--strict", "--python-version=3.11", "--no-error-summary", "--hide-error-context", "--no-color-output")
MYPY_REPORT = r"^([\w/]+\.py):(\d+): error: (.*)$"
CHECKERS = {
    "mypy": Checker((*MYPY, "--config-file=", "--cache-dir={cache}", "."), MYPY_REPORT),
    "mypy with pydantic.mypy": Checker(
        (*MYPY, "--config-file=plugins.ini", "--cache-dir={cache}", "."),
        MYPY_REPORT,
        {
            "plugins.ini": "[mypy]\nplugins = dynamap_async.mypy, pydantic.mypy\n"
            "[pydantic-mypy]\ninit_typed = true\ninit_forbid_extra = true\n"
        },
    ),
    "pyright": Checker(
        ("--pythonpath={python}",),
        r"^  (/.+\.py):(\d+):\d+ - (?:error|warning): (.*)$",
        {"pyrightconfig.json": '{"typeCheckingMode": "strict", "pythonVersion": "3.11"}'},
    ),
    "pyrefly": Checker(
        ("check", "--output-format=min-text", "--python-interpreter-path={python}"),
        r"^ *(?:ERROR|WARN) (.+\.py):(\d+):\S+: (.*)$",
        {"pyrefly.toml": 'preset = "strict"\npython-version = "3.11"\n'},
    ),
    "ty": Checker(
        ("check", "--python={python}", "--python-version=3.11", "--output-format=concise", "--error-on-warning"),
        r"^(.+\.py):(\d+):\d+: (?:error|warning)(.*)$",
    ),
    "zuban": Checker(
        ("mypy", "--strict", "--python-version=3.11", "--python-executable={python}", "--no-error-summary", "."),
        MYPY_REPORT,
    ),
}
"""How each checker is run in a folder of modules."""

ON_CI = os.environ.get("CI") == "true"
SEED = "--hypothesis-seed"
EXAMPLES = "DYNAMAP_EXAMPLES"
REPEATED = ("CI", EXAMPLES, LOOP, "PYTHONHASHSEED", "PYTHONSAFEPATH")
"""Variables that decide what a run does."""

# How fast the machine is says nothing about the code. CI tries the same examples each time, so that what fails there is
# what a change did; everywhere else they are drawn anew, from a seed that is printed.
settings.register_profile("dynamap", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=ON_CI)
settings.load_profile("dynamap")
# Hypothesis also draws constants out of the source of modules that happen to be imported. Which ones are depends on the
# tests that ran before in the same worker, so that neither CI nor a seed would try the same examples twice.
providers._get_local_constants = lambda: providers._local_constants  # none, since nothing collects them

# In debug mode, each task, future, callback and coroutine records where it was made: a walk through the stack and its
# files, which takes most of the time. Only a reader needs that, who sets PYTHONASYNCIODEBUG=1; what fails a test is the
# rest of the mode, its checks of threads, callbacks and sockets.
if not os.environ.get("PYTHONASYNCIODEBUG"):
    asyncio.BaseEventLoop.get_debug = lambda loop: False
    asyncio.constants.DEBUG_STACK_DEPTH = 0  # of coroutines

usual_loop = asyncio.new_event_loop


def make_loop(*kinds: str) -> asyncio.AbstractEventLoop:
    """Return an event loop; asyncio's usual one with normal tasks, where no kind is named."""
    if "uvloop" not in kinds:
        loop = usual_loop()
    else:
        import uvloop

        class Loop(uvloop.Loop):
            def create_task(self, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
                """As uvloop does, but without its ``eager_start``, which asyncio's factory does not take in 3.13.0."""
                return asyncio.eager_task_factory(self, coroutine, **options)

        loop = Loop() if "eager" in kinds else uvloop.new_event_loop()
    if "eager" in kinds:
        loop.set_task_factory(asyncio.eager_task_factory)
    return loop


def make_virtual_loop() -> VirtualClockLoop:
    """Return an event loop with a virtual clock, and with tasks that begin at once where the run asks for it."""
    loop = VirtualClockLoop()
    if "eager" in ON_LOOP:
        loop.set_task_factory(asyncio.eager_task_factory)
    return loop


if ON_LOOP:  # asyncio.run, asyncio.Runner and pytest-asyncio ask here
    asyncio.new_event_loop = asyncio.events.new_event_loop = lambda: make_loop(*ON_LOOP)


@pytest.hookimpl(tryfirst=True)  # before Hypothesis looks at the option; xdist hands it to its workers
def pytest_configure(config: pytest.Config) -> None:
    if config.option.hypothesis_seed is None and not ON_CI:
        config.option.hypothesis_seed = str(secrets.randbelow(2**32))
    config.addinivalue_line(
        "markers",
        "engine_fault(engine, reason, raises=AssertionError): what this engine gets wrong; the test must fail on it, "
        "with that error, and pass on every other engine",
    )
    config.addinivalue_line(
        "markers", "virtual_clock: an asynchronous test that never waits, and leaves no task behind"
    )
    config.addinivalue_line(
        "markers",
        "counts_turns: a test of what happens within so many turns after a task was made; left out where tasks begin "
        "at once, since all happens a turn earlier there",
    )


def command_that_repeats(config: pytest.Config) -> str:
    """Return a command line that runs the same tests with the same seeds."""
    variables = [f"{name}={os.environ[name]}" for name in REPEATED if name in os.environ]
    arguments = [str(each) for each in config.invocation_params.args]
    if not ON_CI and not any(each.startswith(SEED) for each in arguments):
        arguments.append(f"{SEED}={config.option.hypothesis_seed}")
    return shlex.join([*variables, sys.executable, "-m", "pytest", *arguments])


def pytest_report_header(config: pytest.Config) -> str:
    return f"to repeat: {command_that_repeats(config)}"


@pytest.hookimpl(wrapper=True, tryfirst=True)  # below the failures, where a reader looks first
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> Iterator[None]:
    yield
    skipped = Counter(report.longrepr[2] for report in terminalreporter.getreports("skipped"))
    for reason, number in skipped.most_common():
        terminalreporter.write_line(f"{number:,} skipped: {reason.removeprefix('Skipped: ')}")
    terminalreporter.write_line(f"to repeat: {command_that_repeats(config)}")


def try_examples(items: list[pytest.Item], times: float) -> None:
    """Let each law be tried with so many times the number of examples that it declares."""
    for law in {item.obj for item in items if getattr(getattr(item, "obj", None), "is_hypothesis_test", False)}:
        declared = law._hypothesis_internal_use_settings
        number = max(1, round(declared.max_examples * times))
        law._hypothesis_internal_use_settings = settings(declared, max_examples=number)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "eager" in ON_LOOP:
        left_out = [item for item in items if item.get_closest_marker("counts_turns")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    if EXAMPLES in os.environ:
        try_examples(items, float(os.environ[EXAMPLES]))
    for item in items:
        if item.path.parent.as_posix().endswith(ON_VIRTUAL_CLOCK):
            item.add_marker(pytest.mark.virtual_clock)
        parameters = getattr(getattr(item, "callspec", None), "params", {})
        for fault in item.iter_markers("engine_fault"):
            engine, reason = fault.args
            if parameters.get("engine") == engine:
                raises = fault.kwargs.get("raises", AssertionError)
                item.add_marker(pytest.mark.xfail(reason=f"{engine}: {reason}", raises=raises, strict=True))


def pytest_collection_finish() -> None:
    """Keep what was collected out of the garbage collector's sight: it lives as long as the run.

    Dozens of tests ask for a full collection, which would go through all tests that there are, for half a second.
    """
    gc.freeze()


@pytest.fixture(autouse=True)
def work_takes_the_same_time(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let 10 microseconds pass between two looks at how long work has taken; on the virtual clock, draw alike as well.

    When work pauses for other tasks, and so how many requests share a call, must not depend on the machine's load, nor
    how long a retry waits on chance.
    """
    looks = count()
    clock = SimpleNamespace(perf_counter=lambda: next(looks) / 100_000)
    for module in ("stored.flow", "turns"):
        monkeypatch.setattr(f"dynamap_async.{module}.time", clock)
    if request.node.get_closest_marker("virtual_clock") or "virtual_clock" in request.fixturenames:
        random.seed(request.node.nodeid)


async def _leaving_nothing(test: Callable[..., Awaitable[None]], arguments: dict[str, Any]) -> None:
    await test(**arguments)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    assert left == set(), "the test left tasks behind"


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not (inspect.iscoroutinefunction(pyfuncitem.obj) and pyfuncitem.get_closest_marker("virtual_clock")):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    with asyncio.Runner(loop_factory=make_virtual_loop, debug=True) as runner:
        runner.run(_leaving_nothing(pyfuncitem.obj, arguments))
    return True


@pytest.fixture(scope="session")
def virtual_clock() -> Callable[[], VirtualClockLoop]:
    """Return what makes an event loop whose time jumps, for a test that runs loops of its own."""
    return make_virtual_loop


@pytest.fixture(params=LOOPS.values(), ids=LOOPS)
def loop_factory(request: pytest.FixtureRequest) -> Callable[[], asyncio.AbstractEventLoop]:
    """Return what makes an event loop, of each kind in turn."""
    if "uvloop" in request.param:
        pytest.importorskip("uvloop", reason="uvloop does not run on Windows")
    if "eager" in request.param and sys.version_info < (3, 12):
        pytest.skip("asyncio.eager_task_factory came with Python 3.12")
    return partial(make_loop, *request.param)


@pytest.fixture(scope="session")
def index_changes() -> Callable[[Sequence[Transition]], Counter[str]]:
    """Return a function: the log of an engine -> change of an index of a table that was there, and how often."""

    def count(log: Sequence[Transition]) -> Counter[str]:
        statuses: dict[str, str | None] = {}
        found: Counter[str] = Counter()
        for entry in log:
            if entry.region is not None:
                continue
            if entry.index is None:
                statuses[entry.table] = entry.after
            elif entry.before is None and statuses[entry.table] != "CREATING":
                found[f"Create {entry.table} {entry.index}"] += 1
            elif entry.after == "DELETING" and statuses[entry.table] != "DELETING":
                found[f"Delete {entry.table} {entry.index}"] += 1
        return found

    return count


@pytest.fixture(scope="session")
def asking() -> Callable[[LocalEngine], Callable[..., Awaitable[Any]]]:
    """Return a function: an engine in this process -> what asks it for an operation, and returns the answer's body."""

    def of(engine: LocalEngine) -> Callable[..., Awaitable[Any]]:
        async def ask(operation: str, table: str | None = "tweets", **body: Any) -> Any:
            named = {} if not table or "ResourceArn" in body else {"TableName": table}
            transport = engine.transport()
            await transport.open()
            try:
                return await transport.send(Request(operation=operation, body=named | body, table=table))
            finally:
                await transport.close()

        return ask

    return of


@pytest.fixture(params=["mypy", "pyright", "pyrefly", "ty", "zuban"])
def checker(request: pytest.FixtureRequest) -> str:
    """Return the name of a type checker, of each in turn."""
    return str(request.param)


@pytest.fixture(scope="session")
def start_checking(pytestconfig: pytest.Config) -> Iterator[Callable[[str, Path], Callable[[], Refused]]]:
    """Return a function: a key of CHECKERS, and a folder of modules -> a function that waits for what is reported.

    The folder should be outside of this checkout, so that no configuration of it counts. The test is skipped where the
    checker is not installed.
    """
    running = []

    def start(name: str, folder: Path) -> Callable[[], Refused]:
        checker = CHECKERS[name]
        program = Path(sys.executable).with_name(name.split(maxsplit=1)[0])
        if not program.exists():
            pytest.skip(f"{program.name} is not installed; the dependency group `types` has it")
        for file, text in checker.settings.items():
            (folder / file).write_text(text, "utf-8")
        cache = pytestconfig.rootpath / ".mypy_cache" / "checked" / folder.name / name.replace(" ", "-")
        options = (each.format(python=sys.executable, cache=cache) for each in checker.options)
        # Output goes to files, so that checkers that run at the same time never wait for a reader.
        out, errors = folder / f"{name}.out", folder / f"{name}.errors"
        with out.open("w") as to, errors.open("w") as errors_to:
            process = subprocess.Popen([program, *options], cwd=folder, stdout=to, stderr=errors_to)
        running.append(process)

        def refused() -> Refused:
            process.wait(timeout=1200)
            said = out.read_text("utf-8")
            assert process.returncode in (0, 1), said + errors.read_text(
                "utf-8"
            )  # 1: it found errors; else it did not run
            found: Refused = defaultdict(lambda: defaultdict(list))
            for file, line, message in re.findall(checker.report, said, re.MULTILINE):
                found[Path(file).name][int(line)].append(message)
            assert bool(found) == bool(process.returncode), said
            return found

        return refused

    yield start
    for process in running:
        process.kill()
        process.wait()


@pytest.fixture(scope="session")
def strictly_checked(start_checking: Callable[[str, Path], Callable[[], Refused]]) -> Callable[[str, Path], list[str]]:
    """Return a function: a key of CHECKERS, and a folder of modules -> the lines of what it reports in strict mode."""

    def check(name: str, folder: Path) -> list[str]:
        refused = start_checking(name, folder)()
        return [
            f"{file}:{line}: {message}"
            for file, lines in refused.items()
            for line, messages in lines.items()
            for message in messages
        ]

    return check


@pytest.fixture(scope="session")
def noting_calls() -> Callable[[Callable[[FrameType], None]], AbstractContextManager[None]]:
    """Return a context manager: a function is told of each call in this thread, but for those of garbage collections.

    What a collection calls, and when, depends on the tests that ran before.
    """

    @contextmanager
    def noting(note: Callable[[FrameType], None]) -> Iterator[None]:
        def look(frame: FrameType, event: str, _argument: object) -> None:
            if event == "call":
                note(frame)

        gc.disable()
        sys.setprofile(look)
        try:
            yield
        finally:
            sys.setprofile(None)
            gc.enable()

    return noting


@pytest.fixture
def pass_time() -> Callable[[float], None]:
    """Return a function that moves the clock of the running event loop on: what is due by then is due at once.

    So a test of a timeout waits for nothing, and until then a slow machine has all the time it needs.
    """

    def move(seconds: float) -> None:
        loop = asyncio.get_running_loop()
        before = loop.time
        loop.time = lambda: before() + seconds  # type: ignore[method-assign] # for the rest of the test

    return move


@pytest.fixture(scope="session")
def native_executable() -> str:
    """Return the path of the native engine's program; skip the test, or on CI fail it, where there is none."""
    program = find_program()
    if program is not None:
        return str(program)
    reason = f"native engine: run `dynamap engine install`, or set {EXECUTABLE} to dynoxide's path"
    if ON_CI:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def running() -> Iterator[Callable[..., Engine]]:
    """Return a function that gives a running engine; it is started at the first call and shared from then on."""
    with ExitStack() as stack:
        yield cache(lambda kind, *program: stack.enter_context(kind(*program)))


@pytest.fixture(scope="module", params=["memory", "native"])
def engine(request: pytest.FixtureRequest, running: Callable[..., Engine]) -> Engine:
    """Return each running engine in turn."""
    if request.param == "native":
        return running(NativeEngine, request.getfixturevalue("native_executable"))
    return running(LocalEngine)


@pytest_asyncio.fixture(loop_scope="function")
async def session(engine: Engine) -> AsyncIterator[Session]:
    """Return an open session whose tables no other test sees."""
    async with engine.session(table_prefix=f"t{uuid4().hex[:12]}-") as opened:
        yield opened
