"""Times as existing keys have them: by a pattern, in a zone that the text does not say, or as their field is stored."""

from datetime import UTC, date, datetime, time, timedelta, timezone
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from dynamap_async import EPOCH_MILLISECONDS, EPOCH_SECONDS, StoredForm, time_text
from dynamap_async.errors import EncodeError, ModelDefinitionError
from dynamap_async.models.templates import DeclaredTemplate, PatternError, TemplatePart, make_template

AT = datetime(2024, 3, 9, 8, 7, 6, 543210, tzinfo=UTC)
ID = UUID("12345678-1234-5678-1234-56781234abcd")
SLASHED = StoredForm(name="day/month", tag="S", encode=lambda at: f"{at:%d/%m}", decode=str)


def part(annotation, form="", stored=None) -> TemplatePart:
    pattern = f"{{value:{form}}}" if form else "{value}"
    return make_template(
        DeclaredTemplate(pattern), {"value": annotation}, {} if stored is None else {"value": stored}
    ).parts[0]


BERLIN = ZoneInfo("Europe/Berlin")
SECONDS = time_text("%Y-%m-%dT%H:%M:%S")

WRITTEN = [
    # type, form, stored form, value, text, what is read back
    (datetime, "%Y-%m-%dT%H:%M:%S.%f", None, AT, "2024-03-09T08:07:06.543210", AT),
    (date, "%Y%m%d", None, date(987, 1, 2), "09870102", date(987, 1, 2)),
    (date, "%d.%m.%Y", None, date(2024, 1, 2), "02.01.2024", date(2024, 1, 2)),
    (date, "%y%m%d", None, date(2024, 1, 2), "240102", date(2024, 1, 2)),
    (
        datetime,
        "",
        time_text("%y%m%d"),
        datetime(2099, 12, 31, tzinfo=UTC),
        "991231",
        datetime(2099, 12, 31, tzinfo=UTC),
    ),
    (time, "%H%M%S%f", None, time(8, 7), "080700000000", time(8, 7)),
    (datetime, "", SECONDS, AT, "2024-03-09T08:07:06", AT.replace(microsecond=0)),
    (datetime, "", time_text("%Y-%m-%dT%H:%M:%S.%3fZ"), AT, "2024-03-09T08:07:06.543Z", AT.replace(microsecond=543000)),
    (datetime, "", time_text("%Y-%m-%d %H:%M:%S", zone=BERLIN), AT, "2024-03-09 09:07:06", AT.replace(microsecond=0)),
    (datetime, "", time_text("%Y-%m"), AT, "2024-03", datetime(2024, 3, 1, tzinfo=UTC)),
    (datetime, "", time_text("%Y"), AT, "2024", datetime(2024, 1, 1, tzinfo=UTC)),
    (datetime, "", time_text("100%% %Y"), AT, "100% 2024", datetime(2024, 1, 1, tzinfo=UTC)),
    (datetime, "010d", EPOCH_SECONDS, AT, "1709971626", AT.replace(microsecond=0)),
    (datetime, "013d", EPOCH_MILLISECONDS, AT, "1709971626543", AT.replace(microsecond=543000)),
    (
        datetime,
        "012d",
        EPOCH_SECONDS,
        datetime(1970, 1, 1, tzinfo=UTC),
        "000000000000",
        datetime(1970, 1, 1, tzinfo=UTC),
    ),
    (UUID, "upper", None, ID, str(ID).upper(), ID),
    (UUID, "lower", None, ID, str(ID), ID),
]


@pytest.mark.parametrize(("annotation", "form", "stored", "value", "text", "read"), WRITTEN)
def test_a_value_is_written_as_existing_keys_have_it_and_read_back(annotation, form, stored, value, text, read):
    made = part(annotation, form, stored)
    assert made.text(value) == text
    assert made.value(text) == read
    assert not made.format.lossy


CUT_OFF = [
    (datetime, "%Y-%m-%dT%H:%M:%S", AT, "2024-03-09T08:07:06"),
    (datetime, "%Y-%m-%dT%H:%M:%S", AT.astimezone(BERLIN), "2024-03-09T08:07:06"),
    (datetime, "%Y%m%d%H", AT, "2024030908"),
    (datetime, "%H:%M", AT, "08:07"),
    (datetime, "%Y-%m-%dT%H:%M:%S.%3f", AT, "2024-03-09T08:07:06.543"),
    (date, "%Y-%m", date(2024, 3, 9), "2024-03"),
    (date, "%Y", date(2024, 3, 9), "2024"),
    (time, "%H:%M", time(8, 7, 6), "08:07"),
]


@pytest.mark.parametrize(("annotation", "form", "value", "text"), CUT_OFF)
def test_a_pattern_that_cuts_off_is_known_not_to_be_read_back(annotation, form, value, text):
    made = part(annotation, form)
    assert made.text(value) == text
    assert made.format.lossy


