"""Laws of key templates, for random templates and values.

A key read back is what it was made of; different parts make different keys; keys sort as their parts wherever the
template says so; and the stretches of keys that it names hold exactly the keys that belong there.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import IntEnum, StrEnum
from typing import Any
from uuid import UUID

from hypothesis import assume, given
from hypothesis import strategies as st

from dynamap_async.errors import EncodeError
from dynamap_async.models.templates import DeclaredTemplate, KeyTemplate, PatternError, make_template


class Size(StrEnum):
    SMALL = "s"
    MEDIUM = "m"
    EXTRA = "xl"


class Level(IntEnum):
    LOW = 1
    HIGH = 12


@dataclass(frozen=True)
class Kind:
    """A type and a form, with values that have one."""

    annotation: Any
    form: str
    values: st.SearchStrategy[Any]


TEXT = st.text(alphabet=st.sampled_from("ab #:%é\x00\U0001f600Z~"), max_size=5)
KINDS = [
    Kind(str, "", TEXT),
    Kind(int, "", st.integers(-200, 200)),
    Kind(int, "03d", st.integers(0, 999)),
    Kind(int, "+04d", st.integers(-1000, 999)),
    Kind(int, "ordered", st.integers(-(10**38) + 1, 10**38 - 1)),
    Kind(Decimal, "+07.2f", st.decimals(-999, 999, places=2)),
    Kind(Decimal, "ordered", st.decimals(-(10**9), 10**9, places=4)),
    Kind(
        float,
        "ordered",
        st.floats(allow_nan=False, allow_infinity=False, max_value=1e100, min_value=-1e100).filter(
            lambda number: not number or abs(number) > 1e-120
        ),
    ),
    Kind(float, "", st.floats(-1e6, 1e6).filter(lambda number: not number or abs(number) > 1e-12)),
    Kind(bool, "", st.booleans()),
    Kind(Size, "", st.sampled_from(Size)),
    Kind(Level, "02d", st.sampled_from(Level)),
    Kind(Level, "", st.sampled_from(Level)),
    Kind(datetime, "", st.datetimes(timezones=st.just(UTC))),
    Kind(date, "", st.dates()),
    Kind(time, "", st.times()),
    Kind(UUID, "", st.uuids()),
]
CONSTANTS = st.sampled_from(["", "#", "##", ":", "\0", "x:", "#ab"])


@st.composite
def templates(draw: st.DrawFn, *, escape: bool | None = None) -> tuple[KeyTemplate, list[Kind]]:
    """Return a template of one to four parts, and what its parts are."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=4))
    slots = [f"{{p{place}{':' if kind.form else ''}{kind.form}}}" for place, kind in enumerate(kinds)]
    pattern = draw(CONSTANTS) + "".join(slot + draw(CONSTANTS) for slot in slots)
    declared = DeclaredTemplate(pattern, draw(st.booleans()) if escape is None else escape)
    try:
        made = make_template(declared, {f"p{place}": kind.annotation for place, kind in enumerate(kinds)})
    except PatternError:
        assume(False)
        raise
    return made, kinds


@st.composite
def keys(draw: st.DrawFn, template: KeyTemplate, kinds: list[Kind]) -> tuple[dict[str, Any], str]:
    """Return the parts of a key, and the key."""
    values = {f"p{place}": draw(kind.values) for place, kind in enumerate(kinds)}
    try:
        text = template.build(values)
    except EncodeError:  # a separator inside a value
        assume(False)
        raise
    assert text is not None
    return values, text


@given(st.data())
def test_a_key_reads_back_as_what_it_was_made_of(data):
    template, kinds = data.draw(templates())
    values, text = data.draw(keys(template, kinds))
    assert template.parse(text) == values


@given(st.data())
def test_different_parts_never_make_one_key(data):
    template, kinds = data.draw(templates())
    one, first = data.draw(keys(template, kinds))
    other, second = data.draw(keys(template, kinds))
    assert (first == second) == (one == other)


@given(st.data())
def test_no_value_is_refused_where_separators_are_escaped(data):
    template, kinds = data.draw(templates(escape=True))
    values = {f"p{place}": data.draw(kind.values) for place, kind in enumerate(kinds)}
    assert template.build(values) is not None


def ranks(values: dict[str, Any]) -> list[Any]:
    """Return values as they compare: text by its bytes."""
    return [value.encode() if isinstance(value, str) else value for value in values.values()]


@given(st.data())
def test_keys_sort_as_their_parts_unless_the_template_says_which_disturb(data):
    template, kinds = data.draw(templates())
    assume(not template.breaks_order)
    one, first = data.draw(keys(template, kinds))
    other, second = data.draw(keys(template, kinds))
    left, right = [_ordered(each) for each in ranks(one)], [_ordered(each) for each in ranks(other)]
    assert (first.encode() < second.encode()) == (left < right)


def _ordered(value: Any) -> Any:
    return value.int if isinstance(value, UUID) else value


@given(st.data())
def test_a_prefix_holds_the_keys_of_its_parts_and_no_others(data):
    template, kinds = data.draw(templates())
    one, _ = data.draw(keys(template, kinds))
    other, text = data.draw(keys(template, kinds))
    depth = data.draw(st.integers(0, len(kinds) - 1))
    leading = dict(list(one.items())[:depth])
    assert text.startswith(template.prefix(leading)) == (dict(list(other.items())[:depth]) == leading)


@given(st.data())
def test_a_range_holds_the_keys_whose_part_lies_in_it_and_no_others(data):
    template, kinds = data.draw(templates())
    depth = data.draw(st.integers(0, len(kinds) - 1))
    name = template.names[depth]
    part = template.part(name)
    assume(part.format.sorts and part.closes)
    low, _ = data.draw(keys(template, kinds))
    high, _ = data.draw(keys(template, kinds))
    tested, text = data.draw(keys(template, kinds))
    leading = dict(list(low.items())[:depth])
    tested = {**tested, **(leading if data.draw(st.booleans()) else {})}
    text = template.build(tested)
    assume(text)  # DynamoDB has no empty keys; the ranges that end before the first of them are empty
    from_low, to_high = data.draw(st.booleans()), data.draw(st.booleans())
    first, last = template.bounds(
        leading, name, low=low[name], high=high[name], low_inclusive=from_low, high_inclusive=to_high
    )
    least, value, most = (_ordered(each) for each in ranks({0: low[name], 1: tested[name], 2: high[name]}))
    above = least <= value if from_low else least < value
    below = value <= most if to_high else value < most
    within = dict(list(tested.items())[:depth]) == leading and above and below
    inside = (first is None or first.encode() <= text.encode()) and (last is None or text.encode() <= last.encode())
    assert inside == within
