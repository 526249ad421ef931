"""README as those see it who have nothing but it: on the package index, with an empty file and the wheel."""

import os
import re
import subprocess
import sys

import pytest

MOST_LINES = 120
SOURCE = re.compile(r"https://github\.com/[\w-]+/dynamap-async/blob/main/([^)#\s]+)")
LINK = re.compile(r"\]\(([^)\s]+)\)")
FIRST = re.compile(r"```python\n(.*?)```\n+```text\n(.*?)```", re.DOTALL)
PEERS = ["dynamoxy", "pydynox", "PynamoDB", "aioboto3", "aiodynamo"]


@pytest.fixture
def readme(checkout):
    return (checkout / "README.md").read_text("utf-8")


def test_first_block_runs_in_a_file_of_its_own_without_aws(readme, tmp_path):
    program, output = FIRST.search(readme).groups()
    assert readme.index(program) == readme.index("```python\n") + len("```python\n")
    file = tmp_path / "tweets.py"
    file.write_text(program, "utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment |= {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    run = subprocess.run(
        [sys.executable, str(file)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        timeout=600,
        check=False,
    )
    assert (run.stdout, run.stderr, run.returncode) == (output, "", 0)


def test_first_block_is_on_the_first_screen(readme):
    assert readme[: readme.index("```text")].count("\n") < 35


def test_readme_is_short(readme):
    assert len(readme.splitlines()) <= MOST_LINES


def test_links_work_on_the_package_index_too(readme, checkout):
    links = LINK.findall(readme)
    assert [link for link in links if not link.startswith("https://")] == []
    files = [found[1] for link in links if (found := SOURCE.fullmatch(link))]
    assert len(files) > 10
    assert [file for file in files if not (checkout / file).exists()] == []


def test_comparison_says_of_each_peer_what_it_does_better(readme):
    header, _, ours, *peers = re.findall(r"^\|.*\|$", readme.partition("## Beside others")[2], re.MULTILINE)[:8]
    assert header.endswith("what it does better than this library |")
    assert ours.startswith("| **dynamap_async**")
    assert [re.match(r"\| \[(\w+)\]", line)[1] for line in peers] == PEERS
    assert all(len(line.split("|")[-2].strip()) > 20 for line in peers)
