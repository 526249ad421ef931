"""Values that were assigned, or changed in place, since an instance was validated: they are validated when written."""

import copy
import pickle
from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated, Any, Literal, Self

import pytest
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Json,
    PrivateAttr,
    StringConstraints,
    field_validator,
    model_validator,
)
from pydantic_core import core_schema

from dynamap_async import Attr, Model, PartitionKey, SortKey, Table, TimeToLive, Version, attr, template
from dynamap_async.errors import DataError, EncodeError
from dynamap_async.models import definition_of
from dynamap_async.operations import Create, Put, Replace, Save
from dynamap_async.planning import Context

Text = Annotated[str, Field(min_length=1)]


class Address(Model):
    city: Attr[str]
    zip: Attr[Text] = attr(default="1")


class Plain(BaseModel):
    zip: Text = "1"


class Note(Model, table="notes"):
    author: PartitionKey[str]
    number: SortKey[int]
    title: Attr[Text]
    words: Attr[Annotated[int, Field(ge=0)]] = attr(default=0)
    tags: Attr[list[Text]] = attr(default_factory=list)
    address: Attr[Address] = attr(default=Address(city="London"))
    plain: Attr[Plain] = attr(default=Plain())
    by_name: Attr[dict[str, Address]] = attr(default_factory=dict)


WRITES = [Put, Create, Save, Replace]


def note(**values: Any) -> Note:
    return Note(**{"author": "ada", "number": 1, "title": "t", "address": Address(city="London"), **values})


def read(item: Any) -> Any:
    """Return the instance that a session would read after this one was written."""
    codec = definition_of(type(item)).items
    return codec.decode([codec.encode(item)])[0]


def written(operation: Any) -> dict[str, Any]:
    """Return what a write sends of each attribute."""
    return operation._stored


# --- what is refused ---------------------------------------------------------------------------------------------


def change_title(item: Note) -> None:
    item.title = ""


def change_tags(item: Note) -> None:
    item.tags.append("")


def change_nested(item: Note) -> None:
    item.address.zip = ""


def change_nested_plain(item: Note) -> None:
    item.plain.zip = ""


def change_deep(item: Note) -> None:
    item.by_name["home"] = Address(city="Paris")
    item.by_name["home"].zip = ""


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("source", [note, lambda: read(note())], ids=["new", "read"])
@pytest.mark.parametrize("change", [change_title, change_tags, change_nested, change_nested_plain, change_deep])
def test_a_value_that_could_not_be_read_is_not_written(write, source, change):
    item = source()
    change(item)
    with pytest.raises(EncodeError, match="should have at least 1 character"):
        write(item)


def test_the_error_names_the_model_the_field_the_key_and_the_remedy():
    item = note()
    item.title = ""
    with pytest.raises(EncodeError) as caught:
        Put(item)
    assert isinstance(caught.value, DataError)
    assert (caught.value.model, caught.value.path) == ("Note", ("title",))
    assert caught.value.key == {"author": "ada", "number": 1}
    assert str(caught.value) == (
        "Note.title: String should have at least 1 character. The Note with author='ada', number=1 was changed after "
        "it was validated, and could not be read back like this. Nothing was written. Set a value that the field "
        "accepts, or change the field."
    )


def test_the_error_leads_to_the_place_inside_a_field():
    item = note(tags=["a", "b"])
    item.tags[1] = ""
    with pytest.raises(EncodeError, match=r"Note\.tags\[1\]: String should have") as caught:
        Put(item)
    assert caught.value.path == ("tags", 1)


def test_the_error_names_each_wrong_field():
    item = note()
    item.title, item.words = "", -1
    with pytest.raises(EncodeError, match=r"Note\.title: .*; words: Input should be greater than or equal to 0"):
        Put(item)


def test_the_errors_of_an_item_with_a_thousand_faults_are_short():
    item = note()
    item.tags.extend([""] * 1000)
    with pytest.raises(EncodeError, match="and 997 more") as caught:
        Put(item)
    assert len(str(caught.value)) < 1000


