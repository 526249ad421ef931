"""Types of fields: what all values of an attribute are, and nothing that one of them is not."""

import base64
import zlib

import pytest

from dynamap_async.generate.field_types import NestedClasses, guess_type, is_secret


@pytest.fixture
def guess():
    return lambda *values, name="thing", nested=None: guess_type(name, values, nested or NestedClasses(()))


@pytest.mark.parametrize(
    ("values", "text", "stored_as"),
    [
        ([{"S": "2024-02-29"}, {"S": "2023-01-01"}], "date", None),
        ([{"S": "2024-02-29"}, {"S": "2023-02-29"}], "str", None),
        ([{"S": "20240229"}], "str", None),
        ([{"S": "2024-02-29T10:11:12.000000Z"}], "datetime", None),
        ([{"S": "2024-02-29T10:11:12Z"}], "datetime", "ISO_SECONDS"),
        ([{"S": "2024-02-29T10:11:12.345Z"}], "datetime", "ISO_MILLISECONDS"),
        ([{"S": "2024-02-29T10:11:12.345Z"}, {"S": "2024-02-29T10:11:12Z"}], "str", None),
        ([{"S": "2024-02-29T10:11:12"}], "str", None),
        ([{"S": "00000000-0000-0000-0000-00000000000a"}], "UUID", None),
        ([{"S": "00000000-0000-0000-0000-00000000000A"}], "str", None),
        ([{"S": ""}], "str", None),
        ([{"N": "1"}, {"N": "-7"}], "int", None),
        ([{"N": "1"}, {"N": "0.5"}], "Decimal", None),
        ([{"BOOL": True}], "bool", None),
        ([{"B": "AA=="}], "bytes", None),
        ([{"SS": ["a"]}], "set[str]", None),
        ([{"NS": ["1", "2"]}], "set[int]", None),
        ([{"NS": ["1.5"]}], "set[Decimal]", None),
        ([{"BS": ["AA=="]}], "set[bytes]", None),
        ([{"L": [{"S": "2024-02-29"}]}, {"L": []}], "list[str]", None),
        ([{"L": []}], "list[Any]", None),
        ([{"L": [{"S": "a"}, {"N": "1"}, {"NULL": True}]}], "list[int | str | None]", None),
        ([{"M": {}}], "dict[str, Any]", None),
        ([{"M": {"a": {"N": "1"}}}, {"M": {"b": {"N": "2"}}}], "dict[str, int]", None),
        ([{"S": "1"}, {"N": "1"}], "int | str", None),
        ([{"S": "1"}, {"M": {}}], "Any", None),
    ],
)
def test_type_is_what_all_values_are(guess, values, text, stored_as):
    found = guess(*values)
    assert (found.text, found.stored_as) == (text, stored_as)


@pytest.mark.parametrize(
    ("name", "number", "stored_as"),
    [
        ("createdAt", "1700000000", "EPOCH_SECONDS"),
        ("expires", "1700000000000", "EPOCH_MILLISECONDS"),
        ("size", "1700000000", None),
        ("createdAt", "17", None),
    ],
)
def test_number_is_a_time_if_its_name_and_its_size_say_so(guess, name, number, stored_as):
    assert guess({"N": number}, name=name).stored_as == stored_as


def test_values_of_several_types_are_a_doubt_with_counts(guess):
    assert guess({"S": "1"}, {"N": "1"}, {"N": "2"}).checks == ("values of several types (N 2, S 1)",)


@pytest.mark.parametrize(("text", "kind"), [("7", "int"), ("0.5", "Decimal"), ("07", None), ("x", None)])
def test_numbers_that_are_stored_as_text_too_are_told_with_what_reads_both(guess, text, kind):
    found = guess({"S": text}, {"N": "1"})
    told = (f'each text is a number: {kind} with attr(also_stored_as="S") reads both',)
    assert found.notes == (told if kind else ())
    assert found.text == "int | str"


