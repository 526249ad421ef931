"""Laws of the text of plans: whatever was changed in it, reading it is refused, and the place is named."""

import json
from copy import deepcopy

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dynamap_async import GlobalIndex, Table, Throughput
from dynamap_async.errors import OperationError
from dynamap_async.tables import TablePlan, plan_of, read_description, to_description

BEFORE = Table(
    "items",
    partition_key="pk",
    indexes=[GlobalIndex("by-city", partition_key="city")],
    throughput=Throughput(read=5, write=5),
)
AFTER = Table("items", partition_key="pk", indexes=[GlobalIndex("by-day", partition_key="day")], time_to_live="until")
PLAN = plan_of([AFTER.schema], [read_description(to_description(BEFORE.schema))], delete_unknown_indexes=True)
OTHERS = [None, True, False, 0, 1, -5, 1.5, "", "items", "delete-index", [], ["x"], {}, {"S": "x"}]


def places(value, place=()):
    """Return the way to each part of a value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place, *(each for name, part in parts for each in places(part, (*place, name)))]


WRITTEN = PLAN.to_json()
PLACES = places(json.loads(WRITTEN))[1:]


def changed(place, how, other):
    """Return the plan's text with one part of it replaced, left out, or with another one beside it."""
    parts = json.loads(WRITTEN)
    held = parts
    for name in place[:-1]:
        held = held[name]
    if how == "replaced":
        held[place[-1]] = deepcopy(other)
    elif how == "left out":
        del held[place[-1]]
    elif isinstance(held, list):
        held.insert(place[-1], deepcopy(other))
    else:
        held["another"] = deepcopy(other)
    return json.dumps(parts)


@given(st.sampled_from(PLACES), st.sampled_from(["replaced", "left out", "added"]), st.sampled_from(OTHERS))
def test_changed_plan_is_refused_with_the_place(place, how, other):
    text = changed(place, how, other)
    assume(text != json.dumps(json.loads(WRITTEN)))
    with pytest.raises(OperationError) as refused:
        TablePlan.from_json(text)
    part = f"steps[{place[1]}]" if place[0] == "steps" and len(place) > 2 else place[0]
    parts = {"checksums", place[1]} if place[0] == "checksums" and len(place) > 1 else {part}
    assert any(each in str(refused.value) for each in parts)


@given(st.integers(0, len(WRITTEN) - 1), st.integers(0, 3), st.text(max_size=3))
def test_damaged_text_is_refused_or_still_the_same_plan(at, length, put):
    damaged = WRITTEN[:at] + put + WRITTEN[at + length :]
    try:
        read = TablePlan.from_json(damaged)
    except OperationError:
        return
    assert read == PLAN
