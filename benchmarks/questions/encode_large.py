"""Turn an item of 300 KB: 1,700 nested models in a list into the JSON that is sent, without sending it."""

from benchmarks.nested_shapes import LARGE
from benchmarks.questions.shaped import encoding

QUESTION = encoding(LARGE, "encode an item of 300 KB")
