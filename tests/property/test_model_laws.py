"""Laws of models: whatever the fields are, an instance reads back exactly, and its table describes its keys."""

import enum
import json
import warnings
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal, Optional
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ConfigDict, NaiveDatetime, create_model
from pydantic_core import from_json, to_json

from dynamap_async import (
    KEYS_ONLY,
    GlobalIndex,
    LocalIndex,
    Model,
    PartitionKey,
    RoundTripWarning,
    SortKey,
    attr,
    include,
)
from dynamap_async.errors import EncodeError, ItemValidationError
from dynamap_async.models import definition_of
from dynamap_async.models.stored_values import known
from dynamap_async.schema import KeySchema
from dynamap_async.transport.pieces import leave_items

slow = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass(frozen=True)
class Typed:
    """A type with the values that it has."""

    annotation: Any
    values: st.SearchStrategy[Any]
    hashable: bool = True


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
INTEGERS = st.integers(-(10**38) + 1, 10**38 - 1)
DECIMALS = st.decimals(-(10**9), 10**9, places=5)
FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: not x or 1e-130 <= abs(x) < 1e126)

SCALARS = st.sampled_from(
    [
        Typed(str, TEXTS),
        Typed(int, INTEGERS),
        Typed(float, FLOATS),
        Typed(Decimal, DECIMALS),
        Typed(bool, st.booleans()),
        Typed(bytes, st.binary(max_size=6)),
        Typed(datetime, st.datetimes(timezones=st.just(UTC))),
        Typed(NaiveDatetime, st.datetimes()),
        Typed(date, st.dates()),
        Typed(time, st.times()),
        Typed(timedelta, st.timedeltas()),
        Typed(UUID, st.uuids()),
        Typed(Color, st.sampled_from(Color)),
        Typed(Level, st.sampled_from(Level)),
        Typed(Literal["a", 1], st.sampled_from(["a", 1])),
    ]
)
MAP_KEYS = st.sampled_from(
    [(str, TEXTS), (int, INTEGERS), (UUID, st.uuids()), (date, st.dates()), (Color, st.sampled_from(Color))]
)
NAMES = ["alpha", "beta", "gamma"]


def listed(inner: Typed) -> Typed:
    return Typed(list[inner.annotation], st.lists(inner.values, max_size=3), hashable=False)


def variadic(inner: Typed) -> Typed:
    return Typed(tuple[inner.annotation, ...], st.lists(inner.values, max_size=3).map(tuple), inner.hashable)


def paired(first: Typed, second: Typed) -> Typed:
    pair = tuple[first.annotation, second.annotation]  # type: ignore[name-defined]
    return Typed(pair, st.tuples(first.values, second.values), first.hashable and second.hashable)


def frozen(inner: Typed) -> Typed:
    return Typed(frozenset[inner.annotation], st.frozensets(inner.values, max_size=3))


def mapped(key: Any, inner: Typed) -> Typed:
    return Typed(dict[key[0], inner.annotation], st.dictionaries(key[1], inner.values, max_size=3), hashable=False)


def nullable(inner: Typed) -> Typed:
    return Typed(Optional[inner.annotation], st.none() | inner.values, inner.hashable)  # noqa: UP045 - made at run time


def nested(parts: list[Typed], base: type[Model]) -> Typed:
    members = dict(zip(NAMES, parts, strict=False))
    model = create_model("Nested", __base__=base, **{name: (part.annotation, ...) for name, part in members.items()})
    return Typed(model, st.builds(model, **{name: part.values for name, part in members.items()}), hashable=False)


class Strict(Model):
    model_config = ConfigDict(strict=True)


