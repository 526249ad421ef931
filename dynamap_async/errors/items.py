"""Errors of items and values: what cannot be stored, read or found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dynamap_async.dataclass import dataclass
from dynamap_async.errors.root import DynamapError
from dynamap_async.native import plain
from dynamap_async.wire import WireItem

_ROOM: Final = 2_000
"""How many characters of keys the message of a call holds, beside its first failure."""


class DataError(DynamapError):
    """An item or a value is at fault."""


class EncodeError(DataError, ValueError):
    """A value cannot be stored in DynamoDB, or could not be read back. Raised before anything is sent."""

    def __init__(self, message: str, *, path: Sequence[str | int] = (), model: str | None = None) -> None:
        super().__init__(message)
        self.reason = message
        """What is wrong with the value, without its place."""
        self.path: tuple[str | int, ...] = tuple(path)
        """Where the value is: field name, then keys and positions inside it."""
        self.model = model
        """Name of the model class, if the value belongs to one."""
        self.key: dict[str, Any] | None = None
        """The key of the item that was to be written, by field name, where a value of it does not fit its model."""

    def at(self, *parents: str | int, model: str | None = None) -> EncodeError:
        """Return the same error, placed inside a parent field, element or model.

        Args:
            parents: the names, keys or positions that lead to the value, outermost first.
            model: the name of the model class, where the outermost is a field of one.
        """
        self.path = (*parents, *self.path)
        self.model = model or self.model
        self.args: tuple[Any, ...] = (f"{self.model or ''}{_spelled(self.path)}".lstrip(".") + f": {self.reason}",)
        return self


class ItemTooLargeError(EncodeError):
    """An item is larger than DynamoDB stores."""

    def __init__(self, message: str, *, size_bytes: int, limit_bytes: int, model: str | None = None) -> None:
        super().__init__(message, model=model)
        self.size_bytes = size_bytes
        """Size of the item as DynamoDB counts it, in bytes."""
        self.limit_bytes = limit_bytes
        """The largest size allowed, in bytes."""


class OutOfRangeError(DataError, ValueError):
    """A number is outside its range, or more is asked at once than is possible. Raised before anything is sent."""


class DecodeError(DataError, ValueError):
    """A stored value has a form that this library cannot read."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.reason = message
        """What is wrong with the value, without its place."""
        self.path: tuple[str | int, ...] = ()
        """Where the value is: field name, then keys and positions inside it; empty where nobody knows."""

    def at(self, *parents: str | int) -> DecodeError:
        """Return the same error, placed inside a parent field or element.

        Args:
            parents: the names, keys or positions that lead to the value, outermost first.
        """
        self.path = (*parents, *self.path)
        self.args: tuple[Any, ...] = (f"{_spelled(self.path).lstrip('.')}: {self.reason}",)
        return self


def _spelled(path: Sequence[str | int]) -> str:
    return "".join(f"[{part!r}]" if isinstance(part, int) else f".{part}" for part in path)


class ItemValidationError(DataError, ValueError):
    """A stored item does not fit its model; other items of the same page are kept.

    Args:
        failures: one error for each item of the call that does not fit, in order; by default this one.
    """

    written: bool = False
    """Whether the item is what a write returned, which was carried out: do not send that again."""
    outcome_unknown: bool = False
    """Whether a write that was refused because of the item may have been done by an attempt whose answer was lost."""

    def __init__(
        self,
        message: str,
        *,
        model: str,
        key: Mapping[str, Any],
        item: WireItem,
        validation_error: Exception,
        items: Sequence[Any] = (),
        failures: Sequence[ItemValidationError] = (),
    ) -> None:
        super().__init__(message)
        self.model = model
        """Name of the model class."""
        self.key: dict[str, Any] = dict(key)
        """The item's key: stored attribute name -> Python value."""
        self.item: WireItem = plain(item)
        """The stored item, in wire form."""
        self.validation_error = validation_error
        """Pydantic's own error, with a line for each fault; a ``DecodeError`` where Pydantic was not asked; or what a
        validator raised that Pydantic lets through, such as a KeyError."""
        self.items: tuple[Any, ...] = tuple(items)
        """The items read by the same call that do fit, in order."""
        self.failures: tuple[ItemValidationError, ...] = tuple(failures) or (self,)
        """One error for each item of the call that does not fit, this one first."""

    @classmethod
    def of_call(cls, failures: Sequence[ItemValidationError], items: Sequence[Any]) -> ItemValidationError:
        """Return the error of a whole call: its first failure again, with everything that the call did read.

        Args:
            failures: one error for each item that does not fit, in order; at least one.
            items: what the call read that does fit, in order.
        """
        first = failures[0]
        error = type(first)(
            str(first) + _others(failures[1:]),
            model=first.model,
            key=first.key,
            item=first.item,
            validation_error=first.validation_error,
            items=items,
            failures=failures,
        )
        error.__cause__ = first.validation_error
        if isinstance(error, ItemKindError) and isinstance(first, ItemKindError):
            error.kind = first.kind
        return error


