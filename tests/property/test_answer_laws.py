"""An answer that is parsed in pieces is the answer that is parsed at one go, and is refused where that is refused."""

import gc
import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamap_async.transport import pieces
from dynamap_async.transport.pieces import parse_in_pieces

CUTS = ("}},{", '}},{"', '}},{"a":{', '"},{"S":"', '"Items":[', "],", "\\", '\\"', "é🦊", "\u2028", "\0")
TEXTS = st.lists(st.sampled_from(CUTS) | st.text(max_size=5), max_size=4).map("".join)
NAMES = st.sampled_from(["Items", "Responses", "M", "L", "S", "Item", "a", "abc"]) | TEXTS
LEAVES = st.one_of(
    TEXTS.map(lambda text: {"S": text}),
    st.integers().map(lambda number: {"N": str(number)}),
    st.booleans().map(lambda value: {"BOOL": value}),
    st.just({"NULL": True}),
    st.lists(TEXTS, max_size=3).map(lambda texts: {"SS": texts}),
)
VALUES = st.recursive(
    LEAVES,
    lambda values: (
        st.lists(values, max_size=4).map(lambda each: {"L": each})
        | st.dictionaries(NAMES, values, max_size=4).map(lambda each: {"M": each})
    ),
    max_leaves=8,
)
ITEMS = st.lists(st.dictionaries(NAMES, VALUES, max_size=4), max_size=12)
CONSUMED = st.sampled_from([{}, {"ConsumedCapacity": {"TableName": "t", "CapacityUnits": 1.5}}])
TABLES = st.dictionaries(st.sampled_from(["one", "two", "three", "arn:aws:dynamodb:x:1:table/t"]), ITEMS, max_size=4)


@st.composite
def answers(draw):
    """Draw the answer of a query, of a batch, or of a transaction, with facts before and after the items."""
    before, after = draw(CONSUMED), draw(st.sampled_from([{}, {"LastEvaluatedKey": {"Items": {"S": "x"}}}]))
    items = draw(ITEMS)
    main = draw(
        st.sampled_from(
            [
                {"Items": items, "Count": len(items)},
                {"Responses": [{"Item": item} if item else {} for item in items]},
                {"Responses": {}, "UnprocessedItems": {"abc": [{"PutRequest": {"Item": item}} for item in items]}},
            ]
        )
        | TABLES.map(lambda found: {"Responses": found, "ConsumedCapacity": [{"TableName": each} for each in found]})
    )
    return {**before, **main, **after}


FORMS = st.sampled_from(
    [
        orjson.dumps,
        lambda answer: json.dumps(answer).encode(),
        lambda answer: json.dumps(answer, indent=1, ensure_ascii=False).encode(),
        lambda answer: json.dumps(answer, separators=(" , ", " : ")).encode(),
    ]
)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(pieces, "_PIECE_BYTES", 20)


def parsed(text):
    """Return what the pieces are put together to, and how many there were."""
    work, number = parse_in_pieces(text), 0
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value, number
        number += 1


@given(answers(), FORMS)
def test_an_answer_in_pieces_is_the_answer(answer, form):
    text = form(answer)
    assert parsed(text)[0] == orjson.loads(text) == answer


@given(answers(), FORMS, st.randoms(use_true_random=False))
def test_what_is_no_json_is_refused_as_at_one_go(answer, form, chance):
    text = form(answer)
    at = chance.randrange(len(text))
    for broken in (
        text[:at],
        text[:at] + b'"' + text[at:],
        text[:at] + text[at + 1 :],
        text[:at] + b"\xff" + text[at:],
    ):
        try:
            expected = orjson.loads(broken)
        except orjson.JSONDecodeError:
            with pytest.raises(orjson.JSONDecodeError):
                parsed(broken)
        else:
            assert parsed(broken)[0] == expected


VALUE = {"L": [{"M": {"name": {"S": '}},{"a":{"S":"'}, "more": {"L": [{"M": {"x": {"N": "1"}}}] * 3}}}] * 4}


@pytest.mark.parametrize(
    "answer",
    [
        {"Count": 1000, "Items": [{"id": {"N": str(n)}, "value": VALUE} for n in range(1000)], "ScannedCount": 1000},
        {
            "ConsumedCapacity": [{"TableName": "one"}],
            "Responses": {"one": [{"id": VALUE}] * 500, "two": [{"x": VALUE}] * 500},
        },
        {"Responses": [{"Item": {"id": VALUE}}, {}] * 500},
    ],
    ids=["items", "tables", "transaction"],
)
@pytest.mark.parametrize("form", [orjson.dumps, lambda answer: json.dumps(answer, indent=2).encode()])
def test_a_piece_is_little_more_than_its_size_whatever_is_nested(monkeypatch, answer, form):
    sizes, whole = [], orjson.loads
    monkeypatch.setattr(pieces, "_PIECE_BYTES", 20_000)
    monkeypatch.setattr(pieces.orjson, "loads", lambda text: sizes.append(len(text)) or whole(text))
    text = form(answer)
    found, number = parsed(text)
    assert found == answer
    assert max(sizes) < 45_000  # of two tables, what is left of each is parsed with the rest
    assert sum(sizes) < 1.2 * len(text)
    assert number > len(text) / 25_000


@pytest.mark.parametrize(
    "text",
    [
        b'{"nested":{"Items":[{"a":{}},{"a":{}},{"a":{}}]},"Items":[]}',
        b'{"Items":[{"a":{}},{"a":{}},{"a":{}}],"Items":[{"b":{}}]}',
        b'[{"Items":[{"a":{}},{"a":{}},{"a":{}}]}]',
        b'{"Items":[[{"a":{}},{"a":{}},{"a":{}}]]}',
        b'{"Items":[0,{"a":{}},{"a":{}},{"a":{}}]}',
        b'"Items"',
        b"[]",
    ],
)
def test_what_is_no_answer_is_parsed_all_the_same(monkeypatch, text):
    for size in range(20):
        monkeypatch.setattr(pieces, "_PIECE_BYTES", size)
        assert parsed(text)[0] == orjson.loads(text)


@pytest.mark.parametrize("collects", [True, False])
def test_the_collector_of_garbage_is_left_as_it_was(collects):
    text = orjson.dumps({"Items": [{"id": {"N": "1"}}] * 100})
    before = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        for broken in (text, text[:-2]):
            work = parse_in_pieces(broken)
            try:
                for _ in work:
                    assert gc.isenabled() is collects
            except ValueError:
                pass
            assert gc.isenabled() is collects
    finally:
        (gc.enable if before else gc.disable)()
