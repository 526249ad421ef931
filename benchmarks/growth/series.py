"""What grows, and how far; and within which bound the cost must stay from the middle size on."""

import resource
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from benchmarks.runs import Effort, Run, calls, once, plainly
from benchmarks.shapes import flat
from benchmarks.subjects import Subject

_ONCE_FROM = 50_000
"""So many items take long enough to be measured by reading them once."""
Measure = Callable[[Subject, int, Effort], Awaitable[Run]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One kind of work, in sizes that grow."""

    asks: str
    """What is measured, as the table prints it."""
    size: str
    """What a size counts."""
    each: str
    """What the cost is divided by."""
    sizes: Sequence[int]
    middle: int
    """From this size on the cost must be flat; below it, what a request costs by itself still shows."""
    bound: float
    """How much more than at the middle size it may cost at any greater one."""
    run: Measure
    items: bool = False
    """Whether it needs as many keys and items as the greatest batch has."""

    def chosen(self, *, quick: bool) -> Sequence[int]:
        """Return the sizes of a run; a quick one leaves out those that take long."""
        return [size for size in self.sizes if size <= max(self.middle, 10_000)] if quick else self.sizes


async def _query(subject: Subject, size: int, effort: Effort) -> Run:
    async def read(_: int) -> None:
        found = await subject.stream(size)
        if found != size:
            raise AssertionError(f"{subject.label} found {found} of {size} items")

    if size < _ONCE_FROM:
        run = await calls(read, callers=1, seconds=effort.seconds, distinct=1, per=size)
    else:
        run = await once(lambda: read(0), operations=size)
    return replace(run, peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


async def _gets(subject: Subject, callers: int, effort: Effort) -> Run:
    return await calls(subject.get, callers=callers, seconds=effort.seconds, distinct=5_000, least=2 * callers)


async def _puts(subject: Subject, callers: int, effort: Effort) -> Run:
    return await calls(subject.put, callers=callers, seconds=effort.seconds, distinct=5_000, least=2 * callers)


async def _batch_get(subject: Subject, count: int, effort: Effort) -> Run:
    return await calls(lambda _: subject.batch_get(count), callers=1, seconds=effort.seconds, distinct=1, per=count)


async def _batch_write(subject: Subject, count: int, effort: Effort) -> Run:
    return await calls(lambda _: subject.batch_write(count), callers=1, seconds=effort.seconds, distinct=1, per=count)


async def _encode(subject: Subject, attributes: int, effort: Effort) -> Run:
    shape = flat(attributes, count=20)
    return plainly(subject.encoder(shape), seconds=effort.seconds, per=shape.count * attributes)


async def _decode(subject: Subject, attributes: int, effort: Effort) -> Run:
    shape = flat(attributes, count=20)
    decode, page = subject.decoder(shape), shape.page()
    return plainly(lambda: decode(page), seconds=effort.seconds, per=shape.count * attributes)


async def _define(subject: Subject, attributes: int, effort: Effort) -> Run:
    shape = flat(attributes, count=20)
    return plainly(lambda: subject.define_shape(shape), seconds=effort.seconds, per=attributes)


_CALLERS = (1, 4, 16, 64, 256, 1_000, 5_000)
_MANY = (100, 300, 1_000, 3_000, 10_000, 30_000)
_ATTRIBUTES = (5, 10, 25, 50, 100)

MOST_ITEMS = max(_MANY)
SERIES: dict[str, Series] = {
    # First, and its sizes ascending: it also tells the most memory that was held so far.
    "query": Series(
        asks="query, read to its end",
        size="items",
        each="item",
        sizes=(1, 10, 100, 1_000, 10_000, 100_000, 1_000_000),
        middle=1_000,
        bound=1.25,
        run=_query,
    ),
    "gets": Series(
        asks="single gets",
        size="concurrent callers",
        each="get",
        sizes=_CALLERS,
        middle=64,
        bound=1.5,
        run=_gets,
        items=True,
    ),
    "puts": Series(
        asks="single puts",
        size="concurrent callers",
        each="put",
        sizes=_CALLERS,
        middle=64,
        bound=1.5,
        run=_puts,
        items=True,
    ),
    "batch_get": Series(
        asks="batch get", size="items", each="item", sizes=_MANY, middle=1_000, bound=1.5, run=_batch_get, items=True
    ),
    "batch_write": Series(
        asks="batch write",
        size="items",
        each="item",
        sizes=_MANY,
        middle=1_000,
        bound=1.5,
        run=_batch_write,
        items=True,
    ),
    "encode": Series(
        asks="encode a flat item",
        size="attributes",
        each="attribute",
        sizes=_ATTRIBUTES,
        middle=25,
        bound=1.25,
        run=_encode,
    ),
    "decode": Series(
        asks="decode a flat item",
        size="attributes",
        each="attribute",
        sizes=_ATTRIBUTES,
        middle=25,
        bound=1.25,
        run=_decode,
    ),
    "define": Series(
        asks="define a model",
        size="attributes",
        each="attribute",
        sizes=_ATTRIBUTES,
        middle=25,
        bound=1.25,
        run=_define,
    ),
}
PEAK_BOUND = 1.25
"""How much more memory than at the middle size the longest query may hold."""