def each_outcome(error: ItemValidationError, items: Sequence[WireItem]) -> list[Any]:
    """Return the outcome of each item of a call that failed, in order: its instance, or its own error."""
    # The error has the instances in the order of their items, so they fill the places that no failure has.
    failed = {id(failure.item): failure for failure in error.failures}
    valid = iter(error.items)
    return [next(valid) if (failure := failed.get(id(plain(item)))) is None else failure for item in items]


def _others(failures: Sequence[ItemValidationError]) -> str:
    """Return the keys of further items that do not fit, as far as the message has room."""
    if not failures:
        return ""
    keys, room = list[str](), _ROOM
    for failure in failures:
        room -= len(shown := str(failure.key))
        if room < 0:
            break
        keys.append(shown)
    left = len(failures) - len(keys)
    more = f"{' and ' if keys else ''}{left:,} more" if left else ""
    return f"; nor do {', '.join(keys)}{more}"


class ItemDecodeError(ItemValidationError, DecodeError):
    """A stored item has an attribute that is not stored as its field is; other items of the same page are kept.

    Args:
        facts: as in ``ItemValidationError``.
    """

    def __init__(self, message: str, *, validation_error: Exception, **facts: Any) -> None:
        super().__init__(message, validation_error=validation_error, **facts)
        self.path: tuple[str | int, ...] = getattr(validation_error, "path", ())


class ItemKindError(ItemValidationError):
    """A stored item of a shared table is of another model than the one asked for, or of none that is known."""

    kind: str | None = None
    """The kind that is stored with the item; None where there is none, or it is no text."""


class ItemVersionError(ItemValidationError):
    """A stored item is of a later version than its model knows, or what is stored as its version is none."""


class ItemUpgradeError(ItemValidationError):
    """A stored item of an older version could not be upgraded. It is stored as it was."""


class AfterWriteError(DynamapError):
    """A hook failed after its item was written. The write has happened, and nothing of it was undone."""

    def __init__(self, message: str, *, item: Any, write: str, failures: int = 1) -> None:
        super().__init__(message)
        self.item = item
        """The item that was written."""
        self.write = write
        """The kind of write: ``put``, ``create``, ``save``, ``update`` or ``delete``."""
        self.failures = failures
        """Of how many items of a transaction hooks failed; this is the first of them."""


class ItemNotFoundError(DynamapError, LookupError):
    """A call that promises an item found none."""

    outcome_unknown: bool = False
    """Whether the update may have been done all the same, and the item removed after it: an answer was lost."""

    def __init__(self, message: str, *, model: str, key: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.model = model
        """Name of the model class."""
        self.key: dict[str, Any] | None = dict(key) if key is not None else None
        """The key that was asked for: field name -> Python value; None after a query."""


class MultipleItemsFoundError(DynamapError, LookupError):
    """A query that promises one item found more than one."""

    def __init__(self, message: str, *, model: str) -> None:
        super().__init__(message)
        self.model = model
        """Name of the model class."""


@dataclass(frozen=True, slots=True)
class ItemFailure:
    """One item of a many-item call that was not read or written."""

    position: int
    """Its place in the call's input, from 0."""
    subject: Any
    """What the call was given there: a key, an item or an operation."""
    error: Exception
    """Why; nearly always a ``DynamapError``."""


class BatchError(DynamapError):
    """Some items of a many-item call failed; all others were read or written.

    Args:
        failures: what failed, in any order.
        message: what happened, and what to do about it; by default the number of failures, and the first of them.
    """

    def __init__(
        self, failures: Sequence[ItemFailure], *, total: int, results: Sequence[Any] = (), message: str | None = None
    ) -> None:
        self.failures: tuple[ItemFailure, ...] = tuple(sorted(failures, key=lambda failure: failure.position))
        """What failed, in input order; every other item succeeded."""
        self.total = total
        """How many items the call was given."""
        self.results: tuple[Any, ...] = tuple(results)
        """Of ``get_many``: its results in input order, None in the places of failures. Empty of other calls."""
        super().__init__(_number_and_first(self.failures, total) if message is None else message)
        self.__cause__: BaseException | None = self.failures[0].error if self.failures else None

    @property
    def succeeded(self) -> int:
        """How many items were read or written."""
        return self.total - len(self.failures)


def _number_and_first(failures: Sequence[ItemFailure], total: int) -> str:
    first = failures[0]
    return (
        f"{len(failures)} of {total} items failed; the first is number {first.position}, with "
        f"{type(first.error).__name__}: {first.error}"
    )


class ItemsNotUpgradedError(BatchError):
    """A pass over the items of a model left some in an older version; they are stored as they were.

    Args:
        failures: the first items that could not be upgraded, each with its key and the cause.
        total: how many items of an older version the pass met.
    """

    def __init__(
        self, message: str, *, failures: Sequence[ItemFailure], total: int, failed: int, remaining: int | None
    ) -> None:
        super().__init__(failures, total=total, message=message)
        self.failed = failed
        """How many items could not be upgraded; ``failures`` has the first thousand of them."""
        self.remaining = remaining
        """How many items of an older version are stored now; None where that was not counted."""

    @property
    def succeeded(self) -> int:
        """How many of the items that the pass met are of the present version now, or gone."""
        return self.total - self.failed
