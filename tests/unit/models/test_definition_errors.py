"""A wrong definition is refused when the class is made, with the model, the field and the remedy."""

import re
import sys
from collections.abc import Callable
from dataclasses import InitVar, dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar, Union

import pytest
from pydantic import AnyUrl, Field, NaiveDatetime
from pydantic.fields import FieldInfo

from dynamap_async import (
    KEYS_ONLY,
    Attr,
    GlobalIndex,
    LocalIndex,
    Model,
    PartitionKey,
    SortKey,
    StoredForm,
    Throughput,
    TimeToLive,
    Version,
    attr,
    include,
    template,
)
from dynamap_async.codec import EPOCH_MILLISECONDS, JSON_TEXT
from dynamap_async.errors import ModelDefinitionError
from dynamap_async.models import definition_of

T = TypeVar("T")
AS_LIST = StoredForm(name="halves", tag="L", encode=list, decode="".join)


def made(body: dict[str, Any], **keywords: Any) -> Any:
    """Make a class ``Tweet`` of a body: a name with a type, with ``(type, default)``, or an index."""
    annotations, namespace = {}, {}
    for name, value in body.items():
        if isinstance(value, LocalIndex | GlobalIndex):
            namespace[name] = value
        elif isinstance(value, tuple):
            annotations[name], namespace[name] = value
        else:
            annotations[name] = value
    names = {"__annotations__": annotations, "__module__": __name__, **namespace}
    return type(Model)("Tweet", (Model,), names, **keywords)


ENDLESS: dict[str, Any] = {}
ENDLESS["a"] = ENDLESS
KEYS: dict[str, Any] = {"user": PartitionKey[str], "number": SortKey[int], "city": Attr[str], "day": Attr[date]}
LONG = "x" * 256


def keyed(**more: Any) -> dict[str, Any]:
    return {**KEYS, **more}


@dataclass(frozen=True)
class Mistake:
    body: dict[str, Any]
    message: str
    """What the error says after the model's name; a regular expression."""
    field: str | None = None
    keywords: dict[str, Any] | None = None


