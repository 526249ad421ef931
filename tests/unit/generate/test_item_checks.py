"""Checks of models against items: each way in which they can part is named, with the key of an example."""

from datetime import UTC, datetime
from typing import Annotated

import pytest
from pydantic import AfterValidator

from dynamap_async import Attr, Model, PartitionKey, SortKey, StoredItem, Table, TimeToLive, attr, template, upgrade
from dynamap_async.generate import check_items

SHOP = Table("shop-of-checks", partition_key="pk", sort_key="sk", discriminator="type")


class Order(Model, table=SHOP, kind="order"):
    customer: Attr[str]
    number: Attr[int]
    total: Attr[float]
    never: Attr[str | None] = attr(default=None)
    pk: PartitionKey[str] = template("C#{customer}")
    sk: SortKey[str] = template("O#{number:04d}")


class Customer(Model, table=SHOP, kind="customer"):
    pk: PartitionKey[str]
    sk: SortKey[str]


def order(number, /, **changed):
    plain = {"type": {"S": "order"}, "pk": {"S": "C#ada"}, "sk": {"S": f"O#{number:04d}"}}
    return plain | {"customer": {"S": "ada"}, "number": {"N": str(number)}, "total": {"N": "1.5"}} | changed


FAULTS = {
    "validates": (order(1, number={"S": "one"}), "Order.number: does not fit"),
    "unknown": (order(2, colour={"S": "red"}), "Order.colour: is not a field of the model"),
    "kind": (order(3, type={"S": "refund"}), "items: no model takes this kind of item"),
    "template": (order(4, sk={"S": "O#0005"}), "Order.sk: differs from what its template makes"),
    "present": (order(5), "Order.never: was never present"),
    "digits": (order(6, total={"N": "1.2345678901234567890123"}), "Order.total: loses digits of numbers"),
}


def test_six_planted_faults_are_all_named():
    found = [each.line(values=True) for each in check_items([Order, Customer], [item for item, _ in FAULTS.values()])]
    assert [fault for _, fault in FAULTS.values() if not any(line.startswith(fault) for line in found)] == []
    assert len(found) == len(FAULTS)


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_named_alone(fault):
    item, line = FAULTS[fault]
    found = [each.line(values=True) for each in check_items([Order, Customer], [item])]
    assert any(each.startswith(line) for each in found)


def test_models_that_fit_have_no_difference():
    assert check_items([Order, Customer], [order(1, never={"S": "x"})]) == ()


def test_items_of_other_models_are_passed_over_when_one_is_checked():
    customer = {"type": {"S": "customer"}, "pk": {"S": "a"}, "sk": {"S": "b"}}
    assert check_items([Order], [order(1, never={"S": "x"}), customer]) == ()


def test_equal_differences_are_one_with_a_count():
    items = [order(number, colour={"S": "red"}, never={"S": "x"}) for number in range(7)]
    [found] = check_items([Order, Customer], items)
    assert (found.count, found.key) == (7, {"pk": "C#ada", "sk": "O#0000"})


def test_keys_are_shown_as_shapes_where_values_are_not_wanted():
    [found] = check_items([Order], [order(1, colour={"S": "red"}, never={"S": "x"})])
    assert "'sk': 'O#0001'" in found.line(values=True)
    assert "'sk': 'a#9999'" in found.line(values=False)


class Reading(Model, table="readings-of-checks"):
    id: PartitionKey[str]
    size: Attr[int] = attr(also_stored_as="S")


def test_other_forms_that_are_declared_are_no_difference():
    assert check_items([Reading], [{"id": {"S": form}, "size": {form: "7"}} for form in "NS"]) == ()
    [found] = check_items([Reading], [{"id": {"S": "a"}, "size": {"S": "seven"}}])
    assert found.line(values=True).startswith("Reading.size: does not fit")


class Coded(Model, table="codes-of-checks"):
    id: PartitionKey[str]
    code: Attr[Annotated[str | int, AfterValidator(str)]]


def test_a_number_that_becomes_a_text_is_said_to_take_another_form():
    [found] = check_items([Coded], [{"id": {"S": "a"}, "code": {"N": "5"}}])
    assert found.line(values=True).startswith("Coded.code: is written back in another form than it is stored")


class Login(Model, table="logins-of-checks"):
    id: PartitionKey[str]
    name: Attr[str]
    expires: TimeToLive[int]


def test_items_that_have_expired_are_counted_apart():
    now = datetime(2024, 1, 1, tzinfo=UTC)
    items = [{"id": {"S": "a"}, "expires": {"N": str(int(now.timestamp()) + left)}} for left in (-60, -1, 60)]
    found, _ = check_items([Login], items, now=now)
    assert (found.count, found.expired) == (3, 2)
    assert "(3 items, 2 of them expired, such as {'id': 'a'})" in found.line(values=True)


class Book(Model, table="books-of-checks", schema_version=2):
    isbn: PartitionKey[str]
    title: Attr[str]

    @upgrade(to=2)
    @staticmethod
    def title_for_heading(item: StoredItem) -> None:
        item["title"] = item.pop("heading")


def test_items_of_all_versions_that_can_be_read_have_no_difference():
    older = {"isbn": {"S": "1"}, "heading": {"S": "x"}}
    present = {"isbn": {"S": "2"}, "title": {"S": "x"}, "schema_version": {"N": "2"}}
    assert check_items([Book], [older, present]) == ()


@pytest.mark.parametrize(
    "stored", [{}, {"schema_version": {"N": "9"}}], ids=["an upgrade that fails", "a later version"]
)
def test_an_item_that_cannot_be_upgraded_is_named(stored):
    fitting = {"isbn": {"S": "2"}, "title": {"S": "x"}, "schema_version": {"N": "2"}}
    [found] = check_items([Book], [{"isbn": {"S": "1"}, **stored}, fitting])
    assert found.line(values=True).startswith("Book: cannot be upgraded (1 item")
