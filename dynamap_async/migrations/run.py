"""The run of a migration, as its function is given it: scans that go on where an earlier run has come to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final, Generic, Self, TypeVar

from dynamap_async.dataclass import dataclass
from dynamap_async.errors import CursorError, OperationError
from dynamap_async.errors.habits import IteratedByAsyncFor
from dynamap_async.expressions import Condition
from dynamap_async.migrations.record import ScanPlace
from dynamap_async.models import Model
from dynamap_async.planning import checked_model, positive
from dynamap_async.session import BoundScan, ItemStream, Session

M = TypeVar("M", bound=Model)

STORED_ITEMS: Final = 1_000
"""After how many items it is stored how far a scan has come."""
STORED_SECONDS: Final = 5.0
"""After how many seconds it is stored, where items take longer."""


class ScanPlaces:
    """How far the scans of one run have come, with the functions that are told of it."""

    def __init__(
        self,
        known: Mapping[str, ScanPlace],
        store: Callable[[str, ScanPlace], Awaitable[None]],
        gave: Callable[[], object],
    ) -> None:
        """Continue from what an earlier run has stored.

        Args:
            known: name of a scan -> how far it has come.
            store: stores how far a scan has come.
            gave: called after each item that a scan gives.
        """
        self._places: Final = {each: place.model_copy() for each, place in known.items()}
        self.store: Final = store
        """Stores how far a scan has come."""
        self.gave: Final = gave
        """Called after each item that a scan gives."""

    @property
    def items(self) -> int:
        """How many items all scans have given."""
        return sum(place.items for place in self._places.values())

    def of(self, scan: str) -> ScanPlace:
        """Return the place of a scan, which the scan changes as it goes on."""
        return self._places.setdefault(scan, ScanPlace())


class Migration:
    """One run of a migration, which its function is called with."""

    def __init__(self, name: str, session: Session, places: ScanPlaces) -> None:
        """Create a run, as ``Migrations`` does.

        Args:
            name: the id of the migration.
            session: the session that its scans read with.
            places: how far its scans have come.
        """
        self.id: Final = name
        """The id of the migration."""
        self._session: Final = session
        self._places: Final = places
        self._used: Final[set[str]] = set()

    def __repr__(self) -> str:
        return f"<Migration {self.id!r}, {self.items:,} items>"

    @property
    def items(self) -> int:
        """How many items its scans have given, those of earlier runs included."""
        return self._places.items

    def scan(self, model: type[M], /, *, name: str | None = None) -> MigrationScan[M]:
        """Return a scan over the items of a model, for ``async for``. It continues where an earlier run stopped.

        An item counts as done when the next one is asked for. How far it came is stored after every 1,000 items, or 5
        seconds, so that a run that was killed, or raised, repeats at most those: write what is done with an item so
        that doing it twice does no harm.

        Args:
            model: the model.
            name: the name that its place is stored under, by default the model's. Two scans in a run need two names.

        Raises:
            OperationError: another scan of this run has the same name.

        Cost:
            As ``Session.scan``, and a write unit for each time that its place is stored.

        Source:
            https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Scan.html
        """
        known = name or checked_model(model).__name__
        if known in self._used:
            raise OperationError(
                f"migration {self.id!r} has two scans named {known!r}; give one another name: "
                f"run.scan({model.__name__}, name=...)"
            )
        self._used.add(known)
        origin = _Origin(self.id, known, self._places)
        return MigrationScan(origin, self._session.scan(model), segments=1)


@dataclass(frozen=True, slots=True)
class _Origin:
    """The run and the name of a scan."""

    migration: str
    """The id of the migration."""
    name: str
    """The name of the scan."""
    places: ScanPlaces


class MigrationScan(IteratedByAsyncFor, Generic[M]):
    """A scan of a migration, for ``async for``; each method returns another one. See ``Migration.scan``."""

    def __init__(self, origin: _Origin, scan: BoundScan[M], *, segments: int) -> None:
        """Create a scan, as ``Migration.scan`` does.

        Args:
            origin: the run and the name of the scan.
            scan: the scan that reads the items.
            segments: how many parts of the table are read at the same time.
        """
        self._origin: Final = origin
        self._scan: Final = scan
        self._segments: Final = segments

    def where(self, *conditions: Condition) -> MigrationScan[M]:
        """Return a scan of those items only that meet all conditions.

        Args:
            conditions: conditions on fields of the model.

        Raises:
            ExpressionError: one is not about this model.
        """
        return MigrationScan(self._origin, self._scan.where(*conditions), segments=self._segments)

    def segments(self, number: int, /) -> MigrationScan[M]:
        """Return a scan that reads several parts of the table at the same time.

        Args:
            number: how many, from 1 on.

        Raises:
            OperationError: it is no such number.
        """
        return MigrationScan(self._origin, self._scan, segments=positive(number, "segments"))

    def page_size(self, number: int, /) -> MigrationScan[M]:
        """Return a scan that reads at most so many items with one request.

        Args:
            number: how many, from 1 on.

        Raises:
            OperationError: it is no such number.
        """
        return MigrationScan(self._origin, self._scan.page_size(number), segments=self._segments)

    def __aiter__(self) -> AsyncIterator[M]:
        """Start the scan, or continue where an earlier run stopped.

        Raises:
            CursorError: an earlier run has asked for something else.
        """
        return _Items(self._origin, self._scan.segments(self._segments))


class _Items(Generic[M]):
    """The iterator over the items of a migration's scan."""

    def __init__(self, origin: _Origin, scan: BoundScan[M]) -> None:
        self._name: Final = origin.name
        self._places: Final = origin.places
        self._place: Final = origin.places.of(origin.name)
        self._since_items = 0
        self._since: float | None = None
        try:
            at = self._place.checkpoint
            self._stream: Final[ItemStream[M]] = (scan if at is None else scan.resume(at)).stream()
        except CursorError as error:
            error.add_note(
                f"migration {origin.migration!r} began with another scan of this name; start it again with `dynamap "
                f"migrate --redo {origin.migration}`"
            )
            raise

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> M:
        """Return the next item. The one before counts as done.

        Raises:
            LeaseLostError: another process runs the migration now.
        """
        if self._place.ended:
            raise StopAsyncIteration
        now = asyncio.get_running_loop().time()
        if self._since is None:
            self._since = now
        if self._since_items >= STORED_ITEMS or (self._since_items and now - self._since >= STORED_SECONDS):
            await self._keep(self._stream.checkpoint())
        try:
            item = await self._stream.__anext__()
        except StopAsyncIteration:
            self._place.ended = True
            await self._keep(None)
            raise
        except BaseException:  # a page that is read ahead must not outlive the loop over this
            await self._stream.aclose()
            raise
        self._place.items += 1
        self._since_items += 1
        self._places.gave()
        return item

    async def _keep(self, checkpoint: str | None) -> None:
        self._place.checkpoint = checkpoint
        await self._places.store(self._name, self._place)
        self._since_items, self._since = 0, asyncio.get_running_loop().time()
