"""Updates as requests: what is sent, on what condition, whether it may be sent twice, and what the answer means."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import pytest
from pydantic import AfterValidator, Field, field_validator

from dynamap_async import (
    Attr,
    GlobalIndex,
    Model,
    PartitionKey,
    Prefix,
    SortKey,
    Table,
    TimeToLive,
    TransactWrite,
    Update,
    Version,
    attr,
)
from dynamap_async.errors import (
    ConditionalCheckFailedError,
    DecodeError,
    EncodeError,
    ExpressionError,
    ItemNotFoundError,
    OperationError,
    OutOfRangeError,
    RequestRejectedError,
    VersionConflictError,
)
from dynamap_async.planning import Context, TableNames

NOON = datetime(2024, 6, 1, 12, tzinfo=UTC)
CONTEXT = Context(tables=TableNames("dev-"))


class Note(Model, table="notes"):
    owner: PartitionKey[str] = attr(name="pk")
    number: SortKey[int] = attr(name="sk")
    text: Attr[str] = attr(name="body", default="")
    likes: Attr[int] = attr(default=0)
    stars: Attr[int] = attr(default=3)
    tags: Attr[set[str]] = attr(default_factory=set)
    words: Attr[list[str]] = attr(default_factory=list)
    extra: Attr[dict[str, int]] = attr(default_factory=dict)


class Job(Model, table="jobs"):
    id: PartitionKey[str]
    state: Attr[str] = attr(default="new")
    tries: Attr[int] = attr(default=0)
    note: Attr[str | None] = attr(default=None)
    version: Version[int] = attr(default=0)


class Strict(Model, table="stricts"):
    id: PartitionKey[str]
    age: Attr[Annotated[int, Field(ge=0, le=150)]] = attr(default=0)
    name: Attr[str] = attr(default="")
    kind: Attr[Annotated[str, Field(frozen=True)]] = attr(default="x")
    words: Attr[list[Annotated[str, Field(max_length=3)]]] = attr(default_factory=list)
    upper: Attr[Annotated[str, AfterValidator(str.upper)]] = attr(default="")
    city: Attr[str | None] = attr(default=None)
    expires_at: TimeToLive[datetime | None] = attr(default=None)
    by_city = GlobalIndex(partition_key="city")

    @field_validator("name")
    @classmethod
    def stripped(cls, value: str) -> str:
        return value.strip()


class Required(Model, table="requireds"):
    id: PartitionKey[str]
    at: Attr[datetime]
    note: Attr[str | None]
    status: Attr[str] = attr(default="new")
    tags: Attr[set[str]] = attr(default_factory=set)
    made: Attr[list[int]] = attr(default_factory=lambda: [1])


class Stamped(Model, table="stampeds"):
    id: PartitionKey[str]
    text: Attr[str] = attr(default="")
    created: Attr[datetime] = attr(on_create=lambda: NOON)
    updated: Attr[datetime] = attr(on_update=lambda: NOON)


def note():
    return Update(Note, "ada", 0)


def job():
    return Update(Job, "a")


def text_of(request):
    """Return the update and the condition of a request with names and values put in."""
    body = request.body
    names, values = body.get("ExpressionAttributeNames", {}), body.get("ExpressionAttributeValues", {})
    found = []
    for member in ("UpdateExpression", "ConditionExpression"):
        text = body.get(member, "")
        for key, value in sorted({**names, **values}.items(), key=lambda each: -len(each[0])):
            text = text.replace(key, value if isinstance(value, str) else str(next(iter(value.values()))))
        found.append(text)
    return tuple(found)


def refusal(item=None, *, outcome_unknown=False):
    error = ConditionalCheckFailedError(
        "no", service_code="ConditionalCheckFailedException", operation="UpdateItem", table="dev-jobs", status=400
    )
    error.wire_item, error.outcome_unknown = item, outcome_unknown
    return error


def test_an_update_names_the_table_the_key_and_what_changes():
    request = note().set(Note.text, "x").request(CONTEXT)
    assert (request.operation, request.table) == ("UpdateItem", "dev-notes")
    assert request.body["Key"] == request.target.key == {"pk": {"S": "ada"}, "sk": {"N": "0"}}
    assert request.body["ReturnValues"] == "ALL_NEW"
    assert request.body["ReturnValuesOnConditionCheckFailure"] == "ALL_OLD"
    assert request.writes
    assert request.conditional
    assert not request.batchable
    assert text_of(request) == ("SET body = x", "attribute_exists(pk)")


def test_each_method_gives_a_new_value():
    first = note().set(Note.text, "x")
    second = first.add(Note.likes, 1)
    assert len(first.spec.actions) == 1
    assert len(second.spec.actions) == 2


def test_an_update_that_changes_nothing_is_refused():
    with pytest.raises(OperationError, match=r"the update of a Note changes nothing; add \.set"):
        note().where(Note.likes == 1).request(CONTEXT)


def test_conditions_join_that_of_existence():
    request = note().set(Note.text, "x").where(Note.likes < 10, Note.text == "").where(Note.tags.contains("a"))
    assert text_of(request.request(CONTEXT))[1] == (
        "attribute_exists(pk) AND likes < 10 AND body =  AND contains(tags, a)"
    )


def test_a_condition_on_another_model_is_refused():
    with pytest.raises(ExpressionError, match="Job.state is a field of Job"):
        note().where(Job.state == "x")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Note, "ada"), "the key of Note is"),
        ((Job, "a", 1), r"the key of Job is \(id:"),
        ((Job(id="a"), "a"), r"update\(item\) takes no key values"),
    ],
)
def test_a_key_that_does_not_fit_is_refused(arguments, message):
    with pytest.raises(OperationError, match=message):
        Update(*arguments)


@pytest.mark.parametrize("values", ["all", "", None, "ALL_NEW"])
def test_an_unknown_result_is_refused(values):
    with pytest.raises(OperationError, match='"new", "old", "changed" or "nothing"'):
        note().returning(values)


# Adding to what has another default than 0: absence reads as the default, so that is where counting begins.


def test_a_number_is_added_to_the_default_of_its_field():
    assert text_of(note().add(Note.stars, 2).request(CONTEXT))[0] == "SET stars = if_not_exists(stars, 3) + 2"
    assert text_of(note().add(Note.likes, 2).request(CONTEXT))[0] == "ADD likes 2"


# Validation by the field's own type.


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda u: u.set(Strict.age, -1), r"Strict\.age: Input should be greater than or equal to 0"),
        (lambda u: u.set(Strict.age, 151), r"Strict\.age: Input should be less than or equal to 150"),
        (lambda u: u.set(Strict.age, Strict.age.if_not_exists(-1)), r"Strict\.age: Input should be greater than"),
        (lambda u: u.set(Strict.words, ["long!"]), r"Strict\.words\[0\]: String should have at most 3 characters"),
        (lambda u: u.set(Strict.words[1], "long!"), r"Strict\.words\[1\]: String should have at most 3 characters"),
        (lambda u: u.set(Strict.words, Strict.words.append(["long!"])), r"Strict\.words\[0\]: String should have at"),
        (lambda u: u.set(Strict.city, ""), r"Strict\.city"),
        (lambda u: u.set(Strict.city, "x" * 3000), r"Strict\.city"),
    ],
)
def test_a_value_that_does_not_fit_its_field_is_refused(make, message):
    with pytest.raises(EncodeError, match=message):
        make(Update(Strict, "a"))


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda u: u.set(Strict.name, "  x "), "SET name = x"),
        (lambda u: u.set(Strict.upper, "x"), "SET upper = X"),
        (lambda u: u.set(Strict.age, "7"), "SET age = 7"),
        (lambda u: u.set(Strict.city, None), " REMOVE city".strip()),
        (lambda u: u.set(Strict.expires_at, NOON + timedelta(seconds=0.9)), "SET expires_at = 1717243200"),
        (lambda u: u.add(Strict.age, -500), "ADD age -500"),
        (lambda u: u.set(Strict.age, Strict.age - 500), "SET age = age - 500"),
    ],
)
def test_what_is_stored_is_what_the_field_makes_of_it(make, text):
    assert text_of(make(Update(Strict, "a")).request(CONTEXT))[0] == text


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Update(Strict, "a").set(Strict.kind, "y"),
            r"Strict\.kind is frozen: a stored item keeps it; set it with",
        ),
        (lambda: Update(Required, "a").remove(Required.at), r"Required\.at is required"),
        (lambda: job().set(Job.version, 3), r"Job\.version is counted by the session"),
        (lambda: job().add(Job.version, 1), r"Job\.version is counted by the session"),
    ],
)
def test_fields_that_no_update_may_change_are_refused(make, message):
    with pytest.raises(ExpressionError, match=message):
        make()


# Versions.


def test_by_key_the_version_is_counted_without_a_look():
    assert text_of(job().set(Job.state, "x").request(CONTEXT)) == (
        "SET state = x ADD version 1",
        "attribute_exists(id)",
    )


def test_an_expected_version_is_checked_and_followed():
    request = job().set(Job.state, "x").expect_version(4).request(CONTEXT)
    assert text_of(request) == ("SET state = x, version = 5", "version = 4")


def test_an_item_is_updated_at_its_own_version():
    update = Update(Job(id="a", version=7)).set(Job.state, "x")
    assert text_of(update.request(CONTEXT)) == ("SET state = x, version = 8", "version = 7")


def test_version_0_is_that_of_an_item_without_one():
    expected = "attribute_exists(id) AND (attribute_not_exists(version) OR version = 0)"
    assert text_of(job().set(Job.state, "x").expect_version(0).request(CONTEXT))[1] == expected
    assert text_of(Update(Job(id="a")).set(Job.state, "x").request(CONTEXT))[1] == expected


@pytest.mark.parametrize("number", [-1, True, "1", None, 1.0])
def test_only_whole_numbers_can_be_expected(number):
    with pytest.raises(
        OutOfRangeError if number == -1 else OperationError, match=r"expect_version\(\) needs a whole number from 0"
    ):
        job().expect_version(number)


def test_a_model_without_version_expects_none():
    with pytest.raises(OperationError, match="Note has no version to expect"):
        note().expect_version(1)


# Lost answers: what may be sent again.


RESENDABLE = [
    ("constants", lambda: note().set(Note.text, "x").remove(Note.words), True),
    ("constants on a condition", lambda: note().set(Note.text, "x").where(Note.likes > 1), True),
    ("constants, upserted", lambda: note().set(Note.text, "x").upsert(), True),
    ("a start value", lambda: note().set(Note.likes, Note.likes.if_not_exists(5)), True),
    ("set members", lambda: note().add(Note.tags, {"x"}).remove(Note.text), True),
    ("the changed values asked for", lambda: note().set(Note.text, "x").returning("changed"), True),
    ("the old values asked for", lambda: note().set(Note.text, "x").returning("old"), False),
    ("a number added", lambda: note().add(Note.likes, 1), False),
    ("a number added to its default", lambda: note().add(Note.stars, 1), False),
    ("a number added on a condition", lambda: note().add(Note.likes, 1).where(Note.likes < 5), False),
    ("arithmetic", lambda: note().set(Note.likes, Note.likes + 1), False),
    ("elements appended", lambda: note().set(Note.words, Note.words.append(["x"])), False),
    ("one of several actions", lambda: note().set(Note.text, "x").add(Note.likes, 1), False),
    ("an element removed", lambda: note().remove(Note.words[0]), False),
    ("a version counted by key", lambda: job().set(Job.state, "x"), False),
    ("an expected version", lambda: job().add(Job.tries, 1).expect_version(1), True),
    ("an expected version and old values", lambda: job().add(Job.tries, 1).expect_version(1).returning("old"), True),
    ("a versioned item", lambda: Update(Job(id="a", version=1)).add(Job.tries, 1), True),
]


@pytest.mark.parametrize(("make", "resendable"), [pytest.param(*each[1:], id=each[0]) for each in RESENDABLE])
def test_a_request_is_resendable_only_if_twice_is_once(make, resendable):
    assert make().request(CONTEXT).resendable is resendable


# Upserts.


def test_an_upsert_has_no_condition_of_its_own():
    request = note().set(Note.text, "x").upsert().request(CONTEXT)
    assert "ConditionExpression" not in request.body
    assert not request.conditional


def test_an_upsert_stores_the_defaults_that_create_would_store():
    update = Update(Required, "a").set(Required.at, NOON).upsert()
    assert text_of(update.request(CONTEXT))[0] == (
        "SET at = 2024-06-01T12:00:00.000000Z, status = if_not_exists(status, new), "
        "made = if_not_exists(made, [{'N': '1'}])"
    )


def test_an_upsert_that_could_not_be_read_is_refused():
    with pytest.raises(OperationError, match=r"may create a new Required, which needs at.*if_not_exists\(value\)"):
        Update(Required, "a").set(Required.status, "x").upsert().request(CONTEXT)


@pytest.mark.parametrize(
    ("discriminator", "kinds"), [("kind", ("dog", "cat")), (Prefix("sk"), ("DOG#", "CAT#"))], ids=["marker", "prefix"]
)
def test_an_upsert_makes_no_item_of_an_abstract_base(discriminator, kinds):
    zoo = Table("zoo", partition_key="pk", sort_key="sk", discriminator=discriminator)

    class Animal(Model, table=zoo, abstract=True):
        name: PartitionKey[str]
        sk: SortKey[str]
        keeper: Attr[str | None] = attr(default=None)

    class Dog(Animal, kind=kinds[0]):
        pass

    class Cat(Animal, kind=kinds[1]):
        pass

    update = Update(Animal, "rex", "DOG#1").set(Animal.keeper, "ada")
    assert update.request(CONTEXT).operation == "UpdateItem"
    for build in (lambda: update.upsert().request(CONTEXT), lambda: TransactWrite([update.upsert()]).request(CONTEXT)):
        with pytest.raises(OperationError, match="new item, and Animal is abstract; update the item as Dog or Cat"):
            build()
    assert Update(Dog, "rex", "DOG#1").set(Dog.keeper, "ada").upsert().request(CONTEXT).operation == "UpdateItem"


def test_a_field_that_is_changed_in_part_gets_no_default():
    text = text_of(note().set(Note.extra["a"], 1).upsert().request(CONTEXT))[0]
    assert text.startswith("SET extra.a = 1, ")
    assert text.count("extra") == 1


# Times of writing.


def test_times_of_writing_are_set_too():
    assert text_of(Update(Stamped, "a").set(Stamped.text, "x").request(CONTEXT))[0] == (
        "SET text = x, updated = 2024-06-01T12:00:00.000000Z"
    )


def test_a_time_that_the_update_sets_itself_stays():
    update = Update(Stamped, "a").set(Stamped.updated, NOON + timedelta(days=1))
    assert text_of(update.request(CONTEXT))[0] == "SET updated = 2024-06-02T12:00:00.000000Z"


def test_an_upsert_gives_a_new_item_its_time_of_creation():
    assert text_of(Update(Stamped, "a").set(Stamped.text, "x").upsert().request(CONTEXT))[0] == (
        "SET text = x, updated = 2024-06-01T12:00:00.000000Z, "
        "created = if_not_exists(created, 2024-06-01T12:00:00.000000Z)"
    )


# Answers.

STORED = {"id": {"S": "a"}, "state": {"S": "x"}, "tries": {"N": "4"}, "version": {"N": "8"}}


def test_the_result_is_the_item_as_it_is_then():
    found = job().set(Job.state, "x").result({"Attributes": STORED}, CONTEXT)
    assert found == Job(id="a", state="x", tries=4, version=8)


def test_the_given_item_moves_on():
    item = Job(id="a", version=7, note="mine")
    update = Update(item).set(Job.state, "x")
    update.request(CONTEXT)
    assert item.version == 7
    assert update.result({"Attributes": STORED}, CONTEXT) is item
    assert item == Job(id="a", state="x", tries=4, version=8)


def test_old_values_are_an_item_or_none():
    update = job().set(Job.state, "x").returning("old")
    update.request(CONTEXT)
    assert update.result({"Attributes": STORED}, CONTEXT) == Job(id="a", state="x", tries=4, version=8)
    assert update.result({}, CONTEXT) is None


def test_changed_values_go_by_field_and_parts_are_plain():
    update = note().set(Note.text, "x").set(Note.extra["a"], 1).add(Note.tags, {"y"}).returning("changed")
    update.request(CONTEXT)
    answer = {"body": {"S": "x"}, "extra": {"M": {"a": {"N": "1"}}}, "tags": {"SS": ["y"]}}
    assert update.result({"Attributes": answer}, CONTEXT) == {"text": "x", "extra": {"a": 1}, "tags": {"y"}}


def test_an_item_takes_over_constants_without_an_answer():
    item = Job(id="a", version=7, note="n")
    update = Update(item).set(Job.state, "x").set(Job.note, None).returning("nothing")
    update.request(CONTEXT)
    assert update.result({}, CONTEXT) is None
    assert item == Job(id="a", state="x", version=8)


def test_an_item_gets_the_default_that_is_made_of_its_other_values():
    class Derived(Model, table="derived"):
        id: PartitionKey[str]
        size: Attr[int] = attr(default=2)
        slug: Attr[Annotated[str, Field(default_factory=lambda values: f"{values['id']}-{values['size']}")]]
        title: Attr[Annotated[str, Field(default_factory=lambda values: values["slug"].upper())]]

    item = Derived(id="a", size=1, slug="old", title="Old")
    update = Update(item).remove(Derived.title, Derived.slug, Derived.size).returning("nothing")
    update.request(CONTEXT)
    update.result({}, CONTEXT)
    assert item == Derived(id="a", size=2, slug="a-2", title="A-2")


def test_an_item_keeps_its_version_where_its_values_are_unknown():
    item = Job(id="a", version=7)
    update = Update(item).add(Job.tries, 1).returning("nothing")
    update.request(CONTEXT)
    update.result({}, CONTEXT)
    assert item == Job(id="a", version=7)


# Refusals.


def test_an_update_of_nothing_says_so():
    error = job().set(Job.state, "x").failed(refusal(outcome_unknown=True))
    assert isinstance(error, ItemNotFoundError)
    assert (error.model, error.key, error.outcome_unknown) == ("Job", {"id": "a"}, True)
    assert str(error) == "there is no Job with id='a', so nothing was updated; .upsert() creates one"


def test_an_item_that_is_gone_is_not_found_whatever_its_version():
    assert isinstance(Update(Job(id="a", version=7)).set(Job.state, "x").failed(refusal()), ItemNotFoundError)


def test_a_failed_condition_brings_the_stored_item():
    error = job().set(Job.state, "x").where(Job.tries == 0).failed(refusal(STORED))
    assert type(error) is ConditionalCheckFailedError
    assert error.item == Job(id="a", state="x", tries=4, version=8)


def test_another_version_is_a_conflict():
    error = Update(Job(id="a", version=7)).set(Job.state, "x").failed(refusal(STORED, outcome_unknown=True))
    assert isinstance(error, VersionConflictError)
    assert (error.expected, error.stored, error.outcome_unknown) == (7, 8, True)


def test_the_own_condition_of_an_upsert_that_fails_is_no_missing_item():
    error = note().set(Note.text, "x").where(Note.likes > 1).upsert().failed(refusal())
    assert type(error) is ConditionalCheckFailedError


def rejected(message):
    return RequestRejectedError(
        message, service_code="ValidationException", operation="UpdateItem", table="notes", status=400
    )


WRONG_TYPE = "An operand in the update expression has an incorrect data type"


def test_what_cannot_be_added_to_what_is_stored_comes_with_the_remedy(executed):
    with pytest.raises(RequestRejectedError, match=WRONG_TYPE) as caught:
        executed(note().add(Note.tags, {"y"}), rejected(WRONG_TYPE))
    assert "to sets. Note.tags holds something else: perhaps text that another program" in str(caught.value)
    assert str(caught.value).endswith("Set a value first: .set(Note.tags, value)")


@pytest.mark.parametrize(
    ("update", "message"),
    [
        (note().add(Note.tags, {"y"}), "Item size to update has exceeded the maximum allowed size"),
        (note().set(Note.text, "y"), WRONG_TYPE),
    ],
)
def test_other_rejections_of_updates_come_as_they_are(executed, update, message):
    with pytest.raises(RequestRejectedError, match=f"^{message}$"):
        executed(update, rejected(message))


def test_changed_value_of_another_stored_type_is_refused_by_its_key():
    update = note().add(Note.tags, {"y"}).returning("changed")
    update.request(CONTEXT)
    with pytest.raises(DecodeError, match=r"Note: tags: set\[str\] is stored as L or SS, not as NS") as caught:
        update.result({"Attributes": {"tags": {"NS": ["1"]}}}, CONTEXT)
    assert caught.value.key


def test_updated_item_of_another_stored_type_is_refused():
    update = Update(Job, "a").set(Job.state, "x")
    update.request(CONTEXT)
    with pytest.raises(DecodeError, match="tries: int is stored as N, not as S"):
        update.result({"Attributes": {**STORED, "tries": {"S": "4"}}}, CONTEXT)


def test_fields_by_name_are_set_as_single_ones_are() -> None:
    named = Update(Patched, "a").set_fields({"text": "x", "count": 3, "inner": {"city": "y"}, "gone": None})
    single = Update(Patched, "a").set(Patched.text, "x").set(Patched.count, 3)
    single = single.set(Patched.inner, Inner(city="y")).set(Patched.gone, None)
    assert named.request(Context()).body == single.request(Context()).body


@pytest.mark.parametrize(
    ("values", "kind", "problem"),
    [
        ({"count": "many"}, EncodeError, "Patched.count"),
        ({"nope": 1}, ExpressionError, "names 'nope', which is not a field of Patched; its fields are id, text, count"),
        ({"id": "b"}, ExpressionError, "is part of the item's key"),
        ({"body": "x"}, ExpressionError, "names 'body', which is not a field"),
    ],
)
def test_fields_by_name_are_checked_as_single_ones_are(values, kind, problem) -> None:
    with pytest.raises(kind, match=problem):
        Update(Patched, "a").set_fields(values)


class Inner(Model):
    city: Attr[str]


class Patched(Model, table="patched"):
    id: PartitionKey[str]
    text: Attr[str] = attr(name="body", default="")
    count: Attr[int] = attr(default=0)
    inner: Attr[Inner | None] = attr(default=None)
    gone: Attr[str | None] = attr(default=None)
