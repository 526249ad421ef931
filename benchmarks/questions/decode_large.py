"""Turn the JSON of an item of 300 KB: 1,700 nested models in a list into what reads give."""

from benchmarks.questions.shaped import decoding
from benchmarks.shapes import LARGE

QUESTION = decoding(LARGE, "decode an item of 300 KB")
