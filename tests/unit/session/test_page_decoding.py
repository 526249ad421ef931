"""A page is decoded in slices, and its items go as they are decoded."""

import gc
import weakref
from typing import Any

import pytest

from dynamap_async.errors import ItemValidationError
from dynamap_async.session.stream import PageDecoding


class Item(dict[str, Any]):
    """A wire item that can be watched."""


def page(count: int) -> list[Any]:
    return [Item(number={"N": str(number)}) for number in range(count)]


def numbers(items: Any) -> list[int]:
    return [int(item["number"]["N"]) for item in items]


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 100, 1000])
async def test_all_items_come_once_and_in_order(count: int) -> None:
    decoding = PageDecoding(numbers, page(count))
    assert decoding.total == count
    assert await decoding.finish() == list(range(count))


async def test_what_is_decoded_is_let_go_of_before_the_rest_is() -> None:
    alive: list[int] = []
    watched: list[weakref.ref[Item]] = []

    def decode(items: Any) -> list[int]:
        alive.append(sum(ref() is not None for ref in watched))
        return numbers(items)

    wire = page(100)
    watched += [weakref.ref(item) for item in wire]
    decoding = PageDecoding(decode, wire)
    del wire
    gc.disable()
    try:
        await decoding.finish()
    finally:
        gc.enable()
    assert alive == [100, 97, 93, 87, 78, 65, 46, 18]


async def test_a_page_that_somebody_else_holds_stays_as_it_is() -> None:
    wire = page(100)
    await PageDecoding(numbers, wire).finish()
    assert len(wire) == 100


async def test_items_that_do_not_fit_are_told_with_all_that_do() -> None:
    def decode(items: Any) -> list[int]:
        found = numbers(items)
        if 50 in found:
            failure = ItemValidationError(
                "50", model="M", key={}, item=items[0], validation_error=ValueError("it is 50")
            )
            raise ItemValidationError.of_call([failure], [each for each in found if each != 50])
        return found

    with pytest.raises(ItemValidationError) as caught:
        await PageDecoding(decode, page(100)).finish()
    assert list(caught.value.items) == [each for each in range(100) if each != 50]
