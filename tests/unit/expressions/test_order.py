"""Ranges are for fields whose stored values sort as the values do; of all others equality and prefixes are asked."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import pytest
from pydantic import AnyUrl, PostgresDsn

from dynamap_async import (
    EPOCH_MILLISECONDS,
    JSON_TEXT,
    Attr,
    Model,
    PartitionKey,
    Query,
    SortKey,
    StoredForm,
    attr,
    time_text,
)
from dynamap_async.errors import ExpressionError


class Size(StrEnum):
    SMALL = "a"
    LARGE = "b"


def form(name: str, encode: Callable[[Any], Any], tag: Any = "S") -> StoredForm:
    return StoredForm(name=name, tag=tag, encode=encode, decode=int)


PADDED = form("padded", lambda number: f"{number:06d}")
PLAIN_TEXT = form("plain text", str)
FALLING = form("falling", lambda number: -number, "N")


class Host(Model, table="hosts"):
    network: PartitionKey[str]
    ip: SortKey[IPv4Address]
    ip6: Attr[IPv6Address | None] = attr(default=None)
    net: Attr[IPv4Network | None] = attr(default=None)
    path: Attr[PurePosixPath | None] = attr(default=None)
    database: Attr[PostgresDsn | None] = attr(default=None)
    ips: Attr[list[IPv4Address]] = attr(default_factory=list)
    document: Attr[datetime | None] = attr(default=None, stored_as=JSON_TEXT)
    german: Attr[date | None] = attr(default=None, stored_as=time_text("%d.%m.%Y"))
    text: Attr[int | None] = attr(default=None, stored_as=PLAIN_TEXT)
    falling: Attr[int | None] = attr(default=None, stored_as=FALLING)
    padded: Attr[int | None] = attr(default=None, stored_as=PADDED)
    since: Attr[datetime | None] = attr(default=None, stored_as=EPOCH_MILLISECONDS)
    day: Attr[date | None] = attr(default=None, stored_as=time_text("%Y-%m-%d"))
    url: Attr[AnyUrl | None] = attr(default=None)
    uuid: Attr[UUID | None] = attr(default=None)
    size: Attr[Size | None] = attr(default=None)
    price: Attr[Decimal | None] = attr(default=None)
    opens: Attr[time | None] = attr(default=None)


IP = IPv4Address("10.0.0.9")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
BERLIN = timezone(timedelta(hours=1))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Host.ip > IP,
        lambda: Host.ip >= IP,
        lambda: Host.ip < IP,
        lambda: Host.ip <= IP,
        lambda: Host.ip.between(IP, IP),
        lambda: Host.ip6 > IPv6Address("::1"),
        lambda: Host.net > IPv4Network("10.0.0.0/8"),
        lambda: Host.path > PurePosixPath("a"),
        lambda: Host.database > PostgresDsn("postgres://a/b"),
        lambda: Host.ips[0] > IP,
        lambda: Host.ip < Host.ips[0],
        lambda: Host.document > NOON,
        lambda: Host.german > date(2026, 1, 1),
        lambda: Host.text > 5,
        lambda: Host.falling > 5,
    ],
)
def test_ranges_of_what_does_not_sort_as_its_values_are_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(ExpressionError, match=r"Host\.\w+.* has no ranges, because .* use ==, is_in\(\) or begins"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Host.padded > 5,
        lambda: Host.since > NOON,
        lambda: Host.day.between(date(2026, 1, 1), date(2026, 2, 1)),
        lambda: Host.url > AnyUrl("https://a.example"),
        lambda: Host.uuid > UUID(int=1),
        lambda: Host.size >= Size.SMALL,
        lambda: Host.price < Decimal(-1),
        lambda: Host.opens > time(8, 30),
        lambda: Host.ip == IP,
        lambda: Host.ip.is_in(IP, IPv4Address("10.0.0.10")),
        lambda: Host.ip.begins_with("10.0."),
    ],
)
def test_ranges_of_what_sorts_and_equality_and_prefixes_of_all_are_conditions(make: Callable[[], Any]) -> None:
    assert str(make()).startswith("Host.")


def test_negative_numbers_in_text_and_times_of_day_with_a_zone_have_no_ranges() -> None:
    with pytest.raises(ExpressionError, match=r"Host.padded .* -5, but text of negative numbers does not sort"):
        assert Host.padded > -5
    with pytest.raises(ExpressionError, match="Host.opens .* times of day with a zone are not stored in their order"):
        assert Host.opens > time(8, 30, tzinfo=BERLIN)


def test_a_plan_says_where_the_order_of_items_is_not_that_of_their_values() -> None:
    told = "ascending by ip; of ip as it is stored, which may not be the order of the values"
    assert told in str(Query(Host).where(Host.network == "a").explain())
    assert Query(Host).where(Host.network == "a").explain().unordered == ("ip",)
