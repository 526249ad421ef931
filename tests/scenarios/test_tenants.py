"""Tenants as OneTable keeps them: a marker ``_type``, and keys that end with their separator where nothing follows."""

import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, Parts, SortKey, Table, attr, template
from dynamap_async.errors import ConditionalCheckFailedError

SCENARIO = "tenants"

TENANTS = Table(
    "TenantTable",
    partition_key="pk",
    sort_key="sk",
    discriminator="_type",
    indexes=(GlobalIndex("gs1", partition_key="gs1pk", sort_key="gs1sk"),),
)


class Account(Model, table=TENANTS, kind="Account"):
    id: Attr[str]
    name: Attr[str]

    pk: PartitionKey[str] = template("Account#{id}")
    sk: SortKey[str] = template("Account#")
    gs1pk: Attr[str] = template("Account#{name}")
    gs1sk: Attr[str] = template("Account#")


class User(Model, table=TENANTS, kind="User"):
    account: Attr[str] = attr(name="accountId")
    id: Attr[str]
    name: Attr[str]
    email: Attr[str]
    optional: Attr[str | None] = attr(default=None)

    pk: PartitionKey[str] = template("Account#{account}")
    sk: SortKey[str] = template("User#{id}")
    gs1pk: Attr[str] = template("User#{email}")
    gs1sk: Attr[str] = template("User#{account}")


MODELS = {"TenantTable": TENANTS}
ACME = "01FR3X2BCQ4YDSTBFCZNWNBXNS"

REQUESTS = {
    "account-and-users": lambda session: session.query(Account, User).where(User.account == ACME),
    "users": lambda session: session.query(User).where(User.account == ACME),
    "users-since": lambda session: session.query(User).where(User.account == ACME, User.id > "01FR3X3A"),
    "users-with-filter": lambda session: session.query(User).where(User.account == ACME, User.name == "Bob"),
    "account-by-name": lambda session: session.query(Account).where(Account.name == "Acme"),
    "users-by-address": lambda session: session.query(User).where(User.email == "ann@example.com"),
    "user-of-account-by-address": lambda session: session.query(User).where(
        User.email == "ann@example.com", User.account == ACME
    ),
}


def test_every_published_request_is_asked(published):
    assert REQUESTS.keys() == published.requests.keys()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", REQUESTS)
async def test_request_gives_the_published_items(name, ask):
    await ask(name)


def test_created_table_has_the_published_keys_and_indexes(published, described):
    assert described("TenantTable") == published.tables["TenantTable"]


def test_stored_items_are_the_published_ones_to_the_letter(wire_items, stored, by_key):
    assert by_key("TenantTable", stored("TenantTable")) == by_key("TenantTable", wire_items["TenantTable"])


@pytest.mark.asyncio(loop_scope="function")
async def test_a_user_is_created_once_and_found_by_a_new_address(session, items):
    await session.tables.create(TENANTS)
    await session.put_many(items)
    user = await session.get(User, Parts(account=ACME, id="01FR3X2RAKX8JK5N1CMKA7FPPW"))
    with pytest.raises(ConditionalCheckFailedError):
        await session.create(User(account=user.account, id=user.id, name="Eve", email="eve@example.com"))
    await session.update(user).set(User.email, "ann@example.org")
    assert await session.query(User).where(User.email == "ann@example.org").count() == 1
