"""Turn a flat item of 60 attributes into the JSON that is sent, without sending it."""

from benchmarks.questions.shaped import encoding
from benchmarks.shapes import WIDE

QUESTION = encoding(WIDE, "encode a wide item of 60 attributes")
