"""Updates of parts of computed keys: the key follows, on condition that what it was made of is still so."""

from datetime import datetime

import pytest

from dynamap_async import (
    Attr,
    GlobalIndex,
    Model,
    PartitionKey,
    Query,
    Save,
    Shards,
    SortKey,
    Table,
    Update,
    Version,
    attr,
    template,
)
from dynamap_async.errors import EncodeError, ExpressionError, OperationError
from dynamap_async.models import definition_of
from dynamap_async.operations import Put
from dynamap_async.planning import Context

CONTEXT = Context()


class Task(Model, table="tasks"):
    team: Attr[str]
    number: Attr[int]
    state: Attr[str]
    level: Attr[int] = attr(default=1)
    owner: Attr[str | None] = attr(default=None)
    code: Attr[str] = attr(stored=False, default="c")
    pk: PartitionKey[str] = template("team:{team}")
    sk: SortKey[str] = template("task:{number:06d}")
    by_state_pk: Attr[str] = template("{team}#{state}#{level:02d}", name="gsi1pk")
    by_owner_pk: Attr[str | None] = template("{owner}#{state}", name="gsi2pk")
    coded: Attr[str] = template("code:{code}")
    by_state = GlobalIndex(partition_key="by_state_pk")
    by_owner = GlobalIndex(partition_key="by_owner_pk")


class Counted(Model, table="counted"):
    id: PartitionKey[str]
    state: Attr[str] = attr(default="new")
    level: Attr[int] = attr(default=1)
    kept: Attr[str | None] = template("{state}#{level:02d}")
    version: Version[int] = attr(default=0)


KEY = ("team:red", "task:000007")


def read(**changes):
    codec = definition_of(Task).items
    stored = codec.encode(Task(team="red", number=7, state="new", owner="ann").model_copy(update=changes))
    [item] = codec.decode([stored])
    return item


def told(operation):
    """Return the update and the condition of an operation with names and values put in."""
    body = operation.request(CONTEXT).body
    names, values = body.get("ExpressionAttributeNames", {}), body.get("ExpressionAttributeValues", {})
    found = []
    for member in ("UpdateExpression", "ConditionExpression"):
        text = body.get(member, "")
        for key, value in sorted({**names, **values}.items(), key=lambda each: -len(each[0])):
            text = text.replace(key, value if isinstance(value, str) else str(next(iter(value.values()))))
        found.append(text)
    return tuple(found)


def test_setting_all_open_parts_sets_the_key():
    update = Update(Task, *KEY).set(Task.state, "done").set(Task.level, 3).set(Task.owner, "bob")
    assert told(update) == (
        "SET state = done, level = 3, owner = bob, gsi1pk = red#done#03, gsi2pk = bob#done",
        "attribute_exists(pk)",
    )


def test_removing_a_part_removes_the_key_whatever_its_other_parts_are():
    assert told(Update(Task, *KEY).remove(Task.owner)) == ("REMOVE owner, gsi2pk", "attribute_exists(pk)")
    assert told(Update(Task, *KEY).set(Task.owner, None))[0] == "REMOVE owner, gsi2pk"


def test_removing_a_part_with_a_default_sets_the_key_of_that_default():
    update = Update(Task, *KEY).remove(Task.level).set(Task.state, "done")
    assert told(update.set(Task.owner, "bob"))[0] == (
        "SET state = done, owner = bob, gsi1pk = red#done#01, gsi2pk = bob#done REMOVE level"
    )


def test_a_part_that_the_stored_item_lacks_counts_as_its_default():
    codec = definition_of(Task).items
    stored = codec.encode(Task(team="red", number=7, state="new"))
    [item] = codec.decode([{name: value for name, value in stored.items() if name not in ("level", "gsi1pk")}])
    changes, condition = told(Update(item).set(Task.state, "done").set(Task.owner, "bob"))
    assert changes == "SET state = done, owner = bob, gsi1pk = red#done#01, gsi2pk = bob#done"
    assert condition == "attribute_exists(pk) AND (attribute_not_exists(level) OR level = 1)"


class Visit(Model, table="visits"):
    id: PartitionKey[str]
    page: Attr[str]
    at: Attr[datetime]
    seen: Attr[str] = template("{page}#{at}")
    by_seen = GlobalIndex(partition_key="seen")


def test_a_part_that_others_stored_in_a_form_of_theirs_is_demanded_in_that_form():
    [item] = definition_of(Visit).items.decode(
        [{"id": {"S": "a"}, "page": {"S": "home"}, "at": {"S": "2024-06-01T14:00:00+02:00"}}]
    )
    demanded = "attribute_exists(id) AND at = 2024-06-01T14:00:00+02:00"
    changes = "SET page = shop, seen = shop#2024-06-01T12:00:00.000000Z"
    assert told(Update(item).set(Visit.page, "shop")) == (changes, demanded)
    item.page = "shop"
    assert told(Save(item)) == (changes, demanded)