def test_a_refused_item_can_be_mended_and_written():
    item = note()
    item.title = ""
    with pytest.raises(EncodeError):
        Put(item)
    with pytest.raises(EncodeError):  # it did not count as validated
        Put(item)
    item.title = "again"
    assert written(Put(item))["title"] == {"S": "again"}


def test_a_copy_with_an_update_is_validated():
    with pytest.raises(EncodeError, match=r"Note\.title"):
        Put(note().model_copy(update={"title": ""}))


def test_a_deep_copy_with_an_update_is_validated():
    with pytest.raises(EncodeError, match=r"Note\.title"):
        Save(read(note()).model_copy(update={"title": ""}, deep=True))


def test_an_instance_that_was_constructed_without_validation_is_validated():
    with pytest.raises(EncodeError, match=r"Note\.title"):
        Put(Note.model_construct(author="ada", number=1, title=""))


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda item: pickle.loads(pickle.dumps(item)), Note.model_copy]
)
def test_a_copy_of_a_changed_instance_is_validated(copied):
    item = note()
    item.title = ""
    duplicate = copied(item)
    with pytest.raises(EncodeError):
        Put(duplicate)


def test_what_is_assigned_to_a_copy_is_not_assigned_to_the_original():
    item = note()
    duplicate = item.model_copy()
    duplicate.title = ""
    with pytest.raises(EncodeError):
        Put(duplicate)
    assert written(Put(item))["title"] == {"S": "t"}


# --- what is stored, and what the instance then holds ------------------------------------------------------------


class Person(Model, table="people"):
    name: PartitionKey[str]
    email: Attr[Annotated[str, StringConstraints(strip_whitespace=True, to_lower=True)]] = attr(default="")
    born: Attr[datetime | None] = attr(default=None)
    age: Attr[int] = attr(default=0)
    scores: Attr[list[int]] = attr(default_factory=list)
    address: Attr[Address | None] = attr(default=None)
    payload: Attr[Json[dict[str, int]] | None] = attr(default=None)


def test_a_value_that_the_field_converts_is_stored_and_held_converted():
    person = Person(name="ada")
    person.age, person.born = "36", "1815-12-10T00:00:00Z"  # as a PATCH hands it over
    person.email = " Ada@Example.org "
    person.address = {"city": "London", "zip": "W1"}
    stored = written(Put(person))
    assert stored["age"] == {"N": "36"}
    assert stored["email"] == {"S": "ada@example.org"}
    assert (person.age, person.email) == (36, "ada@example.org")
    assert person.born == datetime(1815, 12, 10, tzinfo=UTC)
    assert person.address == Address(city="London", zip="W1")
    assert read(person) == person


def test_a_value_that_cannot_be_converted_is_refused():
    person = Person(name="ada")
    person.age = "many"
    with pytest.raises(EncodeError, match=r"Person\.age"):
        Put(person)


def test_an_assigned_list_stays_the_same_list():
    person, scores = Person(name="ada"), [1]
    person.scores = scores
    Put(person)
    scores.append(2)
    assert written(Put(person))["scores"] == {"L": [{"N": "1"}, {"N": "2"}]}


def test_a_datetime_keeps_its_time_zone():
    person, at = Person(name="ada"), datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    person.born = at
    Put(person)
    assert person.born is at


def test_a_field_of_encoded_text_takes_its_own_values():
    person = Person(name="ada")
    person.payload = {"a": 1}
    assert read_back(Put(person)).payload == {"a": 1}
    person.payload = {"a": "x"}
    with pytest.raises(EncodeError):
        Put(person)


def read_back(write: Any) -> Any:
    return write.definition.items.decode([write._stored])[0]


# --- what is not validated ---------------------------------------------------------------------------------------


class Counted(Model, table="counted"):
    name: PartitionKey[str]
    title: Attr[str] = attr(default="t")
    other: Attr[str] = attr(default="o")
    tags: Attr[list[str]] = attr(default_factory=list)

    @field_validator("title", "other", mode="before")
    @classmethod
    def _count(cls, value: Any, info: Any) -> Any:
        seen.append(info.field_name)
        return value


seen: list[str] = []


