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
    "stream_million",
    "get_one_uvloop",
    "query_100_uvloop",
    "concurrent_gets_uvloop",
    "encode",
    "encode_small",
    "encode_wide",
    "encode_deep",
    "encode_large",
    "decode",
    "decode_small",
    "decode_wide",
    "decode_deep",
    "decode_large",
    "render",
    "define",
    "import_time",
    "open_first",
    "open_configured",
    "cold_start",
    "cold_configured",
    "memory",
)

__all__ = ["NAMES", "Question", "load"]


def load(name: str) -> Question:
    """Return a question by the name of its module."""
    question: Question = importlib.import_module(f"benchmarks.questions.{name}").QUESTION
    return question
