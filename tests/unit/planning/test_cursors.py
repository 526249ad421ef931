"""Cursors: opaque text, bound to one query, of no use once it was touched."""

import base64
import hashlib
import hmac
import random
import string
import zlib
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial

import pytest
from pydantic_core import to_json

from dynamap_async import KEYS_ONLY, Attr, GlobalIndex, Model, PartitionKey, Query, Scan, SortKey, Table, attr
from dynamap_async.errors import CursorError, OperationError
from dynamap_async.planning import Context, TableNames
from dynamap_async.planning.cursors import decode_cursor, decode_positions, encode_cursor, encode_positions
from dynamap_async.request import Positions
from dynamap_async.schema import KeyAttribute, KeySchema

POSITION = {"user_id": {"S": "a"}, "tweet_id": {"N": "5"}}
SECRET = b"0123456789abcdef"
DAY = datetime(2024, 1, 1, tzinfo=UTC)


def reading(query, cursor=None, **context):
    return query.page(size=5, after=cursor).reading(Context(**context))


def cursor_of(query, position=POSITION, **context):
    return reading(query, **context).cursor(position)


def keys_of(position):
    """Return a key of which each attribute of a position is a part."""
    attributes = [KeyAttribute(name, tag) for name, value in position.items() for tag in value]
    return (KeySchema((attributes[0],), tuple(attributes[1:])),)


def text(content):
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


WRITTEN_WITH_ORJSON = (
    "Y2QSjgR9pX1UNqHXwquzClsxLHsidXNlcl9pZCI6eyJTIjoi0LrQu9GO0YcgXHUwMDAwIPCfpop_XCIifSwidHdlZXRfaWQiOnsiTiI6IjUifX1d"
)
SEVERAL_WRITTEN_WITH_ORJSON = (
    "5fbw_Anf0rFf-j4dv5of4XjaizbUqVYqyS9JzFGyMtZRSkpNL81TsjLSUUosUbKqVjIAEaXFqUXxmSkgZrCSldLhlaNwFFIfKtXqKJWUp6aWQNOaHzCt"
    "mSrVAkUNlazySnNyamtjAVhyxNQ"
)


def test_a_cursor_is_the_text_that_it_was_when_orjson_wrote_it():
    position = {"user_id": {"S": 'ключ \0 🦊\x7f"'}, "tweet_id": {"N": "5"}}
    assert encode_cursor(position, "binding", SECRET) == WRITTEN_WITH_ORJSON
    assert decode_cursor(WRITTEN_WITH_ORJSON, "binding", SECRET, keys=keys_of(POSITION)) == position


def test_a_cursor_of_several_positions_that_was_written_with_orjson_is_read():
    positions = Positions(2, {0: {"user_id": {"S": "é" * 300}, "tweet_id": {"N": "5"}}, 1: None})
    found = decode_positions(SEVERAL_WRITTEN_WITH_ORJSON, "binding", SECRET, total=3, keys=keys_of(POSITION))
    assert found == positions


@pytest.mark.parametrize(
    "position",
    [
        {"a": {"S": "text"}},
        {"a": {"S": "a"}, "b": {"N": "-12345678901234567890123456789012345678"}},
        {"a": {"B": "AP8="}, "b": {"B": "AA=="}},
        {"a": {"S": "ключ \u0000 🦊"}, "b.c d#": {"S": "x"}},
    ],
)
@pytest.mark.parametrize("secret", [None, SECRET])
def test_a_cursor_gives_back_its_position(position, secret):
    cursor = encode_cursor(position, "binding", secret)
    assert decode_cursor(cursor, "binding", secret, keys=keys_of(position)) == position


@pytest.mark.parametrize("secret", [None, SECRET])
@pytest.mark.parametrize("unfinished", [1, 100])
def test_the_positions_of_many_parts_come_back_and_not_if_a_character_is_changed(unfinished, secret):
    names = ("attribute_one", "attribute_two")
    at = {n: None if n % 7 == 3 else {name: {"S": f"key {n}"} for name in names} for n in range(unfinished)}
    positions = Positions(unfinished, at)
    cursor = encode_positions(positions, 1000, "binding", secret)
    keys = keys_of({name: {"S": "key"} for name in names})
    assert decode_positions(cursor, "binding", secret, total=1000, keys=keys) == positions
    assert len(cursor) < 1500
    for place in range(len(cursor)):
        changed = cursor[:place] + ("A" if cursor[place] != "A" else "B") + cursor[place + 1 :]
        with pytest.raises(CursorError):
            decode_positions(changed, "binding", secret, total=1000, keys=keys)


