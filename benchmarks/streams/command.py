"""The command ``python benchmarks streams``: workers that are killed and frozen, and what became of every change."""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

_pause = Event().wait
_HERE = Path(__file__).resolve().parents[1]


class Told:
    """What all workers wrote down, in the order in which it happened."""

    def __init__(self, folder: Path) -> None:
        """Read what is there now."""
        lines: list[tuple[int, list[str]]] = []
        for path in folder.iterdir():
            for line in path.read_text().splitlines():
                at, *rest = line.split(" ")
                lines.append((int(at), [path.stem, *rest]))
        self.lines = sorted(lines)

    def handled(self) -> dict[str, list[int]]:
        """Return the values that were handled of each key, in order."""
        found: dict[str, list[int]] = defaultdict(list)
        for _, (_, kind, *rest) in self.lines:
            if kind == "did":
                found[rest[0]].append(int(rest[1]))
        return found

    def taken(self) -> list[tuple[float, str, str]]:
        """Return when which worker took which shard."""
        return [(at / 1e9, who, rest[0]) for at, (who, kind, *rest) in self.lines if kind == "LeaseTaken"]


class Team:
    """Worker processes, each with a file that it writes to."""

    def __init__(self, url: str, folder: Path, lease_seconds: float) -> None:
        """Start none yet."""
        self._url = url
        self.folder = folder
        self._lease_seconds = lease_seconds
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self._started = 0
        self.ended: list[tuple[str, float]] = []
        """Which worker was killed, and when."""

    def start(self) -> str:
        """Start another worker."""
        name = f"w{self._started}"
        self._started += 1
        arguments = [self._url, str(self.folder / f"{name}.txt"), str(self._lease_seconds)]
        self.running[name] = subprocess.Popen([sys.executable, str(_HERE), "streamer", *arguments])
        return name

    def kill(self, name: str) -> None:
        """Kill a worker, without a word."""
        process = self.running.pop(name)
        process.kill()
        process.wait()
        self.ended.append((name, time.monotonic()))

    def end(self) -> None:
        """Kill all."""
        for name in list(self.running):
            self.kill(name)


@contextlib.contextmanager
def server(**settings: object) -> Iterator[tuple[subprocess.Popen[str], str, list[str]]]:
    """Run the engine's server; give its process, its address, and what it prints at its end."""
    options = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, str(_HERE), "streaming", *options]
    told: list[str] = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        try:
            yield process, url, told
        finally:
            told.extend(process.communicate()[0].splitlines())


def until_all(folder: Path, changes: int, seconds: float) -> Told:
    """Wait until every change was handled, or for so long."""
    end = time.monotonic() + seconds
    while True:
        told = Told(folder)
        if time.monotonic() > end or sum(len(set(values)) for values in told.handled().values()) >= changes:
            return told
        _pause(3)


def judged(told: Told, *, changes: int, keys: int) -> dict[str, Any]:
    """Return what became of the changes."""
    handled = told.handled()
    rounds = changes // keys
    missing = sum(rounds - len(set(handled.get(f"s{key}", ()))) for key in range(keys))
    calls = sum(map(len, handled.values()))
    disordered = sum(1 for values in handled.values() if list(dict.fromkeys(values)) != sorted(set(values)))
    return {
        "changes": changes,
        "missing": missing,
        "keys whose first handlings are out of order": disordered,
        "duplicates %": round(100 * (calls - (changes - missing)) / changes, 2),
        "shards": len({rest[2] for _, (_, kind, *rest) in told.lines if kind == "did"}),
    }


def killed(given: argparse.Namespace) -> dict[str, Any]:
    """Kill one of four workers every two seconds for as long as changes are written."""
    chance = random.Random(7)
    with (
        tempfile.TemporaryDirectory() as name,
        server(changes=given.changes, keys=given.keys, seconds=given.seconds, splits=given.splits) as (_, url, calls),
    ):
        folder = Path(name)
        team = Team(url, folder, given.lease_seconds)
        began = time.monotonic()
        for _ in range(4):
            team.start()
        while time.monotonic() < began + given.seconds:
            _pause(given.kill_seconds)
            # One that has shards: on a busy machine others have hardly begun.
            has = {who for _, who, _ in Told(folder).taken()} & team.running.keys()
            if has:
                team.kill(chance.choice(sorted(has)))
                team.start()
        told = until_all(folder, given.changes, given.patience_seconds)
        whole = time.monotonic() - began
        team.end()
    found = judged(told, changes=given.changes, keys=given.keys)
    return {
        **found,
        "kills": len(team.ended) - 4,
        "seconds": round(whole, 1),
        **taken_over(told, team),
        **limits(calls),
    }