@pytest.mark.parametrize("day", [date(1999, 12, 31), date(2100, 1, 1)])
def test_years_of_two_digits_are_those_of_this_century_so_that_they_sort(day):
    made = part(date, "%y%m%d")
    assert made.format.sorts
    assert made.text(date(2000, 1, 1)) < made.text(date(2069, 1, 1)) < made.text(date(2099, 1, 1))
    with pytest.raises(EncodeError, match="is not of the years 2000 to 2099"):
        made.text(day)


MOMENTS = [
    datetime(987, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    datetime(2023, 12, 31, 23, 59, 59, tzinfo=UTC),
    datetime(2024, 1, 1, tzinfo=UTC),
    datetime(2024, 1, 9, 9, 9, 9, 999, tzinfo=UTC),
    datetime(2024, 1, 10, 10, 10, 10, 1000, tzinfo=UTC),
    datetime(2024, 10, 27, 0, 30, tzinfo=UTC),
    datetime(2024, 10, 27, 1, 15, tzinfo=UTC),  # in Berlin the hour from two to three o'clock comes twice
    datetime(9999, 12, 31, tzinfo=UTC),
]
ORDERED = {
    "seconds": part(datetime, "%Y-%m-%dT%H:%M:%S"),
    "days": part(datetime, "%Y%m%d"),
    "months": part(datetime, "%Y-%m"),
    "years": part(datetime, "%Y"),
    "milliseconds": part(datetime, "%Y-%m-%dT%H:%M:%S.%3f"),
    "as stored, in UTC": part(datetime, "", SECONDS),
    "as stored, in a fixed zone": part(datetime, "", time_text("%Y%m%d%H%M", zone=timezone(timedelta(hours=-5)))),
}
UNORDERED = {
    "day before month": part(datetime, "%d.%m.%Y"),
    "without the day": part(datetime, "%Y-%m %H:%M"),
    "without the year": part(datetime, "%m-%d"),
    "in a zone with summer time": part(datetime, "", time_text("%Y-%m-%d %H:%M", zone=BERLIN)),
}


@pytest.mark.parametrize("made", ORDERED.values(), ids=ORDERED)
def test_a_form_that_is_said_to_sort_does(made: TemplatePart):
    assert made.format.sorts
    texts = [made.text(moment) for moment in MOMENTS[:-1]]
    assert texts == sorted(texts)


@pytest.mark.parametrize("made", UNORDERED.values(), ids=UNORDERED)
def test_a_form_that_does_not_sort_is_known(made: TemplatePart):
    assert not made.format.sorts
    texts = [made.text(moment) for moment in (*MOMENTS[:4], MOMENTS[4].replace(hour=8), *MOMENTS[5:-1])]
    assert texts != sorted(texts)


def test_padded_epoch_seconds_sort_and_numbers_without_room_are_refused():
    made = part(datetime, "010d", EPOCH_SECONDS)
    assert made.format.sorts
    texts = [made.text(moment) for moment in MOMENTS[1:-1]]
    assert texts == sorted(texts)
    with pytest.raises(EncodeError, match="is negative"):
        made.text(MOMENTS[0])


def test_upper_case_identifiers_sort_as_they_do():
    made = part(UUID, "upper")
    ids = [UUID(int=number) for number in (0, 9, 10, 2**64, 2**127)]
    assert made.format.sorts
    assert [made.text(each) for each in ids] == sorted(made.text(each) for each in ids)


def test_a_form_of_the_program_stands_in_the_key_as_the_field_is_stored():
    made = part(datetime, "", SLASHED)
    assert made.text(AT) == "09/03"
    assert made.format.free


WRONG = [
    (datetime, "%Y-%q", r"'%q' in the pattern '%Y-%q' is not one of %Y"),
    (datetime, "%Y%Y", "each directive once"),
    (datetime, "%f%3f", "each directive once"),
    (datetime, "%%", "needs a directive"),
    (datetime, "%Y-%", "'%' in the pattern"),
    (date, "%H", "a date does not have all of that; use %Y%m%d"),
    (date, "%Y%3f", "a date does not have all of that"),
    (time, "%Y", "a time does not have all of that"),
    (datetime, "week", r"or write it out, such as %Y-%m-%dT%H:%M:%S"),
]


@pytest.mark.parametrize(("annotation", "form", "problem"), WRONG)
def test_a_pattern_that_the_type_does_not_have_is_refused(annotation, form, problem):
    with pytest.raises(PatternError, match=problem):
        part(annotation, form)


@pytest.mark.parametrize(
    ("pattern", "problem"), [("%Y-%j", "'%j'"), ("", "directive"), ("%H:%M", "no year"), ("%m-%d", "no year")]
)
def test_a_stored_form_that_is_no_time_is_refused(pattern, problem):
    with pytest.raises(ModelDefinitionError, match=problem):
        time_text(pattern)


def test_a_time_without_an_offset_is_refused_because_its_zone_is_not_known():
    with pytest.raises(EncodeError, match="no UTC offset"):
        part(datetime, "", SECONDS).text(datetime(2024, 1, 1))  # noqa: DTZ001 - the point of it
    with pytest.raises(EncodeError, match="datetime"):
        part(datetime, "", SECONDS).text("2024")
