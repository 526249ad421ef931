"""Write ids in requests: which write stores one, and what the stored item tells of it."""

from typing import Any

import pytest

from dynamap_async import (
    Attr,
    Check,
    Create,
    Delete,
    Model,
    Old,
    PartitionKey,
    Put,
    Replace,
    Save,
    TransactWrite,
    Update,
    Version,
    attr,
)
from dynamap_async.models import definition_of
from dynamap_async.planning import Context

CONTEXT = Context()


class Note(Model, table="notes"):
    id: PartitionKey[str]
    likes: Attr[int] = attr(default=0)
    tags: Attr[list[str]] = attr(default_factory=list)
    meta: Attr[dict[str, Any]] = attr(default_factory=dict)
    version: Version[int] = attr(default=0)
    by: Attr[str | None] = attr(write_id=True, name="b")


class Plain(Model, table="plain"):
    id: PartitionKey[str]
    likes: Attr[int] = attr(default=0)


def stored_note(**attributes):
    return {"id": {"S": "a"}, "version": {"N": "1"}, "b": {"S": "before"}, **attributes}


@pytest.fixture
def note():
    """A note that a session read."""
    [item] = definition_of(Note).items.decode([stored_note()])
    return item


def request_of(write):
    return write.encoded().request(CONTEXT)


def saved(item):
    item.likes += 1
    return Save(item)


@pytest.mark.parametrize("kind", [Put, Create, Replace, saved, lambda item: Update(item).set(Note.likes, 1)])
def test_each_request_of_a_write_stores_a_new_id_and_can_be_recognised_by_it(note, kind):
    write = kind(note)
    first, second = request_of(write), request_of(write)
    for request in (first, second):
        assert request.write_id.attribute == "b"
        assert str(request.write_id.value) in str(request.body)
        assert len(request.write_id.value["S"]) == 22
    assert first.write_id.value != second.write_id.value
    assert note.by == "before"


@pytest.mark.parametrize("write", [Delete(Note, "a"), Check(Note, "a", where=Note.id.exists())])
def test_what_stores_nothing_has_no_id(write):
    assert request_of(write).write_id is None


@pytest.mark.parametrize("write", [Put(Plain(id="a")), Update(Plain, "a").add(Plain.likes, 1), Save(Plain(id="a"))])
def test_a_model_without_the_field_has_no_id(write):
    assert request_of(write).write_id is None


def test_a_save_of_nothing_makes_no_id(note):
    assert Save(note).encoded().unneeded


def test_an_answer_with_the_old_item_is_not_told_by_the_new_one(note):
    assert request_of(Old(Put(note))).write_id is None
    assert request_of(Update(Note, "a").add(Note.likes, 1).returning("old")).write_id is None


def test_a_transaction_writes_a_new_id_with_each_item(note):
    writes = [Put(note).encoded(), Update(Note, "b").set(Note.likes, 1)]
    actions = TransactWrite(writes).request(CONTEXT).body["TransactItems"]
    assert actions[0]["Put"]["Item"]["b"]["S"] != "before"
    assert "b" in actions[1]["Update"]["ExpressionAttributeNames"].values()


def test_the_item_of_another_write_tells_nothing():
    write_id = request_of(Update(Note, "a").set(Note.likes, 1)).write_id
    assert write_id.answer(None) is None
    assert write_id.answer({"id": {"S": "a"}}) is None
    assert write_id.answer(stored_note()) is None
    item = stored_note(b=write_id.value)
    assert write_id.answer(item) == {"Attributes": item}


def told(update, **attributes):
    """Return what the stored item tells of the changes of an update."""
    write_id = request_of(update.returning("changed")).write_id
    told = write_id.answer(stored_note(b=write_id.value, **attributes))["Attributes"]
    return {name: value for name, value in told.items() if name not in {"b", "version"}}


def test_of_maps_and_lists_only_what_was_changed_is_told():
    tags = {"L": [{"S": "x"}, {"S": "y"}, {"S": "z"}]}
    meta = {"M": {"k": {"M": {"deep": {"N": "1"}, "other": {"N": "2"}}}, "rest": {"N": "3"}}}
    update = Update(Note, "a").set(Note.tags[2], "z").set(Note.tags[0], "x").set(Note.meta["k"]["deep"], 1)
    assert told(update, tags=tags, meta=meta, likes={"N": "5"}) == {
        "tags": {"L": [{"S": "x"}, {"S": "z"}]},
        "meta": {"M": {"k": {"M": {"deep": {"N": "1"}}}}},
    }


def test_what_was_set_behind_the_end_of_a_list_is_its_last_element():
    assert told(Update(Note, "a").set(Note.tags[9], "z"), tags={"L": [{"S": "x"}, {"S": "z"}]}) == {
        "tags": {"L": [{"S": "z"}]}
    }


def test_what_was_removed_is_not_told():
    update = Update(Note, "a").remove(Note.tags, Note.meta["k"]).add(Note.likes, 1)
    assert told(update, likes={"N": "1"}, meta={"M": {}}) == {"likes": {"N": "1"}}


def test_where_elements_of_a_list_were_removed_the_item_does_not_tell_which_were_changed():
    assert request_of(Update(Note, "a").remove(Note.tags[0]).returning("changed")).write_id is None
    assert request_of(Update(Note, "a").remove(Note.tags[0])).write_id is not None
