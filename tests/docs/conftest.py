"""The documentation as data: its pages, the blocks on them, and a place where they can run."""

import ast
import asyncio
import gc
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from doctest import ELLIPSIS, OutputChecker
from io import StringIO
from pathlib import Path
from types import CodeType, ModuleType

import pytest

import dynamap_async
from dynamap_async.testing import LocalEngine

CHECKOUT = Path(__file__).parents[2]
MODULES = ["dynamap_async"] + [
    found.name
    for found in pkgutil.walk_packages(dynamap_async.__path__, "dynamap_async.")
    if found.name != "dynamap_async.mypy"  # imports mypy, which only those have who use it
]
PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").rglob("*.md"))]

FENCED = re.compile(r"^```(?P<info>[^\n]*)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)
HIDDEN = re.compile(r"^<!-- run\n(?P<code>.*?)^-->$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"python file=(?P<name>[\w.]+)")
ENGINE = "<!-- engine -->"


@dataclass(frozen=True, slots=True)
class Block:
    """One Python block of a page, shown or hidden."""

    info: str
    code: str
    line: int
    """The line of the page on which the code begins."""
    output: str | None
    """What it must print: the ``text`` block that follows it directly."""


def name_of(page: Path) -> str:
    return page.relative_to(CHECKOUT).as_posix()


def blocks_of(page: Path) -> list[Block]:
    """Return the Python blocks of a page in order, hidden ones among them."""
    text = page.read_text("utf-8")
    fences = list(FENCED.finditer(text))
    hidden = [found for found in HIDDEN.finditer(text) if not any(f.start() < found.start() < f.end() for f in fences)]
    blocks: list[Block] = []
    for found in sorted([*fences, *hidden], key=re.Match.start):
        info = found.groupdict().get("info", "python")
        if info.split()[:1] == ["python"]:
            after = FENCED.match(text, found.end() + len(text[found.end() :]) - len(text[found.end() :].lstrip()))
            output = after["code"] if after is not None and after["info"] == "text" else None
            blocks.append(Block(info, found["code"], text[: found.start("code")].count("\n") + 1, output))
    return blocks


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes `page` once for each page, and one that takes `documented` once for each module."""
    if "page" in metafunc.fixturenames:
        metafunc.parametrize("page", PAGES, ids=name_of)
    if "documented" in metafunc.fixturenames:
        metafunc.parametrize("documented", MODULES)


@pytest.fixture
def checkout() -> Path:
    return CHECKOUT


@pytest.fixture(scope="session")
def pages() -> list[Path]:
    return PAGES


@pytest.fixture
def blocks(page: Path) -> list[Block]:
    return blocks_of(page)


@pytest.fixture(scope="session")
def all_blocks() -> dict[str, list[Block]]:
    """Return the name of each page -> its blocks."""
    return {name_of(page): blocks_of(page) for page in PAGES}


class Stage:
    """Runs the blocks of one page in order, in one module and one event loop."""

    def __init__(self, page: Path, folder: Path, module: ModuleType, runner: asyncio.Runner) -> None:
        self._page = page
        self._folder = folder
        self._module = module
        self._runner = runner

    def run(self, block: Block) -> None:
        """Run a block, in the event loop if it awaits at its top level; compare what it prints where that is said."""
        file = FILE.fullmatch(block.info)
        if file is not None:
            (self._folder / file["name"]).write_text(block.code, "utf-8")
            return
        # Blank lines in front, so that a traceback shows the page's own line numbers.
        source = "\n" * (block.line - 1) + block.code
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code: CodeType = compile(source, str(self._page), "exec", flags=flags, dont_inherit=True)
        printed = StringIO()
        with redirect_stdout(printed):
            if code.co_flags & inspect.CO_COROUTINE:
                self._runner.run(self._await(code))
            else:
                exec(code, self._module.__dict__)
        if block.output is not None and not OutputChecker().check_output(block.output, printed.getvalue(), ELLIPSIS):
            where = f"{name_of(self._page)}:{block.line}"
            pytest.fail(f"{where} prints\n{printed.getvalue()}\ninstead of\n{block.output}", pytrace=False)

    async def _await(self, code: CodeType) -> None:
        # Such code returns a coroutine when it is evaluated; ``exec`` would drop it.
        await eval(code, self._module.__dict__)


@pytest.fixture(scope="session")
def started_engine() -> Iterator[LocalEngine]:
    with LocalEngine() as engine:
        yield engine


@pytest.fixture
def stage(
    page: Path, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Stage]:
    """Return the page's stage; docs/contributing.md says what a page finds there."""
    for name in ("AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    module = ModuleType("page_" + re.sub(r"\W", "_", name_of(page)))
    monkeypatch.setitem(sys.modules, module.__name__, module)  # Pydantic looks there for the names in annotations
    folder = tmp_path / "folder"
    folder.mkdir()
    vars(module).update(__file__=str(page), folder=folder)
    with ExitStack() as stack:
        runner = stack.enter_context(asyncio.Runner(debug=True))
        if ENGINE in page.read_text("utf-8"):
            engine: LocalEngine = request.getfixturevalue("started_engine")
            engine.reset()
            monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", engine.endpoint_url)
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
            session = engine.session()
            runner.run(session.__aenter__())
            stack.callback(lambda: runner.run(session.close()))
            vars(module).update(engine=engine, session=session)
        yield Stage(page, folder, module, runner)
    vars(module).clear()
    gc.collect()  # what a page leaks is reported here, not in a later test
