"""Items as tables on a screen: which fields, in which order, and how a value is written."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final, cast

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from dynamap_async import Model
from dynamap_async.cli.demo.work import AnsweredQuestion
from dynamap_async.dataclass import dataclass
from dynamap_async.expressions import Comparison, Condition, Path, paths_in
from dynamap_async.models import definition_of

_GAP: Final = 2
_WIDEST: Final = 40
_NARROWEST: Final = 8


@dataclass(frozen=True, slots=True)
class Column:
    """One field of the items on a screen."""

    name: str
    cells: tuple[str, ...]
    numbers: bool
    width: int
    """In characters of a terminal."""


def table_of(answer: AnsweredQuestion, width: int) -> Table:
    """Return the items of an answer as a table of this width, or narrower.

    Fields that were selected come as they were selected. Of whole items the key comes first, then what the question
    is about, then the rest, as far as they fit; last come those of which the question itself says the value.
    """
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, _GAP - 1, 0, 0), header_style="dim")
    columns = _fitting(_columns(answer), width)
    for column in columns:
        table.add_column(
            column.name,
            justify="right" if column.numbers else "left",
            no_wrap=True,
            overflow="ellipsis",
            width=column.width,
        )
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*map(Text, cells))
    return table


def _columns(answer: AnsweredQuestion) -> Iterator[Column]:
    names = answer.plan.projection or tuple(dict.fromkeys(_fields_by_interest(answer)))
    for name, values in _values(answer, names).items():
        cells = tuple(map(written, values))
        if any(cells):
            numbers = all(isinstance(value, int | Decimal) for value in values)
            yield Column(name, cells, numbers, min(_WIDEST, max(map(cell_len, (name, *cells)))))


def _fitting(columns: Iterator[Column], width: int) -> list[Column]:
    """Return the texts that fit into the width, the last one cut if need be."""
    fitting: list[Column] = []
    for column in columns:
        left = width - sum(each.width + _GAP for each in fitting)
        if column.width > left and left < _NARROWEST and fitting:
            break
        fitting.append(replace(column, width=max(1, min(column.width, left))))
    return fitting


def _values(answer: AnsweredQuestion, names: Sequence[str]) -> Mapping[str, list[Any]]:
    if answer.plan.projection:
        return dict(zip(names, map(list, zip(*answer.found, strict=True)), strict=True))
    found = in_order(answer)
    return {name: [getattr(item, name) for item in found] for name in names}


def in_order(answer: AnsweredQuestion) -> list[Model]:
    """Return items in the order of the answer; those of a scan, which has none, in the order of their keys."""
    found: list[Model] = answer.found
    if answer.plan.operation != "Scan":
        return found
    keys = [field.name for field in definition_of(answer.model).key_fields()]
    return sorted(found, key=lambda item: [getattr(item, name) for name in keys])


def _fields_by_interest(answer: AnsweredQuestion) -> list[str]:
    definition, plan = definition_of(answer.model), answer.plan
    conditions = (*plan.key_conditions, *plan.filters)
    asked_for = [path.attribute for condition in conditions for path in paths_in(condition)]
    stored = (*(field.stored for field in definition.key_fields()), *asked_for, *plan.order, *definition.field_names)
    given = {name for condition in conditions for name in _given(condition)}
    return [definition.field_names[name] for name in sorted(stored, key=given.__contains__)]


def _given(condition: Condition) -> Iterator[str]:
    """Yield the attributes whose value a condition fixes."""
    match condition:
        case Comparison(comparator="=", left=Path(attribute=attribute)):
            yield attribute
        case _:
            pass


def written(value: object) -> str:
    """Return a value as text for people; times are in UTC."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case datetime():
            precision = "milliseconds" if value.microsecond else "seconds"
            return value.astimezone(UTC).replace(tzinfo=None).isoformat(" ", precision)
        case list() | tuple():
            return ", ".join(map(written, cast("Iterable[object]", value)))
        case _:
            return str(value)
