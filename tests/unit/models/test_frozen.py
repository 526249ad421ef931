"""Frozen models whose fields a session gives their values: what their hash is made of."""

import pickle
from datetime import UTC, datetime

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Version, attr, template
from dynamap_async.models import give

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Leaf(Model, table="leaves", frozen=True):
    number: PartitionKey[int] = attr(autoincrement=True)
    text: Attr[str] = attr(default="")
    made: Attr[datetime] = attr(on_create=lambda: NOON)
    by_time: Attr[str] = template("{made}")
    version: Version[int] = attr(default=0)
    in_order = GlobalIndex(partition_key="by_time")


class Veined(Leaf, table="veined"):
    veins: Attr[int] = attr(default=0)


class Named(Model, table="named", frozen=True):
    name: PartitionKey[str]
    version: Version[int] = attr(default=0)

    def __hash__(self) -> int:
        return 7


class Renamed(Named, table="renamed"):
    pass


class Plain(Model, frozen=True):
    name: Attr[str]


class Versioned(Plain, table="versioned"):
    name: PartitionKey[str]
    version: Version[int] = attr(default=0)


@pytest.mark.parametrize("model", [Leaf, Veined])
def test_instance_keeps_its_hash_when_it_gets_what_the_session_gives(model: type[Leaf]) -> None:
    leaf = model(text="a")
    kept, named = {leaf}, {leaf: 1}
    give(leaf, {"number": 1, "made": NOON, "by_time": "2026", "version": 1})
    assert leaf in kept
    assert named[leaf] == 1
    assert hash(leaf) == hash(model(text="a"))


def test_base_without_such_fields_does_not_decide_for_a_subclass() -> None:
    item = Versioned(name="a")
    before = hash(item)
    give(item, {"version": 1})
    assert hash(item) == before


def test_fields_that_the_program_gives_count() -> None:
    assert hash(Leaf(text="a")) != hash(Leaf(text="b"))
    assert hash(Veined(veins=1)) != hash(Veined(veins=2))
    assert hash(Leaf(text="a")) == hash(pickle.loads(pickle.dumps(Leaf(text="a"))))


def test_equal_instances_have_equal_hashes_and_others_stay_different() -> None:
    assert Leaf(text="a", number=1) == Leaf(text="a", number=1)
    assert Leaf(text="a", number=1) != Leaf(text="a", number=2)
    assert len({Leaf(text="a", number=1), Leaf(text="a", number=1), Leaf(text="a", number=2)}) == 2


def test_hash_of_the_program_itself_stays() -> None:
    assert hash(Named(name="a")) == hash(Renamed(name="b")) == 7


def test_model_that_is_not_frozen_has_no_hash() -> None:
    class Leaves(Model, table="leaves"):
        name: PartitionKey[str]
        version: Version[int] = attr(default=0)

    with pytest.raises(TypeError, match="unhashable"):
        hash(Leaves(name="a"))


def test_value_without_a_hash_is_refused_as_by_pydantic() -> None:
    class Tagged(Model, table="tagged", frozen=True):
        name: PartitionKey[str]
        tags: Attr[list[str]] = attr(default_factory=list)
        version: Version[int] = attr(default=0)

    with pytest.raises(TypeError, match="unhashable type: 'list'"):
        hash(Tagged(name="a"))