MISTAKES = {
    "no partition key": Mistake({"a": Attr[str]}, "has no partition key; mark one field PartitionKey"),
    "sort key alone": Mistake({"a": SortKey[str]}, "has a sort key but no partition key; mark one field PartitionKey"),
    "two partition keys": Mistake(
        keyed(other=PartitionKey[str]), "user and other are both PartitionKey; a table has one", "other"
    ),
    "two sort keys": Mistake(keyed(other=SortKey[str]), "number and other are both SortKey; a table has one", "other"),
    "optional partition key": Mistake(
        {"a": PartitionKey[str | None]}, "is part of the table's key and cannot be None", "a"
    ),
    "optional sort key": Mistake({"a": PartitionKey[str], "b": (SortKey[int | None], None)}, "cannot be None", "b"),
    "duplicate stored name": Mistake(
        keyed(text=(Attr[str], attr(name="city"))),
        "is stored as 'city', and so is 'city'; give one of them another attr\\(name=...\\)",
        "text",
    ),
    "empty stored name": Mistake(
        keyed(text=(Attr[str], attr(name=""))), "the stored name '' must be 1 to 65,535 bytes of UTF-8", "text"
    ),
    "stored name of half a character": Mistake(
        keyed(text=(Attr[str], attr(name="\ud800"))), r"the stored name '\\ud800' must be 1 to 65,535 bytes", "text"
    ),
    "stored name of another type": Mistake(
        keyed(text=(Attr[str], attr(name=5))),
        "attr\\(name=5\\): the name of an attribute must be a string",
        "text",  # type: ignore[call-overload]
    ),
    "stored form of another type": Mistake(
        keyed(text=(Attr[str], attr(stored_as="json"))),  # type: ignore[call-overload]
        r"attr\(stored_as='json'\) is not a stored form; use EPOCH_SECONDS, EPOCH_MILLISECONDS or JSON_TEXT",
        "text",
    ),
    "key name too long": Mistake(
        {"a": (PartitionKey[str], attr(name=LONG))}, "the stored name of a key attribute has at most 255 bytes", "a"
    ),
    "index key name too long": Mistake(
        keyed(text=(Attr[str], attr(name=LONG)), by=GlobalIndex("abc", partition_key="text")),
        "at most 255 bytes",
        "text",
    ),
    "table of another type": Mistake(KEYS, 'table=5 is not a table name; write table="tweets"', None, {"table": 5}),
    "bad table name": Mistake(
        KEYS, "table name 'my tweets' is not allowed; use 3 to 255 characters", None, {"table": "my tweets"}
    ),
    "short table name": Mistake(KEYS, "table name 'ab' is not allowed", None, {"table": "ab"}),
    "long table name": Mistake(KEYS, "is not allowed", None, {"table": LONG}),
    "abstract with a table": Mistake(
        KEYS, "is abstract and names the table 'tweets'; .* drop one of the two", None, {"abstract": True}
    ),
    "throughput of another type": Mistake(
        KEYS, "throughput=5 is not a Throughput; write Throughput\\(read=10, write=2\\)", None, {"throughput": 5}
    ),
    "settings of another type": Mistake(
        KEYS,
        "settings={'stream': 'keys'} is not a TableSettings; write TableSettings\\(recovery=Recovery\\(\\)\\)",
        None,
        {"settings": {"stream": "keys"}},
    ),
    "misspelt keyword": Mistake(KEYS, "unknown class keyword; did you mean abstract\\?", None, {"abstrct": True}),
    "unknown keyword": Mistake(KEYS, "unknown class keyword; known are .*abstract, .*table", None, {"qqq": 1}),
    "key without a table": Mistake(
        {"a": PartitionKey[str]},
        'is a PartitionKey, but the model has no table; add table="..." \\(or abstract=True\\) to class Tweet',
        "a",
        {"table": None},
    ),
    "index without a table": Mistake(
        {"a": Attr[str], "by": GlobalIndex("by-a", partition_key="a")},
        'is an index, but the model has no table; add table="..."',
        "by",
        {"table": None},
    ),
    "bare marker": Mistake({"a": PartitionKey}, "a field is annotated PartitionKey without a type; write it"),
    "bare marker in a union": Mistake(keyed(b=Union[Attr, None]), "annotated Attr without a type"),  # noqa: UP007
    "two expiry times": Mistake(
        keyed(a=TimeToLive[int], b=TimeToLive[int]), "a and b are both TimeToLive; a table has one", "b"
    ),
    "expiry of another form": Mistake(
        keyed(a=(TimeToLive[datetime], attr(stored_as=EPOCH_MILLISECONDS))),
        "a TimeToLive is always stored as epoch seconds; drop stored_as",
        "a",
    ),
    "two versions": Mistake(keyed(a=Version[int], b=Version[int]), "a and b are both Version; a table has one", "b"),
    "version stored otherwise": Mistake(
        keyed(a=(Version[int], attr(stored_as=JSON_TEXT))), "Tweet.a: a Version must be an int", "a"
    ),
    "default of another type": Mistake(
        keyed(likes=(Attr[int], "x")), "the default 'x' does not fit: int expected, got str 'x'", "likes"
    ),
    "default that breaks a constraint": Mistake(
        keyed(likes=(Attr[Annotated[int, Field(ge=0)]], -1)),
        "the default -1 does not fit: Input should be greater than or equal to 0",
        "likes",
    ),
    "default None": Mistake(
        keyed(likes=(Attr[int], None)), "the default None does not fit: int expected, got None", "likes"
    ),
    "default that contains itself": Mistake(
        keyed(tree=(Attr[dict[str, Any]], ENDLESS)), "does not fit: .*value contains itself", "tree"
    ),
    "map with literal keys of no text": Mistake(
        keyed(a=Attr[dict[Literal[b"a"], str]]), "a stored map has text keys, and typing.Literal", "a"
    ),
    "map with literal keys of one text": Mistake(
        keyed(a=Attr[dict[Literal["1", 1], str]]), "a stored map has text keys, and typing.Literal", "a"
    ),
    "default of a nested part": Mistake(
        keyed(likes=(Attr[list[int]], ["x"])), r"does not fit: \[0\]: int expected, got str 'x'", "likes"
    ),
    "map without text keys": Mistake(
        keyed(a=Attr[dict[tuple[int, int], str]]), r"a stored map has text keys, and tuple\[int", "a"
    ),
    "map with keys of two types": Mistake(
        keyed(a=Attr[dict[str | int, str]]), r"a stored map has text keys, and str \| int", "a"
    ),
    "local index without a sort key": Mistake(
        {"a": PartitionKey[str], "b": Attr[int], "by": LocalIndex("by-b", sort_key="b")},
        "a local index needs a table with a sort key; mark one SortKey\\[...\\], or use GlobalIndex",
        "by",
    ),
    "local index on two fields": Mistake(
        keyed(by=LocalIndex("by-x", sort_key=["city", "day"])),
        "a local index has one sort key field",
        "by",  # type: ignore[arg-type]
    ),
    "six local indexes": Mistake(
        keyed(**{f"by_{i}": LocalIndex(sort_key="city") for i in range(6)}),
        "has 6 local indexes; DynamoDB allows 5: make the others GlobalIndex",
    ),
    "unknown field of an index": Mistake(
        keyed(by=GlobalIndex("by-x", partition_key="citi")),
        "names the field 'citi', which Tweet does not have; did you mean 'city'\\?",
        "by",
    ),
    "field of an index that is like no other": Mistake(
        keyed(by=GlobalIndex("by-x", partition_key="qqq")),
        "names the field 'qqq', which Tweet does not have; the fields are user, number, city, day",
        "by",
    ),
    "field of an index that is not text": Mistake(
        keyed(by=GlobalIndex("by-x", partition_key=5)),  # type: ignore[arg-type]
        "must name fields as strings, such as 'user', not 5",
        "by",
    ),
    "no partition field": Mistake(
        keyed(by=GlobalIndex("by-x", partition_key=[])), "a global index has 1 to 4 partition key fields, not 0", "by"
    ),
    "five partition fields": Mistake(
        keyed(by=GlobalIndex("by-x", partition_key=["city"] * 5)), "1 to 4 partition key fields, not 5", "by"
    ),
    "five sort fields": Mistake(
        keyed(by=GlobalIndex("by-x", partition_key="day", sort_key=["city"] * 5)),
        "a global index has at most 4 sort key fields, not 5",
        "by",
    ),
    "field twice in an index": Mistake(
        keyed(by=GlobalIndex("by-x", partition_key="city", sort_key="city")),
        "names a field twice in its key \\(city, city\\)",
        "by",
    ),
    "nullable index key with another default": Mistake(
        keyed(town=(Attr[str | None], "Ulm"), by=GlobalIndex("by-x", partition_key="town")),
        "can be None but has another default, so.*of the index by.* make the default None",
        "town",
    ),
    "duplicate index names": Mistake(
        keyed(a=GlobalIndex("by-x", partition_key="city"), b=GlobalIndex("by-x", partition_key="day")),
        "two indexes are named 'by-x'; index names are unique within a table",
    ),
    "bad index name": Mistake(
        keyed(by=GlobalIndex("by x", partition_key="city")), "index name 'by x' is not allowed", "by"
    ),
    "short index name": Mistake(keyed(by=GlobalIndex(partition_key="city")), "index name 'by' is not allowed", "by"),
    "include nothing": Mistake(
        keyed(by=GlobalIndex("by-x", partition_key="city", projection=include())),
        "include\\(\\) names no field; use KEYS_ONLY",
        "by",
    ),
    "include an unknown field": Mistake(
        keyed(by=GlobalIndex("by-x", partition_key="city", projection=include("dai"))),
        "names the field 'dai', .* did you mean 'day'",
        "by",
    ),
    "include too many in one index": Mistake(
        keyed(
            **{f"f{i}": (Attr[str], "") for i in range(21)},
            by=GlobalIndex("by-x", partition_key="city", projection=include(*(f"f{i}" for i in range(21)))),
        ),
        "include\\(\\) names 21 fields, and DynamoDB allows 20; project ALL",
        "by",
    ),
    "include too many in all": Mistake(
        keyed(
            **{f"f{i}": (Attr[str], "") for i in range(20)},
            **{
                f"by_{j}": GlobalIndex(partition_key="city", projection=include(*(f"f{i}" for i in range(20))))
                for j in range(6)
            },
        ),
        "the INCLUDE projections name 120 attributes, and DynamoDB allows 100; project ALL",
    ),
    "projection of another type": Mistake(
        keyed(by=GlobalIndex("by-x", partition_key="city", projection="ALL")),  # type: ignore[arg-type]
        "projection='ALL' is not ALL, KEYS_ONLY or include\\(...\\)",
        "by",
    ),
    "index throughput of another type": Mistake(
        keyed(by=GlobalIndex("by-x", partition_key="city", throughput=5)),  # type: ignore[arg-type]
        "throughput=5 is not a Throughput",
        "by",
    ),
    "index that is annotated as a field": Mistake(
        keyed(by=(GlobalIndex, GlobalIndex("by-x", partition_key="city"))),
        "an index is not a field; drop its annotation, or write ClassVar\\[GlobalIndex\\]",
        "by",
    ),
}

