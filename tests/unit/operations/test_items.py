"""Get, put, create and delete: the requests that they make, and what of them is refused."""

from dataclasses import replace

import pytest

from dynamap_async import (
    Attr,
    Create,
    Delete,
    Find,
    Get,
    Model,
    PartitionKey,
    Put,
    Query,
    Save,
    SortKey,
    TransactWrite,
    Update,
    Version,
    attr,
)
from dynamap_async.errors import (
    ConditionalCheckFailedError,
    EncodeError,
    ExpressionError,
    ItemNotFoundError,
    ItemTooLargeError,
    ModelDefinitionError,
    OperationError,
    Outcome,
    RequestTimeoutError,
    VersionConflictError,
)
from dynamap_async.native.json_text import Spliced, write_json
from dynamap_async.planning import Context, TableNames


class Note(Model, table="notes"):
    owner: PartitionKey[str] = attr(name="pk")
    number: SortKey[int] = attr(name="sk")
    text: Attr[str] = attr(name="body", default="")


class Longer(Note, table="longer-notes"):
    tags: Attr[dict[str, int]] = attr(default_factory=dict)


class Plain(Model, table="plains"):
    id: PartitionKey[str]


class Cart(Model, table="carts"):
    id: PartitionKey[str]
    lines: Attr[list[str]] = attr(default_factory=list)

    def __len__(self):
        return len(self.lines)


class Job(Model, table="jobs"):
    id: PartitionKey[str]
    version: Version[int] = attr(default=0)


class Ticket(Model, table="tickets"):
    number: PartitionKey[int] = attr(autoincrement=True)


class Loose(Model):
    value: Attr[int] = attr(default=0)


NOTE = Note(owner="ada", number=0, text="x")
KEY = {"pk": {"S": "ada"}, "sk": {"N": "0"}}
CONTEXT = Context(tables=TableNames("dev-"))


def body(operation):
    return operation.request(CONTEXT).body


@pytest.mark.parametrize("kind", [Get, Find])
def test_a_get_names_the_table_and_the_whole_key(kind):
    request = kind(Note, "ada", 0).request(CONTEXT)
    assert request.operation == "GetItem"
    assert request.table == "dev-notes"
    assert request.body == {"TableName": "dev-notes", "Key": KEY, "ConsistentRead": False}
    assert not request.writes
    assert body(kind(Note, "ada", 0, consistent_read=True))["ConsistentRead"] is True


def test_an_absent_item_is_none_to_find_and_an_error_to_get():
    assert Find(Note, "ada", 0).result({}, Context()) is None
    with pytest.raises(
        ItemNotFoundError, match=r"there is no Note with owner='ada', number=0; find\(\) gives None"
    ) as caught:
        Get(Note, "ada", 0).result({}, Context())
    assert (caught.value.model, caught.value.key) == ("Note", {"owner": "ada", "number": 0})


def test_an_answer_becomes_an_instance():
    answer = {"Item": {**KEY, "body": {"S": "x"}}}
    assert Get(Note, "ada", 0).result(answer, Context()) == NOTE
    assert Find(Note, "ada", 0).result(answer, Context()) == NOTE


def test_a_put_replaces_without_condition():
    request = Put(NOTE).request(CONTEXT)
    assert request.body == {"TableName": "dev-notes", "Item": {**KEY, "body": {"S": "x"}}}
    assert (request.writes, request.conditional, request.resendable) == (True, False, True)
    assert Put(NOTE).result({}, Context()) is NOTE


@pytest.mark.parametrize("kind", [Put, Create])
def test_our_own_transport_is_given_the_json_of_an_item_as_it_was_measured(kind):
    """It says what the dict says that other transports are given, and is not written again."""
    splicing = replace(CONTEXT, splices=True)
    for operation in (kind(NOTE), TransactWrite([kind(NOTE)], client_request_token="once")):
        spliced, whole = operation.request(splicing).body, operation.request(CONTEXT).body
        assert write_json(spliced) == write_json(whole)
        item = spliced.get("Item") or spliced["TransactItems"][0]["Put"]["Item"]
        assert isinstance(item, Spliced)


def test_a_put_writes_the_item_as_it_was_when_it_was_asked_for():
    note = Note(owner="ada", number=0, text="before")
    put = Put(note)
    note.text = "after"
    assert body(put)["Item"]["body"] == {"S": "before"}


