"""Shards in operations: keys, conditions and updates say what is stored, wherever a program says what is plain."""

from datetime import date

import pytest
from pydantic import BaseModel

from dynamap_async import (
    Attr,
    Collection,
    Create,
    Delete,
    Find,
    GlobalIndex,
    Model,
    PartitionKey,
    Parts,
    Put,
    Query,
    Save,
    Scan,
    Shards,
    SortKey,
    Table,
    Update,
    Version,
    attr,
    template,
)
from dynamap_async.errors import (
    EncodeError,
    ExpressionError,
    ItemNotFoundError,
    ItemValidationError,
    OperationError,
    OutOfRangeError,
)
from dynamap_async.expressions import Comparison, Path, Value
from dynamap_async.models import definition_of
from dynamap_async.operations import Check
from dynamap_async.planning import Context
from dynamap_async.planning.plan_cache import plan_reading

CONTEXT = Context()


class Task(Model, table="tasks"):
    team: PartitionKey[str]
    number: SortKey[int]
    state: Attr[str] = attr(default="new", shards=3)
    region: Attr[str] = attr(default="eu")
    lane: Attr[str | None] = attr(default=None, shards=Shards(4, by="region"))
    note: Attr[str] = attr(default="")
    by_state = GlobalIndex(partition_key="state", sort_key="number")
    by_lane = GlobalIndex(partition_key="lane")


class Visit(Model, table="visits"):
    day: PartitionKey[str] = attr(shards=5)
    number: SortKey[int]
    text: Attr[str] = attr(default="")


class Ticket(Model, table="tickets"):
    id: PartitionKey[str]
    state: Attr[str] = attr(default="new")
    level: Attr[int] = attr(default=1)
    queue: Attr[str] = template("{state}#{level:02d}", shards=Shards(6, by="level"))
    by_queue = GlobalIndex(partition_key="queue")


class Reply(Model, table="replies"):
    forum: Attr[str]
    number: Attr[int]
    state: Attr[str] = attr(default="new", shards=Shards(6, by="forum"))
    pk: PartitionKey[str] = template("forum:{forum}")
    sk: SortKey[str] = template("{number:06d}")
    by_state = GlobalIndex(partition_key="state", sort_key="sk")


def read(item):
    codec = definition_of(type(item)).items
    [found] = codec.decode([codec.encode(item)])
    return found


def told(operation):
    """Return the members of an operation's request with names and values put in."""
    body = operation.request(CONTEXT).body
    names, values = body.get("ExpressionAttributeNames", {}), body.get("ExpressionAttributeValues", {})
    found = []
    for member in ("UpdateExpression", "ConditionExpression"):
        text = body.get(member, "")
        for key, value in sorted({**names, **values}.items(), key=lambda each: -len(each[0])):
            text = text.replace(key, value if isinstance(value, str) else str(next(iter(value.values()))))
        found.append(text)
    return tuple(found)


def test_a_key_names_one_partition():
    for operation in (Find(Visit, "mon", 1), Delete(Visit, "mon", 1), Update(Visit, "mon", 1).set(Visit.text, "x")):
        assert operation.request(CONTEXT).body["Key"] == {"day": {"S": "mon#01"}, "number": {"N": "1"}}
    item = Visit(day="mon", number=1)
    assert Delete(item).request(CONTEXT).body["Key"] == {"day": {"S": "mon#01"}, "number": {"N": "1"}}
    for operation in (Put(item), Create(item), Save(item)):
        assert operation.request(CONTEXT).body["Item"]["day"] == {"S": "mon#01"}


def test_errors_name_the_plain_key():
    error = Find(Visit, "mon", 1).not_found()
    assert isinstance(error, ItemNotFoundError)
    assert error.key == {"day": "mon", "number": 1}


