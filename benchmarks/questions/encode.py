"""Turn items into the JSON that is sent, without sending it; the cost is that of one item."""

from benchmarks.items import PAGE
from benchmarks.nested_shapes import SHAPES
from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run, plainly
from benchmarks.subjects import Subject


def question(name: str) -> Question:
    """Return the question about the reference item, or about a shape by its name."""
    shape = SHAPES.get(name)

    async def run(subject: Subject, endpoint: str, effort: Effort) -> Run:
        work = subject.encoder(shape) if shape else subject.encode
        return plainly(work, seconds=effort.seconds / 2, per=shape.count if shape else PAGE)

    asks = f"encode an item, {name or 'usual'}"
    return Question(asks=asks, floor="Pydantic's model_dump, no JSON", run=run, group="parts", distinct=100)