def test_a_part_that_no_key_has_changes_no_key():
    class Noted(Model, table="noted"):
        id: PartitionKey[str]
        note: Attr[str] = attr(default="")
        state: Attr[str] = attr(default="new")
        kept: Attr[str] = template("{state}")

    assert told(Update(Noted, "a").set(Noted.note, "x"))[0] == "SET note = x"


def test_a_part_that_only_the_key_holds_sets_the_key_alone():
    assert told(Update(Task, *KEY).set(Task.code, "x")) == ("SET coded = code:x", "attribute_exists(pk)")


def test_a_missing_part_is_refused_with_its_name():
    with pytest.raises(
        OperationError, match=r"setting Task\.level changes the key by_state_pk, .* made of state; set it"
    ):
        Update(Task, *KEY).set(Task.level, 3).request(CONTEXT)


def test_a_key_that_its_template_did_not_make_tells_nothing():
    with pytest.raises(OperationError, match="made of team, state"):
        Update(Task, "other", "task:000007").set(Task.level, 3).request(CONTEXT)


CHANGES = {
    "add": lambda update: update.add(Task.level, 1),
    "arithmetic": lambda update: update.set(Task.level, Task.level + 1),
    "if_not_exists": lambda update: update.set(Task.level, Task.level.if_not_exists(1)),
    "another field": lambda update: update.set(Task.state, Task.owner),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_part_that_only_dynamodb_would_know_is_refused(change):
    with pytest.raises(ExpressionError, match="is part of the key by_state_pk.* set the field to a constant"):
        change(Update(Task, *KEY)).request(CONTEXT)


def test_a_part_of_the_items_own_key_is_refused():
    with pytest.raises(ExpressionError, match="is a part of sk, which is part of the item's key and never changes"):
        Update(Task, *KEY).set(Task.number, 8)


def test_a_computed_key_itself_is_refused():
    with pytest.raises(ExpressionError, match="is computed from team, state, level; change that, and the key follows"):
        Update(Task, *KEY).set(Task.by_state_pk, "x")


def test_a_value_with_a_separator_is_refused():
    update = Update(Task, *KEY).set(Task.state, "a#b").set(Task.level, 1).set(Task.owner, None)
    with pytest.raises(EncodeError, match=r"Task\.state: 'a#b' contains '#'"):
        update.request(CONTEXT)


def test_an_instance_lends_its_parts_on_condition_that_they_are_still_so():
    assert told(Update(read()).set(Task.level, 3)) == (
        "SET level = 3, gsi1pk = red#new#03",
        "attribute_exists(pk) AND state = new",
    )


def test_an_instance_lends_what_is_stored_and_not_what_was_changed_since():
    item = read()
    item.state = "done"
    assert told(Update(item).set(Task.level, 3))[0] == "SET level = 3, gsi1pk = red#new#03"


def test_a_part_that_the_instance_lacks_leaves_the_item_without_the_key_as_long_as_it_lacks_it():
    update, condition = told(Update(read(owner=None)).set(Task.state, "done").set(Task.level, 1))
    assert update == "SET state = done, level = 1, gsi1pk = red#done#01 REMOVE gsi2pk"
    assert condition == "attribute_exists(pk) AND (attribute_not_exists(owner) OR owner = True)"


class Hidden(Model, table="hidden"):
    id: PartitionKey[str]
    code: Attr[str] = attr(stored=False)
    state: Attr[str | None] = attr(default="new")
    coded: Attr[str] = template("code:{code}")
    both: Attr[str | None] = template("{code}#{state}")


def hidden(**values):
    codec = definition_of(Hidden).items
    [item] = codec.decode([codec.encode(Hidden(id="a", code="x", **values))])
    return item


def test_a_part_that_only_another_key_holds_is_taken_from_there():
    assert told(Update(hidden()).set(Hidden.state, "done")) == (
        "SET state = done, both = x#done",
        "attribute_exists(id) AND coded = code:x",
    )
    item = hidden()
    item.state = "done"
    assert told(Save(item)) == (
        "SET state = done, both = x#done",
        "attribute_exists(id) AND coded = code:x",
    )


def test_a_part_that_is_stored_as_null_leaves_no_key():
    item = hidden(state=None)
    assert told(Update(item).set(Hidden.code, "y")) == (
        "SET coded = code:y REMOVE both",
        "attribute_exists(id) AND state = True",
    )


def test_an_instance_that_no_session_read_lends_its_own_parts():
    item = Hidden(id="a", code="x")
    assert told(Update(item).set(Hidden.state, "done"))[1] == "attribute_exists(id) AND coded = code:x"


def test_the_instance_moves_on_with_its_keys():
    item = read()
    update = Update(item).set(Task.level, 3).set(Task.code, "x").returning("nothing")
    update.request(CONTEXT)
    update.result({}, Context())
    assert (item.by_state_pk, item.code, item.coded) == ("red#new#03", "x", "code:x")
    assert Save(item).unneeded


def test_an_upsert_makes_the_keys_that_create_would_make():
    update = Update(Task, *KEY).set(Task.state, "new").set(Task.level, 2).set(Task.owner, "ann").set(Task.code, "x")
    body = update.upsert().request(CONTEXT).body
    created = Put(Task(team="red", number=7, state="new", level=2, owner="ann", code="x")).request(CONTEXT).body["Item"]
    values = body["ExpressionAttributeValues"].values()
    missing = [name for name, stored in created.items() if stored not in values and name not in ("pk", "sk")]
    assert missing == []


def test_an_upsert_names_the_parts_that_are_missing_and_not_the_keys():
    with pytest.raises(OperationError, match=r"a new Task, which needs state; set it"):
        Update(Task, *KEY).remove(Task.owner).upsert().request(CONTEXT)


def test_an_upsert_that_would_put_a_key_of_defaults_into_a_stored_item_is_refused():
    class Loose(Model, table="loose"):
        id: PartitionKey[str]
        note: Attr[str] = attr(default="")
        state: Attr[str | None] = attr(default="new")
        kept: Attr[str | None] = template("{state}")

    with pytest.raises(OperationError, match="whose key kept would be made of defaults.*; set state"):
        Update(Loose, "a").set(Loose.note, "x").upsert().request(CONTEXT)


def test_a_save_writes_the_key_on_condition_that_its_other_parts_are_as_they_were_read():
    item = read()
    item.level = 3
    assert told(Save(item)) == ("SET level = 3, gsi1pk = red#new#03", "attribute_exists(pk) AND state = new")


def test_a_save_of_a_versioned_item_relies_on_the_version():
    codec = definition_of(Counted).items
    [item] = codec.decode([codec.encode(Counted(id="a", version=4))])
    item.level = 3
    update, condition = told(Save(item))
    assert "kept = new#03" in update
    assert condition == "version = 4"


def test_a_save_after_a_part_of_the_items_own_key_changed_is_refused():
    item = read()
    item.number = 8
    with pytest.raises(OperationError, match=r"Task\.sk is part of the item's key and was changed"):
        Save(item)


def test_a_stamped_part_makes_the_key_when_the_item_is_written():
    class Job(Model, table="jobs"):
        id: PartitionKey[str]
        at: Attr[str] = attr(on_update=lambda: "noon")
        when: Attr[str] = template("at:{at}")

    job = Job(id="a")
    put = Put(job)
    assert put.request(CONTEXT).body["Item"]["when"] == {"S": "at:noon"}
    put.acknowledged()
    assert job.when == "at:noon"
    assert told(Update(Job, "a").set(Job.at, "six"))[0] == "SET at = six, when = at:six"


def test_a_condition_on_a_field_that_only_a_key_holds_is_refused():
    with pytest.raises(ExpressionError, match=r"is stored in the key coded only.*a condition on Task\.coded"):
        Update(Task, *KEY).set(Task.state, "x").where(Task.code == "x")
    with pytest.raises(ExpressionError, match="is stored in the key coded only"):
        Query(Task).where(Task.pk == "x").select(Task.code)


ZOO = Table("zoo", partition_key="name", indexes=(GlobalIndex("gsi1", partition_key="gsi1pk"),))


class Animal(Model, table=ZOO, kind="animal"):
    name: PartitionKey[str]
    color: Attr[str] = attr(default="grey")
    size: Attr[str] = attr(default="s")
    house: Attr[str] = attr(default="a")


class Dog(Animal, kind="dog"):
    gsi1pk: Attr[str] = template("dog:{color}", shards=Shards(2, by="size"))


@pytest.mark.parametrize("field", ["color", "size"])
def test_a_base_does_not_change_what_the_key_of_a_member_is_made_of(field):
    with pytest.raises(
        OperationError,
        match=rf"Animal\.{field} changes the key gsi1pk of Dog, .* update the item as Dog, or .* that was read",
    ):
        Update(Animal, "rex").set(getattr(Animal, field), "x").request(CONTEXT)
    assert told(Update(Animal, "rex").set(Animal.house, "b"))[0] == "SET house = b"


def test_a_member_that_was_read_through_its_base_keeps_its_keys_up_to_date():
    codec = definition_of(Dog).items
    [dog] = definition_of(Animal).items.decode([codec.encode(Dog(name="rex"))])
    assert told(Update(dog).set(Animal.color, "red"))[0].startswith("SET color = red, gsi1pk = dog:red#0")
