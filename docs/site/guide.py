"""Writes the guide that is part of the wheel, from pages: `python docs/site/guide.py` after a change of one of them."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[1]
GUIDE = DOCS.parent / "dynamap_async" / "cli" / "guide.md"
RULES = "rules"
PAGES = (
    *("define-models", "store-values", "read-and-write", "save-changes", "update", "optimistic-locking", "counters"),
    *(
        "unique-values",
        "transactions",
        "query",
        "paginate",
        "batch-reads",
        "bulk-load",
        "template-keys",
        "share-a-table",
    ),
    *("expire-items", "account-for-capacity", "handle-errors", "fastapi-errors-and-limits", "lambda", "test-your-code"),
)
"""The how-tos whose whole programs the guide has."""
START = """# Guide to dynamap_async

An async object mapper for Amazon DynamoDB: Pydantic models, typed queries, few requests. These are its rules, and a
whole program for each common task. Every program runs as it stands, without an AWS account.
The full documentation is at https://your-org.github.io/dynamap-async/.
"""
PROGRAM = re.compile(r"^```python\n(?:(?!^```).)*^```\n(?:\n^```text\n(?:(?!^```).)*^```\n)?", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def question_of(text: str) -> str:
    """Return the title of a page as a section, with the question that it answers."""
    title, question = text.split("\n\n", 2)[:2]
    return f"#{title}\n\n{question.strip('*')}\n"


def guide() -> str:
    """Return the guide."""
    rules = (DOCS / "how-to" / f"{RULES}.md").read_text("utf-8")
    sections = [START, "## Rules\n", LINK.sub(r"\1", rules.split("\n\n", 2)[2])]
    for name in PAGES:
        text = (DOCS / "how-to" / f"{name}.md").read_text("utf-8")
        sections += [question_of(text), PROGRAM.findall(text)[-1]]
    return "\n".join(sections)


if __name__ == "__main__":
    GUIDE.write_text(guide(), "utf-8")
