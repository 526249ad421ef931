"""path("name"): attributes that no model declares, in conditions, updates and selections."""

import pickle

import pytest

from dynamap_async import Attr, Collection, Get, Model, PartitionKey, Query, Scan, SortKey, Table, Update, attr, path
from dynamap_async.errors import EncodeError, ExpressionError
from dynamap_async.planning import Context


class Note(Model, table="notes"):
    author: PartitionKey[str]
    number: SortKey[int]
    title: Attr[str] = attr(name="t", default="")
    likes: Attr[int] = attr(default=0)


SHOP = Table("shop", partition_key="pk", sort_key="sk")


class Customer(Model, table=SHOP, kind="customer"):
    pk: PartitionKey[str]
    sk: SortKey[str]
    name: Attr[str] = attr(default="")


class Order(Model, table=SHOP, kind="order"):
    pk: PartitionKey[str]
    sk: SortKey[str]
    total: Attr[int] = attr(default=0)


def body(operation):
    return operation.request(Context()).body


def spelled(operation, member):
    text, names = body(operation)[member], body(operation)["ExpressionAttributeNames"]
    for placeholder, name in names.items():
        text = text.replace(placeholder, name)
    return text


def test_a_condition_names_it_as_it_is_stored() -> None:
    plan = Query(Note).where(Note.author == "ada", path("old") == 5, path("map")["a"][0].exists()).explain()
    assert plan.filters
    assert plan.body["ExpressionAttributeValues"] == {":v0": {"S": "ada"}, ":v1": {"N": "5"}}
    assert {"old", "map", "a"} <= set(plan.body["ExpressionAttributeNames"].values())
    assert "path('old') == 5" in str(plan)


def test_a_scan_filters_by_it() -> None:
    assert "old" in Scan(Note).where(path("old").missing()).explain().body["ExpressionAttributeNames"].values()


def test_an_update_sets_adds_and_removes_it() -> None:
    update = (
        Update(Note, "ada", 1).set(path("a"), {"x": 1}).add(path("n"), 2).delete(path("s"), {"x"}).remove(path("r"))
    )
    assert spelled(update, "UpdateExpression") == "SET a = :v0 REMOVE r ADD n :v1 DELETE s :v2"
    assert body(update)["ExpressionAttributeValues"] | {} == {
        ":v0": {"M": {"x": {"N": "1"}}},
        ":v1": {"N": "2"},
        ":v2": {"SS": ["x"]},
        **{name: value for name, value in body(update)["ExpressionAttributeValues"].items() if name > ":v2"},
    }


def test_a_field_is_set_from_it_and_it_from_a_field() -> None:
    update = Update(Note, "ada", 1).set(Note.title, path("old")).set(path("new"), Note.likes)
    assert spelled(update, "UpdateExpression") == "SET t = old, new = likes"


def test_none_is_stored_as_null_in_it() -> None:
    assert {"NULL": True} in body(Update(Note, "ada", 1).set(path("a"), None))["ExpressionAttributeValues"].values()


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Query(Note).where(path("likes") == 1), r"path\('likes'\) is the field Note.likes; write that"),
        (lambda: Scan(Note).where(path("t") == "a"), r"path\('t'\) is the field Note.title"),
        (lambda: Update(Note, "ada", 1).set(path("number"), 5), "is the field Note.number"),
        (lambda: Query(Note).select(path("t")), "is the field Note.title"),
        (lambda: Update(Order, "a", "b").set(path("kind"), "x"), "tells the kind of the item, which never changes"),
        (lambda: Update(Note, "ada", 1).set(path("a"), 1).remove(path("a")), r"changes path\('a'\) twice"),
        (lambda: path(""), "have 1 to 65,535 bytes"),
        (lambda: path(5), "is not a field of a model"),
    ],
)
def test_what_a_model_declares_is_named_by_its_field(make, problem) -> None:
    with pytest.raises(ExpressionError, match=problem):
        make()


def test_what_cannot_be_stored_is_refused() -> None:
    with pytest.raises(EncodeError, match="path\\('a'\\)"):
        Update(Note, "ada", 1).set(path("a"), object())


def test_a_collection_may_ask_for_what_one_of_its_models_lacks() -> None:
    plan = Collection(Customer, Order).where(Customer.pk == "a", path("total") == 5).explain()
    assert "total" in plan.body["ExpressionAttributeNames"].values()
    with pytest.raises(ExpressionError, match="is the field"):
        Collection(Customer, Order).where(path("sk") == "a")


def test_operations_with_it_are_values() -> None:
    update = Update(Note, "ada", 1).set(path("a")["b"], 1).where(path("c").exists())
    assert pickle.loads(pickle.dumps(update)) == update
    assert hash(update) == hash(Update(Note, "ada", 1).set(path("a")["b"], 1).where(path("c").exists()))
    assert update != Update(Note, "ada", 1).set(path("a")["c"], 1).where(path("c").exists())
    assert Get(Note, "ada", 1) != update
