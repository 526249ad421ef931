"""Turn the JSON of a flat item of 60 attributes into what reads give."""

from benchmarks.questions.shaped import decoding
from benchmarks.shapes import WIDE

QUESTION = decoding(WIDE, "decode a wide item of 60 attributes")
