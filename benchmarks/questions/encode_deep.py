"""Turn an item of eight nested models, one inside the other into the JSON that is sent, without sending it."""

from benchmarks.nested_shapes import DEEP
from benchmarks.questions.shaped import encoding

QUESTION = encoding(DEEP, "encode a deep nested item")
