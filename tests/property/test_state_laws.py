"""Laws of the remembered state: what a save writes is exactly what makes the stored item the instance."""

import copy
import pickle
from typing import Any, Literal

from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from pydantic_core import from_json, to_json

from dynamap_async import Attr, Model, PartitionKey, attr
from dynamap_async.models import REMOVED, changed, changes, definition_of, known

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
NUMBERS = st.integers(-5, 5)


class Leaf(BaseModel):
    name: str = ""
    marks: list[int] = []


class Cat(Model):
    kind: Literal["cat"] = "cat"
    lives: int = 9


class Dog(Model):
    kind: Literal["dog"] = "dog"
    toys: Attr[list[str]] = attr(default_factory=list)


class Tree(Model, table="trees"):
    id: PartitionKey[str]
    number: Attr[int] = attr(default=1)
    note: Attr[str | None] = attr(name="n", default=None)
    tags: Attr[set[str]] = attr(default_factory=set)
    ranks: Attr[set[int] | None] = attr(default=None)
    leaf: Attr[Leaf | None] = attr(default=None)
    leaves: Attr[list[Leaf]] = attr(default_factory=list)
    named: Attr[dict[str, Leaf]] = attr(default_factory=dict)
    pair: Attr[tuple[int, str]] = attr(default=(0, ""))
    pet: Attr[Cat | Dog | None] = attr(default=None)
    free: Attr[Any] = attr(default=None)


LEAVES = st.builds(Leaf, name=TEXTS, marks=st.lists(NUMBERS, max_size=2))
VALUES = {
    "number": NUMBERS,
    "note": st.none() | TEXTS,
    "tags": st.sets(TEXTS, max_size=2),
    "ranks": st.none() | st.sets(NUMBERS, max_size=2),
    "leaf": st.none() | LEAVES,
    "leaves": st.lists(LEAVES, max_size=3),
    "named": st.dictionaries(TEXTS, LEAVES, max_size=2),
    "pair": st.tuples(NUMBERS, TEXTS),
    "pet": st.none() | st.builds(Cat, lives=NUMBERS) | st.builds(Dog, toys=st.lists(TEXTS, max_size=2)),
    "free": st.recursive(
        NUMBERS | TEXTS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2)
    ),
}
TREES = st.fixed_dictionaries({}, optional=VALUES).map(lambda values: Tree(id="t", **values))
COPIES = st.sampled_from([lambda item: item, copy.deepcopy, lambda item: pickle.loads(pickle.dumps(item))])
UNKNOWN = {"since": {"N": "1"}}


def mutate(item, data):
    """Change fields by assignment, and values in place."""
    for name in data.draw(st.lists(st.sampled_from(sorted(VALUES)), max_size=3), label="set"):
        setattr(item, name, data.draw(VALUES[name], label=name))
    for leaf in [item.leaf, *item.leaves, *item.named.values()]:
        if leaf is not None and data.draw(st.booleans()):
            leaf.name = data.draw(TEXTS)
            leaf.marks.append(data.draw(NUMBERS))
    if item.leaves and data.draw(st.booleans()):
        item.leaves.pop(data.draw(st.integers(0, len(item.leaves) - 1)))
    if data.draw(st.booleans()):
        item.tags.add(data.draw(TEXTS))
    if isinstance(item.free, list) and data.draw(st.booleans()):
        item.free.append(data.draw(NUMBERS))


def applied(stored, differences):
    after = {**stored, **differences}
    return {name: value for name, value in after.items() if value is not REMOVED}


@given(TREES, COPIES, st.data())
@settings(max_examples=100)
def test_the_stored_item_after_the_changes_is_the_encoded_instance(tree, copied, data):
    definition = definition_of(Tree)
    stored = from_json(to_json(definition.items.encode(tree)))
    [item] = definition.items.decode([stored])
    assert changes(item, definition) == {}
    item = copied(item)

    mutate(item, data)

    differences = changes(item, definition)
    assert applied(stored, differences) == definition.items.encode(item)
    assert changed(known(item, definition), differences) == definition.items.encode(item)
    assert definition.items.decode([applied(stored, differences)]) == [item]


@given(TREES, st.data())
@settings(max_examples=100)
def test_what_a_sparse_item_lacks_and_what_the_model_does_not_know_stay_so(tree, data):
    definition = definition_of(Tree)
    stored = from_json(to_json(definition.items.encode(tree)))
    for name in data.draw(st.lists(st.sampled_from(sorted(stored.keys() - {"id"})), max_size=4, unique=True)):
        del stored[name]
    if "leaf" in stored and "M" in stored["leaf"]:
        stored["leaf"]["M"] |= UNKNOWN
    for leaf in stored.get("named", {"M": {}})["M"].values():
        leaf["M"] |= UNKNOWN
    [item] = definition.items.decode([{**stored, "unknown": {"S": "kept"}}])
    assert changes(item, definition) == {}
    before = set(item.named)

    mutate(item, data)

    after = applied(stored, changes(item, definition))
    assert definition.items.decode([after]) == [item]
    if item.leaf is not None and "M" in stored.get("leaf", {}):
        assert after["leaf"]["M"].items() >= UNKNOWN.items()
    for name in before & set(item.named):
        assert after["named"]["M"][name]["M"].items() >= UNKNOWN.items()
