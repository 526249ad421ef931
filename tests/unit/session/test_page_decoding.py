"""A page is decoded in slices, and its items go as they are decoded."""

import asyncio
import gc
import weakref
from types import SimpleNamespace
from typing import Any

import pytest

from dynamap_async.errors import ItemValidationError
from dynamap_async.session.stream import PageDecoding, page_pace


class Item(dict[str, Any]):
    """A wire item that can be watched."""


def page(count: int) -> list[Any]:
    return [Item(number={"N": str(number)}) for number in range(count)]


def numbers(items: Any) -> list[int]:
    return [int(item["number"]["N"]) for item in items]


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 100, 1000])
async def test_all_items_come_once_and_in_order(count: int) -> None:
    decoding = PageDecoding(numbers, page(count), page_pace())
    assert decoding.total == count
    assert await decoding.finish() == list(range(count))


async def test_what_is_decoded_is_let_go_of_before_the_rest_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dynamap_async.turns.time", SimpleNamespace(perf_counter=lambda: 0.0))
    alive: list[int] = []
    watched: list[weakref.ref[Item]] = []

    def decode(items: Any) -> list[int]:
        alive.append(sum(ref() is not None for ref in watched))
        return numbers(items)

    wire = page(100)
    watched += [weakref.ref(item) for item in wire]
    decoding = PageDecoding(decode, wire, page_pace())
    del wire
    gc.disable()
    try:
        await decoding.finish()
    finally:
        gc.enable()
    assert alive == [100, 99, 91, 59, 27]


async def test_a_page_that_somebody_else_holds_stays_as_it_is() -> None:
    wire = page(100)
    await PageDecoding(numbers, wire, page_pace()).finish()
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
        await PageDecoding(decode, page(100), page_pace()).finish()
    assert list(caught.value.items) == [each for each in range(100) if each != 50]


@pytest.mark.parametrize("seconds", [0.00001, 0.0001, 0.0005, 0.0009])
async def test_other_tasks_have_their_turn_every_3_ms_however_long_an_item_takes(
    monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """The clock is moved by the decoding alone."""
    now, longest, since = 0.0, 0.0, 0.0
    monkeypatch.setattr("dynamap_async.turns.time", SimpleNamespace(perf_counter=lambda: now))

    def decode(items: Any) -> list[int]:
        nonlocal now
        now += seconds * len(items)
        return numbers(items)

    async def watch() -> None:
        nonlocal longest, since
        while True:
            longest, since = max(longest, now - since), now
            await asyncio.sleep(0)

    watching = asyncio.create_task(watch())
    assert len(await PageDecoding(decode, page(1000), page_pace()).finish()) == 1000
    watching.cancel()
    await asyncio.wait((watching,))
    assert longest < 0.0035
