"""Silencing a type checker is rare, and each case says which rule and why."""

import re
from pathlib import Path

BUDGET = 10
SUPPRESSION = re.compile(r"#\s*(?:type|pyright):\s*ignore.*")
# `# type: ignore[code]  # the reason`, where one line may silence both checkers for one reason.
WELL_FORMED = re.compile(r"(# (?:type|pyright): ignore\[[\w, -]+\]\s+)+# \w.*")


def suppressions(package: Path) -> list[str]:
    return [
        f"{path.relative_to(package)}:{number}: {found.group()}"
        for path in sorted(package.rglob("*.py"))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if (found := SUPPRESSION.search(line))
    ]


def test_each_suppression_names_its_code_and_its_reason(package: Path) -> None:
    assert [line for line in suppressions(package) if not WELL_FORMED.fullmatch(line.split(": ", 1)[1])] == []


def test_suppressions_stay_below_the_budget(package: Path) -> None:
    assert len(found := suppressions(package)) < BUDGET, "\n".join(found)
