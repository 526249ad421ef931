"""What a library is asked to do. Each one answers in the way that its own documentation recommends."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from benchmarks.shapes import Shape


class CannotError(Exception):
    """The library does not offer this; the message says what is missing, and is printed in place of a figure."""


class Subject:
    """One library. What it does not override it cannot do, and says so.

    ``key`` and ``number`` are positions below the ``distinct`` that ``prepare`` was told: making keys and items is the
    caller's work, which is not measured.
    """

    label: ClassVar[str]
    returns: ClassVar[str]
    """What reads give: bytes parsed, wire dicts, dicts or models."""
    imports: ClassVar[str]
    """What a program imports to use it."""
    distributions: ClassVar[Sequence[str]]
    """What is installed for it, for the versions in the results."""
    cannot: ClassVar[dict[str, str]] = {}
    """Name of a method -> why the library has no such thing, or none of its own."""
    zone: ClassVar[str] = "Z"
    """How the instants end that it writes and reads."""
    segments: ClassVar[int] = 8

    def prepare(self, distinct: int) -> None:
        """Make the keys and items that are used later."""
        raise self._missing("prepare")

    async def open(self, endpoint: str | None) -> None:
        """Open the client; without an endpoint, with that of AWS's configuration files."""
        raise self._missing("open")

    async def open_found(self, endpoint: str) -> None:
        """Open the client, which finds region and access key by itself."""
        raise self._missing("open_found")

    async def close(self) -> None:
        """Close it."""

    async def get(self, key: int) -> object:
        """Read one item."""
        raise self._missing("get")

    async def get_alone(self, key: int) -> object:
        """Read one item with a request of its own."""
        return await self.get(key)

    async def put_alone(self, number: int) -> object:
        """Write one item with a request of its own."""
        return await self.put(number)

    async def query(self) -> object:
        """Read a page of 100 items."""
        raise self._missing("query")

    async def put(self, number: int) -> object:
        """Write one item."""
        raise self._missing("put")

    async def update(self, key: int) -> object:
        """Set one attribute of an item and add to another."""
        raise self._missing("update")

    async def batch_get(self, count: int) -> object:
        """Read the first so many items."""
        raise self._missing("batch_get")

    async def batch_write(self, count: int) -> object:
        """Write the first so many items."""
        raise self._missing("batch_write")

    async def transact(self, number: int) -> object:
        """Write 10 items in one transaction: the first ten, the next ten, and so on."""
        raise self._missing("transact")

    async def scan(self) -> int:
        """Read the whole table in ``segments`` parts at a time; return the number of items."""
        raise self._missing("scan")

    async def stream(self, count: int) -> int:
        """Read the items of a query one by one, keeping none; return the number of items."""
        raise self._missing("stream")

    def encode(self) -> object:
        """Turn 100 items into the JSON that is sent."""
        raise self._missing("encode")

    def decode(self, page: bytes) -> object:
        """Turn the JSON of a page of 100 items into what the library returns."""
        raise self._missing("decode")

    def encoder(self, shape: Shape) -> Callable[[], object]:
        """Return what turns the items of a shape into the JSON that is sent."""
        raise self._missing("encode")

    def decoder(self, shape: Shape) -> Callable[[bytes], object]:
        """Return what turns the JSON of a page of a shape into what the library returns."""
        raise self._missing("decode")

    def render(self) -> object:
        """Build a query with a key range and a filter, and render its expressions."""
        raise self._missing("render")

    def define(self) -> object:
        """Define the model of the reference item."""
        raise self._missing("define")

    def define_shape(self, shape: Shape) -> object:
        """Define the model of a shape."""
        raise self._missing("define")

    def _missing(self, method: str) -> CannotError:
        return CannotError(self.cannot.get(method, "not asked yet"))
