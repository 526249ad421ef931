"""The guide that is part of the wheel: what the pages say, short, and every program of it runs.

To renew it after a change of a page: ``python docs/site/guide.py``.
"""

import importlib.util
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dynamap_async.cli.app import app

SCRIPT = Path(__file__).parents[2] / "docs" / "site" / "guide.py"
MOST_WORDS = 3_000
PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("site_guide", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_guide_is_what_the_pages_say(script):
    assert script.GUIDE.read_text("utf-8") == script.guide()


def test_the_guide_is_short(script):
    assert len(script.guide().split()) <= MOST_WORDS


def test_the_command_prints_the_guide(script):
    done = CliRunner(env={"COLUMNS": "60", "TERM": "dumb"}).invoke(app, ["guide"])
    assert (done.exit_code, done.stdout) == (0, script.GUIDE.read_text("utf-8"))


def test_every_program_of_the_guide_is_the_whole_program_of_a_page(script):
    # Those run, as files of their own, in test_examples.py.
    programs = PROGRAM.findall(script.guide())
    pages = [(script.DOCS / "how-to" / f"{name}.md").read_text("utf-8") for name in script.PAGES]
    assert programs == [PROGRAM.findall(page)[-1] for page in pages]