@pytest.mark.parametrize("write", WRITES)
def test_an_untouched_instance_is_not_validated(write):
    item = Counted(name="a", title="x", tags=["x"])
    seen.clear()
    write(item)
    assert seen == []


@pytest.mark.parametrize("write", [Put, Create, Replace])
def test_an_instance_that_was_read_and_not_touched_is_not_validated(write):
    item = read(Counted(name="a", title="x", tags=["x"]))
    seen.clear()
    write(item)
    assert seen == []


@pytest.mark.parametrize("write", [Put, Create, Replace])
def test_only_what_was_assigned_is_validated(write):
    item = read(Counted(name="a", title="x", tags=["x"]))
    seen.clear()
    item.title = "y"
    write(item)
    assert seen == ["title"]


def test_what_was_validated_by_a_write_is_not_validated_by_the_next():
    item = Counted(name="a", title="x")
    item.title = "y"
    seen.clear()
    Put(item)
    Put(item)
    assert seen == ["title"]


def test_the_same_object_assigned_again_is_no_change():
    item = Counted(name="a", title="x")
    seen.clear()
    item.title = item.title
    Put(item)
    assert seen == []


class Louder(Model, table="louder"):
    name: PartitionKey[str]
    shout: Attr[Annotated[str, BeforeValidator(lambda text: text + "!")]]
    title: Attr[str] = attr(default="t")


def test_a_field_that_was_not_touched_does_not_go_through_its_validator_again():
    item = Louder(name="a", shout="hey", title="t")
    item.title = "u"
    assert written(Put(item))["shout"] == {"S": "hey!"}
    assert item.shout == "hey!"


class Split(Model, table="split"):
    name: PartitionKey[str]
    words: Attr[Annotated[list[str], AfterValidator(lambda words: [word.upper() for word in words])]]
    title: Attr[str] = attr(default="t")


def test_a_list_that_was_not_assigned_is_only_judged():
    item = Split(name="a", words=["a"])
    words = item.words
    item.words.append("b")
    assert written(Put(item))["words"] == {"L": [{"S": "A"}, {"S": "b"}]}
    assert item.words is words


class Validated(Model, table="validated", validate_assignment=True):
    name: PartitionKey[str]
    shout: Attr[Annotated[str, BeforeValidator(lambda text: text + "!")]] = attr(default="")
    tags: Attr[list[Text]] = attr(default_factory=list)


def test_a_model_that_validates_assignments_does_not_validate_them_twice():
    item = Validated(name="a")
    item.shout = "hey"
    assert written(Put(item))["shout"] == {"S": "hey!"}


def test_changes_in_place_of_a_model_that_validates_assignments_are_validated():
    item = Validated(name="a")
    item.tags.append("")
    with pytest.raises(EncodeError, match=r"Validated\.tags\[0\]"):
        Put(item)


# --- validators of whole models ----------------------------------------------------------------------------------


class Span(Model, table="spans"):
    name: PartitionKey[str]
    first: Attr[int]
    last: Attr[int]
    parts: Attr[list[int]] = attr(default_factory=list)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.first > self.last:
            raise ValueError("first is past last")
        if len(self.parts) > 2:
            raise ValueError("too many parts")
        return self


def test_the_models_own_validator_judges_the_whole():
    span = Span(name="a", first=1, last=2)
    span.first = 3
    with pytest.raises(EncodeError, match="Span: Value error, first is past last") as caught:
        Put(span)
    assert caught.value.path == ()


def test_it_judges_all_changes_together():
    span = Span(name="a", first=1, last=2)
    span.first, span.last = "3", "4"
    assert written(Save(span))["first"] == {"N": "3"}
    assert (span.first, span.last) == (3, 4)


def test_it_judges_what_changed_in_place():
    span = Span(name="a", first=1, last=2)
    span.parts.extend([1, 2, 3])
    with pytest.raises(EncodeError, match="too many parts"):
        Put(span)


class Slugged(Model, table="slugs"):
    name: PartitionKey[str]
    title: Attr[str]
    slug: Attr[str] = attr(default="")

    @model_validator(mode="after")
    def _slugify(self) -> Self:
        self.slug = self.title.lower()
        return self


