from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest

from dynamap_async import codec
from dynamap_async.errors import EncodeError

CENTS = codec.StoredForm(
    name="cents", tag="N", encode=lambda price: int(price * 100), decode=lambda n: Decimal(n) / 100
)
MOMENT = datetime(2024, 1, 2, 3, 4, 5, 678_901, tzinfo=timezone(timedelta(hours=1)))
NAIVE = datetime(2024, 1, 2)  # noqa: DTZ001 - naive on purpose


@pytest.mark.parametrize(
    ("form", "value", "stored", "back"),
    [
        (codec.EPOCH_SECONDS, MOMENT, {"N": "1704161045"}, datetime(2024, 1, 2, 2, 4, 5, tzinfo=UTC)),
        (codec.EPOCH_MILLISECONDS, MOMENT, {"N": "1704161045678"}, datetime(2024, 1, 2, 2, 4, 5, 678_000, tzinfo=UTC)),
        (codec.JSON_TEXT, {"b": [1, None], "a": "é"}, {"S": '{"b":[1,null],"a":"é"}'}, {"b": [1, None], "a": "é"}),
        (codec.JSON_TEXT, 10**30, {"S": "1" + "0" * 30}, 10**30),
        (CENTS, Decimal("1.25"), {"N": "125"}, Decimal("1.25")),
    ],
)
def test_stored_form_is_written_and_read(form, value, stored, back):
    converter = codec.stored_as(form)
    assert converter.encode(value) == stored
    assert converter.decode(stored) == back
    assert converter.tags == {form.tag}
    assert converter.label == form.name


@pytest.mark.parametrize(
    ("tag", "content", "stored"),
    [
        ("N", "1.50", {"N": "1.5"}),
        ("N", Decimal("1E2"), {"N": "100"}),
        ("S", "a", {"S": "a"}),
        ("B", b"a", {"B": "YQ=="}),
        ("L", [1], {"L": [{"N": "1"}]}),
        ("SS", {"a"}, {"SS": ["a"]}),
    ],
)
def test_users_form_may_give_any_value_of_its_stored_type(tag, content, stored):
    form = codec.StoredForm(name="own", tag=tag, encode=lambda _value: content, decode=lambda value: value)
    converter = codec.stored_as(form, label="Own")
    assert converter.encode(object()) == stored
    assert converter.label == "Own"


def test_value_is_dumped_before_it_is_formed():
    converter = codec.stored_as(codec.JSON_TEXT, to_plain=lambda value: value.isoformat())
    assert converter.encode(date(2024, 1, 2)) == {"S": '"2024-01-02"'}


@pytest.mark.parametrize(
    ("form", "value", "message"),
    [
        (codec.EPOCH_SECONDS, NAIVE, "datetime with a time zone expected"),
        (codec.EPOCH_SECONDS, 5, "datetime expected, got int 5"),
        (codec.EPOCH_MILLISECONDS, NAIVE, "datetime with a time zone expected"),
        (codec.JSON_TEXT, float("nan"), "JSON text expected, got float nan; Out of range float values"),
        (codec.JSON_TEXT, object, "JSON text expected, got type"),
        (CENTS, "x", "cents expected, got str 'x'"),
    ],
)
def test_value_that_has_no_such_form_is_refused(form, value, message):
    with pytest.raises(EncodeError) as caught:
        codec.stored_as(form).encode(value)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(("tag", "content"), [("S", 5), ("B", "a"), ("N", "x"), ("N", True)])
def test_users_form_that_breaks_its_promise_is_refused(tag, content):
    form = codec.StoredForm(name="own", tag=tag, encode=lambda _value: content, decode=lambda value: value)
    with pytest.raises(EncodeError):
        codec.stored_as(form).encode(1)


@pytest.mark.parametrize(
    ("form", "stored"),
    [
        (codec.EPOCH_SECONDS, {"S": "5"}),
        (codec.EPOCH_SECONDS, {"N": "1" * 20}),
        (codec.JSON_TEXT, {"S": "{"}),
        (codec.StoredForm(name="own", tag="S", encode=str, decode=lambda text: text.missing), {"S": "x"}),
    ],
)
def test_stored_value_that_is_not_of_the_form_is_a_misfit(form, stored):
    with pytest.raises(codec.DECODE_ERRORS):
        codec.stored_as(form).decode(stored)
