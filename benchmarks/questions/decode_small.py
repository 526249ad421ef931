"""Turn the JSON of a flat item of five attributes into what reads give."""

from benchmarks.questions.shaped import decoding
from benchmarks.shapes import SMALL

QUESTION = decoding(SMALL, "decode a small flat item")
