"""Types that say themselves that they are text: ULIDs and others, as attributes, as keys and as parts of keys."""

import ipaddress
from typing import Annotated, Any
from uuid import UUID

import pydantic_extra_types.ulid
import pytest
import ulid
from pydantic import AfterValidator, Base64Str, BeforeValidator, ConfigDict, Json, PlainSerializer, WrapSerializer
from pydantic_core import core_schema as core
from pydantic_extra_types.color import Color
from pydantic_extra_types.uuid_types import UUID7

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, SortKey, StoredForm, Table, attr, template
from dynamap_async.errors import (
    EncodeError,
    ExpressionError,
    ItemDecodeError,
    ItemValidationError,
    ModelDefinitionError,
)
from dynamap_async.models import definition_of

FIRST = ulid.ULID.from_str("01ARZ3NDEKTSV4RRFFQ69G5FAV")
SECOND = ulid.ULID.from_str("01BX5ZZKBKACTAV9WEVGEMMVRZ")
ULIDS = pytest.mark.parametrize(
    "kind", [ulid.ULID, pydantic_extra_types.ulid.ULID], ids=["python-ulid", "pydantic-extra-types"]
)


class Serial:
    """A class of a program's own: it knows its text, and Pydantic knows nothing of it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Serial) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


def serial(value: Any) -> Serial:
    return value if isinstance(value, Serial) else Serial(value)


class Told(Serial):
    """A class that tells Pydantic by a function what it is dumped to."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> core.CoreSchema:
        return core.no_info_plain_validator_function(
            lambda value: value if isinstance(value, cls) else cls(value),
            serialization=core.plain_serializer_function_ser_schema(str, return_schema=core.str_schema()),
        )