NO_KEYS = [
    (bool, "bool, stored as BOOL"),
    (list[str], "list\\[str\\], stored as L"),
    (set[str], "set\\[str\\], stored as L/SS"),
    (dict[str, int], "dict\\[str, int\\], stored as M"),
    (Any, "Any, stored as "),
    (str | int, "str | int, stored as N/S"),
    (
        Address := type("Address", (Model,), {"__annotations__": {"a": str}, "__module__": __name__}),
        "Address, stored as M",
    ),
    (Annotated[str, attr(stored_as=AS_LIST)], "str, stored as L"),
]


@pytest.mark.parametrize("hidden", [attr(default=None), date(2024, 1, 1), Decimal(1)])
def test_a_type_that_is_hidden_by_a_default_of_its_name_is_refused(hidden: Any) -> None:
    with pytest.raises(ModelDefinitionError, match=r"Dated: a field with a default .*import datetime as dt"):

        class Dated(Model, table="dated"):
            id: PartitionKey[str]
            day = hidden
            other: Attr[day]  # type: ignore[valid-type] # what the name means here is tested


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="annotations are evaluated outside the class body there")
@pytest.mark.parametrize(
    "body",
    [
        "date: Attr[date | None] = attr(default=None)",
        "date: Attr[None | date] = attr(default=None)",
        "date: Attr[list[date]] = attr(default_factory=list)",
        "date: Attr[dict[str, list[date]] | None] = attr(default=None)",
        'date: Attr[date | None] = template("at")',
        "date: date | None = attr(default=None)",
    ],
)
def test_a_field_with_the_name_of_a_part_of_its_type_is_refused_with_what_to_write(body):
    lines = [
        "from datetime import date",
        "class Dated(Model, table='dated'):",
        "    id: PartitionKey[str]",
        f"    {body}",
    ]
    names = {"Model": Model, "PartitionKey": PartitionKey, "Attr": Attr, "attr": attr, "template": template}
    with pytest.raises(ModelDefinitionError, match=r"Dated: a field with a default .*import datetime as dt"):
        exec("\n".join(lines), {**names, "__name__": __name__})


