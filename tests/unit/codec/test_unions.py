import enum
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import pytest

from dynamap_async import codec
from dynamap_async.errors import EncodeError, ExpressionError


class Kind(enum.Enum):
    CAT = "cat"
    DOG = "dog"


@dataclass
class Cat:
    lives: int
    kind: Kind = Kind.CAT


@dataclass
class Dog:
    name: str
    kind: Kind = Kind.DOG


KIND = codec.Field("kind", "k", codec.enum_of(Kind, codec.text()))
CAT = codec.nested_of("Cat", [codec.Field("lives", "l", codec.integer()), KIND], accepts=(Cat,))
DOG = codec.nested_of("Dog", [codec.Field("name", "n", codec.text()), KIND], accepts=(Dog,))
PET = codec.tagged_union({Kind.CAT: CAT, "dog": DOG}, discriminator=lambda pet: pet.kind, stored=["k"])
STORED_CAT = {"M": {"l": {"N": "9"}, "k": {"S": "cat"}}}
STORED_DOG = {"M": {"n": {"S": "Rex"}, "k": {"S": "dog"}}}
ID = UUID("12345678-1234-5678-1234-567812345678")


def test_none_is_stored_as_null_and_reads_as_none():
    maybe = codec.optional(codec.integer())
    assert maybe.encode(None) == {"NULL": True}
    assert maybe.decode({"NULL": True}) is None
    assert (maybe.encode(5), maybe.decode({"N": "5"})) == ({"N": "5"}, 5)
    assert maybe.tags == {"N", "NULL"}
    assert maybe.label == "int | None"


def test_optional_leads_to_the_parts_of_what_it_holds():
    integer = codec.integer()
    maybe = codec.optional(codec.list_of(integer))
    assert maybe.step(0) == codec.ValuePart(0, integer)
    assert maybe.member is integer
    assert codec.optional(integer).member is None


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ("a", {"S": "a"}),
        (5, {"N": "5"}),
        (True, {"BOOL": True}),
        ([1], {"L": [{"N": "1"}]}),
        ({"a": 1}, {"M": {"a": {"N": "1"}}}),
        (None, {"NULL": True}),
        (b"a", {"B": "YQ=="}),
    ],
)
def test_union_of_distinct_stored_types_round_trips(value, stored):
    union = codec.union_of(
        [
            codec.integer(),
            codec.boolean(),
            codec.text(),
            codec.list_of(codec.integer()),
            codec.map_of(codec.map_key(str), codec.integer()),
            codec.null(),
            codec.binary(),
        ]
    )
    assert union.encode(value) == stored
    back = union.decode(stored)
    assert (back, type(back)) == (value, type(value))
    assert union.shared_tags == frozenset()


def test_union_decodes_the_only_member_of_a_tag_exactly():
    assert codec.union_of([codec.uuid(), codec.integer()]).decode({"S": str(ID)}) == ID


def test_union_names_the_stored_types_that_members_share():
    union = codec.union_of([codec.text(), codec.instant(), codec.integer()])
    assert union.shared_tags == {"S"}
    assert codec.optional(union).shared_tags == {"S"}
    assert union.encode(datetime(2024, 1, 2, tzinfo=UTC)) == {"S": "2024-01-02T00:00:00.000000Z"}
    assert union.decode({"S": "2024-01-02T00:00:00.000000Z"}) == "2024-01-02T00:00:00.000000Z"


def test_union_of_numbers_reads_plain_numbers():
    union = codec.union_of([codec.integer(), codec.decimal()])
    assert [union.decode({"N": text}) for text in ("5", "1.5")] == [5, Decimal("1.5")]


def test_union_tries_the_exact_type_before_a_base_of_it():
    union = codec.union_of([codec.date(), codec.instant()])
    assert union.encode(datetime(2024, 1, 2, tzinfo=UTC))["S"].endswith("Z")
    assert union.encode(date(2024, 1, 2)) == {"S": "2024-01-02"}


