"""Turn the JSON of an item of 300 KB: 1,700 nested models in a list into what reads give."""

from benchmarks.nested_shapes import LARGE
from benchmarks.questions.shaped import decoding

QUESTION = decoding(LARGE, "decode an item of 300 KB")
