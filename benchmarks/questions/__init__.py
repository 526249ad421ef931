"""The questions: one module each, in the order of the table."""

import importlib

from benchmarks.questions.question import Question

NAMES = (
    "get_one",
    "query_100",
    "concurrent_gets_64",
    "concurrent_gets_400",
    "concurrent_gets_1000",
    "put_one",
    "update_one",
    "concurrent_puts",
    "batch_get",
    "batch_write",
    "transaction_10",
    "scan_segments",
    "stream",
    "encode",
    "decode",
    "render",
    "define",
    "import_time",
    "open_first",
    "memory",
)

__all__ = ["NAMES", "Question", "load"]


def load(name: str) -> Question:
    """Return a question by the name of its module."""
    question: Question = importlib.import_module(f"benchmarks.questions.{name}").QUESTION
    return question
