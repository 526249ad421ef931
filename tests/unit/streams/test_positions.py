"""Positions in a shard."""

import pytest

from dynamap_async.errors import OperationError
from dynamap_async.streams.positions import Position


@pytest.mark.parametrize(
    "text",
    ["", "newest", "after", "after x", "latest", "time soon", "time nan", "latest inf", "oldest 1 2", "after 1 2 3"],
)
def test_a_text_that_is_no_position_is_refused(text):
    with pytest.raises(OperationError, match="is no position in a shard"):
        Position.read(text)


def test_a_position_keeps_all_digits_of_its_number():
    number = 10**39 + 1
    assert str(Position("after", number, 1700000000.0)) == f"after {number} 1700000000.0"
