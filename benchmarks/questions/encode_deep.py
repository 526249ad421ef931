"""Turn an item of eight nested models, one inside the other into the JSON that is sent, without sending it."""

from benchmarks.questions.shaped import encoding
from benchmarks.shapes import DEEP

QUESTION = encoding(DEEP, "encode a deep nested item")
