"""An older item of which some attributes are at hand: a dict of these; for any other, the whole item is upgraded."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamap_async import Attr, Model, PartitionKey, StoredItem, attr, upgrade
from dynamap_async.errors import ItemVersionError
from dynamap_async.models import definition_of
from dynamap_async.models.older_pages import ItemAtHand, LooksFurtherError
from dynamap_async.native import ACTIVE

needs_native = pytest.mark.skipif(not ACTIVE, reason="the native codec was not built, or is turned off")
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


@given(VALUES, st.lists(st.tuples(st.sampled_from(LOOKS + SETS), st.sampled_from("abc"))))
def test_it_does_what_a_dict_does_with_attributes_at_hand(values: dict[str, Any], steps: Any) -> None:
    expected, item = {**values}, ItemAtHand(values, NAMES)
    for step, name in steps:
        assert outcome(step, item, name) == outcome(step, expected, name)
    assert values == expected


@pytest.mark.parametrize("look", LOOKS)
def test_a_look_at_another_attribute_is_never_taken_for_an_absent_one(look: Any) -> None:
    values: dict[str, Any] = {"a": 1}
    item = ItemAtHand(values, NAMES)
    with pytest.raises(LooksFurtherError):
        look(item, "d")
    assert values == {"a": 1}
    item["d"] = 2
    assert item["d"] == item.get("d") == item.pop("d") == 2


@pytest.mark.parametrize(
    "look",
    [list, len, dict, bool, repr, str, StoredItem.items, StoredItem.keys, lambda item: item.wire(), dict.fromkeys],
)
def test_a_look_at_all_attributes_is_one_at_more_than_are_at_hand(look: Any) -> None:
    with pytest.raises(LooksFurtherError):
        list(look(ItemAtHand({"a": 1}, NAMES)))


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


def test_what_upgrades_look_at_may_be_another_attribute_of_every_item(read: Any) -> None:
    class Counting(Model, table="counting", schema_version=2):
        key: PartitionKey[str]
        total: Attr[int]

        @upgrade(to=2)
        @staticmethod
        def count(item: StoredItem) -> None:
            item["total"] = item.pop(f"n{item.pop('which')}", -1)

    for first in range(0, 300, 50):
        numbers = range(first, first + 50)
        items = [
            {"key": {"S": "k"}, "which": {"N": str(each)}, f"n{each}": {"N": str(each)}, "n7": {"N": "7"}}
            for each in numbers
        ]
        assert [item.total for item in read(*items, of=Counting)] == [*numbers]


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


@needs_native
def test_an_older_item_takes_few_calls_beside_its_upgrades(read: Any, noting_calls: Any) -> None:
    calls = 0

    def count(_frame: Any) -> None:
        nonlocal calls
        calls += 1

    page = [stored(number) for number in range(100)]
    for _ in range(2):  # the second tells what upgrades look at
        read(*page)
    with noting_calls(count):
        read(*page)
    upgrades, looks = 2, 8
    # One call more with an older Pydantic; by way of stored forms it is 40.
    assert calls / len(page) < upgrades + looks + 8
