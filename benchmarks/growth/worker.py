"""The process that measures how one library's costs grow, once. It prints one line of JSON."""

import argparse
import asyncio
import dataclasses
import json
import platform
from collections.abc import Sequence
from typing import Any

from benchmarks import subjects
from benchmarks.growth.series import MOST_ITEMS, SERIES
from benchmarks.runs import Effort
from benchmarks.subjects import Subject
from benchmarks.worker import versions

EFFORT = Effort(seconds=0.25, many=0, scanned=0, streamed=0)
QUICK = Effort(seconds=0.03, many=0, scanned=0, streamed=0)


def main() -> int:
    """Measure the series that the command line names."""
    parser = argparse.ArgumentParser()
    parser.add_argument("growing")
    parser.add_argument("subject", choices=subjects.NAMES)
    parser.add_argument("series", nargs="+", choices=SERIES)
    parser.add_argument("--endpoint", required=True)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    subject = subjects.load(options.subject)()
    runs = asyncio.run(_measure(subject, options.series, options.endpoint, quick=options.quick))
    told = {"runs": runs, "returns": subject.returns, "versions": versions(subject)}
    print(json.dumps({**told, "python": platform.python_version()}))
    return 0


async def _measure(
    subject: Subject, names: Sequence[str], endpoint: str, *, quick: bool
) -> dict[str, dict[int, dict[str, Any]]]:
    """Return series -> size -> the run as a dict."""
    # The keys and items of the batches come after the query, which tells how much memory was held.
    subject.prepare(100)
    prepared = False
    await subject.open(endpoint)
    runs: dict[str, dict[int, dict[str, Any]]] = {}
    for name in names:
        if SERIES[name].items and not prepared:
            subject.prepare(10_000 if quick else MOST_ITEMS)
            prepared = True
        runs[name] = {}
        for size in SERIES[name].chosen(quick=quick):
            run = await SERIES[name].run(subject, size, QUICK if quick else EFFORT)
            runs[name][size] = {key: value for key, value in dataclasses.asdict(run).items() if value is not None}
    await subject.close()
    return runs
