"""The plugin's fixtures, used as users use them: this suite loads the plugin like any other."""

import time
from datetime import UTC, datetime, timedelta

import pytest

from dynamap_async import Attr, Model, PartitionKey, RetryPolicy, TimeToLive, Unique, attr
from dynamap_async.errors import ConfigurationError, ThrottledError

pytestmark = pytest.mark.asyncio


@pytest.fixture
def prepared(request):
    """Return what the session of this test is made of; it is open only where the test asks for it too."""
    return request.getfixturevalue("_dynamap_prepared")


class Account(Model, table="accounts"):
    owner: PartitionKey[str]
    balance: Attr[int] = attr(default=0)


class Ticket(Model, table="tickets", hide_expired=True):
    ticket_id: PartitionKey[str]
    expires_at: TimeToLive[datetime]


class User(Model, table="users"):
    user_id: PartitionKey[str]
    email: Attr[str]

    by_email = Unique("email")


async def test_a_session_without_models_is_open_and_has_no_tables(dynamap_session):
    assert not await dynamap_session.tables.exists(Account)


@pytest.mark.dynamap(models=[Account], seed="accounts.json")
async def test_a_json_file_beside_the_test_is_seeded(dynamap_session):
    assert (await dynamap_session.get(Account, "ada")).balance == 3


@pytest.mark.dynamap(models=[User], seed=lambda: User(user_id="ada", email="ada@example.org"))
async def test_a_factory_is_seeded_and_the_own_table_of_unique_values_is_there(dynamap_session):
    assert (await dynamap_session.get(User, "ada")).email == "ada@example.org"


SHARED = Account(owner="ada")


@pytest.mark.dynamap(models=[Account], seed=SHARED)
async def test_items_of_a_marker_are_copied_for_each_test(dynamap_session, prepared):
    (copies,) = prepared.seeds
    assert copies == [SHARED]
    assert copies[0] is not SHARED


@pytest.mark.dynamap(models=[Account])
class TestMarkersAddUp:
    @pytest.mark.dynamap(models=[Ticket, Account])
    async def test_the_models_of_all_markers_have_tables(self, dynamap_session):
        assert await dynamap_session.tables.exists(Account)
        assert await dynamap_session.tables.exists(Ticket)


class TestOverridden:
    @pytest.fixture
    def dynamap_models(self):
        return [Account]

    @pytest.fixture
    def dynamap_settings(self):
        self.seen = []
        return {"retry": RetryPolicy(max_attempts=1), "observer": self.seen.append}

    async def test_models_come_from_a_fixture(self, dynamap_session):
        assert await dynamap_session.tables.exists(Account)

    async def test_settings_come_from_a_fixture(self, dynamap_session, dynamap_faults, dynamap_requests):
        dynamap_faults.on("GetItem", times=1).throttle()
        with pytest.raises(ThrottledError):
            await dynamap_session.find(Account, "ada")
        assert self.seen
        dynamap_requests.assert_requests(GetItem=1)


@pytest.mark.dynamap(models=[Account], seed=[Account(owner="ada")])
async def test_faults_happen_to_the_tests_own_requests(dynamap_session, dynamap_faults):
    dynamap_faults.on(nth=1).throttle()
    await dynamap_session.get(Account, "ada")
    assert [entry.fault for entry in dynamap_faults.log] == ["throttle", None]


@pytest.mark.dynamap(models=[Account], seed=[Account(owner="ada")])
async def test_only_the_tests_own_requests_are_counted(dynamap_session, dynamap_requests):
    dynamap_requests.assert_requests()
    await dynamap_session.get_many(Account, ["ada", "bob"])
    dynamap_requests.assert_requests(BatchGetItem=1)
    assert dynamap_session.statistics().requests == 1


@pytest.mark.dynamap(models=[Ticket])
async def test_time_stands_still_until_the_test_moves_it(dynamap_session, dynamap_clock):
    dynamap_clock.freeze(datetime(2026, 1, 1, tzinfo=UTC))
    await dynamap_session.put(Ticket(ticket_id="t", expires_at=dynamap_clock.now + timedelta(hours=1)))
    assert await dynamap_session.find(Ticket, "t") is not None
    dynamap_clock.advance(timedelta(hours=2))
    assert await dynamap_session.find(Ticket, "t") is None


async def test_time_goes_on_for_a_test_that_does_not_ask_for_it(dynamap_session, prepared):
    before = time.time()
    assert before <= prepared.clock() <= time.time()


@pytest.mark.dynamap(models=[Account])
async def test_the_engine_is_asked_what_its_tables_hold(dynamap_session, dynamap_engine):
    before = dynamap_engine.snapshot()
    table = dynamap_session.table_name(Account)
    dynamap_engine.load(table, [{"owner": {"S": "ada"}, "balance": {"N": "3"}}])
    assert await dynamap_session.get(Account, "ada") == Account(owner="ada", balance=3)
    await dynamap_session.put(Account(owner="bob"))
    assert sorted(item["owner"]["S"] for item in dynamap_engine.items(table)) == ["ada", "bob"]
    dynamap_engine.restore(before)
    assert await dynamap_session.scan(Account) == []


async def test_a_test_may_close_its_session(dynamap_session):
    await dynamap_session.tables.create(Account)
    await dynamap_session.close()


class TestTables:
    """What is left at the engine, seen from outside the fixture."""

    @pytest.fixture
    def names(self, dynamodb_endpoint, prepared, tables_at):
        """Return the names of the tables of this test's session."""
        return lambda: [name for name in tables_at(dynamodb_endpoint) if name.startswith(self.prefix)]

    @pytest.fixture
    def dynamap_settings(self):
        self.prefix = f"own{time.time_ns()}-"
        return {"table_prefix": self.prefix}

    async def test_all_tables_are_dropped_also_those_that_the_test_made(self, prepared, names):
        async with prepared.open() as session:
            await session.tables.create(Account, User)
            assert len(names()) == 3
        assert names() == []

    async def test_a_table_that_the_test_deleted_is_no_error(self, prepared, names):
        async with prepared.open() as session:
            await session.tables.create(Account)
            await session.tables.delete(Account)
        assert names() == []

    async def test_faults_do_not_keep_tables_from_being_dropped(self, prepared, names):
        async with prepared.open() as session:
            await session.tables.create(Account)
            prepared.faults.on().throttle()
        assert names() == []

    @pytest.mark.dynamap(models=[Account], seed=lambda: 7)
    async def test_tables_are_dropped_where_seeding_fails(self, prepared, names):
        with pytest.raises(ConfigurationError, match="cannot be seeded"):
            async with prepared.open():
                pass
        assert names() == []
