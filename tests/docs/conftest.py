"""The documentation as data: its pages, the blocks on them, and a place where they can run."""

import ast
import asyncio
import gc
import inspect
import os
import pkgutil
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from doctest import ELLIPSIS, OutputChecker
from io import StringIO
from pathlib import Path
from types import CodeType, ModuleType
from unittest import mock

import pytest
from typer.testing import CliRunner

import dynamap_async
from dynamap_async.cli.app import app

CHECKOUT = Path(__file__).parents[2]
MODULES = ["dynamap_async"] + [
    found.name
    for found in pkgutil.walk_packages(dynamap_async.__path__, "dynamap_async.")
    if found.name != "dynamap_async.mypy"  # imports mypy, which only those have who use it
]
PAGES = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").rglob("*.md"))]

FENCED = re.compile(r"^```(?P<info>[^\n]*)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)
HIDDEN = re.compile(r"^<!-- run\n(?P<code>.*?)^-->$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"\w+ file=(?P<name>[\w.]+)")
COMMAND = re.compile(r"^(echo .* \| )?dynamap (capacity|generate) ")
"""The commands on pages that run, because they end by themselves and need nothing but the page's engine."""
GOES_ON = re.compile(r"\bgo on from \[[^\]]*\]\((?P<page>[\w./-]+\.md)\)")
NO_RUN = "python no-run: "


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a page that runs: Python, shown or hidden, or a command of this library."""

    info: str
    code: str
    line: int
    """The line of the page on which the code begins."""
    output: str | None
    """What it must print: the ``text`` block that follows it directly."""
    hidden: bool


def name_of(page: Path) -> str:
    return page.relative_to(CHECKOUT).as_posix()


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a page that run, in order, hidden ones among them."""
    text = page.read_text("utf-8")
    fences = list(FENCED.finditer(text))
    hidden = [found for found in HIDDEN.finditer(text) if not any(f.start() < found.start() < f.end() for f in fences)]
    blocks: list[Block] = []
    for found in sorted([*fences, *hidden], key=re.Match.start):
        info = found.groupdict().get("info", "python")
        command = info == "sh" and page.parent.name == "how-to" and COMMAND.match(found["code"]) is not None
        if info.split()[:1] == ["python"] or FILE.fullmatch(info) or command:
            after = FENCED.match(text, found.end() + len(text[found.end() :]) - len(text[found.end() :].lstrip()))
            output = after["code"] if after is not None and after["info"] == "text" else None
            line = text[: found.start("code")].count("\n") + 1
            blocks.append(Block(info, found["code"], line, output, hidden=found in hidden))
    return blocks


def shown(page: Path) -> list[Block]:
    """Return the blocks of a page that its readers see and can run."""
    return [block for block in blocks_of(page) if not block.hidden and not block.info.startswith(NO_RUN)]


def programs(page: Path) -> list[Block]:
    return [block for block in shown(page) if block.info == "python"]


def page_before(page: Path) -> Path | None:
    """Return the page from which this one goes on, as its text says."""
    found = GOES_ON.search(" ".join(FENCED.sub("", page.read_text("utf-8")).split()))
    return None if found is None else (page.parent / found["page"]).resolve()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes `page` once for each page it is about, and one that takes `documented` for each module."""
    if "how_to" in metafunc.fixturenames:
        pages = [page for page in PAGES if page.parent.name in ("how-to", "tutorials") and programs(page)]
        metafunc.parametrize("how_to", pages, ids=name_of)
    if "page" in metafunc.fixturenames:
        checked = "checks" in metafunc.fixturenames
        pages = [page for page in PAGES if not checked or any(block.hidden for block in blocks_of(page))]
        metafunc.parametrize("page", pages, ids=name_of)
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
    """Return what runs on a page as its readers see it, but for the program of a how-to: that is a file of its own."""
    program = programs(page)[-1:] if page.parent.name == "how-to" else []
    return [block for block in shown(page) if block not in program]


@pytest.fixture
def checks(page: Path, blocks: list[Block]) -> list[Block]:
    """Return what runs on a page with its hidden blocks, which check what the page says."""
    return [block for block in blocks_of(page) if block.hidden or block in blocks]


@pytest.fixture
def program(how_to: Path) -> Block:
    return programs(how_to)[-1]


@pytest.fixture(scope="session")
def whole_programs() -> dict[str, str]:
    """Return name of a module -> the code of a program on a page that needs no other block."""
    found: dict[str, str] = {}
    for page in PAGES:
        for block in programs(page):
            is_last = page.parent.name == "how-to" and block == programs(page)[-1]
            if is_last or {"import asyncio", "asyncio.run(main())"} <= {*block.code.splitlines()}:
                name = re.sub(r"\W", "_", name_of(page).removesuffix(".md").lower())
                found[f"{name}_{block.line}"] = block.code
    return found


@pytest.fixture(scope="session")
def all_blocks() -> dict[str, list[Block]]:
    """Return the name of each page -> its blocks."""
    return {name_of(page): blocks_of(page) for page in PAGES}


class Stage:
    """Runs blocks of pages in order, in one module and one event loop."""

    def __init__(self, folder: Path, module: ModuleType, runner: asyncio.Runner) -> None:
        self._folder = folder
        self._module = module
        self._runner = runner
        self.prompt = False
        """Whether everything runs on the event loop, as at the prompt of ``python -m asyncio``."""

    def run(self, page: Path, block: Block) -> None:
        """Run a block, in the event loop if it awaits at its top level; compare what it prints where that is said."""
        file = FILE.fullmatch(block.info)
        if file is not None:
            (self._folder / file["name"]).write_text(block.code, "utf-8")
        elif block.info == "sh":
            self._compare(page, block, self._command(block.code))
        else:
            self._compare(page, block, self._python(page, block, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT))

    def run_file(self, page: Path, block: Block) -> None:
        """Run a block as a file of its own would run."""
        self._compare(page, block, self._python(page, block, flags=0))

    def _python(self, page: Path, block: Block, *, flags: int) -> str:
        vars(self._module)["__file__"] = str(page)
        # Blank lines in front, so that a traceback shows the page's own line numbers.
        source = "\n" * (block.line - 1) + block.code
        code: CodeType = compile(source, str(page), "exec", flags=flags, dont_inherit=True)
        printed = StringIO()
        with redirect_stdout(printed):
            if self.prompt or code.co_flags & inspect.CO_COROUTINE:
                self._runner.run(self._on_the_loop(code))
            else:
                exec(code, self._module.__dict__)
        return printed.getvalue()

    async def _on_the_loop(self, code: CodeType) -> None:
        # What awaits at its top level returns a coroutine when it is evaluated; ``exec`` would drop it.
        waiting = eval(code, self._module.__dict__)
        if waiting is not None:
            await waiting

    def _command(self, code: str) -> str:
        piped, _, line = code.rpartition(" | ")
        runner = CliRunner(env={"COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"})
        done = runner.invoke(app, shlex.split(line)[1:], input=shlex.split(piped)[1] if piped else None)
        assert done.exit_code == 0, done.output
        return "\n".join(each.rstrip() for each in done.stdout.splitlines()) + "\n"

    def _compare(self, page: Path, block: Block, printed: str) -> None:
        if block.output is not None and not OutputChecker().check_output(block.output, printed, ELLIPSIS):
            pytest.fail(f"{name_of(page)}:{block.line} prints\n{printed}\ninstead of\n{block.output}", pytrace=False)


@pytest.fixture
def empty_stage(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """Return a stage on which nothing is set but the working directory, an empty folder: no AWS account, no engine."""
    names = [name for name in os.environ if name.startswith("AWS_")]
    folder = tmp_path / "folder"
    folder.mkdir()
    module = ModuleType("page_" + re.sub(r"\W", "_", request.node.name))
    monkeypatch.setitem(sys.modules, module.__name__, module)  # Pydantic looks there for the names in annotations
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    # Pages show how to freeze a program. Here that would keep what a page leaks from being found, and to undo it would
    # let each collection walk through all tests that there are (tests/conftest.py).
    for name in ("freeze", "unfreeze"):
        monkeypatch.setattr(gc, name, lambda: None)
    with mock.patch.dict(os.environ), asyncio.Runner(debug=True) as runner:
        for name in names:
            del os.environ[name]
        os.environ["AWS_CONFIG_FILE"] = str(tmp_path / "config")
        os.environ["AWS_SHARED_CREDENTIALS_FILE"] = str(tmp_path / "credentials")
        os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
        yield Stage(folder, module, runner)
    for name, imported in list(sys.modules.items()):
        if Path(getattr(imported, "__file__", None) or "/").is_relative_to(folder):
            del sys.modules[name]  # the next page may have files of the same names
    vars(module).clear()
    gc.collect()  # what a page leaks is reported here, not in a later test


@pytest.fixture
def stage(page: Path, empty_stage: Stage) -> Iterator[Stage]:
    """Return the page's stage: if it goes on from another page, between the first two blocks of that one."""
    before = page_before(page)
    if before is None:
        yield empty_stage
        return
    opening, closing, *_ = shown(before)
    empty_stage.run(before, opening)
    empty_stage.prompt = True
    yield empty_stage
    empty_stage.run(before, closing)
