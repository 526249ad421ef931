"""Writes of items with unique values: what goes with each, in one transaction, and what a refusal means."""

import pytest

from dynamap_async import Attr, Delete, Model, PartitionKey, Put, Unique, Update, attr
from dynamap_async.errors import (
    CancellationReason,
    ConditionalCheckFailedError,
    OperationError,
    TransactionCanceledError,
    UniqueViolationError,
)


class User(Model, table="users"):
    id: PartitionKey[str]
    email: Attr[str | None] = attr(default=None)
    nick: Attr[str | None] = attr(default=None)
    likes: Attr[int] = attr(default=0)

    by_email = Unique("email")
    by_nick = Unique("nick")


STORED = {"id": {"S": "ann"}, "email": {"S": "ann@x"}, "nick": {"S": "a"}, "likes": {"N": "0"}}
FOUND = {"Item": STORED}


def guard(field, value):
    return f"unique#users#{len(field)}:{field}#{len(value) + 1}:S{value}"


def written(request):
    """Return what each action of a transaction does, and to which item."""
    assert request.operation == "TransactWriteItems"
    found = []
    for action in request.body["TransactItems"]:
        [(verb, body)] = action.items()
        key = body.get("Key") or body["Item"]
        found.append((verb, (key.get("pk") or key["id"])["S"]))
    return found


def condition(request):
    """Return the condition on the item itself, with names and values put in."""
    [body] = request.body["TransactItems"][0].values()
    text = body["ConditionExpression"]
    for name, attribute in body["ExpressionAttributeNames"].items():
        text = text.replace(name, attribute)
    for name, value in body.get("ExpressionAttributeValues", {}).items():
        text = text.replace(name, next(iter(value.values())))
    return text


def test_a_new_item_takes_its_values_and_none_takes_nothing(answered, requests):
    answered(lambda session: session.create(User(id="ann", email="ann@x")), {})
    [request] = requests
    assert written(request) == [("Put", "ann"), ("Put", guard("email", "ann@x"))]


async def save_another_email(session):
    ann = await session.get(User, "ann")
    ann.email = "new@x"
    await session.save(ann)


def test_a_save_takes_the_new_value_and_releases_the_old_one(answered, requests):
    answered(save_another_email, FOUND, {})
    assert written(requests[1]) == [
        ("Update", "ann"),
        ("Put", guard("email", "new@x")),
        ("Delete", guard("email", "ann@x")),
    ]
    assert "email = ann@x" in condition(requests[1])


async def save_no_email(session):
    ann = await session.get(User, "ann")
    ann.email = None
    await session.save(ann)


def test_a_save_of_none_only_releases_the_old_value(answered, requests):
    answered(save_no_email, FOUND, {})
    assert written(requests[1]) == [("Update", "ann"), ("Delete", guard("email", "ann@x"))]


async def save_likes(session):
    ann = await session.get(User, "ann")
    ann.likes = 5
    await session.save(ann)


@pytest.mark.parametrize("write", [save_likes, lambda session: session.update(User, "ann").add(User.likes, 1)])
def test_a_write_of_other_fields_is_no_transaction(answered, requests, write):
    answers = [FOUND, {}] if write is save_likes else [{"Attributes": STORED}]
    answered(write, *answers)
    assert requests[-1].operation == "UpdateItem"


def test_an_update_that_reads_first_also_takes_the_values_that_stay(answered, requests):
    answered(
        lambda session: session.update(User, "ann").set(User.nick, "b").returning("nothing").read_first(), FOUND, {}
    )
    read, write = requests
    assert (read.operation, read.body["ConsistentRead"]) == ("GetItem", True)
    assert written(write) == [
        ("Update", "ann"),
        ("Put", guard("email", "ann@x")),
        ("Put", guard("nick", "b")),
        ("Delete", guard("nick", "a")),
    ]
    assert "email = ann@x" in condition(write)
    assert "nick = a" in condition(write)


async def update_what_was_read(session):
    ann = await session.get(User, "ann")
    await session.update(ann).set(User.nick, "b").returning("nothing")


def test_an_update_of_an_item_that_was_read_takes_only_what_changes(answered, requests):
    answered(update_what_was_read, FOUND, {})
    assert written(requests[1]) == [("Update", "ann"), ("Put", guard("nick", "b")), ("Delete", guard("nick", "a"))]


def test_a_delete_that_reads_first_releases_all_values(answered, requests):
    answered(lambda session: session.delete(User, "ann", read_first=True), FOUND, {})
    assert written(requests[1]) == [
        ("Delete", "ann"),
        ("Delete", guard("email", "ann@x")),
        ("Delete", guard("nick", "a")),
    ]


@pytest.mark.parametrize(
    "write",
    [
        lambda session: session.put(User(id="ann")),
        lambda session: session.delete(User, "ann"),
        lambda session: session.update(User, "ann").set(User.email, "b"),
        lambda session: session.execute(Put(User(id="ann"))),
        lambda session: session.execute(Delete(User, "ann")),
        lambda session: session.execute(Update(User, "ann").set(User.email, "b")),
    ],
)
def test_a_write_that_cannot_know_the_old_values_is_refused_before_anything_is_sent(answered, requests, write):
    with pytest.raises(OperationError, match="read_first"):
        answered(write)
    assert requests == []


def cancelled(*items):
    """Return the error of a transaction of which those actions failed that have an item here; None is one that fit."""
    facts = {"service_code": "x", "status": 400}
    error = TransactionCanceledError("cancelled", operation="TransactWriteItems", table="users, dynamap", **facts)
    reasons = []
    for position, item in enumerate(items):
        own, place = None, {"operation": "PutItem", "table": "users" if position == 0 else "dynamap"}
        if item is not None:
            own = ConditionalCheckFailedError("failed", **place, **facts)
            own.wire_item = item
        code = None if own is None else "ConditionalCheckFailed"
        reasons.append(CancellationReason(position=position, code=code, error=own, **place))
    error.reasons = tuple(reasons)
    return error


TAKEN = {"pk": {"S": guard("email", "ann@x")}, "owner": {"S": "1:Sbob"}, "key": {"M": {"id": {"S": "bob"}}}}


def test_a_value_that_another_item_has_is_refused_with_the_item_that_has_it(answered):
    with pytest.raises(
        UniqueViolationError, match="User.by_email: email='ann@x' is taken by the item with id='bob'"
    ) as caught:
        answered(lambda session: session.create(User(id="ann", email="ann@x")), cancelled(None, TAKEN))
    error = caught.value
    assert (error.model, error.constraint) == ("User", "by_email")
    assert (error.values, error.owner) == ({"email": "ann@x"}, {"id": "bob"})


def test_an_item_that_exists_is_the_error_of_the_create_alone(answered):
    with pytest.raises(ConditionalCheckFailedError) as caught:
        answered(lambda session: session.create(User(id="ann", email="ann@x")), cancelled(STORED, None))
    assert not isinstance(caught.value, UniqueViolationError)
    assert caught.value.item == User(id="ann", email="ann@x", nick="a")
