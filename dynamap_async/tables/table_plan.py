"""Plans of changes of tables, as values that can be printed, kept as JSON, and applied. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, field, replace
from typing import Any, Final, Literal, Self, TypeAlias, cast

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import OperationError
from dynamap_async.request import Request
from dynamap_async.tables.estimates import BuildEstimate

StepKind: TypeAlias = Literal[
    "create-table",
    "await-table",
    "update-billing",
    "update-throughput",
    "create-index",
    "await-index",
    "delete-index",
    "set-time-to-live",
    "set-stream",
    "set-point-in-time-recovery",
    "set-deletion-protection",
    "set-table-class",
    "set-encryption",
    "set-tags",
    "set-replicas",
    "set-contributor-insights",
    "blocked",
]
"""What a step does.

``await-table`` waits for a table that is being created, ``await-index`` for an index that is being built or deleted.
``blocked`` is what DynamoDB cannot do.
"""

HazardCode: TypeAlias = Literal[
    "backfill-cost",
    "billing-switched",
    "class-changed",
    "decrease-quota",
    "index-deleted",
    "index-not-ready-for-code",
    "index-replaced",
    "index-throttles-writes",
    "index-violations",
    "items-not-upgraded",
    "protection-off",
    "recovery-off",
    "replica-removed",
    "stream-replaced",
    "tags-removed",
    "throughput-lowered",
    "ttl-attribute-changed",
    "ttl-deletes-now",
    "warm-throughput-cost",
]
"""The kinds of hazards that have to be allowed before a step is applied."""

_SIGNS: Final[Mapping[str, str]] = {
    "create-table": "+",
    "create-index": "+",
    "delete-index": "-",
    "await-table": ".",
    "await-index": ".",
    "blocked": "!",
}
_WIDTH: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Hazard:
    """What could go wrong with a step, or be lost by it."""

    code: HazardCode
    """What kind of hazard it is, to be named in ``apply(plan, allow={...})``."""
    table: str
    """The full table name."""
    index: str | None = None
    """The index, if it is about one."""
    message: str
    """What it means, as a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStep:
    """One change of one table."""

    kind: StepKind
    """What it does."""
    table: str
    """The full table name."""
    index: str | None = None
    """The index, if it is about one."""
    before: str
    """What is there, as text."""
    after: str
    """What is to be there, as text."""
    operation: str = "UpdateTable"
    """The API operation."""
    request: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The body of the request; empty for a step that sends nothing."""
    hazards: tuple[Hazard, ...] = ()
    """What could go wrong."""
    adds: bool = True
    """Whether it takes nothing away from programs that run already."""
    waits_for: str | None = None
    """The index that has to be ready before the step is begun: that which takes the place of one that is deleted."""
    estimate: BuildEstimate | None = None
    """What it takes to build an index; None for other steps, and where no items were looked at."""

    @property
    def summary(self) -> str:
        """The step in a few words."""
        what = f"{self.index}: " if self.index else ""
        return f"{what}{self.before} -> {self.after}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlan:
    """What would change, in the order in which it is done for each table; tables are changed side by side."""

    steps: tuple[TableStep, ...]
    """The changes."""
    seen: Mapping[str, Mapping[str, str]]
    """Full table name -> what the table was like when the plan was made: a part of it -> how it was, as text."""
    not_managed: tuple[str, ...] = ()
    """What is there and no model declares, as sentences; it is left as it is."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing would change."""
        return not self.steps

    @property
    def hazards(self) -> tuple[Hazard, ...]:
        """The hazards of all steps."""
        return tuple(hazard for step in self.steps for hazard in step.hazards)

    @property
    def expand(self) -> Self:
        """The part of it that only adds, to be carried out before new code runs."""
        return replace(self, steps=tuple(step for step in self.steps if step.adds))

    @property
    def contract(self) -> Self:
        """The part of it that takes away, to be carried out once old code is gone; plan again if the other part ran."""
        return replace(self, steps=tuple(step for step in self.steps if not step.adds))

    @property
    def estimate(self) -> BuildEstimate | None:
        """What it takes to build all its indexes; None where there are none, or no items were looked at."""
        by_table: dict[str, list[BuildEstimate]] = {}
        for step in self.steps:
            if step.estimate is not None:
                by_table.setdefault(step.table, []).append(step.estimate)
        return BuildEstimate.sum_of(by_table.values())

    @property
    def fingerprint(self) -> str:
        """What tells this plan from one of tables that were otherwise."""
        text = json.dumps({table: dict(parts) for table, parts in self.seen.items()}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_json(self) -> str:
        """Return the plan as JSON, for ``from_json``; ``checksums`` shows what was changed in it since."""
        parts: dict[str, Any] = {
            "steps": [asdict(step) for step in self.steps],
            "seen": {table: dict(parts) for table, parts in self.seen.items()},
            "not_managed": list(self.not_managed),
        }
        return json.dumps({**parts, "checksums": _checksums(parts)}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the plan that ``to_json`` wrote.

        Args:
            text: the JSON.

        Raises:
            OperationError: it is no such JSON, or it was changed after it was written; the error names the place.
        """
        read = _unchanged(text)
        steps: list[TableStep] = []
        for number, step in enumerate(read["steps"]):
            try:
                members: dict[str, Any] = {**step, "hazards": tuple(Hazard(**hazard) for hazard in step["hazards"])}
                if step["estimate"] is not None:
                    members["estimate"] = BuildEstimate(**step["estimate"])
                steps.append(TableStep(**members))
            except (LookupError, TypeError) as error:
                raise _no_plan(f"steps[{number}] is of another version of the library") from error
        return cls(steps=tuple(steps), seen=read["seen"], not_managed=tuple(read["not_managed"]))

    def __str__(self) -> str:
        """Return the plan as lines of at most 100 characters, the same each time."""
        lines: list[str] = []
        for table in dict.fromkeys(step.table for step in self.steps):
            lines.append(table)
            for step in (step for step in self.steps if step.table == table):
                lines.append(f"  {_SIGNS.get(step.kind, '~')} {step.kind:<18} {step.summary}")
                if step.estimate is not None and step.estimate.entries:
                    lines.append(f"      estimate: {step.estimate}")
                lines += [f"      hazard {hazard.code}: {hazard.message}" for hazard in step.hazards]
        lines = lines or ["nothing to change"]
        lines += [f"not managed: {each}" for each in self.not_managed]
        return "\n".join(line for each in lines for line in _wrapped(each))


def request_step(
    kind: StepKind,
    request: Request,
    *,
    before: str,
    after: str,
    index: str | None = None,
    hazards: tuple[Hazard, ...] = (),
    adds: bool = True,
) -> TableStep:
    """Return the step that sends a request.

    Args:
        kind: what it does.
        request: what is sent; it names the table.
        before: what is there, as text.
        after: what is to be there, as text.
        index: the index, if it is about one.
        hazards: what could go wrong.
        adds: whether it takes nothing away from programs that run already.
    """
    return TableStep(
        kind=kind,
        table=request.table,
        index=index,
        before=before,
        after=after,
        operation=request.operation,
        request=request.body,
        hazards=hazards,
        adds=adds,
    )


def _wrapped(line: str) -> Iterable[str]:
    while len(line) > _WIDTH:
        at = line.rfind(" ", 12, _WIDTH + 1)
        at = at if at > 0 else _WIDTH
        yield line[:at]
        line = " " * 10 + line[at:].lstrip()
    yield line


def _checksums(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checksum of each step, and of the other parts of a plan."""
    steps = [_checksum(step) for step in parts["steps"]]
    return {"steps": steps, **{name: _checksum(parts[name]) for name in ("seen", "not_managed")}}


def _checksum(part: Any) -> str:
    return hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()[:16]


def _unchanged(text: str) -> dict[str, Any]:
    """Return the parts of a plan that was written as JSON, if they are as they were written."""
    try:
        read: Any = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise _no_plan(f"it is no JSON ({error})") from error
    names = ("steps", "seen", "not_managed", "checksums")
    if not isinstance(read, dict) or {*read} != {*names}:
        raise _no_plan(f"it is no object with the members {', '.join(names)}")
    parts = cast("dict[str, Any]", read)
    written: Any = parts["checksums"]
    if not isinstance(parts["steps"], list):
        raise _no_plan("steps is no list")
    found = _checksums(parts)
    if not isinstance(written, dict) or {*written} != {*found}:
        raise _no_plan("checksums was changed after it was written")
    for name, own in found.items():
        if own != written[name]:
            changed = _changed_step(own, written[name]) if name == "steps" else name
            raise _no_plan(f"{changed} was changed after it was written")
    return parts


def _changed_step(found: list[str], written: Any) -> str:
    """Return which step has another checksum than it was written with, or that there are more or fewer."""
    told = cast("list[object]", written) if isinstance(written, list) else []
    pairs = zip(found, told, strict=False)
    return next((f"steps[{n}]" for n, (one, other) in enumerate(pairs) if one != other), "steps")


def _no_plan(problem: str) -> OperationError:
    return OperationError(
        f"the text is not a plan that TablePlan.to_json() wrote: {problem}; make the plan anew with "
        "session.tables.plan(...) or `dynamap plan --out`"
    )
