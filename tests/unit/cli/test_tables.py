"""Items on a screen: the fields that matter, within the width that there is."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from io import StringIO

import pytest
from rich.cells import cell_len
from rich.console import Console

from dynamap_async import Attr, Model, PartitionKey, Query, Scan, SortKey, attr
from dynamap_async.cli.demo.tables import table_of, written
from dynamap_async.cli.demo.work import AnsweredQuestion


class Shot(Model, table="shots"):
    roll: PartitionKey[str]
    number: SortKey[int]
    note: Attr[str | None] = attr(name="n", default=None)
    place: Attr[str] = attr(name="p", default="at home")
    stars: Attr[int] = attr(default=0)


def answer_to(query, found):
    return AnsweredQuestion(
        question=lambda session: query, plan=query.explain(), model=Shot, found=found, requests=1, pages=[]
    )


def lines(answer, width=76):
    console = Console(file=StringIO(), width=width)
    console.print(table_of(answer, width))
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


SHOTS = [Shot(roll="a", number=2, stars=5), Shot(roll="a", number=1, stars=10)]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "yes"),
        (False, "no"),
        (Decimal("19.90"), "19.90"),
        (["Red", None, 3], "Red, , 3"),
        (datetime(2020, 4, 24, 16, 50, tzinfo=timezone(timedelta(hours=2))), "2020-04-24 14:50:00"),
        (datetime(2020, 4, 24, 14, 50, 0, 1000, tzinfo=UTC), "2020-04-24 14:50:00.001"),
        ("[bold]", "[bold]"),
    ],
)
def test_value_is_written_as_a_person_would(value, text):
    assert written(value) == text


def test_fields_that_the_question_gives_come_last_and_empty_ones_not_at_all():
    header, *_ = lines(answer_to(Query(Shot).where(Shot.roll == "a", Shot.stars > 1), SHOTS))
    assert header.split() == ["number", "stars", "place", "roll"]


def test_selected_fields_come_as_they_were_selected():
    header, _, first = lines(
        answer_to(Query(Shot).where(Shot.roll == "a").select(Shot.place, Shot.roll), [("home", "a")])
    )
    assert (header.split(), first.split()) == (["place", "roll"], ["home", "a"])


def test_numbers_stand_below_each_other():
    _, _, first, second = lines(answer_to(Query(Shot).where(Shot.roll == "a", Shot.stars > 1), SHOTS))
    assert first.index("5") == second.index("10") + 1


def test_items_of_a_scan_are_in_the_order_of_their_keys_and_those_of_a_query_as_they_came():
    _, _, *scanned = lines(answer_to(Scan(Shot), SHOTS))
    _, _, *queried = lines(answer_to(Query(Shot).where(Shot.roll == "a"), SHOTS))
    assert [line.split()[1] for line in scanned] == ["1", "2"]
    assert [line.split()[0] for line in queried] == ["2", "1"]


@pytest.mark.parametrize("width", [1, 3, 10, 25, 40, 76, 200])
def test_table_is_never_wider_than_the_screen(width):
    shots = [Shot(roll="漢字" * 30, number=1, note="n" * 200, place="home")]
    assert all(cell_len(line) <= width for line in lines(answer_to(Scan(Shot), shots), width))


def test_text_that_looks_like_markup_is_shown_as_it_is():
    shots = [Shot(roll="a", number=1, note="[red]")]
    assert "[red]" in lines(answer_to(Scan(Shot), shots))[2]
