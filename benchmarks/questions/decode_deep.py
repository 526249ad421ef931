"""Turn the JSON of an item of eight nested models, one inside the other into what reads give."""

from benchmarks.questions.shaped import decoding
from benchmarks.shapes import DEEP

QUESTION = decoding(DEEP, "decode a deep nested item")
