"""The place of a pass, in the library's own table: a pass that was killed continues there, on any machine.

Invariant: what is stored passes no item that was not looked at, whoever stored it. So two passes of one name may
overwrite each other's places, and neither loses an item.
"""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from typing import Final

from dynamap_async.errors import OperationError, ResourceNotFoundError
from dynamap_async.models import Attr, Model, definition_of
from dynamap_async.operations import Delete, Find, Put
from dynamap_async.operations.library_table import OwnItem
from dynamap_async.operations.upgrade_record import upgrade_record_key
from dynamap_async.schema import RecordKind
from dynamap_async.session.runner import Runner
from dynamap_async.tables import Tables

STORED_ITEMS: Final = 1_000
"""After how many items a place is stored; at most once for each page."""
STORED_SECONDS: Final = 5.0
"""After how many seconds it is stored, where items take longer."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


class StoredPlace(OwnItem, defer_build=True):
    """The stored place of a pass."""

    checkpoint: Attr[str]
    """Where the next one goes on."""


class UpgradePlace:
    """The place of the passes of one name over the items of one model.

    Args:
        runner: carries out requests, without hooks.
        name: the name of the pass.

    Raises:
        OperationError: it cannot be a name.
    """

    def __init__(self, runner: Runner, model: type[Model], name: str) -> None:
        self._runner: Final = runner
        self._key: Final = upgrade_place_key(model, name)
        self._seen = 0
        self._since = 0.0

    async def begin(self) -> str | None:
        """Return the checkpoint that was stored; None where there is none. The library's own table is made for it."""
        self._since = asyncio.get_running_loop().time()
        try:
            found = await self._runner.execute(Find(StoredPlace, self._key, consistent_read=True))
        except ResourceNotFoundError:
            await Tables(self._runner.executor, self._runner.context).create(StoredPlace, if_missing=True)
            return None
        return None if found is None else found.checkpoint

    async def keep(self, checkpoint: str, seen: int) -> None:
        """Store a checkpoint, if enough was done since the last one.

        Args:
            checkpoint: where the pass stands.
            seen: how many items the pass has seen.
        """
        now = asyncio.get_running_loop().time()
        if seen - self._seen >= STORED_ITEMS or now - self._since >= STORED_SECONDS:
            await self._runner.execute(Put(StoredPlace(pk=self._key, checkpoint=checkpoint)))
            self._seen, self._since = seen, now

    async def end(self) -> None:
        """Forget the place, so that the next pass begins at the beginning."""
        with suppress(ResourceNotFoundError):
            await self._runner.execute(Delete(StoredPlace, self._key))


def upgrade_place_key(model: type[Model], name: object) -> str:
    """Return the key of the place of a pass.

    Args:
        model: the model whose items it goes over.
        name: that of the pass.

    Raises:
        OperationError: it cannot be a name.
    """
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise OperationError(
            f"name={name!r} cannot be the name of a pass; use 1 to 200 letters, digits, '-', '_' and '.', such as "
            "'2026-11'"
        )
    return RecordKind.CHECKPOINT.key(upgrade_record_key(definition_of(model)), name)
