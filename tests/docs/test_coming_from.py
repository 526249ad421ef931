"""The code of other libraries on the pages for those who come from them runs too, where the library is installed."""

import ast
import asyncio
import importlib.util
import inspect
import os
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from dynamap_async.testing import LocalEngine

PAGES = sorted((Path(__file__).parents[2] / "docs/coming-from").glob("*.md"))
OLD = re.compile(r"^```py (?P<library>\w+)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)
TASK = re.compile(r"^## (\d+)\. ", re.MULTILINE)
NEEDS = {"dynamoxy": (3, 12)}
"""Library -> the lowest Python that it installs on."""
RUNS = [page for page in PAGES if OLD.search(page.read_text("utf-8"))]


def name_of(page: Path) -> str:
    return page.stem


async def carried_out(code, module):
    result = eval(code, module.__dict__)
    if inspect.iscoroutine(result):
        await result


@pytest.mark.parametrize("guide", PAGES, ids=name_of)
def test_a_page_has_25_tasks_with_old_code_and_new(guide):
    text = guide.read_text("utf-8")
    assert [int(number) for number in TASK.findall(text)] == list(range(1, 26))
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        if section[0].isdigit():
            assert re.search(r"^```(py|ts) \w+\n", section, re.MULTILINE), section
            assert re.search(r"^```python\n", section, re.MULTILINE), section


@pytest.mark.parametrize("guide", RUNS, ids=name_of)
def test_the_old_code_runs(guide, monkeypatch, tmp_path):
    text = guide.read_text("utf-8")
    library = OLD.search(text)["library"]
    demanded = os.environ.get("CI") == "true" and sys.version_info >= NEEDS.get(library, (3, 11))
    if importlib.util.find_spec(library) is None and not demanded:
        pytest.skip(f"{library} is not installed")
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    module = ModuleType("old_" + guide.stem.replace("-", "_"))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with LocalEngine() as engine, asyncio.Runner() as runner:
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", engine.endpoint_url)
        for block in OLD.finditer(text):
            source = "\n" * text[: block.start("code")].count("\n") + block["code"]
            code = compile(source, str(guide), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
            runner.run(carried_out(code, module))
