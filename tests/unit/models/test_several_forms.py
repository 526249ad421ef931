"""attr(also_stored_as=...): fields whose items are stored in several forms are read in each, and asked for in each."""

from copy import deepcopy
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamap_async import (
    EPOCH_SECONDS,
    Attr,
    GlobalIndex,
    Model,
    PartitionKey,
    SortKey,
    StoredForm,
    TimeToLive,
    Unique,
    Version,
    attr,
    template,
)
from dynamap_async.errors import EncodeError, ExpressionError, ItemDecodeError, ModelDefinitionError
from dynamap_async.expressions import Condition, Placeholders, render_condition
from dynamap_async.models import definition_of

AT = datetime(2023, 5, 6, 1, 59, 59, tzinfo=UTC)
ZONELESS = StoredForm(
    name="London time",
    tag="S",
    encode=lambda at: at.strftime("%Y-%m-%dT%H:%M:%S"),
    decode=lambda text: datetime.strptime(text, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=UTC),
)
PADDED = StoredForm(name="padded", tag="S", encode=lambda number: f"{number:06d}", decode=int)


class Inner(Model):
    width: Attr[int] = attr(also_stored_as="S", default=0)


class Thing(Model, table="things"):
    id: PartitionKey[str]
    count: Attr[int] = attr(also_stored_as="S", default=0)
    price: Attr[Decimal | None] = attr(also_stored_as="S", default=None)
    code: Attr[str] = attr(also_stored_as="N", default="")
    active: Attr[bool] = attr(also_stored_as=("N", "S"), default=True)
    at: Attr[datetime] = attr(also_stored_as=(EPOCH_SECONDS, ZONELESS), default=AT)
    since: Attr[datetime] = attr(stored_as=EPOCH_SECONDS, also_stored_as="S", default=AT)
    numbers: Attr[set[int]] = attr(also_stored_as="SS", default_factory=set)
    codes: Attr[set[str]] = attr(also_stored_as="NS", default_factory=set)
    rank: Attr[int] = attr(also_stored_as=PADDED, default=0)
    other: Attr[int] = attr(default=0)
    inner: Attr[Inner] = attr(default_factory=Inner)


def read(field: str, stored: Any) -> Any:
    return getattr(definition_of(Thing).items.decode([{"id": {"S": "a"}, field: stored}])[0], field)


def rendered(condition: Condition) -> tuple[str, list[Any]]:
    placeholders = Placeholders()
    text = render_condition(condition, placeholders)
    wire: Any = placeholders.to_wire()
    for placeholder, name in wire.get("ExpressionAttributeNames", {}).items():
        text = text.replace(placeholder, name)
    return text, [*wire.get("ExpressionAttributeValues", {}).values()]


FOUND: list[Any] = [
    ("count", {"N": "5"}, 5),
    ("count", {"S": "5"}, 5),
    ("price", {"S": "1.5"}, Decimal("1.5")),
    ("price", {"NULL": True}, None),
    ("code", {"N": "12"}, "12"),
    ("active", {"BOOL": False}, False),
    ("active", {"N": "0"}, False),
    ("active", {"S": "true"}, True),
    ("at", {"S": "2023-05-06T01:59:59.000000Z"}, AT),
    ("at", {"N": "1683338399"}, AT),
    ("at", {"S": "2023-05-06T01:59:59"}, AT),
    ("since", {"N": "1683338399"}, AT),
    ("since", {"S": "2023-05-06T01:59:59.000000Z"}, AT),
    ("numbers", {"SS": ["10", "9"]}, {9, 10}),
    ("numbers", {"NS": ["9"]}, {9}),
    ("codes", {"NS": ["7"]}, {"7"}),
    ("rank", {"S": "000005"}, 5),
    ("inner", {"M": {"width": {"S": "4"}}}, Inner(width=4)),
]


@pytest.mark.parametrize(("field", "stored", "value"), FOUND)
def test_each_form_is_read(field, stored, value) -> None:
    assert read(field, stored) == value
    assert type(read(field, stored)) is type(value)