def larger(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    return st.one_of(
        st.builds(listed, inner),
        st.builds(variadic, inner),
        st.builds(paired, inner, inner),
        st.builds(frozen, inner.filter(lambda typed: typed.hashable)),
        st.builds(mapped, MAP_KEYS, inner),
        st.builds(nullable, inner),
        st.builds(nested, st.lists(inner, min_size=1, max_size=3), st.sampled_from([Model, Strict])),
    )


TYPES = st.recursive(SCALARS, larger, max_leaves=5)


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal and of equal types, inside too."""
    if type(one) is not type(other) or one != other:
        return False
    if isinstance(one, Model):
        return all(same(getattr(one, name), getattr(other, name)) for name in type(one).model_fields)
    if isinstance(one, dict):
        return all(same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return all(map(same, one, other))
    return True


@pytest.mark.parametrize("strict", [False, True])
@slow
@given(data=st.data())
def test_instance_of_any_model_reads_back_exactly(strict: bool, data: st.DataObject) -> None:
    types = data.draw(st.lists(TYPES, min_size=1, max_size=3))
    base = type("Base", (Model,), {"model_config": ConfigDict(strict=strict), "__module__": __name__}, abstract=True)
    fields: dict[str, Any] = {}
    for name, typed in zip(NAMES, types, strict=False):
        required = data.draw(st.booleans())
        default = ... if required else attr(default=data.draw(typed.values), name=f"stored {name}")
        fields[name] = (typed.annotation, default)
    model: Any = create_model(
        "Thing", __base__=base, __cls_kwargs__={"table": "things"}, key=(PartitionKey[str], "k"), **fields
    )
    codec = definition_of(model).items
    given_items = [
        model(**{name: data.draw(typed.values) for name, typed in zip(fields, types, strict=True)}) for _ in "ab"
    ]
    found = codec.decode([json.loads(json.dumps(codec.encode(item))) for item in given_items])
    assert all(map(same, found, given_items))
    assert [codec.encode(item) for item in found] == [codec.encode(item) for item in given_items]


ATTRIBUTES = st.sampled_from([{"S": "x"}, {"N": "1"}, {"NULL": True}, {"M": {}}, {"L": [{"N": "1"}]}, {"SS": ["a"]}])


@slow
@given(data=st.data())
def test_what_is_read_does_not_depend_on_the_way_of_decoding(data: st.DataObject) -> None:
    types = data.draw(st.lists(TYPES, min_size=1, max_size=3))
    fields: dict[str, Any] = {name: (typed.annotation, ...) for name, typed in zip(NAMES, types, strict=False)}
    model: Any = create_model(
        "Thing", __base__=Model, __cls_kwargs__={"table": "things"}, key=(PartitionKey[str], "k"), **fields
    )
    codec = definition_of(model).items
    made = [model(**{name: data.draw(typed.values) for name, typed in zip(fields, types, strict=True)}) for _ in "abc"]
    items = [codec.encode(item) for item in made]
    for item in data.draw(st.lists(st.sampled_from(items), max_size=2)):
        names = st.sampled_from([*item, "unknown"])
        item.update(data.draw(st.dictionaries(names, ATTRIBUTES, max_size=2)))
        item.pop(data.draw(names), None)
    answer = to_json({"Items": items})
    assert read(codec, (leave_items(answer) or from_json(answer))["Items"]) == read(codec, items)


def read(codec: Any, items: list[Any]) -> Any:
    """Return what items become: the instances as dumped, what is remembered of them, and what is said of others."""
    try:
        found, faults = codec.decode(items), []
    except ItemValidationError as error:
        found, faults = error.items, [(each.item, str(each)) for each in error.failures]
    return [(repr(item), known(item, definition_of(type(item)))) for item in found], faults


KEY_TYPES = {
    str: "S",
    int: "N",
    Decimal: "N",
    bytes: "B",
    datetime: "S",
    UUID: "S",
    Color: "S",
    Level: "N",
    timedelta: "N",
}
FIELDS = [f"field_{number}" for number in range(5)]


@slow
@given(data=st.data())
def test_table_describes_the_keys_that_the_class_declares(data: st.DataObject) -> None:
    kinds = {name: data.draw(st.sampled_from(list(KEY_TYPES))) for name in FIELDS}
    stored = {name: data.draw(st.sampled_from([name, f"{name} stored"])) for name in FIELDS}
    names = {
        "__annotations__": {"pk": PartitionKey[str], "sk": SortKey[int], **kinds},
        "__module__": __name__,
        **{name: attr(name=stored[name]) for name in FIELDS},
    }
    declared: dict[str, tuple[list[str], list[str]]] = {}
    for number in range(data.draw(st.integers(0, 4))):
        partition, sort = data.draw(
            st.permutations(FIELDS).flatmap(lambda p: st.tuples(st.just(p[:1]), st.just(p[1:3]) | st.just([])))
        )
        projection = data.draw(st.sampled_from([KEYS_ONLY, include(*FIELDS[:2])]))
        local = bool(sort) and data.draw(st.booleans())
        index: Any = (
            LocalIndex(sort_key=sort[0], projection=projection)
            if local
            else GlobalIndex(partition_key=partition, sort_key=sort, projection=projection)
        )
        names[f"index_{number}"] = index
        declared[f"index_{number}"] = (["pk"], sort[:1]) if local else (partition, sort)
    model: Any = type(Model)("Thing", (Model,), names, table="things")
    table = definition_of(model).require_table("described")
    types = table.attribute_types
    assert {index.name for index in table.indexes} == declared.keys()
    for index in table.indexes:
        partition, sort = declared[index.name]
        assert index.keys.names == tuple(stored.get(name, name) for name in (*partition, *sort))
        assert KeySchema.from_wire(index.keys.to_wire(), types) == index.keys
        assert all(table.projects(index, name) for name in (*index.keys.names, *table.keys.names))
    assert types == {"pk": "S", "sk": "N"} | {
        stored[name]: KEY_TYPES[kinds[name]]
        for name in FIELDS
        if any(name in (*partition, *sort) for partition, sort in declared.values())
    }


@slow
@given(st.lists(SCALARS, min_size=2, max_size=4, unique_by=lambda typed: typed.annotation), st.data())
def test_union_that_does_not_warn_reads_back_exactly(members: list[Typed], data: st.DataObject) -> None:
    annotation: Any = members[0].annotation
    for member in members[1:]:
        annotation = annotation | member.annotation
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model: Any = create_model(
            "Thing",
            __base__=Model,
            __cls_kwargs__={"table": "things"},
            key=(PartitionKey[str], "k"),
            value=(annotation, ...),
        )
    item = model(value=data.draw(st.one_of(*(member.values for member in members))))
    codec = definition_of(model).items
    [found] = codec.decode([codec.encode(item)])
    assert same(found, item) or any(each.category is RoundTripWarning for each in caught)


class Word(str):
    __slots__ = ()


ANYTHING = st.one_of(
    st.none(),
    st.integers(),
    st.floats(),
    TEXTS,
    TEXTS.map(Word),
    st.binary(max_size=3),
    st.booleans(),
    st.datetimes() | st.datetimes(timezones=st.timezones()),
    st.sampled_from([Color.RED, Level.LOW, "red", {}, [], set(), ({},), frozenset({"a", 1}), object]),
)


def either(first: Typed, second: Typed) -> Typed:
    return Typed(first.annotation | second.annotation, first.values | second.values, hashable=False)


def outcome(encode: Any, item: Any) -> Any:
    """Return the JSON of an item, or the error's type and text."""
    try:
        return encode(item)
    except EncodeError as error:
        return type(error), str(error), error.path


@pytest.mark.filterwarnings("ignore::dynamap_async.RoundTripWarning")
@slow
@given(data=st.data())
def test_what_is_written_does_not_depend_on_the_way_of_encoding(data: st.DataObject) -> None:
    kinds = TYPES | TYPES.map(nullable) | st.builds(either, SCALARS, SCALARS)
    types = dict(zip(NAMES, data.draw(st.lists(kinds, min_size=1, max_size=3)), strict=False))
    fields: dict[str, Any] = {}
    for name, typed in types.items():
        required = data.draw(st.booleans())
        default = ... if required else attr(default=data.draw(typed.values), name=f"stored {name}")
        fields[name] = (typed.annotation, default)
    model: Any = create_model(
        "Thing", __base__=Model, __cls_kwargs__={"table": "things"}, key=(PartitionKey[str], "k"), **fields
    )
    codec = definition_of(model).items
    for values in (st.just(None), ANYTHING, *(typed.values for typed in types.values())):
        wrong = data.draw(st.sampled_from([*types, "nothing"]))
        item = {"key": "k", **{name: data.draw(typed.values) for name, typed in types.items()}}
        for given_values in (item, {**item, wrong: data.draw(values)}, {"key": "k", wrong: None}):
            made = model.model_construct()
            made.__dict__.clear()
            made.__dict__.update(given_values)
            written = outcome(lambda item: to_json(codec.encode(item)), made)
            assert outcome(lambda item: codec.encoded(item)[1], made) == written
