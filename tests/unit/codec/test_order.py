import pytest

from dynamap_async.codec import order_key


@pytest.mark.parametrize(
    "ascending",
    [
        [{"S": "10"}, {"S": "9"}, {"S": "A"}, {"S": "a"}, {"S": "é"}, {"S": "\uffff"}, {"S": "\U00010000"}],
        [{"N": "-5"}, {"N": "0"}, {"N": "0.5"}, {"N": "9"}, {"N": "10"}, {"N": "1" + "0" * 125}],
        [{"B": ""}, {"B": "AA=="}, {"B": "AAA="}, {"B": "fw=="}, {"B": "gA=="}],
    ],
)
def test_key_values_sort_as_dynamodb_sorts_them(ascending):
    descending = list(reversed(ascending))
    assert sorted(descending, key=order_key) == ascending


def test_equal_numbers_have_one_place_however_they_are_written():
    assert order_key({"N": "1.0"}) == order_key({"N": "1"})


def test_values_of_different_types_have_a_defined_order():
    mixed = [{"S": "a"}, {"N": "1"}, {"BOOL": True}, {"B": "AA=="}]
    assert [next(iter(value)) for value in sorted(mixed, key=order_key)] == ["B", "BOOL", "N", "S"]
