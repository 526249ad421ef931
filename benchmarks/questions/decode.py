"""Turn the JSON of a page of 100 into items; the cost is that of one item."""

import json

from benchmarks.items import PAGE, wire
from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run, plainly
from benchmarks.subjects import Subject


async def _run(subject: Subject, endpoint: str, effort: Effort) -> Run:
    items = [wire("user-000000", number, subject.zone) for number in range(PAGE)]
    page = json.dumps({"Count": PAGE, "ScannedCount": PAGE, "Items": items}, separators=(",", ":")).encode()
    return plainly(lambda: subject.decode(page), seconds=effort.seconds / 2, per=PAGE)


QUESTION = Question(asks="decode a page, per item", floor="orjson.loads", run=_run, group="parts", distinct=100)