def test_what_the_models_validator_sets_is_stored_and_held():
    item = Slugged(name="a", title="One")
    item.title = "Two"
    assert written(Put(item))["slug"] == {"S": "two"}
    assert item.slug == "two"


class Filled(Model, table="filled"):
    name: PartitionKey[str]
    title: Attr[str]
    shout: Attr[Annotated[str, BeforeValidator(lambda text: text + "!")]]
    slug: Attr[str] = attr(default="")
    tags: Attr[list[str]] = attr(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _slugify(cls, data: Any) -> Any:
        return {**data, "slug": data["title"].lower()}


def test_what_a_validator_before_the_fields_sets_is_stored_and_other_fields_keep_their_values():
    item = Filled(name="a", title="One", shout="hey", tags=["x"])
    tags = item.tags
    item.title = "Two"
    stored = written(Put(item))
    assert (stored["slug"], stored["shout"]) == ({"S": "two"}, {"S": "hey!"})
    assert (item.slug, item.shout) == ("two", "hey!")
    assert item.tags is tags


class Early(Model, table="early"):
    name: PartitionKey[str]
    title: Attr[Text]
    other: Attr[str] = attr(default="o")

    @model_validator(mode="before")
    @classmethod
    def _look(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.get("other", "").strip() == "bad":
            raise ValueError("bad")
        return data


def test_a_validator_before_the_fields_sees_plain_values():
    item = Early(name="a", title="t")
    item.title = "u"
    Put(item)
    item.other = "bad"
    with pytest.raises(EncodeError, match="Early: Value error, bad"):
        Put(item)


class Dependent(Model, table="dependent"):
    name: PartitionKey[str]
    low: Attr[int]
    high: Attr[int]

    @field_validator("high")
    @classmethod
    def _above(cls, value: int, info: Any) -> int:
        if value < info.data["low"]:
            raise ValueError("is below low")
        return value


def test_a_fields_validator_sees_the_other_fields():
    item = Dependent(name="a", low=1, high=2)
    item.high = 0
    with pytest.raises(EncodeError, match=r"Dependent\.high: Value error, is below low"):
        Put(item)


# --- models of all sorts -----------------------------------------------------------------------------------------


class Frozen(Model, table="frozen", frozen=True):
    name: PartitionKey[str]
    title: Attr[Text]
    tags: Attr[list[Text]] = attr(default_factory=list)


def test_a_copy_of_a_frozen_instance_is_validated():
    item = Frozen(name="a", title="t")
    assert written(Put(item.model_copy(update={"title": "u"})))["title"] == {"S": "u"}
    with pytest.raises(EncodeError, match=r"Frozen\.title"):
        Put(item.model_copy(update={"title": ""}))


def test_a_frozen_instance_changed_in_place_is_validated():
    item = Frozen(name="a", title="t")
    item.tags.append("")
    with pytest.raises(EncodeError, match=r"Frozen\.tags"):
        Put(item)


class Aliased(Model, table="aliased"):
    model_config = ConfigDict(alias_generator=lambda name: name.upper())
    name: PartitionKey[str]
    title: Attr[Text] = attr(name="t")
    address: Attr[Plain] = attr(default=Plain())


def test_fields_with_aliases_are_validated_by_their_names():
    item = Aliased(NAME="a", TITLE="t")
    item.title = "u"
    assert written(Put(item))["t"] == {"S": "u"}
    item.title = ""
    with pytest.raises(EncodeError, match=r"Aliased\.title"):
        Put(item)


class Task(Model, table="tasks"):
    project: Attr[Annotated[str, StringConstraints(to_lower=True, min_length=1)]]
    number: Attr[int]
    pk: PartitionKey[str] = template("P#{project}")
    sk: SortKey[str] = template("T#{number:06d}")
    version: Version[Annotated[int, Field(ge=0)]] = attr(default=0)
    ends: TimeToLive[datetime | None] = attr(default=None)


def test_a_computed_key_follows_what_validation_makes_of_its_parts():
    task = Task(project="p", number=1)
    task.project = "Q"
    stored = written(Put(task))
    assert (stored["pk"], stored["project"]) == ({"S": "P#q"}, {"S": "q"})
    assert (task.pk, task.project) == ("P#q", "q")


def test_a_version_is_validated():
    task = Task(project="p", number=1)
    task.version = "3"
    assert Put(task).expected_version == 3
    task.version = -1
    with pytest.raises(EncodeError, match=r"Task\.version"):
        Put(task)


def test_a_time_to_live_is_cut_to_seconds():
    task = Task(project="p", number=1)
    task.ends = datetime(2030, 1, 1, 0, 0, 0, 250, tzinfo=UTC)
    Put(task)
    assert task.ends == datetime(2030, 1, 1, tzinfo=UTC)


ZOO = Table("zoo", partition_key="name")


class Animal(Model, table=ZOO, abstract=True):
    name: PartitionKey[str]
    age: Attr[Annotated[int, Field(ge=0)]] = attr(default=0)


class Cat(Animal, kind="cat"):
    toys: Attr[list[Text]] = attr(default_factory=list)


def test_members_of_a_family_are_validated_by_their_own_models():
    cat = Cat(name="tom")
    cat.toys.append("")
    cat.age = -1
    with pytest.raises(EncodeError, match=r"Cat\.age: .*; toys\.0: "):
        Put(cat)


class Made(Model, table="made"):
    name: PartitionKey[str]
    title: Attr[Text] = attr(default="t")

    def __init__(self, **values: Any) -> None:
        made.append(values)
        super().__init__(**values)

    def model_post_init(self, context: Any) -> None:
        made.append({})


made: list[dict[str, Any]] = []


def test_a_model_with_an_init_of_its_own_is_not_made_again():
    item = Made(name="a")
    made.clear()
    item.title = "u"
    Put(item)
    assert made == []
    item.title = ""
    with pytest.raises(EncodeError, match=r"Made\.title"):
        Put(item)


class Bare(Model, table="annotated"):
    name: PartitionKey[str]
    title: Text = "t"
    kind: Literal["a", "b"] = "a"


def test_plainly_annotated_fields_are_validated():
    item = Bare(name="a")
    item.title = ""
    with pytest.raises(EncodeError, match=r"Bare\.title"):
        Put(item)


class Open(Model, table="open", extra="allow"):
    __pydantic_extra__: dict[str, Annotated[int, Field(ge=0)]]
    name: PartitionKey[str]


def test_extra_attributes_are_validated_by_their_declared_type():
    item = Open(name="a", likes=1)
    item.likes = "2"
    assert written(Put(item))["likes"] == {"N": "2"}
    assert item.likes == 2
    item.likes = -1
    with pytest.raises(EncodeError, match=r"Open\.likes"):
        Put(item)


class Node(Model, table="nodes"):
    name: PartitionKey[str]
    label: Attr[Text] = attr(default="l")
    children: Attr[list["Node"]] = attr(default_factory=list)


def test_a_model_that_contains_itself_is_validated():
    node = Node(name="a", children=[Node(name="b", children=[Node(name="c")])])
    node.label = "m"
    Put(node)
    node.children[0].children[0].label = ""
    with pytest.raises(EncodeError, match=r"Node\.children\[0\]\.children\[0\]\.label"):
        Put(node)


class Typed(Model):
    type: Attr[Literal["a"]] = attr(default="a")
    schema_: Attr[Text] = attr(default="s")


class Other(Model):
    type: Attr[Literal["b"]] = attr(default="b")
    size: Attr[Annotated[int, Field(ge=0)]] = attr(default=0)


class Holder(Model, table="holders"):
    name: PartitionKey[str]
    type: Attr[list[Text]] = attr(default_factory=list)
    typed: Attr[Typed] = attr(default=Typed())
    either: Attr[Typed | Other] = attr(default=Other())
    told: Attr[Annotated[Typed | Other, Field(discriminator="type")]] = attr(default=Other())
    pairs: Attr[tuple[Text, list[Text]]] = attr(default=("a", []))
    colours: Attr[dict[Literal["red"], list[Text]]] = attr(default_factory=dict)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda holder: holder.type.append(""), ("type", 0)),
        (lambda holder: setattr(holder.typed, "schema_", ""), ("typed", "schema_")),
        (lambda holder: setattr(holder.either, "size", -1), ("either",)),
        (lambda holder: setattr(holder.told, "size", -1), ("told", "b", "size")),
        (lambda holder: holder.pairs[1].append(""), ("pairs", 1, 0)),
        (lambda holder: holder.colours.update(red=[""]), ("colours", "red", 0)),
    ],
)
@pytest.mark.parametrize("touched", [False, True])
def test_values_of_all_sorts_of_types_are_judged_in_place(change, path, touched):
    holder = read(Holder(name="a"))
    Put(holder)
    if touched:
        holder.type = ["b"]
    change(holder)
    with pytest.raises(EncodeError) as caught:
        Put(holder)
    found = caught.value.path
    assert found[: len(path)] == path if not (touched and path[0] == "type") else found == ("type", 1)