CONDITIONS = {
    "equality": (Task.state == "new", "state IN (new#00, new#01, new#02)"),
    "inequality": (Task.state != "new", "NOT state IN (new#00, new#01, new#02)"),
    "membership": (Task.state.is_in("a", "b"), "state IN (a#00, a#01, a#02, b#00, b#01, b#02)"),
    "negation": (~(Task.state == "new"), "NOT state IN (new#00, new#01, new#02)"),
    "presence": (Task.lane.exists(), "attribute_exists(lane)"),
    "absence": (Task.lane.missing(), "attribute_not_exists(lane)"),
    "None": (Task.lane == None, "attribute_not_exists(lane) OR lane = True"),  # noqa: E711 - a condition
    "beginning": (Task.state.begins_with("n"), "begins_with(state, n)"),
    "beginning like a shard": (
        Task.state.begins_with("n#0"),
        "begins_with(state, n#0) AND NOT state IN (n#00, n#01, n#02)",
    ),
    "beginning like one shard": (Task.state.begins_with("n#02"), "begins_with(state, n#02) AND NOT state IN (n#02)"),
    "beginning like no shard": (Task.state.begins_with("n#7"), "begins_with(state, n#7)"),
    "both": (
        (Task.state == "new") & (Task.note == "x"),
        "state IN (new#00, new#01, new#02) AND note = x",
    ),
    "either": (
        (Task.state == "new") | (Task.note == "x"),
        "state IN (new#00, new#01, new#02) OR note = x",
    ),
}


@pytest.mark.parametrize(("condition", "text"), CONDITIONS.values(), ids=list(CONDITIONS))
def test_a_condition_of_a_write_is_on_what_is_stored(condition, text):
    item = Task(team="red", number=1)
    for write in (Put(item, where=condition), Delete(item, where=condition), Check(Task, "red", 1, where=condition)):
        assert told(write)[1] == text
    update = told(Update(Task, "red", 1).set(Task.note, "y").where(condition))[1]
    assert update == f"attribute_exists(team) AND {f'({text})' if ' OR ' in text else text}"


def test_a_membership_of_more_values_than_one_comparison_takes_is_several():
    values = [f"v{n}" for n in range(40)]
    text = told(Put(Task(team="red", number=1), where=Task.state.is_in(*values)))[1]
    assert text.count(" IN ") == 2
    assert text.count("v") == 120


REFUSED = {
    "order": Task.state < "x",
    "range": Task.state.between("a", "b"),
    "part": Task.state.contains("e"),
    "size": Task.state.size() > 3,
    "another field": Task.state == Task.note,
    "of another field": Task.note == Task.state,
}


@pytest.mark.parametrize("condition", REFUSED.values(), ids=list(REFUSED))
def test_a_condition_that_the_shards_are_in_the_way_of_is_refused(condition):
    with pytest.raises(ExpressionError, match="state is stored with the number of its shard"):
        Put(Task(team="red", number=1), where=condition)


def test_an_update_puts_a_new_key_into_the_shard_of_the_item():
    assert told(Update(Task, "red", 1).set(Task.state, "done"))[0] == "SET state = done#01"
    assert told(Update(read(Task(team="red", number=2))).set(Task.state, "done")) == (
        "SET state = done#02",
        "attribute_exists(team)",
    )


def test_an_update_removes_a_key():
    assert told(Update(Task, "red", 1).remove(Task.lane))[0] == "REMOVE lane"
    assert told(Update(Task, "red", 1).set(Task.lane, None))[0] == "REMOVE lane"


def test_a_start_of_a_key_is_in_the_shard_of_the_item():
    update = Update(Task, "red", 1).set(Task.state, Task.state.if_not_exists("done"))
    assert told(update)[0] == "SET state = if_not_exists(state, done#01)"


def test_a_new_item_gets_its_default_in_its_shard():
    assert told(Update(Task, "red", 1).set(Task.note, "x").upsert())[0] == (
        "SET note = x, state = if_not_exists(state, new#01), region = if_not_exists(region, eu)"
    )


def test_what_a_shard_is_calculated_from_may_be_set_with_the_key():
    assert told(Update(Task, "red", 1).set(Task.lane, "z").set(Task.region, "us"))[0] == "SET lane = z#01, region = us"


