"""An older item of which some attributes are at hand: a dict of these; for any other, the whole item is upgraded."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamap_async import Attr, Model, PartitionKey, StoredItem, attr, upgrade
from dynamap_async.errors import ItemVersionError
from dynamap_async.models import definition_of
from dynamap_async.models.at_hand import LooksFurtherError, _ItemAtHand, item_at_hand
from dynamap_async.native import ACTIVE, NATIVE

MADE = [item_at_hand, _ItemAtHand]
NAMES = frozenset("abc")
VALUES = st.dictionaries(st.sampled_from("abc"), st.integers() | st.text() | st.lists(st.integers()))
LOOKS: list[Callable[[Any, str], Any]] = [
    lambda item, name: item[name],
    lambda item, name: item.get(name),
    lambda item, name: item.get(name, "absent"),
    lambda item, name: item.pop(name),
    lambda item, name: item.pop(name, "absent"),
    lambda item, name: item.__delitem__(name),
    lambda item, name: name in item,
    lambda item, name: item.setdefault(name, 7),
]
SETS: list[Callable[[Any, str], Any]] = [
    lambda item, name: item.__setitem__(name, [1]),
    lambda item, name: item.update({name: "set"}),
]


def outcome(look: Callable[[Any, str], Any], item: Any, name: str) -> Any:
    try:
        return look(item, name)
    except KeyError as error:
        return repr(error)


@pytest.mark.parametrize("made", MADE)
@given(VALUES, st.lists(st.tuples(st.sampled_from(LOOKS + SETS), st.sampled_from("abc"))))
def test_it_does_what_a_dict_does_with_attributes_at_hand(made: Any, values: dict[str, Any], steps: Any) -> None:
    expected, item = {**values}, made(values, NAMES)
    for step, name in steps:
        assert outcome(step, item, name) == outcome(step, expected, name)
    assert values == expected


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("look", LOOKS)
def test_a_look_at_another_attribute_is_never_taken_for_an_absent_one(made: Any, look: Any) -> None:
    values: dict[str, Any] = {"a": 1}
    item = made(values, NAMES)
    with pytest.raises(LooksFurtherError):
        look(item, "d")
    assert values == {"a": 1}
    item["d"] = 2
    assert item["d"] == item.get("d") == item.pop("d") == 2


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize(
    "look",
    [list, len, dict, bool, repr, str, StoredItem.items, StoredItem.keys, lambda item: item.wire(), dict.fromkeys],
)
def test_a_look_at_all_attributes_is_one_at_more_than_are_at_hand(made: Any, look: Any) -> None:
    with pytest.raises(LooksFurtherError):
        list(look(made({"a": 1}, NAMES)))


@pytest.mark.parametrize("made", MADE)
def test_it_is_a_stored_item(made: Any) -> None:
    assert isinstance(made({}, NAMES), StoredItem)


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("call", [lambda item: item.get(), lambda item: item.pop("a", 1, 2), lambda item: item[[]]])
def test_a_wrong_call_is_an_error_as_of_a_dict(made: Any, call: Any) -> None:
    with pytest.raises(TypeError):
        call(made({}, NAMES))


@pytest.mark.skipif(NATIVE is None, reason="the native codec was not built, or is turned off")
def test_what_is_at_hand_is_given_as_a_dict_and_a_set() -> None:
    for given_ in (((), frozenset()), ({}, {"a"}), ({},)):
        with pytest.raises(TypeError):
            item_at_hand(*given_)  # type: ignore[arg-type,call-arg] # that is what is refused


LABELS = ["new"]


class Labelled(Model, table="labelled", schema_version=3):
    key: PartitionKey[str]
    name: Attr[str]
    labels: Attr[list[str]]
    places: Attr[dict[str, list[str]]] = attr(default_factory=dict)
    count: Attr[int] = attr(default=0)
    tags: Attr[set[str]]

    @upgrade(to=2)
    @staticmethod
    def one_name(item: StoredItem) -> None:
        item["name"] = f"{item.pop('first')} {item.pop('last')}"

    @upgrade(to=3)
    @staticmethod
    def labelled(item: StoredItem) -> None:
        item["labels"] = LABELS
        item["places"] = {"all": LABELS}
        item["count"] = item.pop("number", 0) + 1
        item.pop("tags", None)


def stored(number: int, **more: Any) -> dict[str, Any]:
    return {"key": {"S": f"k{number}"}, "first": {"S": "Ada"}, "last": {"S": "L"}, "number": {"N": str(number)}, **more}


@pytest.fixture
def read(answered: Any) -> Any:
    """Return what gives what a page becomes; of the native codec, if it is in use."""
    return lambda *items, of=Labelled: definition_of(of).items.decode(answered(items))


def test_what_an_upgrade_sets_to_a_constant_is_each_items_own(read: Any) -> None:
    for _ in range(2):  # the second page is known to hold older items
        for item in read(stored(1), stored(2)):
            assert (item.name, item.labels, item.places) == ("Ada L", ["new"], {"all": ["new"]})
            item.labels.append("own")
            item.places["all"].append("own")
    assert LABELS == ["new"]


def test_a_field_that_an_upgrade_takes_out_has_the_value_of_an_absent_one(read: Any) -> None:
    for _ in range(2):
        assert [item.tags for item in read(stored(1, tags={"SS": ["a"]}), stored(2))] == [set(), set()]


def test_a_field_whose_name_stands_in_no_upgrade_can_be_set_all_the_same(read: Any) -> None:
    class Turned(Model, table="turned", schema_version=2):
        key: PartitionKey[str]
        other: Attr[str] = attr(default="")

        @upgrade(to=2)
        @staticmethod
        def turned(item: StoredItem) -> None:
            if "turns" in item:
                item["".join(("oth", "er"))] = item.pop("turns")

    plain: Any = {"key": {"S": "a"}}
    for _ in range(3):
        page = read(
            plain, {**plain, "turns": {"S": "set"}, "other": {"S": "was"}}, {**plain, "other": {"S": "is"}}, of=Turned
        )
        assert [item.other for item in page] == ["", "set", "is"]


@pytest.mark.parametrize("version", [{"BOOL": True}, {"N": "1.5"}, {"N": "0"}, {"NULL": True}, {"M": {}}, {"N": "7"}])
def test_what_is_no_version_is_refused_also_on_a_page_that_is_known_to_hold_older_items(
    read: Any, version: Any
) -> None:
    read(stored(1))
    with pytest.raises(ItemVersionError, match="k2") as raised:
        read(stored(1), stored(2, schema_version=version))
    assert [item.key for item in raised.value.items] == ["k1"]


def test_a_version_is_a_number_however_it_is_spelled(read: Any) -> None:
    read(stored(1))
    for _ in range(2):
        assert [item.count for item in read(stored(1, schema_version={"N": "1.0"}))] == [2]
        read(stored(1), stored(2, name={"S": "x"}, labels={"L": []}, schema_version={"N": "3E0"}))


@pytest.mark.skipif(not ACTIVE, reason="the native codec was not built, or is turned off")
def test_an_older_item_takes_few_calls_beside_its_upgrades(read: Any) -> None:
    calls = 0

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal calls
        calls += event == "call"

    page = [stored(number) for number in range(100)]
    read(*page)
    sys.setprofile(count)
    try:
        read(*page)
    finally:
        sys.setprofile(None)
    upgrades = 2
    assert calls / len(page) < upgrades + 7  # by way of stored forms 40
