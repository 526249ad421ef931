"""Subscriptions and receipts of an account: kinds told by keys, and sparse indexes by day that hold some attributes.

The published receipt's key has a time with a slip in it, so what stands in the key is a part of its own. Amounts are
numbers that are stored as text.
"""

from datetime import date
from decimal import Decimal

import pytest

from dynamap_async import (
    Attr,
    GlobalIndex,
    Model,
    PartitionKey,
    Parts,
    SortKey,
    StoredForm,
    Table,
    TimeToLive,
    attr,
    include,
    template,
)

SCENARIO = "recurring-payments"
TEXT = StoredForm(name="decimal text", tag="S", encode=str, decode=Decimal)

PAYMENTS = Table(
    "ReoccuringPayments",
    partition_key="PK",
    sort_key="SK",
    discriminator=None,
    time_to_live="TTL",
    indexes=(
        GlobalIndex(
            "GSI-1",
            partition_key="NextReminderDate",
            sort_key="LastReminderDate",
            projection=include("SK", "PK", "SKU", "Email", "NextPaymentDate"),
        ),
        GlobalIndex(
            "GSI-2",
            partition_key="NextPaymentDate",
            sort_key="LastPaymentDate",
            projection=include("PK", "SK", "Email", "PaymentDay", "PaymentAmount", "SKU", "PaymentDetails"),
        ),
    ),
)


class OfAccount(Model, table=PAYMENTS, abstract=True):
    account: Attr[str] = attr(stored=False)
    sku: Attr[str] = attr(name="SKU")
    email: Attr[str] = attr(name="Email")
    sk: SortKey[str]

    pk: PartitionKey[str] = template("ACC#{account}")


class Subscription(OfAccount):
    number: Attr[str] = attr(stored=False)
    day: Attr[str] = attr(name="PaymentDay")
    amount: Attr[Decimal] = attr(name="PaymentAmount", stored_as=TEXT)
    last_payment: Attr[str] = attr(name="LastPaymentDate")
    next_payment: Attr[date | None] = attr(name="NextPaymentDate", default=None)
    last_reminder: Attr[str] = attr(name="LastReminderDate")
    next_reminder: Attr[date | None] = attr(name="NextReminderDate", default=None)
    details: Attr[dict[str, str]] = attr(name="PaymentDetails")
    created: Attr[str] = attr(name="CreatedDate")

    sk: SortKey[str] = template("SUB#{number}#SKU#{sku}")


class Receipt(OfAccount):
    key_time: Attr[str] = attr(stored=False)
    processed: Attr[str] = attr(name="ProcessedDate")
    amount: Attr[Decimal] = attr(name="ProcessedAmount", stored_as=TEXT)
    ttl: TimeToLive[int] = attr(name="TTL")

    sk: SortKey[str] = template("REC#{key_time}#SKU#{sku}")


MODELS = {"ReoccuringPayments": PAYMENTS}

REQUESTS = {
    "whole-account": lambda session: session.query(OfAccount).where(OfAccount.account == "123"),
    "subscriptions": lambda session: session.query(Subscription).where(Subscription.account == "123"),
    "receipts": lambda session: session.query(Receipt).where(Receipt.account == "123").descending(),
    "due-reminders": lambda session: session.query(Subscription).where(Subscription.next_reminder == date(2023, 6, 21)),
    "due-payments": lambda session: session.query(Subscription).where(Subscription.next_payment == date(2023, 6, 28)),
}


def test_every_published_request_is_asked(published):
    assert REQUESTS.keys() == published.requests.keys()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", REQUESTS)
async def test_request_gives_the_published_items(name, ask):
    await ask(name)


def test_created_table_has_the_published_keys_and_indexes(published, described):
    assert described("ReoccuringPayments") == published.tables["ReoccuringPayments"]


def test_stored_items_are_the_published_ones_to_the_letter(wire_items, stored, by_key):
    table = "ReoccuringPayments"
    assert by_key(table, stored(table)) == by_key(table, wire_items[table])


@pytest.mark.asyncio(loop_scope="module")
async def test_what_an_index_holds_is_read_from_it_alone(filled):
    due = REQUESTS["due-payments"](filled).select(Subscription.email, Subscription.amount, Subscription.details)
    assert due.explain().completion is None
    [(email, amount, details)] = await due
    assert (email, amount, details["default-card"]) == ("s@s.com", Decimal("12.99"), "1234123412341234")


@pytest.mark.asyncio(loop_scope="function")
async def test_a_subscription_without_a_next_payment_is_in_no_list_of_payments(session, items):
    await session.tables.create(PAYMENTS)
    await session.put_many(items)
    key = Parts(account="123", number="123", sku="999")
    await session.update(Subscription, key).remove(Subscription.next_payment)
    assert await REQUESTS["due-payments"](session) == []
    assert (await session.get(Subscription, key)).next_payment is None
