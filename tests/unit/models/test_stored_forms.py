"""Other stored forms: attr(stored_as=...), TimeToLive, and the names under which attributes are stored."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from dynamap_async import (
    EPOCH_MILLISECONDS,
    EPOCH_SECONDS,
    JSON_TEXT,
    Attr,
    GlobalIndex,
    Model,
    PartitionKey,
    SortKey,
    StoredForm,
    TimeToLive,
    attr,
)
from dynamap_async.errors import EncodeError
from dynamap_async.models import definition_of

AT = datetime(2026, 2, 28, 12, 0, tzinfo=UTC)
CENTS = StoredForm(
    name="cents", tag="N", encode=lambda price: int(price * 100), decode=lambda cents: Decimal(cents) / 100
)
WORDS = StoredForm(name="words", tag="SS", encode=set, decode=sorted)


class Point(BaseModel):
    x: int
    on: date


FORMS: list[Any] = [
    (datetime, EPOCH_SECONDS, AT, {"N": "1772280000"}),
    (datetime, EPOCH_MILLISECONDS, AT + timedelta(milliseconds=5), {"N": "1772280000005"}),
    (Decimal, CENTS, Decimal("1.5"), {"N": "150"}),
    (list[str], WORDS, ["a", "b"], {"SS": ["a", "b"]}),
    (dict[str, Any], JSON_TEXT, {"a": [1.5, None]}, {"S": '{"a":[1.5,null]}'}),
    (Point, JSON_TEXT, Point(x=1, on=date(2026, 1, 1)), {"S": '{"x":1,"on":"2026-01-01"}'}),
    (set[int], JSON_TEXT, {1}, {"S": "[1]"}),
    (set[int], JSON_TEXT, set(), {"S": "[]"}),
]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("nullable", [False, True])
@pytest.mark.parametrize(("annotation", "form", "value", "wire"), FORMS)
def test_form_is_used_both_ways(annotation, form, value, wire, nullable, strict, make_model, stored, read_back) -> None:
    default = attr(stored_as=form, default=None) if nullable else attr(stored_as=form)
    item = make_model(annotation | None if nullable else annotation, default, strict=strict)(value=value)
    found = stored(item)
    assert {tag: sorted(content) if tag == "SS" else content for tag, content in found.items()} == wire
    assert read_back(item).value == value


def test_none_is_left_out_whatever_the_form(make_model, stored) -> None:
    assert stored(make_model(datetime | None, attr(stored_as=EPOCH_SECONDS, default=None))()) is None


def test_expression_uses_the_form() -> None:
    class Event(Model, table="events"):
        id: PartitionKey[str]
        at: Attr[datetime] = attr(stored_as=EPOCH_SECONDS)

    assert definition_of(Event).path("at").encode(AT) == {"N": "1772280000"}


def test_path_of_json_text_gives_the_final_value(make_model) -> None:
    path = definition_of(make_model(Point, attr(stored_as=JSON_TEXT))).path("value")
    value = Point(x=1, on=date(2026, 1, 1))
    assert path.converter.decode(path.converter.encode(value)) == value


class Event(Model, table="events"):
    day: PartitionKey[datetime] = attr(stored_as=EPOCH_SECONDS)
    price: SortKey[Decimal] = attr(stored_as=CENTS)
    seen: Attr[datetime | None] = attr(stored_as=EPOCH_MILLISECONDS, default=None)

    by_seen = GlobalIndex("by-seen", partition_key="seen")


def test_keys_of_tables_and_indexes_have_the_type_of_their_form(read_back) -> None:
    definition = definition_of(Event)
    assert definition.require_table("read").attribute_types == {"day": "N", "price": "N", "seen": "N"}
    assert definition.key([AT, Decimal("2.5")]) == {"day": {"N": "1772280000"}, "price": {"N": "250"}}
    event = Event(day=AT, price=Decimal("2.5"), seen=AT)
    assert read_back(event) == event


def test_nested_models_use_forms_and_names_too(make_model, stored, read_back) -> None:
    class Inner(Model):
        at: Attr[datetime] = attr(stored_as=EPOCH_SECONDS, name="t")

    item = make_model(Inner)(value=Inner(at=AT))
    assert stored(item) == {"M": {"t": {"N": "1772280000"}}}
    assert read_back(item) == item


class Cached(Model, table="cache"):
    id: PartitionKey[str]
    expires: TimeToLive[datetime | None] = attr(default_factory=lambda: datetime.now(UTC) + timedelta(days=1))
    seconds: Attr[int] = 0  # type: ignore[assignment]


def test_expiry_time_is_cut_to_seconds_when_it_is_given() -> None:
    assert Cached(id="a", expires=AT + timedelta(microseconds=999_999)).expires == AT


def test_expiry_time_of_a_default_is_cut_to_seconds_too(read_back) -> None:
    item = Cached(id="a")
    assert item.expires is not None
    assert item.expires.microsecond == 0
    assert read_back(item) == item


def test_expiry_time_is_stored_as_epoch_seconds_and_named_by_the_table(read_back) -> None:
    item = Cached(id="a", expires=AT)
    definition = definition_of(Cached)
    assert definition.items.encode(item)["expires"] == {"N": "1772280000"}
    assert definition.require_table("read").ttl_attribute == "expires"
    assert read_back(item) == item


def test_expiry_time_without_a_zone_is_refused() -> None:
    item = Cached(id="a", expires=datetime(2026, 1, 1))  # noqa: DTZ001 - a naive datetime is meant
    with pytest.raises(EncodeError, match=r"Cached.expires: datetime with a time zone expected.*add tzinfo=UTC"):
        definition_of(Cached).items.encode(item)


def test_expiry_time_may_be_a_number_of_seconds(read_back) -> None:
    class Session(Model, table="sessions"):
        id: PartitionKey[str]
        expires: TimeToLive[int | None] = attr(default=None, name="ttl")

    item = Session(id="a", expires=1772280000)
    assert definition_of(Session).items.encode(item) == {"id": {"S": "a"}, "ttl": {"N": "1772280000"}}
    assert definition_of(Session).require_table("read").ttl_attribute == "ttl"
    assert read_back(item) == item
