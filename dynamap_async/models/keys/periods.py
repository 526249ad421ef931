"""One table per period: the name of an item's table is made of a field of its key.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-time-series.html
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from dynamap_async.codec import abbreviate, order_key
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import DecodeError, EncodeError
from dynamap_async.limits import TABLE_NAME_MAX
from dynamap_async.models import templates
from dynamap_async.models.annotations import bare, without_none
from dynamap_async.models.fields import FieldPlan
from dynamap_async.models.settings import SETTINGS, Settings, fault, names_periods
from dynamap_async.models.templates import DeclaredTemplate, PatternError, names_in
from dynamap_async.schema import NAME_RULE, TableSchema, is_name
from dynamap_async.wire import AttributeValue, WireKey

if TYPE_CHECKING:
    from dynamap_async.models.templates import KeyTemplate

_LEGAL: Final = re.compile(r"[A-Za-z0-9_.-]*")
# Characters of an ISO 8601 text down to a unit -> what messages call the unit.
_UNITS: Final = {4: "year", 7: "month", 10: "day", 13: "hour"}
# Values in ascending order whose texts, written in one of the ways that do not sort, would not be.
_TIMES: Final = tuple(
    datetime(*day, tzinfo=UTC) for day in ((1999, 12, 31), (2001, 2, 28), (2001, 10, 2), (2010, 1, 1))
)
_DAYS: Final = tuple(each.date() for each in _TIMES)
_NUMBERS: Final = (9, 10, 100)
_HOURS: Final = 24
_MONTHS: Final = 12


@dataclass(frozen=True, slots=True)
class Calendar:
    """Numbers the periods: each has the number of the one before it, plus one."""

    unit: str
    """``year``, ``month``, ``day`` or ``hour`` of a time, or ``number`` of an int, which is a period itself."""
    kind: type[Any]
    """datetime, date or int."""

    @property
    def tick(self) -> Any:
        """The least difference between two values."""
        if self.unit == "number":
            return 1
        return timedelta(microseconds=1) if self.of_datetimes else timedelta(days=1)

    @property
    def of_datetimes(self) -> bool:
        """Whether the field holds datetimes."""
        # Not by identity: tests that stop the clock put a class of theirs in the place of datetime.
        return issubclass(self.kind, datetime)

    def exactly(self, value: Any) -> Any:
        """Return a value in the field's type: a date becomes its first moment where the field is a datetime."""
        if self.of_datetimes and isinstance(value, date) and not isinstance(value, datetime):
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
        return value

    def number(self, value: Any) -> int:
        """Return the number of the period that a value lies in; one that ``Periods.name`` accepts."""
        if self.unit == "number":
            return int(value)
        value = self.exactly(value)
        if isinstance(value, datetime):
            # Names of tables are written in UTC, whatever zone a value has.
            value = value.astimezone(UTC)
        if self.unit == "year":
            return int(value.year)
        if self.unit == "month":
            return int(value.year * _MONTHS + value.month - 1)
        days = int(value.toordinal())
        return days if self.unit == "day" else days * _HOURS + int(value.hour)

    def value(self, number: int) -> Any:
        """Return the first value of a period."""
        if self.unit == "number":
            return number
        if self.unit == "year":
            day = date(number, 1, 1)
        elif self.unit == "month":
            day = date(number // _MONTHS, number % _MONTHS + 1, 1)
        else:
            day = date.fromordinal(number if self.unit == "day" else number // _HOURS)
        if not self.of_datetimes:
            return day
        hour = number % _HOURS if self.unit == "hour" else 0
        return datetime(day.year, day.month, day.day, hour, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Periods:
    """The tables of a model, one for each period."""

    model: str
    """The model's name, for messages."""
    field: FieldPlan
    """The field that tells the period."""
    key: FieldPlan
    """The field of the table's key that holds it: itself, or one that is computed of it."""
    template: KeyTemplate
    """How a table's name is made of the field."""
    calendar: Calendar | None
    """How periods follow one another; None for text, where it is not known what lies between two."""

    def name(self, value: Any) -> str:
        """Return the name of the table, before the session's prefix, of the period that a value lies in.

        Raises:
            EncodeError: the value is of another type, or makes no name of a table.
        """
        if self.calendar is not None:
            value = self.calendar.exactly(value)
        try:
            name = self.template.build({self.field.name: value})
            if name is None or not is_name(name):
                raise EncodeError(f"{abbreviate(value)} does not make a valid table name, which has {NAME_RULE}").at(
                    self.field.name
                )
        except EncodeError as error:
            raise error.at(model=self.model) from error.__cause__
        return name

    def names(self, values: Iterable[Any]) -> list[str]:
        """Return the names of the tables of these values, each once, in the order of the periods where they have one.

        Raises:
            EncodeError: as for ``name``.
        """
        named = {self.name(value): value for value in values}
        calendar = self.calendar
        return list(named) if calendar is None else sorted(named, key=lambda name: calendar.number(named[name]))

    @property
    def is_ordered(self) -> bool:
        """Whether the stored forms of the field have the order of the periods; those of users' own may not."""
        if self.calendar is None:
            return False
        days_or_times = _TIMES if self.calendar.of_datetimes else _DAYS
        samples = _NUMBERS if self.calendar.unit == "number" else days_or_times
        encode = self.field.converter.encode
        try:
            # Nothing says whether a form of the user's own keeps the order, so values are tried that most unordered
            # forms get wrong.
            stored = [order_key(encode(sample)) for sample in samples]
        except EncodeError:
            return False
        return all(low < high for low, high in pairwise(stored))

    def has(self, name: str) -> bool:
        """Return whether this is the name, before the session's prefix, of the table of a period."""
        try:
            self.template.parse(name)
        except DecodeError:
            return False
        return True

    def name_of(self, key: WireKey) -> str:
        """Return the name of the table, before the session's prefix, of an item with this key.

        Raises:
            EncodeError: the key makes no name of a table.
        """
        stored = key[self.key.stored]
        if self.key is self.field or self.key.template is None:
            return self.name(self.decoded(stored))
        try:
            parts = self.key.template.parse(self.key.converter.decode(stored))
        except DecodeError as error:
            raise EncodeError(f"{error}, so the table of the item is unknown").at(
                self.key.name, model=self.model
            ) from None
        return self.name(parts[self.field.name])

    def decoded(self, stored: AttributeValue) -> Any:
        """Return the field's value from its stored form."""
        return self.field.converter.decode(stored)

    def numbers(self, low: Any, high: Any, *, low_inclusive: bool = True, high_inclusive: bool = True) -> range:
        """Return the numbers of the periods that the values of a range lie in; see ``Calendar``."""
        calendar = self.calendar
        assert calendar is not None, f"{self.field.name} has no order of periods"  # noqa: S101 - the caller looked
        try:
            # An exclusive bound at the first moment of a period leaves that period out.
            low = low if low_inclusive else low + calendar.tick
            high = high if high_inclusive else high - calendar.tick
        except OverflowError:
            return range(0)
        return range(calendar.number(low), calendar.number(high) + 1) if low <= high else range(0)

    def numbered(self, number: int) -> str:
        """Return the name of the table, before the session's prefix, of the period with a number."""
        assert self.calendar is not None, f"{self.field.name} has no order of periods"  # noqa: S101 - the caller looked
        return self.name(self.calendar.value(number))


def periods_of(
    model: type[Any], fields: Mapping[str, FieldPlan], table: TableSchema | None, uniques: Sequence[Any]
) -> Periods | None:
    """Return the tables by period of a model; None if it has one table, or none.

    Args:
        model: the class, complete.
        table: its table, whose name is the pattern.

    Raises:
        ModelDefinitionError: the pattern is wrong, or the model has what does not go with several tables.
    """
    settings: Settings = getattr(model, SETTINGS)
    if table is None or settings.table is None or not names_periods(settings.table):
        return None
    pattern, name = settings.table, model.__name__
    try:
        names = names_in(pattern)
        if len(names) != 1:
            raise PatternError("must name exactly one field, the one that has the period")  # noqa: TRY301
        if names[0] not in fields:
            raise PatternError(f"names {names[0]!r}, which is not a field; the fields are {', '.join(fields)}")  # noqa: TRY301
        types = {each.name: each.annotation for each in fields.values()}
        made = templates.make_template(DeclaredTemplate(pattern), types)
        calendar = _calendar(made, fields[names[0]])
    except PatternError as error:
        raise fault(name, f"the table name {pattern!r} {error}") from None
    field = fields[names[0]]
    if uniques:
        raise fault(
            name,
            "is a unique constraint, but the model has one table per period, and values would stay taken after a "
            "period's table is deleted; drop one of the two",
            uniques[0].name,
        )
    numbered = next((each for each in fields.values() if each.assigned and each.assigned.autoincrement), None)
    if numbered is not None:
        raise fault(
            name,
            "has autoincrement=True, but the model has one table per period, and numbers are unique within one "
            "table; use a UUID, or drop the period from the table's name",
            numbered.name,
        )
    return Periods(name, field, _key(name, pattern, field, fields, table), made, calendar)


def _calendar(made: KeyTemplate, field: FieldPlan) -> Calendar | None:
    """Return the calendar of a template, checked to make valid table names."""
    part = made.parts[0]
    form, kind = part.format, bare(without_none(bare(field.annotation)))
    constant = part.before + made.tail
    if not _LEGAL.fullmatch(constant) or len(constant) + (form.width or 1) > TABLE_NAME_MAX:
        raise PatternError(
            f"cannot make table names, which have at most {TABLE_NAME_MAX} characters of a-z A-Z 0-9 _ - ."
        )
    if form.texts is not None:
        wrong = sorted(text for text in form.texts if not _LEGAL.fullmatch(text))
        if wrong:
            raise PatternError(f"names {field.name}, whose value {wrong[0]!r} cannot be part of a table name")
        return None
    if form.label in ("datetime", "date"):
        unit = _UNITS.get(form.width or 0)
        # Without a unit each datetime would be a table of its own.
        if unit is None:
            raise PatternError(
                f"cannot make table names from {field.name} without a unit; write {{{field.name}:year}}, "
                f"{{{field.name}:month}}, {{{field.name}:day}} or {{{field.name}:hour}}"
            )
        return Calendar(unit, datetime if form.label == "datetime" else date)
    if kind is int:
        return Calendar("number", int)
    if kind is not str:
        raise PatternError(
            f"names {field.name}, which is {form.label}; use a datetime, a date, an int, text or an enum"
        )
    return None


def _key(model: str, pattern: str, field: FieldPlan, fields: Mapping[str, FieldPlan], table: TableSchema) -> FieldPlan:
    """Return the field of the table's key that tells the period."""
    keys = [each for each in fields.values() if each.stored in table.keys.names]
    for key in keys:
        # Only from the key can get and delete know the table of an item.
        if key is field or (key.template is not None and field.name in key.template.readable):
            return key
    cut = next((each for each in keys if each.template is not None and field.name in each.template.names), None)
    if cut is not None:
        raise fault(
            model,
            f"names the table of an item ({pattern!r}), but the key {cut.name} has it shortened or in another case; "
            f"write {{{field.name}}} there",
            field.name,
        )
    raise fault(
        model,
        f"names the table of an item ({pattern!r}), but is not part of its key, so the item could not be found by "
        f"key; make it the sort key, {field.name}: SortKey[...], or a part of one: SortKey[str] = "
        f'template("...{{{field.name}}}")',
        field.name,
    )
