"""Exports, imports and bulk puts: what goes on after it was asked for, and is done when its time has come.

No task runs: what is due by the clock is done when somebody asks the service for anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from string import hexdigits
from typing import Any, Final, Literal, TypeAlias

from dynamap_async.simulated.errors import Refused, invalid

_TOKEN_SECONDS: Final = 8 * 3600
"""AWS: the same client token means the same job for so long."""
_LISTED_SECONDS: Final = 90 * 86_400
"""AWS: how long jobs are listed."""
Kind: TypeAlias = Literal["export", "import", "bulk"]


class Failed(Exception):  # noqa: N818 - what ends an export, an import or a bulk put
    """An export, an import or a bulk put cannot go on.

    Args:
        code: its FailureCode.
        message: its FailureMessage.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


@dataclass(slots=True, eq=False)
class Job:
    """One export, import or bulk put."""

    kind: Kind
    arn: str
    table_arn: str
    token: str | None
    asked: dict[str, Any]
    started: float
    ends: float
    run: Callable[[Job, float], str | None]
    """Does what is due when a share of its time has passed, from 0 to 1; returns how it ends, if not as COMPLETED."""
    details: dict[str, Any] = field(default_factory=dict[str, Any])
    """What its description has besides what is here."""
    status: str = "IN_PROGRESS"
    ended: float | None = None

    def keep(self, **details: Any) -> None:
        """Have further members in its description."""
        self.details.update(details)

    def catch_up(self, now: float) -> None:
        """Do what is due."""
        share = 1.0 if now >= self.ends else max(0.0, (now - self.started) / (self.ends - self.started))
        if self.status == "CANCELLING":
            share = 0.0  # nothing more
        try:
            outcome = self.run(self, share)
        except Failed as failed:
            self.keep(FailureCode=failed.code, FailureMessage=failed.message)
            outcome, share = "FAILED", 1.0
        except OSError as error:
            self.keep(FailureCode="S3AccessDenied", FailureMessage=str(error))
            outcome, share = "FAILED", 1.0
        if share >= 1 or self.status == "CANCELLING":
            self.ended = min(now, self.ends)
            self.status = outcome or "COMPLETED"

    def go_back(self, status: str, ended: float | None, details: dict[str, Any]) -> None:
        """Be as before: what it did was undone."""
        self.status, self.ended, self.details = status, ended, details

    def cancel(self) -> None:
        """Let it end the next time that it is looked at."""
        if self.status == "IN_PROGRESS":
            self.status = "CANCELLING"


class Jobs:
    """All exports, imports and bulk puts of a service.

    Args:
        note: keeps how a change is undone.
    """

    def __init__(self, note: Callable[[Callable[[], object]], object]) -> None:
        self._note = note
        self._all: dict[str, Job] = {}
        self.waiting: list[Job] = []
        """Those that are not done."""

    def start(self, job: Job) -> None:
        """Begin a job."""
        self._all[job.arn] = job
        self.waiting.append(job)
        self._note(partial(self._forget, job))

    def _forget(self, job: Job) -> None:
        self._all.pop(job.arn, None)
        if job in self.waiting:
            self.waiting.remove(job)

    def table_arns(self) -> list[str]:
        """Return the ARN of the table of each job."""
        return [job.table_arn for job in self._all.values()]

    def forget(self, is_meant: Callable[[Job], bool]) -> None:
        """Forget jobs, and do no more of them.

        Args:
            is_meant: whether a job is to be forgotten.
        """
        for job in [each for each in self._all.values() if is_meant(each)]:
            self._note(partial(self._remember, job, waits=job in self.waiting))
            self._forget(job)

    def _remember(self, job: Job, *, waits: bool) -> None:
        self._all[job.arn] = job
        if waits:
            self.waiting.append(job)

    def catch_up(self, now: float) -> None:
        """Do what is due in each of them."""
        for job in list(self.waiting):
            self._note(partial(self._go_back, job, job.status, job.ended, dict(job.details)))
            job.catch_up(now)
        self.waiting = [job for job in self.waiting if job.ended is None]

    def _go_back(self, job: Job, status: str, ended: float | None, details: dict[str, Any]) -> None:
        job.go_back(status, ended, details)
        if job not in self.waiting:
            self.waiting.append(job)

    def find(self, kind: Kind, arn: str) -> Job | None:
        """Return a job; None if there is none."""
        job = self._all.get(arn)
        return job if job is not None and job.kind == kind else None

    def of(self, kind: Kind) -> list[Job]:
        """Return all of a kind, the oldest first."""
        return [job for job in self._all.values() if job.kind == kind]

    def repeated(self, kind: Kind, asked: dict[str, Any], now: float, conflict: Refused) -> Job | None:
        """Return the job that a client token already means; None if there is none.

        Args:
            kind: what is asked for.
            asked: the request.
            now: the time.
            conflict: what is said if the token was used with other parameters.

        Raises:
            Refused: it was.
        """
        token = asked.get("ClientToken")
        for job in self.of(kind):
            if token is not None and job.token == token and now < (job.ended or now) + _TOKEN_SECONDS:
                if job.asked != asked:
                    raise conflict
                return job
        return None

    def page(self, found: list[Job], body: dict[str, Any], limit: str, now: float) -> tuple[list[Job], str | None]:
        """Return the jobs of one page of a list, and the token of the next.

        Args:
            found: all, in the order of the list.
            body: the request.
            limit: the member that limits a page.
            now: the time.

        Raises:
            Refused: the token is none.
        """
        token, size = body.get("NextToken"), int(body.get(limit) or 25)
        recent = [job for job in found if job.started >= now - _LISTED_SECONDS]
        begin = 0
        if token is not None:
            if len(token) != 112 or token != token[:16] * 7 or not set(token) <= set(hexdigits):
                raise invalid("Invalid NextToken")
            begin = int(token[:16], 16)
        end = begin + size
        return recent[begin:end], f"{end:016x}" * 7 if end < len(recent) else None