def test_a_key_whose_shard_is_not_known_is_refused():
    with pytest.raises(OperationError, match=r"Task\.lane .* calculated from region; set lane and region to constants"):
        told(Update(Task, "red", 1).set(Task.lane, "z"))
    with pytest.raises(OperationError, match="set lane and region to constants"):
        told(Update(Task, "red", 1).set(Task.lane, Task.lane.if_not_exists("z")))


def test_a_key_that_would_have_to_move_is_refused():
    with pytest.raises(OperationError, match="setting region moves an item of Task .* set lane and region"):
        told(Update(Task, "red", 1).set(Task.region, "us"))


def test_an_instance_tells_what_an_update_needs_and_it_must_still_be_so():
    item = read(Task(team="red", number=1, lane="z"))
    assert told(Update(item).set(Task.lane, "y")) == (
        "SET lane = y#03",
        "attribute_exists(team) AND (attribute_not_exists(region) OR region = eu)",
    )
    assert told(Update(item).set(Task.region, "us")) == (
        "SET region = us, lane = z#01",
        "attribute_exists(team) AND lane IN (z#00, z#01, z#02, z#03)",
    )


def test_an_item_without_the_key_has_none_to_move():
    assert told(Update(read(Task(team="red", number=1))).set(Task.region, "us")) == (
        "SET region = us",
        "attribute_exists(team) AND attribute_not_exists(lane)",
    )


def test_what_only_dynamodb_knows_cannot_be_put_into_a_shard():
    with pytest.raises(ExpressionError, match="state is stored with the number of its shard, and only DynamoDB would"):
        told(Update(Task, "red", 1).set(Task.state, Task.note))
    with pytest.raises(ExpressionError, match="decides the shard of lane, and only DynamoDB would know"):
        told(Update(Task, "red", 1).set(Task.region, Task.note))
    with pytest.raises(ExpressionError, match="region decides the shard of lane"):
        told(Update(Task, "red", 1).set(Task.lane, "x").set(Task.region, Task.note))


def test_a_new_key_may_be_too_long_with_its_shard():
    with pytest.raises(EncodeError, match=r"Task\.state: .*2,048"):
        told(Update(Task, "red", 1).set(Task.state, "x" * 2046))


def test_an_instance_has_the_plain_key_after_an_update_without_an_answer():
    item = read(Task(team="red", number=1))
    update = Update(item).set(Task.state, "done")
    update.request(CONTEXT)
    update.acknowledged()
    assert item.state == "done"
    assert told(Save(item.model_copy(update={"note": "x"}))) == ("SET note = x", "attribute_exists(team)")


def test_what_was_changed_is_given_back_plain():
    update = Update(Task, "red", 1).set(Task.state, "done").returning("changed")
    update.request(CONTEXT)
    assert update.result({"Attributes": {"state": {"S": "done#01"}}}, Context()) == {"state": "done"}


def test_a_save_sends_a_changed_key_in_its_shard_and_no_other():
    item = read(Task(team="red", number=1, lane="z"))
    assert Save(item).unneeded
    item.state = "done"
    assert told(Save(item)) == ("SET state = done#01", "attribute_exists(team)")


def test_a_save_moves_a_key_on_condition_that_it_is_as_it_was():
    item = read(Task(team="red", number=1, lane="z"))
    item.region = "us"
    assert told(Save(item)) == (
        "SET region = us, lane = z#01",
        "attribute_exists(team) AND lane IN (z#00, z#01, z#02, z#03)",
    )
    item = read(Task(team="red", number=1, lane="z"))
    item.lane = "y"
    assert told(Save(item)) == (
        "SET lane = y#03",
        "attribute_exists(team) AND (attribute_not_exists(region) OR region = eu)",
    )


def test_a_save_of_a_changed_table_key_is_refused():
    item = read(Visit(day="mon", number=1))
    item.number = 2
    with pytest.raises(OperationError, match="is part of the item's key and was changed"):
        Save(item)