def taken_over(told: Told, team: Team) -> dict[str, Any]:
    """Return how long shards of killed workers waited for another one that was there, at most."""
    has: dict[str, str] = {}
    died = dict(team.ended[:-4])
    waits: list[float] = []
    for at, who, shard in told.taken():
        before = has.get(shard)
        if before is not None and before != who and (end := died.get(before, at)) < at:
            waits.append(at - end)
        has[shard] = who
    return {"longest take-over s": round(max(waits, default=0.0), 1), "take-overs": len(waits)}


def limits(calls: list[str]) -> dict[str, Any]:
    """Return the most calls of a second, as the server counted them."""
    rows = [line.split(" ") for line in calls if line and line != "written"]

    def most(operation: str, column: int) -> int:
        return max((int(row[column]) for row in rows if row[0] == operation), default=0)

    return {
        "most GetRecords per s and shard": most("GetRecords", 4),
        "most readers of a shard": most("GetRecords", 5),
        "most DescribeStream per s": most("DescribeStream", 4),
        "refused": sum(int(row[3]) for row in rows),
    }


def frozen(given: argparse.Namespace) -> dict[str, Any]:
    """Stop one of two workers for thirty seconds, and let it go on."""
    changes, keys = given.changes // 4, given.keys // 4
    with (
        tempfile.TemporaryDirectory() as name,
        server(changes=changes, keys=keys, seconds=given.seconds) as (_, url, calls),
    ):
        folder = Path(name)
        team = Team(url, folder, given.lease_seconds)
        first = team.start()
        team.start()
        while first not in {who for _, who, _ in Told(folder).taken()}:
            _pause(1)
        _pause(given.lease_seconds)
        team.running[first].send_signal(signal.SIGSTOP)
        stopped = time.monotonic()
        _pause(30)
        team.running[first].send_signal(signal.SIGCONT)
        resumed = time.monotonic()
        told = until_all(folder, changes, given.seconds + 10 * given.lease_seconds)
        team.end()
    lost = [at / 1e9 for at, (who, kind, *_) in told.lines if who == first and kind == "LeaseLost"]
    had = {shard for at, who, shard in told.taken() if who == first and at < stopped}
    after = [
        at / 1e9 - resumed
        for at, (who, kind, *rest) in told.lines
        if who == first and kind == "did" and rest[2] in had and resumed < at / 1e9 < (min(lost, default=0.0))
    ]
    return {
        **judged(told, changes=changes, keys=keys),
        "shards that it had": len(had),
        "leases that it lost": len(lost),
        "handled after it went on, before it knew": len(after),
        **limits(calls),
    }


_QUESTIONS = {"killed": killed, "frozen": frozen}


def main() -> None:
    """Ask what is asked for, and print the answers."""
    options = argparse.ArgumentParser(prog="benchmarks streams")
    options.add_argument("--only", nargs="*", choices=sorted(_QUESTIONS), default=sorted(_QUESTIONS))
    options.add_argument("--changes", type=int, default=200_000)
    options.add_argument("--keys", type=int, default=2_000)
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--splits", type=int, default=40)
    options.add_argument("--kill-seconds", type=float, default=2.0)
    options.add_argument("--patience-seconds", type=float, default=400.0)
    options.add_argument("--lease-seconds", type=float, default=10.0)
    options.add_argument("--json", type=Path)
    given = options.parse_args(sys.argv[2:])
    answers: dict[str, Any] = {}
    for question in given.only:
        answers[question] = _QUESTIONS[question](given)
        print(question, json.dumps(answers[question], indent=2), flush=True)
    if given.json is not None:
        given.json.write_text(json.dumps(answers, indent=2) + "\n", "utf-8")
