"""The name of a guard: equal for equal values, and for no others."""

from hypothesis import given
from hypothesis import strategies as st

from dynamap_async import Attr, Model, PartitionKey, Unique
from dynamap_async.models import definition_of

TEXTS = st.text(alphabet="ab,:#S1é", max_size=6)
NUMBERS = st.integers(1 - 10**38, 10**38 - 1)  # what DynamoDB stores


class Named(Model, table="named"):
    id: PartitionKey[str]
    first: Attr[str]
    second: Attr[str]
    number: Attr[int]
    by_name = Unique("first", "second")
    by_number = Unique("first", "number")


def guards(first, second, number):
    definition = definition_of(Named)
    stored = definition.items.encode(Named(id="1", first=first, second=second, number=number))
    return tuple(constraint.guard(stored) for constraint in definition.uniques)


@given(TEXTS, TEXTS, TEXTS, TEXTS, NUMBERS, NUMBERS)
def test_two_items_have_one_guard_exactly_if_they_have_the_same_values(first, second, other, another, number, more):
    one, two = guards(first, second, number), guards(other, another, more)
    assert (one[0] == two[0]) == ((first, second) == (other, another))
    assert (one[1] == two[1]) == ((first, number) == (other, more))
    assert one[0] != two[1]