def test_a_computed_key_follows_its_parts_into_its_shard():
    assert told(Update(Ticket, "a").set(Ticket.state, "old").set(Ticket.level, 3))[0] == (
        "SET state = old, level = 3, queue = old#03#00"
    )
    item = read(Ticket(id="a"))
    assert told(Update(item).set(Ticket.state, "old")) == (
        "SET state = old, queue = old#01#00",
        "attribute_exists(id) AND (attribute_not_exists(level) OR level = 1)",
    )


def test_versions_count_beside_shards():
    class Counted(Model, table="counted"):
        id: PartitionKey[str]
        state: Attr[str] = attr(default="new", shards=3)
        version: Version[int] = attr(default=0)
        by_state = GlobalIndex(partition_key="state")

    item = read(Counted(id="a", version=4))
    item.state = "old"
    update, condition = told(Save(item))
    assert update.startswith("SET state = old#")
    assert condition == "version = 4"


def test_a_value_of_a_condition_is_never_changed_twice():
    condition = Task.state == "new"
    assert condition == Comparison("=", Path(Task, ("state",), "state", condition.left.converter), Value({"S": "new"}))
    assert told(Put(Task(team="red", number=1), where=condition)) == told(
        Put(Task(team="red", number=1), where=condition)
    )


def decoder(query):
    return plan_reading(query.spec, CONTEXT).decode


OF_REGIONS = [Task(team="red", number=1, lane="z", region=region) for region in ("us", "eu", "ca")]


def keys_of(plan):
    """Return the key conditions of a plan, and the partition values of its request."""
    return list(map(str, plan.key_conditions)), plan.queries


def test_a_query_of_a_key_is_one_for_each_shard():
    plan = Query(Task).where(Task.state == "new", Task.number > 3).explain()
    assert keys_of(plan) == (["Task.state == 'new'", "Task.number > 3"], 3)
    assert str(plan).startswith(
        "Query Task in 'tasks', through the global index 'by_state', in 3 queries, one for each shard, merged\n"
        "  key condition  Task.state == 'new' and Task.number > 3\n"
        "  filter         none\n"
    )
    assert plan.body["ExpressionAttributeValues"] == {":v0": {"S": "new#00"}, ":v1": {"N": "3"}}


def test_a_query_of_several_values_is_one_for_each_of_each():
    plan = Query(Visit).where(Visit.day.is_in("mon", "tue", "mon")).explain()
    assert keys_of(plan) == (["Visit.day.is_in('mon', 'tue')"], 10)


def test_a_query_of_more_than_a_hundred_shards_is_refused():
    with pytest.raises(OutOfRangeError, match="has 105 combinations of values, and each needs a query; at"):
        Query(Visit).where(Visit.day.is_in(*(f"d{n}" for n in range(21)))).explain()


def test_a_query_that_tells_the_source_is_of_one_shard():
    plan = Query(Visit).where(Visit.day == "mon", Visit.number == 1).explain()
    assert keys_of(plan) == (["Visit.day == 'mon#01'", "Visit.number == 1"], 1)
    plan = Query(Task).where(Task.lane == "z", Task.region == "us").explain()
    assert keys_of(plan) == (["Task.lane == 'z#01'"], 1)
    assert list(map(str, plan.filters)) == ["Task.region == 'us'"]
    plan = Query(Task).where(Task.lane == "z", Task.region != "us").explain()
    assert plan.queries == 4


def test_values_of_one_source_are_queried_where_they_are():
    plan = Query(Task).where(Task.lane.is_in("y", "z"), Task.region == "us").explain()
    assert keys_of(plan) == (["Task.lane.is_in('y#01', 'z#01')"], 2)


def test_several_sources_are_queried_in_the_shards_of_each():
    plan = Query(Task).where(Task.lane == "z", Task.region.is_in("us", "eu", "ca")).explain()
    places = [value.stored["S"] for value in plan.key_conditions[0].values]
    assert places == sorted({definition_of(Task).items.encode(item)["lane"]["S"] for item in OF_REGIONS})
    assert (
        Query(Task).where(Task.lane == "z", Task.region.is_in("us", "eu"), Task.region == "us").explain().queries == 1
    )


