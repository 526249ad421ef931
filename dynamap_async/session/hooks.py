"""Running hooks: those of models and those of the session, in the caller's task, one after the other.

An item passes the hooks as it passes the layers: before a write the model's and then the session's, after a write and
after a read the session's and then the model's.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from dynamap_async.errors import AfterWriteError, ConfigurationError
from dynamap_async.events import ComputedAttributeDiffers, Event
from dynamap_async.models import (
    AfterRead,
    AfterWrite,
    BeforeWrite,
    Definition,
    Model,
    WriteKind,
    compare_computed,
    definition_of,
)
from dynamap_async.operations.operation import key_values
from dynamap_async.turns import WorkPace

if TYPE_CHECKING:
    from dynamap_async.operations import Write
    from dynamap_async.planning import Context


class SessionHooks:
    """What a session runs around its writes and reads."""

    def __init__(
        self,
        before_write: Iterable[BeforeWrite] = (),
        after_write: Iterable[AfterWrite] = (),
        after_read: Iterable[AfterRead] = (),
        *,
        off: bool = False,
        compare: AfterRead | None = None,
    ) -> None:
        """Create the hooks of a session.

        Args:
            before_write: run after the model's.
            after_write: run before the model's.
            after_read: run before the model's.
            off: whether no hook runs, not even a model's.
            compare: tells observers where an item has other values of ``@computed_attr`` fields than its model
                computes; None where there are no observers.

        Raises:
            ConfigurationError: one of them cannot be called.
        """
        self._before_write = _callables(before_write, "before_write")
        self.after_write: Final[tuple[AfterWrite, ...]] = () if off else _callables(after_write, "after_write")
        """The session's own that run after a write."""
        self._after_read = _callables(after_read, "after_read")
        self._off = off
        self._compare = compare

    def with_read(self, hook: AfterRead) -> SessionHooks:
        """Return the same hooks, and one that runs after reads before all others."""
        return self._reading((hook, *self._after_read))

    def without_read(self, hook: AfterRead) -> SessionHooks:
        """Return the same hooks without one of those that run after reads."""
        return self._reading([each for each in self._after_read if each is not hook])

    def comparing(self, compare: AfterRead) -> SessionHooks:
        """Return the same hooks, and what tells observers of ``@computed_attr`` fields that differ."""
        return self._reading(self._after_read, compare)

    def _reading(self, after_read: Iterable[AfterRead], compare: AfterRead | None = None) -> SessionHooks:
        told = compare or self._compare
        return SessionHooks(self._before_write, self.after_write, after_read, off=self._off, compare=told)

    def before(self, definition: Definition[Any]) -> tuple[BeforeWrite, ...]:
        """Return what runs before an item of a model is written."""
        if self._off:
            return ()
        own = definition.hooks.before_write
        return (*own, *self._before_write) if self._before_write else own

    def follow_write(self, definition: Definition[Any]) -> bool:
        """Return whether anything runs after an item of a model is written."""
        return not self._off and bool(self.after_write or definition.hooks.after_write)

    async def written(self, writes: Sequence[Write[Any]]) -> None:
        """Run what follows writes of items, all of which have happened; items without hooks and keys are passed over.

        Raises:
            AfterWriteError: a hook of an item failed; those of the others have run all the same.
        """
        if not any(map(self.follow_write, {write.definition for write in writes})):
            return
        failed: list[AfterWriteError] = []
        for write in writes:
            item, kind = write.item, write.kind
            if item is None or kind is None or write.unneeded or not self.follow_write(write.definition):
                continue
            for hook in (*self.after_write, *write.definition.hooks.after_write):
                try:
                    result = hook(item, kind)
                    if inspect.isawaitable(result):
                        await result
                except Exception as error:  # noqa: BLE001 - whatever it is, the item is written
                    failed.append(_after_write_error(hook, item, kind, error))
                    break
        if failed:
            failed[0].failures = len(failed)
            raise failed[0]

    def after(self, model: type[Model]) -> tuple[AfterRead, ...]:
        """Return what runs after an item of a model is read."""
        if self._off:
            return ()
        own = definition_of(model).hooks.after_read
        if own[:1] == (compare_computed,):
            own = own[1:]
            if self._compare is not None:  # before any hook changes the item
                return (self._compare, *self._after_read, *own)
        return (*self._after_read, *own) if self._after_read else own

    def after_each(self, models: Sequence[type[Model]]) -> tuple[AfterRead, ...]:
        """Return what runs after an item of one of these models, or of their families, is read."""
        family = [each for model in models for each in (model, *definition_of(model).family.values())]
        return (self._by_model,) if any(self.after(model) for model in family) else ()

    async def _by_model(self, item: Any) -> None:
        if isinstance(item, Model):
            await run_after_read(self.after(type(item)), item)

    def follow(self, items: Sequence[Model]) -> bool:
        """Return whether anything runs after the reading of these items."""
        if self._off:
            return False
        for item in items:  # noqa: SIM110 - any() costs three times as much (benchmarks: concurrent_gets_400)
            if self._after_read or definition_of(type(item)).hooks.after_read:
                return True
        return False

    async def read(self, items: Sequence[Model]) -> None:
        """Run what follows the reading of a few items, of any models."""
        for item in items:
            hooks = self.after(type(item))
            if hooks:
                await run_after_read(hooks, item)


