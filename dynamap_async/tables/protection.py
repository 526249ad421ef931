"""Protection of tables against deletion: turned on and off, and checked before tables are deleted."""

from __future__ import annotations

from dynamap_async.errors import RequestRejectedError, TableProtectedError
from dynamap_async.executor import Executor, gather_all
from dynamap_async.tables.descriptions import Descriptions
from dynamap_async.tables.requests import TableDescription, protection_request, table_request
from dynamap_async.tables.table_changes import ChangeRequests, Refusal


async def check_unprotected(executor: Executor, names: list[str]) -> None:
    """Raise if one of some tables is protected, before any of them is deleted.

    Args:
        names: the full table names.

    Raises:
        TableProtectedError: it is.
        ResourceNotFoundError: one of them does not exist.
    """
    descriptions = Descriptions(executor)
    for found in await gather_all([descriptions.get(name) for name in names]):
        if found.is_protected:
            raise TableProtectedError(table=found.schema.name)


async def delete_table(executor: Executor, name: str) -> None:
    """Send the request to delete a table.

    Raises:
        TableProtectedError: it is protected.
    """
    try:
        await executor.send(table_request("DeleteTable", name, writes=True))
    except RequestRejectedError as error:
        found = await Descriptions(executor).find(name)
        if found is None or not found.is_protected:
            raise
        raise TableProtectedError(table=name) from error


async def set_protection(executor: Executor, name: str, timeout_seconds: float, *, protected: bool) -> None:
    """Turn protection on or off, and wait for that; nothing is sent if it is so already.

    Args:
        timeout_seconds: how long to wait.
        protected: whether the table is to be protected.

    Raises:
        ResourceNotFoundError: there is no such table.
        TableWaitTimeoutError: it was not changed in time.
    """
    descriptions = Descriptions(executor)
    if (await descriptions.get(name)).is_protected is protected:
        return
    requests = ChangeRequests(executor)

    async def passes(_: Refusal) -> bool:
        return False

    async def is_done(found: TableDescription | None) -> bool:
        if found is None:
            return False
        if found.is_protected is not protected:
            await requests.send("protection", protection_request(name, protected=protected), passes)
            return False
        return found.status == "ACTIVE"

    what = "protected" if protected else "without protection"
    await descriptions.until(name, is_done, what=what, timeout_seconds=timeout_seconds)