class Untrue(Serial):
    """A class whose serializer gives something else than it says."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> core.CoreSchema:
        return core.no_info_plain_validator_function(
            lambda value: value if isinstance(value, cls) else cls(value),
            serialization=core.plain_serializer_function_ser_schema(lambda _: 5, return_schema=core.str_schema()),
        )


Written = Annotated[Serial, BeforeValidator(serial), PlainSerializer(str, return_type=str)]


def encoded(item: Any) -> Any:
    return definition_of(type(item)).items.encode(item)


def read(model: Any, **attributes: Any) -> Any:
    return definition_of(model).items.decode([attributes])[0]


def event_of(kind: Any) -> Any:
    class Event(Model, table="events"):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        owner: PartitionKey[str]
        at: SortKey[kind]
        other: Attr[kind | None] = attr(default=None)

        by_other = GlobalIndex("by-other", partition_key="other", sort_key="at")

    return Event


@ULIDS
def test_a_ulid_is_stored_as_its_text_in_keys_and_attributes(kind):
    event = event_of(kind)(owner="ada", at=FIRST, other=SECOND)
    assert encoded(event) == {"owner": {"S": "ada"}, "at": {"S": str(FIRST)}, "other": {"S": str(SECOND)}}
    assert read(type(event), **encoded(event)) == event


@ULIDS
def test_a_set_of_ulids_is_a_string_set_and_reads_lists_of_their_texts_too(kind):
    class Noted(Model, table="noted"):
        id: PartitionKey[str]
        read: Attr[set[kind]] = attr(default_factory=set)

    noted = Noted(id="a", read={FIRST, SECOND})
    texts = [str(FIRST), str(SECOND)]
    assert set(encoded(noted)["read"]["SS"]) == set(texts)
    assert read(Noted, id={"S": "a"}, read={"L": [{"S": text} for text in texts]}) == noted


@ULIDS
def test_a_ulid_is_asked_for_by_ranges(kind):
    event = event_of(kind)
    assert str(event.at > FIRST) == f"Event.at > '{FIRST}'"
    assert str(event.at.between(FIRST, SECOND)) == f"Event.at.between('{FIRST}', '{SECOND}')"
    assert str(event.at.begins_with("01AR")) == "Event.at.begins_with('01AR')"


@ULIDS
def test_a_ulid_may_be_given_as_what_one_is_made_of(kind):
    event = event_of(kind)
    assert str(event.at == str(FIRST)) == str(event.at == bytes(FIRST)) == str(event.at == FIRST)


@ULIDS
@pytest.mark.parametrize("wrong", [1.5, None, object(), "abc"], ids=["float", "None", "object", "text"])
def test_what_makes_no_ulid_is_refused_with_the_field(kind, wrong):
    with pytest.raises(EncodeError, match=r"^Event\.at: ULID expected, got .*; it is no ulid\.ULID, and none can be"):
        _ = event_of(kind).at == wrong


@ULIDS
def test_stored_text_that_is_no_ulid_is_an_invalid_item(kind):
    event = event_of(kind)
    with pytest.raises(ItemValidationError, match="at: Unrecognized format"):
        read(event, owner={"S": "a"}, at={"S": "zz"})
    with pytest.raises(ItemDecodeError, match="at: ULID is stored as S, not as N"):
        read(event, owner={"S": "a"}, at={"N": "1"})


@ULIDS
def test_a_ulid_is_part_of_a_template_with_ranges(kind):
    class Line(Model, table="lines"):
        shop: Attr[str]
        order: Attr[kind] = attr(stored=False)
        number: Attr[int]
        pk: PartitionKey[str] = template("SHOP#{shop}")
        sk: SortKey[str] = template("ORDER#{order}{number:04d}")

    line = Line(shop="a", order=FIRST, number=7)
    assert encoded(line)["sk"] == {"S": f"ORDER#{FIRST}0007"}
    assert "order" not in encoded(line)
    assert read(Line, **encoded(line)) == line
    assert definition_of(Line).fields["sk"].template.parts[0].format.sorts


def test_a_ulid_in_keys_tells_kinds_apart():
    shop = Table("shop", partition_key="pk", sort_key="sk")

    class Order(Model, table=shop, kind=None):
        customer: Attr[str]
        order: Attr[ulid.ULID]
        pk: PartitionKey[str] = template("CUSTOMER#{customer}")
        sk: SortKey[str] = template("ORDER#{order}")

    class Item(Model, table=shop, kind=None):
        customer: Attr[str]
        order: Attr[ulid.ULID]
        item: Attr[str]
        pk: PartitionKey[str] = template("CUSTOMER#{customer}")
        sk: SortKey[str] = template("ORDER#{order}#ITEM#{item}")

    assert encoded(Item(customer="a", order=FIRST, item="b"))["sk"] == {"S": f"ORDER#{FIRST}#ITEM#b"}
    assert encoded(Order(customer="a", order=FIRST))["sk"] == {"S": f"ORDER#{FIRST}"}


def test_a_form_of_a_part_that_is_a_text_of_its_own_is_refused():
    with pytest.raises(ModelDefinitionError, match="has the form 'lower', which does not fit ULID, a text of its own"):

        class Line(Model, table="lines"):
            order: Attr[ulid.ULID]
            pk: PartitionKey[str] = template("ORDER#{order:lower}")


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (Told, Told("b-7"), "b-7"),
        (Written, Serial("b-7"), "b-7"),
        (Annotated[ulid.ULID, AfterValidator(lambda value: value)], FIRST, str(FIRST)),
        (Color, Color("red"), "red"),
        (ipaddress.IPv4Address, ipaddress.IPv4Address("10.0.0.9"), "10.0.0.9"),
    ],
    ids=["function", "annotated", "validated", "to-string", "address"],
)
def test_a_type_whose_serializer_says_text_is_a_key_and_a_part(kind, value, text):
    event = event_of(kind)(owner="ada", at=value, other=value)
    assert encoded(event)["at"] == {"S": text}
    assert read(type(event), **encoded(event)) == event

    class Line(Model, table="lines"):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        serial: Attr[kind]
        pk: PartitionKey[str] = template("SERIAL#{serial}#LINE")

    line = Line(serial=value)
    assert encoded(line)["pk"] == {"S": f"SERIAL#{text}#LINE"}
    assert read(Line, **encoded(line)) == line


@pytest.mark.parametrize(
    "kind",
    [
        Told,
        Written,
        Annotated[ulid.ULID, PlainSerializer(lambda value: str(value)[::-1], return_type=str)],
        Annotated[ulid.ULID, WrapSerializer(lambda value, _: str(value)[::-1], return_type=str)],
    ],
    ids=["function", "annotated", "turned around", "wrapped"],
)
def test_a_text_that_is_not_known_to_sort_has_no_ranges(kind):
    value = FIRST if kind not in (Told, Written) else (Told if kind is Told else Serial)("b-7")
    event = event_of(kind)
    assert str(event.at == value).startswith("Event.at == ")
    with pytest.raises(ExpressionError, match=r"Event\.at has no ranges, .*; use ==, is_in\(\) or begins_with\(\)"):
        _ = event.at > value


def test_uuids_of_one_version_have_ranges_as_all_uuids():
    event = event_of(UUID7)
    assert str(event.at > UUID("01890a5d-ac96-774b-bcce-b302099a8057")).startswith("Event.at > ")


def test_a_serializer_that_gives_no_text_though_it_says_so_is_refused_with_the_field():
    with pytest.raises(EncodeError, match=r"^Event\.at: Untrue expected, got Untrue"):
        encoded(event_of(Untrue)(owner="ada", at="x"))


def test_a_class_that_nobody_serializes_is_refused_with_the_field_and_the_remedy():
    class Thing(Model, table="things"):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        id: PartitionKey[str]
        serial: Attr[Serial]

    with pytest.raises(EncodeError, match=r"^Thing\.serial: .*so say how it is stored: attr\(stored_as=.*PlainSerial"):
        encoded(Thing(id="a", serial=Serial("b")))


def test_a_validator_that_raises_anything_is_the_refusal_of_the_field():
    def never(value: Any) -> Any:
        raise RuntimeError("never")

    class Other(Serial):
        @classmethod
        def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> core.CoreSchema:
            return core.no_info_plain_validator_function(never, serialization=core.to_string_ser_schema())

    with pytest.raises(EncodeError, match=r"^Event\.at: Other expected, got Serial"):
        _ = event_of(Other).at == Serial("a")


def test_a_key_of_a_type_without_a_known_form_is_refused_with_the_remedy():
    with pytest.raises(
        ModelDefinitionError, match=r"Event\.at: is the sort key and holds Serial.*PlainSerializer\(str"
    ):
        event_of(Serial)


def test_a_stored_form_of_text_stays_a_way_to_have_such_keys():
    form = StoredForm(name="serial", tag="S", encode=str, decode=Serial)

    class Thing(Model, table="things"):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        id: PartitionKey[Serial] = attr(stored_as=form)

    thing = Thing(id=Serial("b"))
    assert read(Thing, **encoded(thing)) == thing


def test_a_part_that_pydantic_decodes_of_text_stands_in_keys_decoded():
    class Line(Model, table="lines"):
        order: Attr[Json[int]]
        name: Attr[Base64Str]
        pk: PartitionKey[str] = template("ORDER#{order}#{name}")

    assert encoded(Line(order="5", name="YWJj"))["pk"] == {"S": "ORDER#5#abc"}
