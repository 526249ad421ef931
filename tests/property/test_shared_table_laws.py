"""Laws of shared tables: what is written as one kind is read as that kind, whatever stands beside it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamap_async import UNMARKED, Attr, Collection, Model, PartitionKey, SortKey, Table, UnknownItem, attr
from dynamap_async.errors import ItemKindError, ItemValidationError
from dynamap_async.models import definition_of
from dynamap_async.planning import Context

SHOP = Table("shop", partition_key="pk", sort_key="sk")


class Base(Model, table=SHOP, kind=UNMARKED):
    pk: PartitionKey[str]
    sk: SortKey[str]
    amount: Attr[int] = attr(default=0)


class Gift(Base, kind="gift"):
    note: Attr[str] = attr(default="")


class Card(Gift, kind="card"):
    pass


class Order(Model, table=SHOP, kind="order"):
    pk: PartitionKey[str]
    sk: SortKey[str]
    amount: Attr[int] = attr(default=0)


KEYS = st.text(min_size=1, max_size=5)
ITEMS = st.lists(
    st.builds(
        lambda model, sk, n: model(pk="p", sk=sk, amount=n),
        st.sampled_from([Base, Gift, Card, Order]),
        KEYS,
        st.integers(-9, 9),
    )
)
ALIEN = {"pk": {"S": "p"}, "sk": {"S": "x"}, "kind": {"S": "alien"}}


def stored(item: Model) -> dict[str, Any]:
    return definition_of(type(item)).items.encode(item)


def decoder(models: tuple[type[Model], ...], unknown: Any = "error") -> Any:
    return Collection(*models).unknown(unknown).where(Order.pk == "p").reading(Context()).decode


@given(ITEMS)
def test_a_collection_reads_back_what_was_written_each_as_its_own_class(items: list[Model]) -> None:
    read = decoder((Base, Order))([stored(item) for item in items])
    assert read == items
    assert [type(each) for each in read] == [type(each) for each in items]


@given(ITEMS)
def test_a_family_reads_its_own_and_names_all_others(items: list[Model]) -> None:
    wires = [stored(item) for item in items]
    own = [item for item in items if isinstance(item, Gift)]
    codec = definition_of(Gift).items
    if own == items:
        assert codec.decode(wires) == items
        return
    with pytest.raises(ItemKindError) as caught:
        codec.decode(wires)
    assert list(caught.value.items) == own
    assert [each.item for each in caught.value.failures] == [
        wire for wire, item in zip(wires, items, strict=True) if not isinstance(item, Gift)
    ]


@given(ITEMS, st.data())
def test_what_does_not_fit_stands_in_no_one_elses_place(items: list[Model], data: st.DataObject) -> None:
    wires = [stored(item) for item in items]
    broken = data.draw(st.sets(st.integers(0, len(items) - 1))) if items else set[int]()
    for position in broken:
        wires[position] = {**wires[position], "amount": {"S": "many"}}
    fitting = [item for position, item in enumerate(items) if position not in broken]
    if not broken:
        assert decoder((Base, Order))(wires) == fitting
        return
    with pytest.raises(ItemValidationError) as caught:
        decoder((Base, Order))(wires)
    assert list(caught.value.items) == fitting
    assert [each.item for each in caught.value.failures] == [wires[position] for position in sorted(broken)]


@given(ITEMS, st.integers(0, 5))
def test_an_unknown_item_is_raw_in_its_own_place(items: list[Model], place: int) -> None:
    wires = [stored(item) for item in items]
    wires.insert(place, ALIEN)
    read = decoder((Base, Order), "raw")(wires)
    expected: list[Any] = [*items]
    expected.insert(place, UnknownItem("alien", ALIEN))
    assert read == expected