def test_union_tries_members_in_order_until_one_takes_the_value():
    union = codec.union_of([codec.list_of(codec.integer()), codec.list_of(codec.text())])
    assert union.encode(["a"]) == {"L": [{"S": "a"}]}
    assert union.encode([1]) == {"L": [{"N": "1"}]}


def test_union_refuses_with_the_error_that_came_furthest():
    union = codec.union_of([codec.list_of(codec.integer()), codec.list_of(codec.text())])
    with pytest.raises(EncodeError, match=r"^\[0\]: int expected, got None"):
        union.encode([None])
    with pytest.raises(EncodeError, match=r"list\[int\] \| list\[str\] expected, got int 5"):
        union.encode(5)


def test_choose_picks_the_member_that_stores_a_value():
    text, integer = codec.text(), codec.integer()
    union = codec.union_of([text, integer], choose=lambda value: integer if isinstance(value, int) else None)
    assert [union.encode(5), union.encode("a")] == [{"N": "5"}, {"S": "a"}]


def test_union_of_stored_type_that_no_member_has_is_a_misfit():
    with pytest.raises(codec.DECODE_ERRORS):
        codec.union_of([codec.text(), codec.integer()]).decode({"L": []})


@pytest.mark.parametrize("member", [DOG, codec.Deferred("Dog", lambda: DOG)])
def test_nested_models_of_a_plain_union_are_told_apart_by_their_members(member):
    union = codec.union_of([CAT, member])
    assert union.decode(STORED_DOG) == {"name": "Rex", "kind": Kind.DOG}
    assert union.decode(STORED_CAT) == {"lives": 9, "kind": Kind.CAT}


def test_nested_model_that_shares_its_stored_type_with_a_dict_is_read_plainly():
    union = codec.union_of([CAT, codec.map_of(codec.map_key(str), codec.integer())])
    assert union.decode(STORED_CAT) == {"l": 9, "k": "cat"}


@pytest.mark.parametrize(
    ("pet", "stored", "members"),
    [
        (Cat(9), STORED_CAT, {"lives": 9, "kind": Kind.CAT}),
        (Dog("Rex"), STORED_DOG, {"name": "Rex", "kind": Kind.DOG}),
    ],
)
def test_tagged_union_is_told_apart_by_its_discriminator(pet, stored, members):
    assert PET.encode(pet) == stored
    assert PET.decode(stored) == members


@pytest.mark.parametrize("stored", [{"M": {}}, {"M": {"k": {"S": "cow"}}}, {"M": {"k": {"L": []}}}, {"S": "cat"}])
def test_stored_value_without_a_known_discriminator_is_a_misfit(stored):
    with pytest.raises(codec.DECODE_ERRORS):
        PET.decode(stored)


@pytest.mark.parametrize("value", [5, Cat(9, kind="cow"), Cat(9, kind=["cat"])])
def test_value_without_a_known_discriminator_is_refused(value):
    with pytest.raises(EncodeError, match=r"Cat \| Dog expected"):
        PET.encode(value)


def test_tagged_union_leads_to_the_parts_of_its_members():
    assert PET.step("name") == DOG.step("name")
    assert PET.step("other") is None


def either(*converters, part="part"):
    """Return the part of a union of one nested model for each converter, which has it under the same name."""
    members = [
        codec.nested_of(f"M{at}", [codec.Field(part, part, converter)], accepts=(type(f"M{at}", (), {}),))
        for at, converter in enumerate(converters)
    ]
    return codec.union_of(members).step(part)[1]


