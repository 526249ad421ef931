"""Storing items that were upgraded when they were read; nobody waits for it.

Invariant: at most so many items wait, each once; what comes when the queue is full is left out, because a later read
upgrades it again. A task runs only while items wait. After ``stop`` none begins, and when ``ended`` returns, none runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from typing import Any, Final

from dynamap_async.config import Priority
from dynamap_async.errors import DynamapError
from dynamap_async.executor import gather_all
from dynamap_async.models import Definition, Model, definition_of, older_item
from dynamap_async.operations.item_upgrade import ItemUpgrade, upgrade_of, upgrades_in
from dynamap_async.session.runner import Runner
from dynamap_async.session.scope import Allowance, Scope
from dynamap_async.turns import new_task
from dynamap_async.wire import WireItem

_WAITING: Final = 1_000
"""How many items may wait."""
_TOGETHER: Final = 8
"""How many are written at the same time."""


class WriteBack:
    """Stores upgraded items in the present version, each only if it is as it was read."""

    def __init__(self, runner: Callable[[], Runner]) -> None:
        """Create what stores upgraded items; nothing is sent yet.

        Args:
            runner: returns what carries the writes out, without hooks.
        """
        self._runner: Final = runner
        self._waiting: Final[dict[tuple[str, str], tuple[Definition[Any], WireItem]]] = {}
        """Table and key -> the item's model, and the item as it was read."""
        self._task: asyncio.Task[None] | None = None
        self._stopped = False

    def __call__(self, item: Model) -> None:
        """Let an item that was read be stored as it was upgraded, if it was.

        Args:
            item: the item that was read.
        """
        definition = definition_of(type(item))
        is_full = self._stopped or len(self._waiting) >= _WAITING
        older = None if is_full else older_item(item, definition)
        if older is None or upgrades_in(definition).writes_older:
            return
        self._waiting.setdefault(_identity(definition, older), (definition, older))
        if self._task is None:
            # In a context of its own: what it takes is not for the scope of who happened to read the item.
            self._task = new_task(self._write_all(), Context())

    def stop(self) -> None:
        """Store nothing more: what waits is left to later reads."""
        self._stopped = True
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()

    async def ended(self) -> None:
        """Wait until nothing is under way; it was stopped before."""
        if self._task is not None:
            await asyncio.wait((self._task,))

    async def _write_all(self) -> None:
        try:
            while self._waiting:
                runner = self._runner()
                async with Scope(runner.executor, "upgrade on read", Allowance(priority=Priority.BACKGROUND)):
                    await gather_all([self._write_next(runner) for _ in range(_TOGETHER)])
        finally:
            self._task = None

    async def _write_next(self, runner: Runner) -> None:
        while self._waiting:
            definition, older = self._waiting.pop(next(iter(self._waiting)))
            with suppress(DynamapError):  # somebody else has written it, or the next read will upgrade it again
                write = upgrade_of(definition, older)
                if isinstance(write, ItemUpgrade):
                    await runner.execute(write)


def _identity(definition: Definition[Any], item: WireItem) -> tuple[str, str]:
    table = definition.require_table("upgraded")
    return table.name, repr(table.keys.key_of(item))