def test_map_with_stable_members_is_a_class_of_its_own(guess):
    nested = NestedClasses(["Thing"])
    assert guess({"M": {"a": {"N": "1"}}}, {"M": {"a": {"N": "2"}}}, nested=nested).text == "Thing_"
    assert [(each.name, each.is_model) for each in nested.found] == [("Thing_", True)]


WHOLE = {"a": {"N": "1"}, "b": {"S": "x"}, "c": {"S": "x"}}
WITH_ABSENT = {"a": {"N": "1"}, "b": {"S": "x"}}
WITH_NULL = {**WHOLE, "c": {"NULL": True}}


@pytest.mark.parametrize(
    ("maps", "is_model", "absent_when_none", "member"),
    [
        ([WHOLE, WITH_ABSENT], True, True, ("str", False)),
        ([WHOLE, WITH_NULL], True, False, ("str | None", True)),
        ([WHOLE, WITH_ABSENT, WITH_NULL], False, True, ("str | None", False)),
        ([WITH_ABSENT, {**WHOLE, "c": {"L": [{"NULL": True}, {"S": "x"}]}}], True, True, ("list[str | None]", False)),
        ([WITH_ABSENT, {**WHOLE, "c": {"L": []}}, WHOLE], False, True, ("Any", False)),
    ],
)
def test_map_is_a_model_unless_none_is_stored_in_two_ways(maps, is_model, absent_when_none, member, guess):
    nested = NestedClasses(())
    assert guess(*({"M": each} for each in maps), nested=nested).text == "Thing"
    [found] = nested.found
    assert (found.is_model, found.absent_when_none, found.members["c"]) == (is_model, absent_when_none, member)


def test_equal_maps_are_one_class(guess):
    nested = NestedClasses(())
    first = guess({"M": {"a": {"N": "1"}}}, name="home", nested=nested)
    assert guess({"M": {"a": {"N": "2"}}}, name="work", nested=nested).text == first.text == "Home"


def test_known_magic_numbers_are_told(guess):
    packed = base64.b64encode(zlib.compress(b"x")).decode()
    assert guess({"B": packed}).notes == ("compressed: begins as zlib does",)


def test_ulids_are_told_and_stay_text(guess):
    ulids = guess({"S": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}, {"S": "01BX5ZZKBKACTAV9WEVGEMMVRZ"})
    assert (ulids.text, [note.split(":")[0] for note in ulids.notes]) == ("str", ["ULIDs"])
    assert guess({"S": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}, {"S": "01BX5ZZKBKACTAV9WEVGEMMVRI"}).notes == ()


def test_json_in_text_is_told(guess):
    assert guess({"S": '{"a": 1}'}).notes == ("JSON text: attr(stored_as=JSON_TEXT) would read it",)


def test_few_values_are_listed_only_if_there_are_many_items(guess):
    assert guess(*[{"S": "a"}, {"S": "b"}] * 50).values == ("a", "b")
    assert guess(*[{"S": "a"}, {"S": "b"}] * 49).values == ()


@pytest.mark.parametrize("name", ["password", "apiKey", "access_token", "clientSecret", "SSN"])
def test_secrets_are_known_by_their_names(name):
    assert is_secret(name)


def test_what_pynamodb_writes_in_forms_of_its_own_is_noted(guess):
    times = [{"S": text} for text in ("2026-11-23T12:30:05.123456+0000", "2026-11-23T12:30:05.000000+0000")]
    assert guess(*times).notes == (
        'PynamoDB wrote times: attr(stored_as=time_text("%Y-%m-%dT%H:%M:%S.%f+0000")) would read them',
    )
    assert guess(*times, {"S": "2026-11-23"}).notes == ()
    assert guess({"B": "QVA5d2FHOTBidz09"}, {"B": "ZUE9PQ=="}).notes == (
        "Base64 inside, as of PynamoDB's legacy_encoding: kept as it is",
    )
    assert guess({"B": "QVA5d2FHOTBidz09"}, {"B": "AAECAw=="}).notes == ()