def test_fields_are_of_pydantics_own_class_once_the_model_is_made():
    class Thing(Model, table="things"):
        id: PartitionKey[str]
        name: Attr[str] = attr(default="")
        key: Attr[str] = template("{id}")

    assert {type(each) for each in Thing.model_fields.values()} == {FieldInfo}


@pytest.mark.parametrize("kind", ["Attr[date]", "date | None"])
def test_a_type_that_is_hidden_is_refused_by_the_name_of_the_model_where_annotations_are_read_later(kind: str) -> None:
    source = f"""
from __future__ import annotations
from datetime import date
from dynamap_async import Attr, Model, PartitionKey, attr

class Dated(Model, table="dated"):
    id: PartitionKey[str]
    date: {kind} = attr(default=None)
"""
    with pytest.raises(ModelDefinitionError, match=r"^Dated: a field with a default .*import datetime as dt") as raised:
        exec(source, {"__name__": __name__})
    assert raised.value.model == "Dated"


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistake_is_refused_with_its_place_and_its_remedy(mistake: Mistake) -> None:
    with pytest.raises(ModelDefinitionError, match=mistake.message) as caught:
        made(mistake.body, **{"table": "tweets", **(mistake.keywords or {})})
    error = caught.value
    assert (error.model, error.field) == ("Tweet", mistake.field)
    assert re.match(rf"(class )?Tweet\b{'.' + mistake.field if mistake.field else ''}", str(error))


@pytest.mark.parametrize(("annotation", "what"), NO_KEYS)
@pytest.mark.parametrize(
    ("place", "body"),
    [
        ("the partition key", lambda kind: {"a": PartitionKey[kind]}),
        ("the sort key", lambda kind: {"b": PartitionKey[str], "a": SortKey[kind]}),
        (
            "part of the key of the index by",
            lambda kind: {"b": PartitionKey[str], "a": Attr[kind], "by": GlobalIndex("by-a", partition_key="a")},
        ),
    ],
)
def test_type_that_dynamodb_cannot_take_as_a_key_is_refused(
    annotation: Any, what: str, place: str, body: Callable[[Any], dict[str, Any]]
) -> None:
    with pytest.raises(
        ModelDefinitionError, match=f"Tweet.a: is {place} and holds {what}.*a key must be text, a number or"
    ):
        made(body(annotation), table="tweets")