def signed(body, binding, secret=None):
    """Return the text that this library would make of a body."""
    bound = binding.encode() + b"\0" + body
    digest = hashlib.sha256(bound).digest() if secret is None else hmac.digest(secret, bound, "sha256")
    return text(digest[:16] + body)


def refused(called):
    def refuse(*_args, **_kwargs):
        pytest.fail(f"{called} was called")

    return refuse


@pytest.mark.parametrize("secret", [None, SECRET])
@pytest.mark.parametrize(
    "body", [zlib.compress(b"[1," + b" " * 100_000 + b"{}]"), b"[1,{}]"], ids=["inflated", "plain"]
)
def test_what_has_a_wrong_signature_is_neither_inflated_nor_parsed(monkeypatch, secret, body):
    forged = text(b"\0" * 16 + body)
    monkeypatch.setattr("dynamap_async.planning.cursors.zlib.decompressobj", refused("zlib"))
    monkeypatch.setattr("dynamap_async.planning.cursors.read_json", refused("JSON"))
    with pytest.raises(CursorError, match="damaged, or belongs to another query"):
        decode_cursor(forged, "binding", secret, keys=keys_of(POSITION))


@pytest.mark.parametrize("secret", [None, SECRET])
@pytest.mark.parametrize(
    ("decode", "length"),
    [
        (partial(decode_cursor, keys=()), 16 * 1024),
        (partial(decode_positions, total=2, keys=()), 4 * 1024),
        (partial(decode_positions, total=2, keys=(), checkpoint=True), 256 * 1024),
    ],
    ids=["cursor", "cursor of several positions", "checkpoint"],
)
def test_a_text_that_is_too_long_is_not_even_decoded(monkeypatch, decode, length, secret):
    monkeypatch.setattr("dynamap_async.planning.cursors.base64.b64decode", refused("base64"))
    with pytest.raises(CursorError, match="damaged"):
        decode("A" * (length + 1), "binding", secret)


@pytest.mark.parametrize(("spaces", "fits"), [(1_000, True), (64_000, True), (66_000, False), (50_000_000, False)])
def test_where_nobody_signs_nothing_is_inflated_beyond_what_a_cursor_can_hold(spaces, fits):
    padded = to_json([1, POSITION])[:-1] + b" " * spaces + b"]"
    forged = signed(zlib.compress(padded, 9), "binding")
    decode = partial(decode_cursor, forged, "binding", None, keys=keys_of(POSITION))
    if fits:
        assert decode() == POSITION
    else:
        with pytest.raises(CursorError, match="damaged"):
            decode()


@pytest.mark.parametrize(("spaces", "fits"), [(64_000, True), (66_000, False), (1_000_000, False)])
def test_the_positions_of_several_queries_are_inflated_no_further_than_they_can_hold(spaces, fits):
    state = {"total": 2, "begun": 1, "at": {"0": POSITION}}
    forged = signed(zlib.compress(to_json([1, state])[:-1] + b" " * spaces + b"]", 9), "binding")
    decode = partial(decode_positions, forged, "binding", None, total=2, keys=keys_of(POSITION))
    if fits:
        assert decode() == Positions(1, {0: POSITION})
    else:
        with pytest.raises(CursorError, match="damaged"):
            decode()


def test_a_body_that_goes_on_after_its_end_is_refused():
    forged = signed(zlib.compress(to_json([1, POSITION])) + b"more", "binding")
    with pytest.raises(CursorError, match="damaged"):
        decode_cursor(forged, "binding", None, keys=keys_of(POSITION))


