"""Turn the JSON of an item of eight nested models, one inside the other into what reads give."""

from benchmarks.nested_shapes import DEEP
from benchmarks.questions.shaped import decoding

QUESTION = decoding(DEEP, "decode a deep nested item")