@pytest.mark.parametrize("kind", [str, float, date, NaiveDatetime, Any, datetime | int, bool])
def test_expiry_time_is_a_time_or_a_number_of_seconds(kind: Any) -> None:
    with pytest.raises(
        ModelDefinitionError, match="Tweet.a: a TimeToLive is a time that is stored as epoch seconds, and"
    ):
        made(keyed(a=TimeToLive[kind]), table="tweets")


@pytest.mark.parametrize("kind", [str, float, bool, int | None, Any])
def test_version_is_a_whole_number(kind: Any) -> None:
    with pytest.raises(ModelDefinitionError, match=r"Tweet.a: a Version must be an int, not .*Version\[int\]"):
        made(keyed(a=Version[kind]), table="tweets")


@pytest.mark.parametrize(
    "name", ["schema", "copy", "json", "dict", "construct", "validate", "model_dump", "mro", "register"]
)
def test_name_that_class_access_never_reaches_is_reserved(name: str) -> None:
    message = rf"Tweet.{name}: '{name}' is a name of Pydantic's BaseModel.*store it with attr\(name='{name}'\)"
    with pytest.raises(ModelDefinitionError, match=message):
        made(keyed(**{name: Attr[str]}), table="tweets")


def test_reserved_name_may_be_the_stored_one() -> None:
    tweet = made(keyed(text=(Attr[str], attr(name="schema"))), table="tweets")
    assert definition_of(tweet).fields["text"].stored == "schema"


def test_index_may_not_have_the_name_of_a_field() -> None:
    parent = made(KEYS, abstract=True)
    with pytest.raises(ModelDefinitionError, match="Other.city: is an index and a field"):
        type(Model)("Other", (parent,), {"city": GlobalIndex("by-city", partition_key="city")}, table="tweets")


def test_inherited_mistake_is_reported_where_it_is_one() -> None:
    class Audited(Model, abstract=True):
        user: PartitionKey[str]
        by_city = GlobalIndex("by-city", partition_key="city")

    with pytest.raises(ModelDefinitionError, match="Tweet.by_city: names the field 'city'"):

        class Tweet(Audited, table="tweets"):
            town: Attr[str]

    class Fine(Audited, table="tweets"):
        city: Attr[str]

    assert [index.name for index in definition_of(Fine).require_table("read").indexes] == ["by-city"]


def test_index_annotated_as_a_class_variable_is_an_index() -> None:
    class Tweet(Model, table="tweets"):
        user: PartitionKey[str]
        by_user: ClassVar[GlobalIndex] = GlobalIndex("by-user", partition_key="user", projection=KEYS_ONLY)

    assert Tweet.by_user.name == "by-user"
    assert "by_user" not in Tweet.model_fields


def test_model_without_a_table_says_how_to_give_it_one() -> None:
    class Nested(Model):
        city: Attr[str]

    with pytest.raises(
        ModelDefinitionError,
        match=r'Nested has no table, so it cannot be read; write class Nested\(Model, table="..."\)',
    ):
        definition_of(Nested).require_table("read")


def test_text_types_of_pydantic_can_be_keys() -> None:
    tweet = made({"url": PartitionKey[AnyUrl], "name": SortKey[Annotated[str, Field(max_length=9)]]}, table="tweets")
    assert definition_of(tweet).require_table("read").attribute_types == {"url": "S", "name": "S"}


def test_generic_model_with_a_table_may_leave_other_fields_open() -> None:
    class Box(Model, Generic[T], table="boxes"):
        id: PartitionKey[str]
        content: Attr[T]

    table = definition_of(Box[int]).require_table("read")
    assert (table.name, table.keys.names) == ("boxes", ("id",))


def test_throughput_starts_at_one_unit() -> None:
    with pytest.raises(ValueError, match="provisions at least 1 unit"):
        Throughput(read=0, write=1)


@dataclass
class Seeded:
    total: int
    seed: InitVar[int]


@dataclass
class Summed:
    total: int
    seed: InitVar[int] = 0
    known: ClassVar[int] = 3


def test_dataclass_that_is_made_of_more_than_it_keeps_is_refused() -> None:
    with pytest.raises(ModelDefinitionError, match=r"Thing.value: Seeded needs 'seed'.* give it a default"):

        class Thing(Model, table="things"):
            id: PartitionKey[str]
            value: Attr[list[Seeded]]


def test_dataclass_whose_other_arguments_have_defaults_reads_back(make_model, read_back) -> None:
    item = make_model(Summed)(value=Summed(1, 2))
    assert read_back(item) == item
