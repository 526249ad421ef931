"""Defaults: of new items, and of stored ones that lack the attribute; nothing that can be changed is shared."""

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from dynamap_async import Attr, Model, PartitionKey, attr
from dynamap_async.errors import ModelDefinitionError
from dynamap_async.models import definition_of

NOON = datetime(2024, 6, 1, 12, tzinfo=UTC)


class Part(Model):
    names: Attr[list[str]] = attr(default_factory=list)


class Player(Model, table="players"):
    id: PartitionKey[str]
    strength: Attr[str] = attr(default="weak")
    last_update: Attr[datetime] = attr(default_factory=lambda: NOON)
    words: Attr[list[str]] = attr(default=["a"])
    tags: Attr[set[str]] = attr(default={"a"})
    counts: Attr[dict[str, int]] = attr(default={"a": 1})
    nothing: Attr[dict[str, int] | None] = attr(default=None)
    options: Attr[dict[str, int]] = attr(default={})
    part: Attr[Part] = attr(default=Part(names=["a"]))
    made: Attr[Part] = attr(default_factory=Part)


def read(**attributes):
    [item] = definition_of(Player).items.decode([{"id": {"S": "a"}, **attributes}])
    return item


def through_the_wire(item):
    [found] = definition_of(Player).items.decode([definition_of(Player).items.encode(item)])
    return found


MAKERS = {"new": lambda: Player(id="a"), "read": read}
CHANGES = {
    "words": lambda item: item.words.append("b"),
    "tags": lambda item: item.tags.add("b"),
    "counts": lambda item: item.counts.update(b=2),
    "options": lambda item: item.options.update(b=2),
    "part": lambda item: item.part.names.append("b"),
    "made": lambda item: item.made.names.append("b"),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("field", CHANGES)
def test_a_default_that_is_changed_in_place_is_nobody_elses(make, field):
    one, other = make(), make()
    CHANGES[field](one)
    assert getattr(one, field) != getattr(other, field)
    assert getattr(other, field) == getattr(make(), field)


def test_an_item_without_the_attributes_reads_as_a_new_one():
    assert read() == Player(id="a")


def test_a_value_that_is_given_takes_precedence():
    assert Player(id="a", strength="chuck norris").strength == "chuck norris"
    assert read(strength={"S": "chuck norris"}).strength == "chuck norris"


def test_an_empty_map_is_stored_and_an_absent_one_stays_absent():
    stored = definition_of(Player).items.encode(Player(id="a"))
    assert stored["options"] == {"M": {}}
    assert "nothing" not in stored
    assert through_the_wire(Player(id="a")) == Player(id="a")


def test_what_is_emptied_does_not_read_back_as_the_default():
    emptied = Player(id="a", words=[], tags=set(), counts={})
    assert through_the_wire(emptied) == emptied


def test_a_default_of_the_wrong_type_is_refused_when_the_class_is_made():
    with pytest.raises(ModelDefinitionError, match="the default 5 does not fit"):

        class Wrong(Model, table="wrong"):
            id: PartitionKey[str]
            text: Attr[str] = attr(default=5)


def test_a_given_value_of_the_wrong_type_is_refused():
    with pytest.raises(ValidationError):
        Player(id="a", strength=5)