class Tags(Model, table="tags"):
    name: PartitionKey[str]
    title: Attr[str] = attr(default="t")
    tags: Attr[Annotated[set[str], Field(min_length=1)]] = attr(default_factory=set)


def test_a_default_that_is_left_out_is_no_fault():
    item = Tags(name="a")
    assert read_back(Put(item)).tags == set()
    item.title = "u"
    assert read_back(Put(item)).tags == set()


class Keeper(Model, table="keepers"):
    name: PartitionKey[str]
    title: Attr[str] = attr(default="t")
    _seen: str = PrivateAttr(default="nothing")
    _late: str = PrivateAttr()

    @model_validator(mode="after")
    def _look(self) -> Self:
        assert self._seen == "nothing"
        return self


def test_a_models_validator_finds_its_private_attributes():
    keeper = Keeper(name="a")
    keeper._late = "late"
    keeper.title = "u"
    Put(keeper)
    assert keeper._late == "late"


class OwnSchema(Model, table="own"):
    name: PartitionKey[str]
    title: Attr[Text] = attr(default="t")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return core_schema.no_info_after_validator_function(lambda item: item, handler(source))


def test_a_model_with_a_schema_of_its_own_is_validated():
    item = OwnSchema(name="a")
    item.title = "u"
    Put(item)
    item.title = ""
    with pytest.raises(EncodeError, match=r"OwnSchema\.title"):
        Put(item)