def test_a_conditional_put_asks_for_the_stored_item():
    request = Put(NOTE, where=(Note.text == "old") & Note.owner.exists()).request(CONTEXT)
    assert request.conditional
    assert request.body["ConditionExpression"] == "#n0 = :v0 AND attribute_exists(#n1)"
    assert request.body["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"
    assert request.body["ExpressionAttributeNames"] == {"#n0": "body", "#n1": "pk"}


def test_a_create_requires_that_there_is_no_item():
    request = Create(NOTE).request(CONTEXT)
    assert request.conditional
    assert request.body["ConditionExpression"] == "attribute_not_exists(#n0)"
    assert request.body["ExpressionAttributeNames"] == {"#n0": "pk"}
    both = body(Create(NOTE, where=(Note.text == "a") | (Note.text == "b")))
    assert both["ConditionExpression"] == "attribute_not_exists(#n0) AND (#n1 = :v0 OR #n1 = :v1)"


@pytest.mark.parametrize("operation", [Delete(NOTE), Delete(Note, "ada", 0)], ids=["instance", "key"])
def test_a_delete_names_the_whole_key(operation):
    request = operation.request(CONTEXT)
    assert request.body == {"TableName": "dev-notes", "Key": KEY}
    assert (request.operation, request.writes, request.conditional) == ("DeleteItem", True, False)
    assert operation.result({}, Context()) is None


@pytest.mark.parametrize("kind", [Delete, Put, Create, Save, Update])
def test_an_item_whose_truth_is_false_is_an_item(kind):
    empty = Cart(id="1")
    assert not empty
    operation = kind(empty)
    assert operation.item is empty
    assert operation.definition.model is Cart


def test_a_conditional_delete_asks_for_the_stored_item():
    request = Delete(Note, "ada", 0, where=Note.text != "keep").request(CONTEXT)
    assert request.conditional
    assert request.body["ConditionExpression"] == "#n0 <> :v0"
    assert request.body["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"


@pytest.mark.parametrize("kind", [Get, Find, Delete])
@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        (("ada",), OperationError, r"the key of Note is \(owner: str, number: int\); got 'ada'"),
        ((5, 1), EncodeError, "Note.owner: str expected"),
        (("ada", "x"), EncodeError, "Note.number: int expected"),
        (("", 1), EncodeError, "Note.owner: a partition key cannot be empty"),
        (("x" * 2049, 1), EncodeError, "Note.owner: a partition key may have 2,048 bytes"),
        (("ada", True), EncodeError, "Note.number"),
    ],
)
def test_a_key_that_no_item_has_is_refused(kind, key, error, message):
    with pytest.raises(error, match=message):
        kind(Note, *key)


def test_a_delete_without_key_is_refused():
    with pytest.raises(OperationError, match=r"the key of Note is \(owner: str, number: int\); got nothing"):
        Delete(Note)


@pytest.mark.parametrize("kind", [Get, Find, Delete])
def test_a_sort_key_is_refused_where_there_is_none(kind):
    with pytest.raises(OperationError, match=r"Plain is \(id: str\); got 'a', 5"):
        kind(Plain, "a", 5)


@pytest.mark.parametrize(
    "build",
    [lambda m: Get(m, "a"), lambda m: Find(m, "a"), lambda m: Delete(m, "a"), Query],
    ids=["get", "find", "delete", "query"],
)
@pytest.mark.parametrize("wrong", ["Note", 5, dict, None])
def test_what_is_no_model_is_refused(build, wrong):
    with pytest.raises(OperationError, match="is not a model; write class"):
        build(wrong)


@pytest.mark.parametrize("kind", [Put, Create])
@pytest.mark.parametrize("wrong", [{"owner": "ada"}, None, 5])
def test_what_is_no_item_is_refused(kind, wrong):
    with pytest.raises(OperationError, match="is not a model"):
        kind(wrong)


@pytest.mark.parametrize(
    "build", [lambda: Get(Loose, "a"), lambda: Put(Loose()), lambda: Delete(Loose()), lambda: Delete(Loose, "a")]
)
def test_a_model_without_table_has_no_items(build):
    with pytest.raises(ModelDefinitionError, match="Loose has no table"):
        build()


