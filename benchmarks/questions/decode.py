"""Turn the JSON of a page into what reads give; the cost is that of one item."""

import json

from benchmarks.items import PAGE, wire
from benchmarks.nested_shapes import SHAPES
from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run, plainly
from benchmarks.subjects import Subject


def question(name: str) -> Question:
    """Return the question about a page of 100 reference items, or about a shape by its name."""
    shape = SHAPES.get(name)

    async def run(subject: Subject, endpoint: str, effort: Effort) -> Run:
        decode = subject.decoder(shape) if shape else subject.decode
        body = shape.page() if shape else page(subject.zone)
        return plainly(lambda: decode(body), seconds=effort.seconds / 2, per=shape.count if shape else PAGE)

    asks = f"decode an item of a page, {name or 'usual'}"
    return Question(asks=asks, floor="orjson.loads", run=run, group="parts", distinct=100)


def page(zone: str) -> bytes:
    """Return the answer with 100 reference items."""
    items = [wire("user-000000", number, zone) for number in range(PAGE)]
    return json.dumps({"Count": PAGE, "ScannedCount": PAGE, "Items": items}, separators=(",", ":")).encode()
