"""Turn a flat item of five attributes into the JSON that is sent, without sending it."""

from benchmarks.questions.shaped import encoding
from benchmarks.shapes import SMALL

QUESTION = encoding(SMALL, "encode a small flat item")