# --- saves -------------------------------------------------------------------------------------------------------


def changes(write: Any) -> set[str]:
    return set(write._changes)


def test_a_save_validates_what_changed_in_place_and_nothing_else():
    item = read(Tagged(name="a", tags=["x"], other=["y"]))
    item.tags.append("z")
    item_seen.clear()
    save = Save(item)
    assert changes(save) == {"tags"}
    assert [each for each in item_seen if each == ("tags", ["x", "z"])] == [("tags", ["x", "z"])]
    assert all(name != "other" or value == ["y"] for name, value in item_seen)


class Tagged(Model, table="tagged"):
    name: PartitionKey[str]
    tags: Attr[list[str]] = attr(default_factory=list)
    other: Attr[list[str]] = attr(default_factory=list)

    @field_validator("tags", "other")
    @classmethod
    def _see(cls, value: Any, info: Any) -> Any:
        item_seen.append((info.field_name, list(value)))
        return value


item_seen: list[tuple[str, list[str]]] = []


def test_an_assignment_while_a_write_is_on_its_way_is_validated_by_the_next():
    item = note()
    put = Put(item)
    item.title = ""
    put.acknowledged()
    with pytest.raises(EncodeError):
        Put(item)
    with pytest.raises(EncodeError):
        Save(item)


def test_a_save_of_a_converted_value_that_is_stored_already_sends_nothing():
    item = read(Person(name="ada", age=36))
    item.age = "36"
    assert Save(item).unneeded
    assert item.age == 36


def test_a_written_instance_may_be_changed_and_saved():
    item = note()
    put = Put(item)
    put.request(Context())
    put.acknowledged()
    item.tags.append("new")
    assert changes(Save(item)) == {"tags"}
    item.tags.append("")
    with pytest.raises(EncodeError):
        Save(item)