def test_parts_of_a_template_are_queried_in_its_shards():
    plan = Query(Ticket).where(Ticket.state == "new", Ticket.level == 7).explain()
    assert plan.queries == 1
    assert str(plan.key_conditions[0]) == "Ticket.queue == 'new#07#03'"


def test_a_part_of_the_sort_key_tells_the_shard():
    class Line(Model, table="lines"):
        order: Attr[str]
        number: Attr[int]
        kind: PartitionKey[str] = attr(default="book", shards=Shards(8, by="order"))
        sk: SortKey[str] = template("{order}#{number:03d}")

    for conditions in ((Line.order == "o1",), (Line.order == "o1", Line.number > 2), (Line.sk == "o1#002",)):
        plan = Query(Line).where(Line.kind == "book", *conditions).explain()
        assert plan.queries == 1
        assert str(plan.key_conditions[0]) == "Line.kind == 'book#03'"
    assert Query(Line).where(Line.kind == "book", Line.sk == "o1").explain().queries == 8
    assert Query(Line).where(Line.kind == "book", Line.order > "o1").explain().queries == 8


def test_a_filter_is_on_what_is_stored():
    plan = Query(Task).where(Task.team == "red", Task.state == "new").explain()
    assert (plan.queries, plan.index) == (1, None)
    assert list(map(str, plan.filters)) == ["Task.state.is_in('new#00', 'new#01', 'new#02')"]
    with pytest.raises(ExpressionError, match="state is stored with the number of its shard"):
        Query(Task).where(Task.team == "red", Task.state > "new").explain()


def test_an_index_without_shards_is_taken_before_one_with_shards():
    class Job(Model, table="jobs"):
        id: PartitionKey[str]
        state: Attr[str] = attr(shards=3)
        owner: Attr[str]
        by_state = GlobalIndex(partition_key="state")
        by_owner = GlobalIndex(partition_key="owner")

    assert Query(Job).where(Job.state == "new", Job.owner == "ann").explain().index == "by_owner"


def test_a_scan_filters_by_what_is_stored():
    plan = Scan(Visit).where(Visit.day == "mon", Visit.number == 1).explain()
    assert str(plan.filters[0]) == "Visit.day.is_in('mon#00', 'mon#01', 'mon#02', 'mon#03', 'mon#04')"


def test_old_places_are_read_beside_the_new_ones():
    class Moved(Model, table="moved"):
        id: PartitionKey[str]
        state: Attr[str] = attr(shards=Shards(5, by="region", before=3))
        more: Attr[str] = attr(default="x", shards=Shards(2, before=4))
        region: Attr[str]
        by_state = GlobalIndex(partition_key="state")
        by_more = GlobalIndex(partition_key="more")

    found = Query(Moved).where(Moved.state == "new", Moved.region == "r1").explain()
    assert keys_of(found) == (["Moved.state == 'new'"], 2)
    assert Query(Moved).where(Moved.state == "new").explain().queries == 5
    assert Query(Moved).where(Moved.more == "x").explain().queries == 4
    assert definition_of(Moved).items.shards.of["more"].counts == (4, 2)


def test_models_of_one_table_are_read_where_each_has_its_items():
    shop = Table("shop", partition_key="pk", sort_key="sk")

    class Customer(Model, table=shop):
        pk: PartitionKey[str] = attr(shards=3)
        sk: SortKey[str] = template("profile")

    class Order(Model, table=shop):
        pk: PartitionKey[str] = attr(shards=2)
        sk: SortKey[str]

    class Note(Model, table=shop):
        pk: PartitionKey[str]
        sk: SortKey[str]

    assert Query(Customer).where(Customer.pk == "a").explain().queries == 3
    assert Query(Note).where(Note.pk == "a").explain().queries == 1
    collection = Collection(Customer, Order, Note).where(Customer.pk == "a").explain()
    assert collection.queries == 4
    values = collection.key_conditions[0].values
    assert [value.stored["S"] for value in values] == ["a#00", "a#01", "a#02", "a"]


