"""Sessions of tests: where they lead, and what is left of them."""

from types import SimpleNamespace

import pytest

from dynamap_async import Attr, Model, PartitionKey, attr
from dynamap_async.errors import ConfigurationError
from dynamap_async.testing import FrozenClock, LocalEngine, RequestLog
from dynamap_async.testing.faults import Faults
from dynamap_async.testing.prepared import EngineEndpoint, Prepared
from dynamap_async.transport import http

pytestmark = pytest.mark.asyncio


class Account(Model, table="accounts"):
    owner: PartitionKey[str]
    balance: Attr[int] = attr(default=0)


class Ledger(Model, table="ledgers"):
    day: PartitionKey[str]


@pytest.fixture(scope="module")
def local():
    with LocalEngine() as engine:
        service, seen = engine._service, []
        execute = service.execute

        def noted(operation, body):
            seen.append(operation)
            return execute(operation, body)

        service.execute = noted
        yield SimpleNamespace(engine=engine, url=engine.endpoint_url, seen=seen)


@pytest.fixture(autouse=True)
def _nothing_seen(local):
    local.engine.reset()
    local.seen.clear()


def prepared(place, **settings):
    facts = {"seeds": [], "faults": Faults(), "requests": RequestLog(), "clock": FrozenClock()}
    return Prepared(place=place, models=[Account, Ledger], settings=settings, **facts)


async def test_tables_cost_one_request_each(local, tables_at):
    async with prepared(EngineEndpoint(local.engine)).open():
        assert len(tables_at(local.url)) == 2
    assert local.seen == ["CreateTable", "CreateTable", "ListTables"]


async def test_the_next_test_with_the_same_models_costs_no_request(local):
    place = EngineEndpoint(local.engine)
    async with prepared(place).open():
        pass
    local.seen.clear()
    async with prepared(place).open():
        pass
    assert local.seen == []


async def test_only_the_tables_of_the_test_are_dropped(local, tables_at):
    place = EngineEndpoint(local.engine)
    async with prepared(place, table_prefix="kept-").open():
        async with prepared(place, table_prefix="other-").open():
            pass
        assert tables_at(local.url) == ["kept-accounts", "kept-ledgers"]


async def test_tables_of_an_engine_that_runs_elsewhere_are_deleted_by_requests(local, tables_at):
    async with prepared(EngineEndpoint(local.url)).open() as session:
        await session.tables.delete(Ledger)
    assert local.seen.count("DeleteTable") == 2
    assert tables_at(local.url) == []


async def test_a_table_that_cannot_be_dropped_keeps_no_other(local, tables_at):
    opening = prepared(EngineEndpoint(local.url), table_prefix="kept-").open()
    await opening.__aenter__()
    local.engine._service.store.tables["kept-accounts"].settings["DeletionProtectionEnabled"] = True
    with pytest.raises(ExceptionGroup, match="could not be dropped") as failed:
        await opening.__aexit__(None, None, None)
    assert len(failed.value.exceptions) == 1
    assert tables_at(local.url) == ["kept-accounts"]
    local.engine.forget(["kept-accounts"])


async def test_settings_that_lead_to_another_engine_have_their_tables_deleted_there(local, tables_at):
    with LocalEngine() as idle:
        async with prepared(EngineEndpoint(idle), endpoint_url=local.url).open():
            pass
    assert tables_at(local.url) == []


async def test_where_the_engine_is_is_looked_up_once(local, monkeypatch):
    looked_up, complete = [], http.complete_settings

    def noted(connection):
        looked_up.append(connection)
        return complete(connection)

    monkeypatch.setattr(http, "complete_settings", noted)
    place = EngineEndpoint(local.engine)
    for _ in range(3):
        async with prepared(place).open():
            pass
    assert len(looked_up) == 1


async def test_forgetting_tables_that_are_not_there_is_no_error(local, tables_at):
    async with prepared(EngineEndpoint(local.engine), table_prefix="kept-").open():
        local.engine.forget(["nothing"])
        assert len(tables_at(local.url)) == 2


async def test_an_engine_that_does_not_run_has_nothing_to_forget():
    with pytest.raises(ConfigurationError, match="LocalEngine is not running"):
        LocalEngine().forget(["nothing"])
