"""What is kept with a model for queries and updates: nothing of a value, and only so much."""

import gc
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import pytest

from dynamap_async import Attr, Model, PartitionKey, Put, Query, Scan, SortKey, Update, attr
from dynamap_async.models import definition_of
from dynamap_async.models.definition import MOST, MOST_BYTES, Compiled
from dynamap_async.planning import Context, TableNames

SECRET = "the user's own text"


class Address(Model):
    city: Attr[str] = attr(default="")


class Doc(Model, table="docs"):
    pk: PartitionKey[str]
    sk: SortKey[int]
    title: Attr[str] = attr(default="")
    payload: Attr[dict[str, Any]] = attr(default_factory=dict)
    names: Attr[dict[str, str]] = attr(default_factory=dict)
    tags: Attr[list[str]] = attr(default_factory=list)
    address: Attr[Address] = attr(default_factory=Address)


class Open(Model, table="open", extra="allow"):
    pk: PartitionKey[str]


@pytest.fixture(autouse=True)
def fresh() -> None:
    definition_of(Doc).compiled.clear()


def reachable(*roots: Any) -> Iterator[Any]:
    """Yield all that is kept alive by some objects, but for classes, modules and the globals of functions."""
    seen: dict[int, Any] = {}
    left = [*roots]
    while left:
        each = left.pop()
        if id(each) in seen or isinstance(each, type | ModuleType):
            continue
        seen[id(each)] = each
        yield each
        left += [each.__closure__, each.__defaults__] if isinstance(each, FunctionType) else gc.get_referents(each)


def kept_texts(model: type[Model]) -> list[str]:
    return [each for each in reachable(definition_of(model).compiled) if isinstance(each, str)]


DOC = Update(Doc, "a", 1)
ASKED = {
    "set": DOC.set(Doc.title, SECRET),
    "nested": DOC.set(Doc.payload, {"text": SECRET}),
    "nested name": DOC.set(Doc.payload, {SECRET: 1}),
    "list": DOC.set(Doc.tags, Doc.tags.append([SECRET])),
    "map key": DOC.set(Doc.payload[SECRET], 1),
    "removed map key": DOC.remove(Doc.payload[SECRET]),
    "map key on the right": DOC.set(Doc.title, Doc.names[SECRET]),
    "condition": DOC.set(Doc.title, "x").where(Doc.payload == {"text": SECRET}),
    "condition on a map key": DOC.set(Doc.title, "x").where(Doc.payload[SECRET] == 1),
    "key": Query(Doc).where(Doc.pk == SECRET),
    "sort key": Query(Doc).where(Doc.pk == "a", Doc.sk == 1),
    "filter": Query(Doc).where(Doc.pk == "a", Doc.payload == {"text": SECRET}),
    "filter on a map key": Query(Doc).where(Doc.pk == "a", Doc.payload[SECRET].exists()),
    "size of a map key": Query(Doc).where(Doc.pk == "a", Doc.payload[SECRET].size() > 1),
    "selected map key": Query(Doc).where(Doc.pk == "a").select(Doc.payload[SECRET]),
    "scan": Scan(Doc).where(Doc.payload == {"text": SECRET}),
}


@pytest.mark.parametrize("kind", ASKED)
def test_nothing_of_a_value_is_kept(kind: str) -> None:
    context = Context(tables=TableNames(f"{SECRET}-"), cursor_secret=SECRET.encode())
    for _ in range(2):
        asked = ASKED[kind]
        if isinstance(asked, Update):
            asked.request(context)
        else:
            asked.reading(context)
    assert not [text for text in kept_texts(Doc) if SECRET in text]
    assert SECRET.encode() not in [each for each in reachable(definition_of(Doc).compiled) if isinstance(each, bytes)]


def test_values_that_differ_in_what_is_nested_share_what_is_kept() -> None:
    for number in range(50):
        Update(Doc, "a", 1).set(Doc.payload, {f"k{number}": ["x"] * number}).request(Context())
        Update(Doc, "a", 1).set(Doc.address.city, f"city {number}").request(Context())
        Query(Doc).where(Doc.pk == "a", Doc.payload == {f"k{number}": "x"}).reading(Context())
    assert len(definition_of(Doc).compiled) == 5  # two updates with their paths, and a query


@pytest.mark.parametrize("values", [({"a": 1, "b": 2}, {"b": 2, "a": 1}), ({"a": 1}, {"a": 1}), ({"a": 1}, {"a": 2})])
def test_nested_values_are_sent_as_they_are(values: Any) -> None:
    for one, other in (({"x": 0}, {"y": 0}), values):
        update = Update(Doc, "a", 1).set(Doc.payload, one).where(Doc.payload == other)
        fresh = update.request(Context()).body
        definition_of(Doc).compiled.clear()
        assert update.request(Context()).body == fresh


def test_what_is_kept_is_bounded_in_number() -> None:
    kept = Compiled()
    for number in range(3 * MOST):
        kept.keep(number, number, 1)
        assert len(kept) <= MOST
    assert kept[3 * MOST - 1] == 3 * MOST - 1


def test_what_is_kept_is_bounded_in_bytes() -> None:
    kept = Compiled()
    for number in range(100):
        kept.keep(number, number, MOST_BYTES // 4)
        assert len(kept) <= 4
    kept.keep("larger than all", 1, MOST_BYTES + 1)
    assert "larger than all" not in kept


def test_a_larger_expression_counts_for_more() -> None:
    kept = definition_of(Doc).compiled
    Query(Doc).where(Doc.pk == "a", Doc.title.is_in(*(f"{n}" for n in range(100)))).reading(Context())
    large = kept.kept_bytes
    kept.clear()
    Query(Doc).where(Doc.pk == "a", Doc.title.is_in("1", "2")).reading(Context())
    assert large > kept.kept_bytes + 98 * 100
    assert large > sum(map(sys.getsizeof, reachable(*kept))) / 10


def test_extra_attributes_leave_nothing_behind() -> None:
    codec = definition_of(Open).items
    for number in range(5):
        item = {"pk": {"S": "a"}, f"{SECRET} {number}": {"S": "x"}}
        [made] = codec.decode([item])
        assert made.model_extra == {f"{SECRET} {number}": "x"}
        assert Put(made).request(Context()).body["Item"] == item
    texts = [each for each in reachable(codec) if isinstance(each, str)]
    assert not [text for text in texts if SECRET in text]


def test_names_of_attributes_that_nobody_knows_are_kept_while_they_are_short() -> None:
    codec = definition_of(Doc).items
    for number in range(50):
        codec.decode([{"pk": {"S": "a"}, "sk": {"N": "1"}, "title": {"S": ""}, f"{number}{'x' * 5_000}": {"S": "x"}}])
    assert not [each for each in reachable(codec) if isinstance(each, str) and len(each) > 5_000]