def test_selections_and_cards_are_plain():
    class Card(BaseModel):
        state: str
        number: int

    stored = [definition_of(Task).items.encode(Task(team="red", number=1))]
    chosen = Query(Task).where(Task.state == "new")
    assert decoder(chosen.select(Task.state, Task.number))(stored) == [("new", 1)]
    assert decoder(chosen.into(Card))(stored) == [Card(state="new", number=1)]
    wrong = [{**stored[0], "state": {"S": "new"}}]
    for query in (chosen.select(Task.state), chosen.into(Card)):
        with pytest.raises(ItemValidationError, match="does not end with a shard"):
            decoder(query)(wrong)


def test_a_key_in_shards_tells_the_table_of_its_period():
    class Click(Model, table="clicks_{day:month}"):
        day: PartitionKey[date] = attr(shards=2)
        number: SortKey[int]

    day = date(2026, 11, 3)
    assert Find(Click, day, 1).request(CONTEXT).table == "clicks_2026-11"
    assert Put(Click(day=day, number=1)).request(CONTEXT).table == "clicks_2026-11"
    plan = Query(Click).where(Click.day.is_in(day, date(2026, 12, 1))).explain()
    assert plan.queries == 4
    assert plan.tables == ("clicks_2026-11", "clicks_2026-12")


def test_several_values_of_a_part_are_queried_in_all_shards_of_each():
    class Job(Model, table="jobs"):
        id: PartitionKey[str]
        state: Attr[str]
        key: Attr[str] = template("state:{state}", shards=3)
        by_key = GlobalIndex(partition_key="key", sort_key="id")

    plan = Query(Job).where(Job.state.is_in("new", "old"), Job.id > "x").explain()
    assert keys_of(plan) == (["Job.key.is_in('state:new', 'state:old')", "Job.id > 'x'"], 6)


def test_an_empty_key_is_refused_though_its_shards_would_make_it_texts():
    with pytest.raises(EncodeError, match=r"Task\.state: .*empty"):
        Query(Task).where(Task.state == "").explain()


def test_an_upsert_that_would_start_a_key_without_knowing_its_shard_is_refused():
    class Job(Model, table="jobs"):
        id: PartitionKey[str]
        state: Attr[str] = attr(default="new", shards=Shards(3, by="region"))
        region: Attr[str] = attr(default="eu")
        note: Attr[str] = attr(default="")
        by_state = GlobalIndex(partition_key="state")

    with pytest.raises(OperationError, match="set state and region to constants"):
        told(Update(Job, "a").set(Job.note, "x").upsert())
    update = Update(Job, "a").set(Job.state, "old").set(Job.region, "us").upsert()
    assert told(update)[0].startswith("SET state = old#")


def test_which_index_is_taken_never_depends_on_the_shards_that_values_are_in():
    class Moved(Model, table="moved"):
        id: PartitionKey[str]
        state: Attr[str] = attr(shards=Shards(2, by="region", before=3))
        region: Attr[str]
        owner: Attr[str]
        by_state = GlobalIndex(partition_key="state")
        by_owner = GlobalIndex(partition_key="owner")

    chosen, queries = set(), set()
    for number in range(20):
        query = Query(Moved).where(Moved.state == "new", Moved.region == f"r{number}")
        queries.add(query.explain().queries)
        chosen.add(query.where(Moved.owner == "ann").explain().index)
    assert (queries, chosen) == ({1, 2}, {"by_owner"})


def test_a_shard_by_a_part_of_the_items_key_needs_the_key_alone():
    assert told(Update(Reply, Parts(forum="cats", number=1)).set(Reply.state, "old")) == (
        "SET state = old#01",
        "attribute_exists(pk)",
    )
    assert Query(Reply).where(Reply.state == "old", Reply.forum == "cats").explain().queries == 1


def test_a_save_demands_nothing_of_a_part_of_the_items_key():
    item = read(Reply(forum="cats", number=1))
    item.state = "old"
    assert told(Save(item)) == ("SET state = old#01", "attribute_exists(pk)")