@pytest.mark.parametrize(
    ("converters", "value", "stored"),
    [
        ((codec.literal_of(["cat"]), codec.literal_of(["dog"])), "cat", {"S": "cat"}),
        ((codec.literal_of(["cat"]), codec.literal_of(["dog"])), "dog", {"S": "dog"}),
        ((codec.integer(), codec.binary()), 5, {"N": "5"}),
        ((codec.integer(), codec.binary()), b"x", {"B": "eA=="}),
        ((codec.date(), codec.date()), date(2024, 6, 1), {"S": "2024-06-01"}),
        ((codec.uuid(), codec.date()), date(2024, 6, 1), {"S": "2024-06-01"}),
        ((codec.optional(codec.integer()), codec.text()), None, {"NULL": True}),
        ((codec.integer(), codec.optional(codec.text())), "x", {"S": "x"}),
        ((codec.list_of(codec.integer()), codec.list_of(codec.text())), ["x"], {"L": [{"S": "x"}]}),
    ],
)
def test_a_part_that_several_members_have_is_of_any_of_their_types(converters, value, stored):
    part = either(*converters)
    assert (part.encode(value), part.decode(stored)) == (stored, value)


def test_a_part_that_is_of_none_of_the_types_is_refused_with_all_of_them():
    part = either(codec.literal_of(["cat"]), codec.literal_of(["dog"]), codec.literal_of(["dog"]))
    with pytest.raises(EncodeError, match=r"^Literal\['cat'\] \| Literal\['dog'\] expected, got str 'cow'$"):
        part.encode("cow")


@pytest.mark.parametrize(("stored", "members"), [({"l": {"N": "9"}}, {"lives": 9}), ({"n": {"S": "x"}}, {"name": "x"})])
def test_a_nested_part_is_that_of_the_member_whose_fields_it_has(stored, members):
    part = either(codec.optional(CAT), codec.optional(DOG))
    assert part.decode({"M": stored}) == members


def test_a_part_that_is_the_same_in_all_members_stays_what_it_is():
    home = codec.nested_of("Home", [codec.Field("city", "city", codec.text())], accepts=(object,), document=True)
    assert either(home, home) is home
    assert either(codec.optional(home), codec.optional(home)).document
    assert either(home, codec.optional(home)).document


def test_members_of_several_alternatives_are_of_any_of_their_types():
    member = codec.union_of([codec.list_of(codec.integer()), codec.list_of(codec.text()), codec.boolean()]).member
    assert (member.encode(5), member.encode("x")) == ({"N": "5"}, {"S": "x"})
    assert codec.union_of([codec.integer(), codec.text()]).member is None


def test_a_part_that_is_stored_under_several_names_is_refused():
    other = codec.nested_of("Other", [codec.Field("name", "title", codec.text())], accepts=(date,))
    with pytest.raises(
        ExpressionError, match=r"Dog \| Other stores 'name' under several names \('n' and 'title'\), so no expression"
    ):
        codec.union_of([DOG, other]).step("name")


def test_text_beside_a_nested_model_has_no_part_of_its_own():
    path = codec.through("Path", str, tags=frozenset({"S"}))
    assert codec.union_of([path, DOG]).step("name") == DOG.step("name")


def test_anything_stores_plain_values_and_has_any_part():
    any_value = codec.anything()
    assert any_value.decode(any_value.encode({"a": [1, "x"]})) == {"a": [1, "x"]}
    assert any_value.step("a") == codec.ValuePart("a", any_value)
    assert any_value.member is any_value
    assert any_value.tags == codec.ALL_TAGS


def test_through_stores_what_a_value_is_dumped_to():
    url = codec.through("Url", lambda value: {"url": value})
    assert url.encode("x") == {"M": {"url": {"S": "x"}}}
    assert url.decode({"M": {"url": {"S": "x"}}}) == {"url": "x"}
    loaded = codec.through("Url", str, from_plain=len, types=(str,), tags=frozenset({"S"}))
    assert loaded.decode({"S": "abc"}) == 3
    assert (loaded.types, loaded.tags) == ((str,), {"S"})


def test_value_that_cannot_be_dumped_is_refused():
    with pytest.raises(EncodeError, match="Url expected, got str 'x'; invalid literal for int"):
        codec.through("Url", int).encode("x")
