"""The runs of all rounds, put together: medians, spreads, and the file that is kept."""

import json
import os
import platform
import statistics
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

Medians = dict[str, dict[str, dict[str, float]]]
"""Question -> library -> figure -> median of the runs."""
FIGURES = ("cost", "rate", "p50_ms", "p99_ms", "peak_mib", "blocked_ms")


@dataclass(slots=True)
class Results:
    """Everything that was measured, and on what."""

    runs: dict[str, dict[str, list[dict[str, float]]]] = field(default_factory=dict)
    """Question -> library -> runs."""
    absent: dict[str, dict[str, str]] = field(default_factory=dict)
    """Question -> library -> why there is no figure."""
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
    """Library -> distribution -> version."""
    returns: dict[str, str] = field(default_factory=dict)
    """Library -> what its reads give."""
    pythons: set[str] = field(default_factory=set)
    quick: bool = False
    """Whether the runs were those of a quick run, with little work in each."""

    @classmethod
    def of_file(cls, path: Path, *, quick: bool) -> Self:
        """Return what a file has, to add further rounds to it.

        Args:
            quick: whether the further runs are those of a quick run.

        Raises:
            ValueError: its runs are not those of the code as it is now, or had more or less work in each.
        """
        content = json.loads(path.read_bytes())
        if content["changed_since"] or changed_since(content["commit"]):
            raise ValueError(f"{path} is of other code than this: its commit is {content['commit'][:12]}")
        if content["quick"] != quick:
            raise ValueError(f"{path} is of {'a quick' if content['quick'] else 'a full'} run: add rounds of its kind")
        names = ("runs", "absent", "versions", "returns", "quick")
        return cls(**{name: content[name] for name in names}, pythons=set(content["pythons"]))

    @property
    def rounds(self) -> int:
        """How many rounds there are; some questions are asked in the first alone."""
        return max((len(runs) for each in self.runs.values() for runs in each.values()), default=0)

    @property
    def failed(self) -> bool:
        """Whether anything went wrong, other than that a library has no such thing."""
        return any("failed:" in why for each in self.absent.values() for why in each.values())

    def add(self, subject: str, told: dict[str, Any]) -> None:
        """Add a worker's figures."""
        self.versions[subject] = told["versions"]
        self.returns[subject] = told["returns"]
        self.pythons.add(told["python"])
        for question, run in told["runs"].items():
            if "cannot" in run:
                self.absent.setdefault(question, {})[subject] = f"cannot: {run['cannot']}"
            elif "failed" in run:
                self.absent.setdefault(question, {})[subject] = f"failed: {run['failed']}"
            else:
                self.runs.setdefault(question, {}).setdefault(subject, []).append(run)

    def refuse(self, subject: str, questions: Sequence[str], why: str) -> None:
        """Record why there is no figure."""
        for question in questions:
            self.absent.setdefault(question, {})[subject] = why

    def medians(self) -> Medians:
        """Return the medians of all rounds."""
        return {
            question: {subject: _medians(runs) for subject, runs in subjects.items()}
            for question, subjects in self.runs.items()
        }

    def spread(self, question: str, subject: str) -> float:
        """Return the distance from the least to the greatest cost, as a share of the median."""
        costs = [run["cost"] for run in self.runs[question][subject]]
        return (max(costs) - min(costs)) / statistics.median(costs)

    def write(self, path: Path, *, command: str) -> None:
        """Write all figures as JSON."""
        content = {
            **about(command),
            "quick": self.quick,
            "pythons": sorted(self.pythons),
            "versions": self.versions,
            "returns": self.returns,
            "medians": self.medians(),
            "spreads": {
                question: {subject: self.spread(question, subject) for subject in each}
                for question, each in self.runs.items()
            },
            "absent": self.absent,
            "runs": self.runs,
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=1) + "\n", "utf-8")


def _medians(runs: list[dict[str, float]]) -> dict[str, float]:
    return {
        figure: statistics.median(run[figure] for run in runs)
        for figure in FIGURES
        if all(figure in run for run in runs)
    }


def about(command: str) -> dict[str, Any]:
    """Return what a file of results says about the run: what was run, of which code, when and where."""
    return {
        "command": command,
        "commit": git("rev-parse", "HEAD"),
        "changed_since": changed_since(),
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "machine": machine(),
    }


def changed_since(commit: str = "HEAD") -> bool:
    """Return whether the code is not that of a commit; files of results are no code."""
    code = ("--", "dynamap_async", "benchmarks", ":!benchmarks/results")
    return bool(git("status", "--porcelain", *code) or git("diff", "--name-only", commit, *code))


def machine() -> dict[str, Any]:
    """Return what the figures depend on: cores, processor, system, and how busy it was."""
    processor = platform.processor()
    listed = Path("/proc/cpuinfo")
    if listed.exists():
        lines = [line for line in listed.read_text("utf-8").splitlines() if line.startswith("model name")]
        processor = lines[0].partition(":")[2].strip() if lines else processor
    return {
        "cores": os.cpu_count(),
        "processor": processor,
        "system": f"{platform.system()} {platform.release()}",
        "load": os.getloadavg() if hasattr(os, "getloadavg") else None,
    }


def git(*arguments: str) -> str:
    """Return what git prints."""
    folder = Path(__file__).parent
    ran = subprocess.run(["git", *arguments], cwd=folder.parent, capture_output=True, text=True, check=False)
    return ran.stdout.strip()
