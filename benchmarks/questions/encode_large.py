"""Turn an item of 300 KB: 1,700 nested models in a list into the JSON that is sent, without sending it."""

from benchmarks.questions.shaped import encoding
from benchmarks.shapes import LARGE

QUESTION = encoding(LARGE, "encode an item of 300 KB")
