"""An answer that is parsed in pieces is the answer that is parsed at one go, and is refused where that is refused."""

import gc
import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from dynamap_async.native.json_text import read_json
from dynamap_async.transport import pieces
from dynamap_async.transport.pieces import parse_in_pieces

CUTS = ("}},{", '}},{"', '}},{"a":{', '"},{"S":"', '"Items":[', "],", "\\", '\\"', "é🦊", "\u2028", "\0")
NAMES = ("Items", "Responses", "M", "L", "S", "Item", "a", "abc")


def text_of(chance):
    return "".join(chance.choice((*CUTS, "", "x", "é", '"', "0")) for _ in range(chance.randrange(5)))


def name_of(chance):
    return text_of(chance) if chance.random() < 0.3 else chance.choice(NAMES)


def value_of(chance, depth=0):
    match chance.randrange(5 if depth == 3 else 9):
        case 0:
            return {"S": text_of(chance)}
        case 1:
            return {"N": str(chance.randrange(-(10**6), 10**6))}
        case 2:
            return {"BOOL": chance.random() < 0.5}
        case 3:
            return {"NULL": True}
        case 4:
            return {"SS": [text_of(chance) for _ in range(chance.randrange(4))]}
        case 5 | 6:
            return {"L": [value_of(chance, depth + 1) for _ in range(chance.randrange(4))]}
    return {"M": map_of(chance, depth + 1)}


def map_of(chance, depth=0):
    return {name_of(chance): value_of(chance, depth) for _ in range(chance.randrange(5))}


# One draw for each item: drawing each of its parts takes Hypothesis twenty times as long as parsing it.
ITEMS = st.lists(st.integers(0, 2**24 - 1).map(lambda seed: map_of(Random(seed))), max_size=12)
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
        to_json,
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
    assert parsed(text)[0] == json.loads(text) == answer


@given(answers(), FORMS, st.integers(0, 2**16))
def test_what_is_no_json_is_refused_as_at_one_go(answer, form, place):
    text = form(answer)
    at = place % len(text)
    for broken in (
        text[:at],
        text[:at] + b'"' + text[at:],
        text[:at] + text[at + 1 :],
        text[:at] + b"\xff" + text[at:],
    ):
        try:
            expected = read_json(broken)
        except ValueError:
            with pytest.raises(ValueError, match="at line"):
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
@pytest.mark.parametrize("form", [to_json, lambda answer: json.dumps(answer, indent=2).encode()])
def test_a_piece_is_little_more_than_its_size_whatever_is_nested(monkeypatch, answer, form):
    sizes, whole = [], read_json
    monkeypatch.setattr(pieces, "_PIECE_BYTES", 20_000)
    monkeypatch.setattr(pieces, "read_json", lambda text: sizes.append(len(text)) or whole(text))
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
        assert parsed(text)[0] == json.loads(text)


@pytest.mark.parametrize("collects", [True, False])
def test_the_collector_of_garbage_is_left_as_it_was(collects):
    text = to_json({"Items": [{"id": {"N": "1"}}] * 100})
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