@pytest.mark.parametrize("character", ["\0", "é", "x"])
def test_the_longest_keys_of_table_and_index_make_a_cursor_that_is_read(character):
    table, index = ([KeyAttribute(name * 255, "S") for name in names] for names in ("ab", "cd"))
    keys = [KeySchema((partition,), (sort,)) for partition, sort in (table, index)]
    partition, sort = ({"S": character * (length // len(character.encode()))} for length in (2048, 1024))
    position = {key.partition[0].name: partition for key in keys} | {key.sort[0].name: sort for key in keys}
    assert decode_cursor(encode_cursor(position, "binding", None), "binding", None, keys=keys) == position


def test_the_longest_keys_of_64_segments_make_a_checkpoint_that_is_read():
    chance = random.Random(0)

    def key(length):
        return {"S": "".join(chance.choices(string.ascii_letters + string.digits, k=length))}

    positions = Positions(64, {number: {"a": key(2048), "b": key(1024)} for number in range(64)})
    checkpoint = encode_positions(positions, 64, "binding", SECRET, checkpoint=True)
    keys = [KeySchema((KeyAttribute("a", "S"),), (KeyAttribute("b", "S"),))]
    assert decode_positions(checkpoint, "binding", SECRET, total=64, keys=keys, checkpoint=True) == positions


def test_a_checkpoint_that_nobody_could_read_is_not_made():
    positions = Positions(500, {number: {"a": {"S": f"{number:>2048}"}} for number in range(1000)})
    with pytest.raises(OperationError, match="1000 positions would take .* a checkpoint has at most .*fewer segments"):
        encode_positions(positions, 1000, "binding", None, checkpoint=True)


def test_a_cursor_is_text_for_a_url():
    cursor = encode_cursor({"a": {"B": "//79/Pv6"}}, "binding", SECRET)
    assert cursor.replace("-", "").replace("_", "").isalnum()


def test_no_cursor_begins_at_the_beginning(tweet):
    assert reading(Query(tweet).where(tweet.user_id == "a")).start is None


def test_the_end_has_no_cursor(tweet):
    assert reading(Query(tweet).where(tweet.user_id == "a")).cursor(None) is None


def test_a_cursor_is_bound_to_its_query(tweet, match):
    base = Query(tweet).where(tweet.user_id == "a")
    cursor = cursor_of(base)
    assert reading(base, cursor).start == POSITION
    others = {
        "partition": Query(tweet).where(tweet.user_id == "b"),
        "direction": base.descending(),
        "index": base.index(tweet.by_time),
        "sort condition": base.where(tweet.tweet_id > 1),
        "filter": base.where(tweet.likes > 1),
        "operation": Scan(tweet),
    }
    for difference, query in others.items():
        with pytest.raises(CursorError, match="another query"):
            pytest.fail(f"{difference}: {reading(query, cursor)}")
    with pytest.raises(CursorError, match="another query"):
        reading(base, cursor, tables=TableNames("other-"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (lambda t: t.likes > 1, lambda t: t.likes >= 1),
        (lambda t: t.likes > 1, lambda t: t.reads > 1),
        (lambda t: t.tags.contains("x"), lambda t: ~t.tags.contains("x")),
        (lambda t: t.likes.is_in(1, 2), lambda t: t.likes.is_in(1, 2, 3)),
        (lambda t: (t.likes > 1) & (t.reads > 1), lambda t: (t.likes > 1) | (t.reads > 1)),
    ],
)
def test_a_cursor_is_bound_to_the_shape_of_the_other_conditions(tweet, before, after):
    base = Query(tweet).where(tweet.user_id == "a")
    cursor = cursor_of(base.where(before(tweet)))
    with pytest.raises(CursorError, match="another query"):
        reading(base.where(after(tweet)), cursor)


def test_the_values_of_the_other_conditions_may_change(tweet):
    def query(likes, text, first):
        return Query(tweet).where(
            tweet.user_id == "a", tweet.tweet_id >= first, tweet.likes > likes, tweet.text.contains(text)
        )

    assert reading(query(9, "y", 2), cursor_of(query(1, "x", 1))).start == POSITION


def test_the_order_of_conditions_does_not_matter(tweet):
    one = Query(tweet).where(tweet.tags.contains("x"), tweet.user_id == "a", tweet.text != "y")
    other = Query(tweet).where(tweet.text != "y").where(tweet.tags.contains("x"), tweet.user_id == "a")
    assert reading(other, cursor_of(one)).start == POSITION


def test_what_is_read_at_a_position_does_not_bind(tweet):
    base = Query(tweet).where(tweet.user_id == "a")
    for other in (base.consistent(), base.page_size(2), base.select(tweet.text)):
        assert reading(other, cursor_of(base)).start == POSITION


def test_a_shape_longer_than_an_expression_binds_all_the_same():
    class Wide(Model, table="wide"):
        id: PartitionKey[str]
        value: Attr[int] = attr(name="n" * 5000, default=0)

    query = Query(Wide).where(Wide.id == "a", Wide.value > 1)
    position = {"id": {"S": "a"}}
    assert reading(query, cursor_of(query, position)).start == position


DAMAGED = [
    "",
    " ",
    "x",
    "garbage",
    "ключ",
    "AAAA",
    "A" * 100,
    "not base64 !",
    None,
    5,
    b"bytes",
    "=",
    "e30",
    text(b"\0" * 16 + b"5"),
]


@pytest.mark.parametrize("cursor", [each for each in DAMAGED if each is not None], ids=repr)
def test_garbage_is_refused(tweet, cursor):
    with pytest.raises(CursorError, match="damaged"):
        reading(Query(tweet).where(tweet.user_id == "a"), cursor)


@pytest.mark.parametrize("secret", [None, SECRET])
def test_no_changed_character_passes(tweet, secret):
    query = Query(tweet).where(tweet.user_id == "a")
    cursor = cursor_of(query, cursor_secret=secret)
    for place, character in enumerate(cursor):
        for other in ("A", "b", "_", "", "!", character + character):
            changed = cursor[:place] + other + cursor[place + 1 :]
            if changed != cursor:
                with pytest.raises(CursorError):
                    reading(query, changed, cursor_secret=secret)


@pytest.mark.parametrize(("made", "read"), [(b"one", b"two"), (None, b"two"), (b"one", None)])
def test_a_cursor_is_read_with_the_secret_it_was_signed_with(tweet, made, read):
    query = Query(tweet).where(tweet.user_id == "a")
    with pytest.raises(CursorError, match="cursor_secret"):
        reading(query, cursor_of(query, cursor_secret=made), cursor_secret=read)


@pytest.mark.parametrize("secret", [None, SECRET])
def test_a_cursor_of_another_version_is_refused(secret):
    newer = signed(to_json([2, POSITION]), "binding", secret)
    with pytest.raises(CursorError, match="version 2, and this library reads"):
        decode_cursor(newer, "binding", secret, keys=keys_of(POSITION))


FORGED = [
    {"user_id": {"S": "a"}},
    {**POSITION, "more": {"S": "a"}},
    *({**POSITION, "user_id": {"S": content}} for content in ("", "x" * 2049, "b", ["a"])),
    {**POSITION, "user_id": {"B": "YQ=="}},
    *({**POSITION, "tweet_id": value} for value in (None, 5, "5", [], {}, {"N": "5", "S": "5"}, {"S": "5"})),
    *({**POSITION, "tweet_id": {"N": content}} for content in (None, 5, True, [], {}, "", "x", "NaN", "Infinity")),
    *({**POSITION, "tweet_id": {"N": text}} for text in (" 5", "5\n", "1_0", "\u0665", ".", "e")),
    *({**POSITION, "tweet_id": {"N": text}} for text in ("1e999", "1e-999", "9" * 39, "1e99999999999999999999")),
]
"""What is no position in the tweets of "a", whose key is a text and a number."""


@pytest.mark.parametrize("position", FORGED, ids=lambda each: str(each)[:60])
@pytest.mark.parametrize("ranged", [False, True], ids=["all", "a range"])
def test_what_cannot_be_a_position_is_refused_even_where_nobody_signs(tweet, position, ranged):
    query = Query(tweet).where(tweet.user_id == "a")
    query = query.where(tweet.tweet_id.between(2, 6)) if ranged else query
    with pytest.raises(CursorError, match="belongs to another query"):
        reading(query, cursor_of(query, position))


@pytest.mark.parametrize("number", ["5", "-5", "5.0", "0.5", "5E+1", "5e1", "1e-130", "9" * 38])
def test_a_number_is_a_position_as_any_engine_writes_it(tweet, number):
    query = Query(tweet).where(tweet.user_id == "a")
    position = {**POSITION, "tweet_id": {"N": number}}
    assert reading(query, cursor_of(query, position)).start == position


@pytest.mark.parametrize(("content", "fits"), [("AP8=", True), ("", False), ("AP8", False), ("é", False), (255, False)])
def test_a_binary_position_is_base64(content, fits):
    class Blob(Model, table="blobs"):
        id: PartitionKey[str]
        digest: SortKey[bytes]

    query = Query(Blob).where(Blob.id == "a", Blob.digest > b"\0")
    cursor = cursor_of(query, {"id": {"S": "a"}, "digest": {"B": content}})
    if fits:
        assert reading(query, cursor).start
    else:
        with pytest.raises(CursorError, match="belongs to another query"):
            reading(query, cursor)


def test_a_position_in_an_index_has_the_forms_of_both_keys(tweet):
    query = Query(tweet).where(tweet.city == "x").index(tweet.by_city_likes)
    position = {"city": {"S": "x"}, "likes": {"N": "3"}, **POSITION}
    assert reading(query, cursor_of(query, position)).start == position
    for forged in ({"city": {"S": "y"}}, {"likes": {"S": "3"}}, {"user_id": {"S": ""}}, {"tweet_id": {"N": "x"}}):
        with pytest.raises(CursorError, match="belongs to another query"):
            reading(query, cursor_of(query, {**position, **forged}))


@pytest.mark.parametrize(
    "state",
    [
        {"begun": 1, "at": {"0": {"tweet_id": {"N": "x"}}}},
        {"begun": 1, "at": {"0": {"tweet_id": {}}}},
        {"begun": 1, "at": {"0": {"tweet_id": 5}}},
        {"begun": 1, "at": {"0": 5}},
        {"begun": 1, "at": {"0": POSITION}},
        {"begun": 1, "at": {"1": None}},
        {"begun": 1, "at": []},
        {"begun": 1.0, "at": {}},
        {"begun": "1", "at": {}},
        {"begun": 3, "at": {}},
        {"begun": None, "at": {}},
        {"at": {}},
    ],
    ids=str,
)
def test_what_cannot_be_the_positions_of_several_queries_is_refused(tweet, state):
    query = Query(tweet).where(tweet.user_id.is_in("a", "b"), tweet.tweet_id > 1)
    right = {"total": 2, "begun": 1, "at": {"0": {"tweet_id": {"N": "5"}}}}
    assert reading(query, cursor_of(query, right)).begin == Positions(1, {0: POSITION})
    with pytest.raises(CursorError, match="belongs to another query"):
        reading(query, cursor_of(query, {"total": 2, **state}))


def test_a_checkpoint_with_what_cannot_be_a_position_is_refused(tweet):
    scan = Scan(tweet).segments(2)
    forged = {"user_id": {"S": "a"}, "tweet_id": {"N": "x"}}
    checkpoint = scan.reading(Context()).checkpoint(Positions(1, {0: forged}))
    with pytest.raises(CursorError, match="belongs to another query"):
        scan.resume(checkpoint).reading(Context())


@pytest.mark.parametrize(
    ("condition", "side"),
    [
        (lambda t: t.tweet_id > 4, "inside"),
        (lambda t: t.tweet_id > 5, "before"),
        (lambda t: t.tweet_id >= 5, "inside"),
        (lambda t: t.tweet_id >= 6, "before"),
        (lambda t: t.tweet_id < 6, "inside"),
        (lambda t: t.tweet_id < 5, "after"),
        (lambda t: t.tweet_id <= 5, "inside"),
        (lambda t: t.tweet_id <= 4, "after"),
        (lambda t: t.tweet_id == 5, "inside"),
        (lambda t: t.tweet_id == 6, "before"),
        (lambda t: t.tweet_id == 4, "after"),
        (lambda t: t.tweet_id.between(4, 6), "inside"),
        (lambda t: t.tweet_id.between(6, 7), "before"),
        (lambda t: t.tweet_id.between(3, 4), "after"),
    ],
)
@pytest.mark.parametrize("descending", [False, True])
def test_a_position_outside_the_new_range_begins_it_or_has_ended_it(tweet, condition, side, descending):
    """The position is 5; its side is as seen in ascending order."""
    query = Query(tweet).where(tweet.user_id == "a", condition(tweet))
    query = query.descending() if descending else query
    resumed = reading(query, cursor_of(query))
    if side == "inside":
        assert (resumed.start, resumed.exhausted) == (POSITION, False)
    elif (side == "before") is not descending:
        assert (resumed.start, resumed.exhausted) == (None, False)
    else:
        assert resumed.exhausted


@pytest.mark.parametrize(
    ("prefix", "side"), [("Lo", "inside"), ("M", "before"), ("K", "after"), ("Londonderry", "before")]
)
def test_a_position_outside_a_prefix_is_before_or_after_it(prefix, side):
    class Place(Model, table="places"):
        country: PartitionKey[str]
        city: SortKey[str]

    query = Query(Place).where(Place.country == "x", Place.city.begins_with(prefix))
    resumed = reading(query, cursor_of(query, {"country": {"S": "x"}, "city": {"S": "London"}}))
    assert (resumed.start is None, resumed.exhausted) == {
        "inside": (False, False),
        "before": (True, False),
        "after": (False, True),
    }[side]


def test_a_position_in_a_sort_key_of_several_attributes_is_compared_from_the_left(match):
    def query(number, bracket):
        return Query(match).where(
            match.tournament == "t", match.region == "r", match.round == number, match.bracket >= bracket
        )

    at = {"tournament": "t", "region": "r", "bracket": "m", "player": "p", "match_id": "1"}
    position = {name: {"S": value} for name, value in at.items()} | {"round": {"N": "2"}}
    cursor = cursor_of(query(1, "a"), position)
    assert reading(query(2, "a"), cursor).start == position
    assert reading(query(2, "z"), cursor).start is None
    assert reading(query(3, "a"), cursor).start is None
    assert reading(query(1, "z"), cursor).exhausted


def test_positions_hold_the_keys_of_index_and_table(tweet):
    query = Query(tweet).where(tweet.city == "x").index(tweet.by_city_likes)
    item = {
        "city": {"S": "x"},
        "likes": {"N": "3"},
        "user_id": {"S": "a"},
        "tweet_id": {"N": "5"},
        "body": {"S": "not part of it"},
    }
    assert reading(query).position(item) == {name: value for name, value in item.items() if name != "body"}


@pytest.mark.parametrize("bound", [Decimal("1.5"), Decimal(-3), Decimal("1E+20")])
def test_number_positions_are_compared_as_numbers(bound):
    class Point(Model, table="points"):
        id: PartitionKey[str]
        at: SortKey[Decimal]

    query = Query(Point).where(Point.id == "a", Point.at > bound)
    resumed = reading(query, cursor_of(query, {"id": {"S": "a"}, "at": {"N": "10"}}))
    assert (resumed.start is not None) == (bound < 10)


def test_a_select_fetches_the_keys_that_cursors_are_made_of():
    class Card(Model, table="cards"):
        key: PartitionKey[str] = attr(name="pk")
        at: SortKey[int] = attr(name="sk")
        city: Attr[str] = attr(name="gsi1pk")
        title: Attr[str] = attr(default="")
        by_city = GlobalIndex(partition_key="city", projection=KEYS_ONLY)

    plan = reading(Query(Card).where(Card.city == "x").select(Card.at)).plan
    assert set(plan.body["ExpressionAttributeNames"].values()) == {"pk", "sk", "gsi1pk"}


SHARED = Table("shared-of-cursors", partition_key="user", sort_key="number", discriminator="kind")


class One(Model, table=SHARED, kind="one"):
    user: PartitionKey[str]
    number: SortKey[str]


class Other(Model, table=SHARED, kind="other"):
    user: PartitionKey[str]
    number: SortKey[str]


def test_a_cursor_of_one_model_is_refused_by_another_of_a_shared_table():
    cursor = cursor_of(Query(One).where(One.user == "a"), {"user": {"S": "a"}, "number": {"S": "5"}})
    with pytest.raises(CursorError):
        reading(Query(Other).where(Other.user == "a"), cursor)


def test_a_cursor_outlives_another_name_of_its_model():
    class Before(Model, table="renamed"):
        id: PartitionKey[str]
        number: SortKey[int]

    position = {"id": {"S": "a"}, "number": {"N": "5"}}
    cursor = cursor_of(Query(Before).where(Before.id == "a"), position)

    class After(Model, table="renamed"):
        id: PartitionKey[str]
        number: SortKey[int]

    assert reading(Query(After).where(After.id == "a"), cursor).start == position