def comparison(tell: Callable[[Event], None], context: Context) -> AfterRead:
    """Return the hook that tells observers of an item's ``@computed_attr`` fields that are stored otherwise.

    Args:
        tell: tells them of an event.
        context: what the session adds to an operation.
    """
    from dynamap_async.models import key_of_item, stored_otherwise  # few models have computed attributes

    def compare(item: Model) -> None:
        definition: Definition[Any] = definition_of(type(item))
        names = stored_otherwise(item, definition)
        if names:
            key = key_of_item(item, definition)
            tell(
                ComputedAttributeDiffers(
                    at=asyncio.get_running_loop().time(),
                    table=context.tables.full(definition.table_name(key, "read")),
                    model=definition.model.__name__,
                    fields=names,
                    key=key_values(definition, key),
                )
            )

    return compare


async def run_before_write(hooks: Sequence[BeforeWrite], item: Model, kind: WriteKind) -> None:
    """Run hooks on an item that is about to be written; the first exception ends them."""
    for hook in hooks:
        result = hook(item, kind)
        if inspect.isawaitable(result):
            await result


async def run_after_read(hooks: Sequence[AfterRead], item: Any) -> None:
    """Run hooks on one item that was read; the first exception ends them."""
    for hook in hooks:
        result = hook(item)
        if inspect.isawaitable(result):
            await result


async def run_on_each(hooks: Sequence[AfterRead], items: Sequence[Any]) -> None:
    """Run hooks on items in order, letting other tasks run every 2 ms."""
    pace = WorkPace(1)
    pace.begin()
    for item in items:
        await run_after_read(hooks, item)
        if pace.is_over(1):
            await pace.pause()


def _after_write_error(hook: AfterWrite, item: Model, kind: WriteKind, error: Exception) -> AfterWriteError:
    model, name = type(item).__name__, getattr(hook, "__qualname__", repr(hook))
    shown = ", ".join(
        f"{field.name}={item.__dict__.get(field.name)!r}" for field in definition_of(type(item)).key_fields()
    )
    failure = AfterWriteError(
        f"the {kind} of {model}({shown}) was done, but its hook {name} raised {type(error).__name__}: {error}; do not "
        "write again; repair what the hook had to do",
        item=item,
        write=kind,
    )
    failure.__cause__ = error
    return failure


def _callables(given: Iterable[Callable[..., object]], setting: str) -> tuple[Any, ...]:
    hooks = tuple(given) if isinstance(given, Iterable) and not callable(given) else (given,)
    for hook in hooks:
        if given is hook or not callable(hook):
            raise ConfigurationError(f"{setting}={given!r} is not a list of functions; write {setting}=[function]")
    return hooks