def test_an_instance_and_key_values_are_not_given_together():
    with pytest.raises(OperationError, match="takes no key values"):
        Delete(NOTE, "ada")


@pytest.mark.parametrize("build", [Put, Create, Delete])
def test_a_condition_on_another_model_is_refused(build):
    with pytest.raises(ExpressionError, match="Plain.id is a field of Plain, but the operation is on Note"):
        build(NOTE, where=Plain.id == "a")
    with pytest.raises(ExpressionError, match="is not a condition"):
        build(NOTE, where=True)


@pytest.mark.parametrize(
    ("condition", "hint"),
    [
        (lambda: Longer.text == "x", "write Note.text"),
        (lambda: Longer.tags["a"] == 1, "Note has no such field, so name one that it has, or make it .* on Longer"),
        (lambda: Plain.id == "a", "Note has no such field"),
    ],
)
def test_the_remedy_for_a_condition_on_another_model_names_a_field_that_there_is(condition, hint):
    with pytest.raises(ExpressionError, match=hint):
        Delete(Note, "ada", 0, where=condition())


def test_an_item_over_400_kilobytes_is_refused():
    with pytest.raises(ItemTooLargeError) as caught:
        Put(Note(owner="ada", number=0, text="x" * 409_600))
    assert caught.value.limit_bytes == 409_600


def test_operations_print_what_they_do():
    assert repr(Get(Note, "ada", 0)) == "Get(Note, 'ada', 0)"
    assert repr(Find(Plain, "a")) == "Find(Plain, 'a')"
    assert repr(Delete(Note, "ada", 0)).startswith("Delete(Note, ")
    assert repr(Put(NOTE)) == f"Put({NOTE!r})"
    assert repr(Create(NOTE)) == f"Create({NOTE!r})"


def test_an_operation_can_be_sent_again_and_under_another_prefix():
    get = Get(Note, "ada", 0)
    assert body(get) == body(get)
    assert get.request(Context()).table == "notes"


async def save_what_is_gone(session):
    note = await session.get(Note, "ada", 1)
    note.text = "new"
    await session.save(note)


@pytest.mark.parametrize("lost", [False, True])
def test_a_save_of_a_deleted_item_says_whether_it_may_have_been_saved_before(answered, lost):
    refusal = ConditionalCheckFailedError("failed", service_code="x", operation="UpdateItem", table="notes", status=400)
    timeout = RequestTimeoutError("late", outcome=Outcome.UNKNOWN, operation="UpdateItem", table="notes")
    stored = {"pk": {"S": "ada"}, "sk": {"N": "1"}, "body": {"S": "old"}}
    with pytest.raises(ItemNotFoundError, match=r"there is no Note with owner='ada', number=1 any more") as caught:
        answered(save_what_is_gone, {"Item": stored}, *[timeout] * lost, refusal)
    assert caught.value.outcome_unknown is lost
    assert any("may have been saved before" in note for note in getattr(caught.value, "__notes__", [])) is lost


@pytest.mark.parametrize("write", [Put(NOTE, returning="old"), Delete(Note, "ada", 0, returning="old")])
def test_a_write_gives_the_old_item_or_none_where_there_was_none(executed, write):
    assert executed(write, {"Attributes": {**KEY, "body": {"S": "before"}}}) == Note(
        owner="ada", number=0, text="before"
    )
    assert executed(write, {}) is None


@pytest.mark.parametrize(
    ("stored", "found"),
    [
        (None, "there is no such item"),
        ({"id": {"S": "a"}}, "the stored one has no version"),
        ({"id": {"S": "a"}, "version": {"N": "7"}}, "the stored one has version 7"),
    ],
)
def test_a_version_conflict_says_what_is_stored(executed, stored, found):
    refusal = ConditionalCheckFailedError("no", service_code="No", operation="PutItem", table="jobs", status=400)
    refusal.wire_item = stored
    with pytest.raises(VersionConflictError, match=f"it is based on version 3, but {found}"):
        executed(Put(Job(id="a", version=3)), refusal)


def test_only_an_instance_without_its_number_needs_one():
    assert Put(Ticket()).needs_number
    assert not Put(Ticket(number=5)).needs_number
    assert not Put(NOTE).needs_number
