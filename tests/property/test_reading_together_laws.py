"""Items that are read together are what each of them is when it is read alone."""

from hypothesis import given
from hypothesis import strategies as st

from dynamap_async import Attr, Model, PartitionKey
from dynamap_async.errors import ItemNotFoundError, ItemValidationError
from dynamap_async.models import definition_of
from dynamap_async.operations import Find, Get
from dynamap_async.planning import Context
from dynamap_async.request import PartOfAnswer, SharedDecoding


class Note(Model, table="notes"):
    id: PartitionKey[str]
    stars: Attr[int | None] = None
    tags: Attr[set[str]] = set()  # noqa: RUF012 - Pydantic copies it


ITEMS = st.fixed_dictionaries(
    {"id": st.sampled_from("abc").map(lambda text: {"S": text})},
    optional={
        "stars": st.sampled_from([{"N": "1"}, {"NULL": True}, {"S": "many"}]),
        "tags": st.sampled_from([{"SS": ["x"]}, {"NULL": True}]),
        "other": st.just({"M": {"a": {"N": "1"}}}),
    },
)


def outcome(operation, response):
    try:
        return operation.result(response, Context())
    except (ItemValidationError, ItemNotFoundError) as error:
        return type(error), str(error)


@given(st.lists(ITEMS, max_size=6), st.data())
def test_each_caller_gets_what_it_would_get_alone(items, data):
    reader = definition_of(Note).read_at_once
    assert reader is not None
    shared, answers = SharedDecoding(reader), [PartOfAnswer(Item=item) for item in items]
    for answer in answers:
        answer.read_with(shared)
    callers = data.draw(st.lists(st.sampled_from(answers), max_size=9)) if answers else []  # in any order, some twice
    found = []
    for answer in [*callers, PartOfAnswer()]:
        kind = data.draw(st.sampled_from([Get, Find]))
        operation = kind(Note, "a")
        found.append(outcome(operation, answer))
        assert found[-1] == outcome(operation, dict(answer))
    instances = [id(each) for each in found if isinstance(each, Note)]
    assert len(set(instances)) == len(instances)