def test_values_are_written_in_the_first_form() -> None:
    [item] = definition_of(Thing).items.decode([{"id": {"S": "a"}, "count": {"S": "5"}, "at": {"N": "1683338399"}}])
    stored = definition_of(Thing).items.encode(item)
    assert (stored["count"], stored["at"]) == ({"N": "5"}, {"S": "2023-05-06T01:59:59.000000Z"})


@pytest.mark.parametrize(
    ("field", "stored", "problem"),
    [
        ("count", {"S": "007"}, "count: '007' is not how int is written as S, so conditions would not find it"),
        ("count", {"S": " 5"}, "count: ' 5' is not how int is written as S"),
        ("count", {"S": "five"}, "count: 'five' is not how int is written as S"),
        ("count", {"BOOL": True}, "count: int is stored as N or S, not as BOOL"),
        ("active", {"S": "True"}, "active: 'True' is not how bool is written as S"),
        ("active", {"N": "2"}, "active: '2' is not how bool is written as N"),
        ("numbers", {"SS": ["1", "x"]}, r"numbers: \['1', 'x'\] is not how set\[int\] is written as SS"),
        ("other", {"S": "5"}, "other: int is stored as N, not as S"),
    ],
)
def test_what_no_condition_would_find_is_not_read(field, stored, problem) -> None:
    with pytest.raises(ItemDecodeError, match=problem):
        read(field, stored)


@pytest.mark.parametrize(
    ("condition", "text", "values"),
    [
        (lambda: Thing.count == 5, "count IN (:v0, :v1)", [{"N": "5"}, {"S": "5"}]),
        (lambda: Thing.count != 5, "NOT count IN (:v0, :v1)", [{"N": "5"}, {"S": "5"}]),
        (
            lambda: Thing.count.is_in(5, 6),
            "count IN (:v0, :v1, :v2, :v3)",
            [{"N": "5"}, {"S": "5"}, {"N": "6"}, {"S": "6"}],
        ),
        (lambda: Thing.code == "x", "code = :v0", [{"S": "x"}]),
        (lambda: Thing.code == "7", "code IN (:v0, :v1)", [{"S": "7"}, {"N": "7"}]),
        (lambda: Thing.active.is_(True), "active IN (:v0, :v1, :v2)", [{"BOOL": True}, {"N": "1"}, {"S": "true"}]),
        (lambda: Thing.price == None, "", []),  # noqa: E711 - what a program may write
        (
            lambda: Thing.since >= AT,
            "since >= :v0 OR since >= :v1",
            [{"N": "1683338399"}, {"S": "2023-05-06T01:59:59.000000Z"}],
        ),
        (
            lambda: Thing.rank.between(5, 6),
            "rank BETWEEN :v0 AND :v1 OR rank BETWEEN :v2 AND :v3",
            [{"N": "5"}, {"N": "6"}, {"S": "000005"}, {"S": "000006"}],
        ),
        (lambda: Thing.numbers == {1}, "numbers IN (:v0, :v1)", [{"NS": ["1"]}, {"SS": ["1"]}]),
        (
            lambda: Thing.numbers.contains(1),
            "contains(numbers, :v0) OR contains(numbers, :v1)",
            [{"N": "1"}, {"S": "1"}],
        ),
        (lambda: Thing.inner.width == 4, "inner.width IN (:v0, :v1)", [{"N": "4"}, {"S": "4"}]),
    ],
)
def test_conditions_ask_for_each_form(condition, text, values) -> None:
    if text:
        assert rendered(condition()) == (text, values)
    else:
        assert rendered(condition())[0].startswith("attribute_not_exists(price)")


@pytest.mark.parametrize(
    ("condition", "problem"),
    [
        (lambda: Thing.count > 5, r"Thing.count is also stored as S, which does not sort like its values; use == or"),
        (lambda: Thing.count.between(1, 2), r"Thing.count is also stored as S, which does not sort"),
        (lambda: Thing.code.begins_with("a"), "begins_with"),
        (lambda: Thing.code.contains("a"), "also stored as N, which has no parts"),
        (lambda: Thing.count == Thing.other, "Thing.count has several stored forms, so it cannot be compared"),
        (lambda: Thing.other == Thing.count, "Thing.count has several stored forms, so it cannot be compared"),
    ],
)
def test_what_cannot_be_asked_in_each_form_is_refused(condition, problem) -> None:
    with pytest.raises(ExpressionError, match=problem):
        condition()


