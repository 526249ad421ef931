"""The questions, in the order of the table.

A name is that of a module, what the module is asked about (``decode_small``), and what it is asked on: TLS, uvloop.
"""

import importlib
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.questions.question import Question
from benchmarks.sources import SOURCES

_ABOUT: dict[str, Sequence[str]] = {
    "get_one": (),
    "query_100": (),
    "concurrent_gets": ("64", "400", "1000"),
    "put_one": (),
    "update_one": (),
    "concurrent_puts": (),
    "batch_get": (),
    "batch_write": (),
    "transaction_10": (),
    "scan_segments": (),
    "stream": (),
    "stream_million": (),
    "encode": ("", "small", "wide", "deep", "large"),
    "decode": ("", "small", "wide", "deep", "large"),
    "render": (),
    "define": (),
    "import_time": (),
    "open_first": (),
    "open_configured": (),
    "open_found": SOURCES,
    "cold_start": (),
    "cold_configured": (),
    "cold_found": SOURCES,
    "memory": (),
}
"""Module -> what its question is about; a module without any has one question."""
_OVER: dict[str, Sequence[str]] = {
    "uvloop": ("get_one", "query_100", "concurrent_gets_400"),
    "tls": ("get_one", "query_100", "put_one", "concurrent_gets_400"),
    "tls_uvloop": ("get_one", "query_100", "put_one", "concurrent_gets_400"),
}
"""What questions are asked on as well -> which."""
_PLAIN = {
    f"{module}_{about}".removesuffix("_"): (module, about) for module, all_ in _ABOUT.items() for about in all_ or ("",)
}
_AGAIN = {f"{name}_{over}": (name, over) for over, names in _OVER.items() for name in names}

NAMES = (*_PLAIN, *_AGAIN)

__all__ = ["NAMES", "Question", "load"]


def load(name: str) -> Question:
    """Return a question by its name."""
    if name in _AGAIN:
        plain, over = _AGAIN[name]
        question, tls = load(plain), over.startswith("tls")
        asks = f"{question.asks}, {over.replace('_', ', ').replace('tls', 'TLS')}"
        quick = over == "tls" and question.group == "single"
        return replace(question, asks=asks, group=over, tls=tls, uvloop=over.endswith("uvloop"), quick=quick)
    module, about = _PLAIN[name]
    found = importlib.import_module(f"benchmarks.questions.{module}")
    question: Question = found.question(about) if about or _ABOUT[module] else found.QUESTION
    return question
