"""What a question is."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from benchmarks.runs import Effort, Run
from benchmarks.subjects import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question that is put to every library."""

    asks: str
    """The question, as the table prints it."""
    floor: str
    """What the first line of the table does in place of a library."""
    run: Callable[[Subject, str, Effort], Awaitable[Run]]
    """Measures once. It is given an open subject, the server's address and how much work to do."""
    unit: str = "us"
    """Of the cost: us or ms of CPU per operation, or MiB."""
    distinct: int = 1_000
    """How many different keys and items there are; 0 for as many as a bulk question has."""
    group: str = ""
    """Questions of one group are asked in one process; without a group, the question has a process of its own."""
    uvloop: bool = False
    """Whether it is asked on uvloop, also in a run that is not. Such questions have a group of their own."""
    tls: bool = False
    """Whether it is asked over TLS. Such questions have a group of their own as well."""
    opened: bool = True
    """Whether the subject is open when it is asked."""
    opens: bool = False
    """Whether it opens the subject itself."""
    quick: bool = True
    """Whether it is part of a quick run."""
    once: bool = False
    """Whether it is asked in the first round only, because it takes minutes."""