def test_bounds_that_a_form_cannot_hold_are_refused() -> None:
    with pytest.raises(EncodeError, match="Thing.at"):
        Thing.at >= datetime(2023, 1, 1)  # noqa: B015, DTZ001 - without a zone, on purpose


def body(**fields: Any) -> dict[str, Any]:
    names = {name: each[0] if isinstance(each, tuple) else each for name, each in fields.items()}
    # Copies: the oldest Pydantic that is supported notes in what attr() gave what the class says beside it.
    values = {name: deepcopy(each[1]) for name, each in fields.items() if isinstance(each, tuple)}
    return {"__annotations__": names, **values, "__module__": __name__}


ALSO: Any = attr(also_stored_as="S")
WRONG: list[Any] = [
    ({"id": (PartitionKey[int], ALSO)}, {}, "has also_stored_as, but is part of a key, whose values have one type"),
    ({"id": PartitionKey[str], "n": (SortKey[int], ALSO)}, {}, "is part of a key"),
    (
        {"id": PartitionKey[str], "n": (Attr[int], ALSO)},
        {"by": GlobalIndex(partition_key="n")},
        "n: has also_stored_as, but is part of a key",
    ),
    ({"id": PartitionKey[str], "n": (Version[int], ALSO)}, {}, "a Version"),
    ({"id": PartitionKey[str], "n": (TimeToLive[int], ALSO)}, {}, "a TimeToLive"),
    (
        {"pk": (PartitionKey[str], template("a#{n}")), "n": (Attr[int], ALSO)},
        {},
        "is a part of the key pk, which can hold only one form of it",
    ),
    ({"id": PartitionKey[str], "n": (Attr[int], ALSO)}, {"one": Unique("n")}, "which has also_stored_as"),
    ({"id": PartitionKey[str], "n": (Attr[int], attr(also_stored_as="N"))}, {}, "which is its stored form"),
    (
        {"id": PartitionKey[str], "n": (Attr[int], attr(also_stored_as="M"))},
        {},
        "there is no default way to write int as M",
    ),
    (
        {"id": PartitionKey[str], "n": (Attr[int], attr(also_stored_as=("S", "S")))},
        {},
        "names the stored form 'S' twice",
    ),
    (
        {
            "id": PartitionKey[str],
            "n": (Attr[datetime], attr(stored_as=EPOCH_SECONDS, also_stored_as=("S", EPOCH_SECONDS))),
        },
        {},
        "names the stored form .*seconds.* twice",
    ),
    (
        {"id": PartitionKey[str], "n": (Attr[int], attr(also_stored_as="text"))},  # type: ignore[call-overload]
        {},
        r"attr\(also_stored_as='text'\) is not a stored form; use a StoredForm, or a stored type: B, BOOL",
    ),
    (
        {"id": PartitionKey[str], "n": (Attr[int], attr(also_stored_as=["S"]))},  # type: ignore[call-overload]
        {},
        "is not a stored form",
    ),
]


@pytest.mark.parametrize(("fields", "beside", "problem"), WRONG)
def test_wrong_declarations_are_refused(fields, beside, problem) -> None:
    with pytest.raises(ModelDefinitionError, match=problem):
        type(Model)("Wrong", (Model,), {**body(**fields), **beside}, table="wrong")


@given(st.integers(-(10**20), 10**20), st.booleans(), st.sets(st.integers(-50, 50), min_size=1))
def test_every_form_that_a_condition_asks_for_reads_back_as_the_value(number, flag, members) -> None:
    for name, value in (("count", number), ("active", flag), ("numbers", members), ("code", str(number))):
        forms = definition_of(Thing).path(name).encode_each(value)
        assert len(forms) > 1
        assert [read(name, form) for form in forms] == [value] * len(forms)
