"""What the questions about other shapes of items share: encoding and decoding, without I/O."""

from benchmarks.questions.question import Question
from benchmarks.runs import Effort, Run, plainly
from benchmarks.shapes import Shape
from benchmarks.subjects import Subject


def encoding(shape: Shape, asks: str) -> Question:
    """Return the question what one item of a shape costs to encode."""

    async def run(subject: Subject, endpoint: str, effort: Effort) -> Run:
        return plainly(subject.encoder(shape), seconds=effort.seconds / 2, per=shape.count)

    return Question(asks=asks, floor="Pydantic's model_dump, no JSON", run=run, group="parts", distinct=100)


def decoding(shape: Shape, asks: str) -> Question:
    """Return the question what one item of a shape costs to decode."""

    async def run(subject: Subject, endpoint: str, effort: Effort) -> Run:
        decode, page = subject.decoder(shape), shape.page()
        return plainly(lambda: decode(page), seconds=effort.seconds / 2, per=shape.count)

    return Question(asks=asks, floor="orjson.loads", run=run, group="parts", distinct=100)
