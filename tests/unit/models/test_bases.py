"""What a subclass of a shared table keeps beside its fields, a write through its base must keep too."""

import pytest

from dynamap_async import Attr, Delete, Model, PartitionKey, SortKey, Table, Unique, Update, Version, attr
from dynamap_async.errors import ModelDefinitionError, OperationError
from dynamap_async.planning import Context


def shop() -> Table:
    return Table("shop", partition_key="pk", sort_key="sk")


def base_of(table: Table, *, abstract: bool) -> type[Model]:
    class Party(Model, table=table, abstract=abstract):
        pk: PartitionKey[str]
        sk: SortKey[str]
        name: Attr[str] = attr(default="")

    return Party


def user_of(base: type[Model]) -> type[Model]:
    class User(base):
        email: Attr[str]
        by_email = Unique("email")

    return User


def account_of(base: type[Model]) -> type[Model]:
    class Account(base):
        version: Version[int] = attr(default=0)

    return Account


@pytest.mark.parametrize(
    ("subclass", "name"),
    [pytest.param(user_of, "by_email", id="unique"), pytest.param(account_of, "version", id="version")],
)
def test_a_subclass_keeps_nothing_that_a_base_with_items_of_its_own_does_not_keep(subclass, name):
    base = base_of(shop(), abstract=False)
    with pytest.raises(ModelDefinitionError, match=rf"{name}: is not declared in Party, .* abstract base"):
        subclass(base)


def test_a_write_by_key_through_an_abstract_base_is_refused_where_it_would_not_keep_unique_values():
    base = base_of(shop(), abstract=True)
    user = user_of(base)
    for write in (lambda: Update(base, "a", "b"), lambda: Delete(base, "a", "b")):
        with pytest.raises(OperationError, match="may be a User, and a write by.* write it as User"):
            write()
    assert repr(Delete(user, "a", "b")) == "Delete(User, {'pk': {'S': 'a'}, 'sk': {'S': 'b'}})"


def test_an_update_by_key_through_an_abstract_base_is_refused_where_it_would_not_count_the_version():
    base = base_of(shop(), abstract=True)
    account_of(base)
    with pytest.raises(OperationError, match="it as Account, or pass an"):
        Update(base, "a", "b")
    assert repr(Delete(base, "a", "b")) == "Delete(Party, {'pk': {'S': 'a'}, 'sk': {'S': 'b'}})"


def test_a_base_that_keeps_it_too_writes_for_its_subclasses():
    class Counted(Model, table=shop()):
        pk: PartitionKey[str]
        sk: SortKey[str]
        name: Attr[str] = attr(default="")
        version: Version[int] = attr(default=0)

    class More(Counted):
        note: Attr[str] = attr(default="")

    assert More.version is not None
    request = Update(Counted, "a", "b").set(Counted.name, "x").request(Context())
    assert "version" in request.body["ExpressionAttributeNames"].values()
