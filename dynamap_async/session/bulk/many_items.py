"""Many items in one call: what a session's ``get_many``, ``each``, ``put_many``, ``delete_many`` and ``batch`` do."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Iterable
from functools import partial
from typing import Any, Final, TypeVar

from dynamap_async.config import BatchPolicy
from dynamap_async.errors import OperationError
from dynamap_async.models import Model
from dynamap_async.operations import Delete, Find, Put, SingleRequest
from dynamap_async.planning import checked_model
from dynamap_async.session.bulk.batch import Batch, Progress
from dynamap_async.session.bulk.item_chunks import PlainDeletes, PlainDeletesByKey, PlainPuts, PlainWriting
from dynamap_async.session.bulk.key_chunks import keyed_reads
from dynamap_async.session.bulk.many_reads import ManyReads
from dynamap_async.session.bulk.result_stream import Answers
from dynamap_async.session.runner import Runner

T = TypeVar("T")
OperationT = TypeVar("OperationT", bound=SingleRequest[Any])


class ManyItems:
    """Reads, writes and removes any number of items."""

    def __init__(self, runner: Runner, policy: BatchPolicy) -> None:
        self._runner: Final = runner
        self._policy: Final = policy

    async def get(self, first: Any, keys: Iterable[Any] | None, *, consistent_read: bool) -> list[Any]:
        """Read the items of a model's keys, or of operations, into a list; see ``Session.get_many``."""
        subjects, operation = _reads(first, keys, consistent_read=consistent_read)
        keyed = None if keys is None else keyed_reads(first, self._runner, consistent=consistent_read)
        return await ManyReads(self._runner, self._policy).all(subjects, operation, keyed)

    def each(self, first: Any, keys: Iterable[Any] | None, *, consistent_read: bool) -> Answers[Any, Any]:
        """Return an iterator that reads the items as they are taken; see ``Session.each``."""
        subjects, operation = _reads(first, keys, consistent_read=consistent_read)
        keyed = None if keys is None else keyed_reads(first, self._runner, consistent=consistent_read)
        return Answers(self._runner, self._policy, subjects, operation, keyed)

    async def put(
        self, items: Iterable[Model] | AsyncIterable[Model], progress: Progress | None, *, read_first: bool
    ) -> int:
        """Write items and return how many; see ``Session.put_many``."""
        async with self.batch() as batch:
            put, plain = partial(Put, read_first=read_first), PlainWriting(self._runner, PlainPuts)
            await batch.write(several(items, "items"), put, progress, plain.part)
        return batch.done

    async def delete(self, first: Any, keys: Any, progress: Progress | None, *, read_first: bool) -> int:
        """Remove instances, or the items of a model's keys, and return how many; see ``Session.delete_many``."""
        async with self.batch() as batch:
            delete = partial(Delete, read_first=read_first)
            if keys is None:
                plain = PlainWriting(self._runner, PlainDeletes).part
                await batch.write(several(first, "items"), delete, progress, plain)
            else:
                model = checked_model(first)
                by_key = partial(PlainWriting(self._runner, PlainDeletesByKey).part, model=model)
                await batch.write(several(keys, "keys"), partial(of_key, delete, model), progress, by_key)
        return batch.done

    def batch(self) -> Batch:
        """Return a bulk load."""
        return Batch(self._runner, self._policy)


def _is_several(subjects: object) -> bool:
    return isinstance(subjects, Iterable | AsyncIterable) and not isinstance(subjects, str | bytes | Model)


def several(subjects: T, what: str) -> T:
    """Return an iterable of items or keys; an item and a text can be iterated over as well, and are not meant."""
    if not _is_several(subjects):
        raise OperationError(f"{subjects!r} is not an iterable of {what}; write [{subjects!r}] for one")
    return subjects


def of_key(operation: Callable[..., OperationT], model: type[Model], key: Any) -> OperationT:
    """Return the operation on the item with a key: one value, or a tuple of both."""
    values: tuple[Any, ...] = key if issubclass(type(key), tuple) else (key,)
    if not 1 <= len(values) <= 2:
        raise OperationError(f"{key!r} is not a key of {model.__name__}; write one value, or (partition, sort)")
    return operation(model, *values)


def _find_itself(find: SingleRequest[Any]) -> SingleRequest[Any]:
    if not issubclass(type(find), Find):
        raise OperationError(f"{find!r} is not a Find operation; write Find(Model, key), or give a model and keys")
    return find


def _reads(
    first: Any, keys: Iterable[Any] | None, *, consistent_read: bool
) -> tuple[Iterable[Any], Callable[[Any], SingleRequest[Any]]]:
    """Return what to read, and how each becomes an operation."""
    if keys is None:
        if isinstance(first, type):
            raise OperationError(f"the keys are missing; write ({first.__name__}, keys)")
        return several(first, "Find operations"), _find_itself

    def find(model: type[Model], *key: Any) -> SingleRequest[Any]:
        return Find(model, *key, consistent_read=consistent_read)

    return several(keys, "keys"), partial(of_key, find, checked_model(first))
