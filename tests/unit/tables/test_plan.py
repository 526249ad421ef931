"""Plans as values: what is read back from their JSON."""

import json

import pytest

from dynamap_async.errors import OperationError
from dynamap_async.tables import TablePlan


def test_a_plan_is_read_back_as_it_was_written():
    plan = TablePlan(steps=(), seen={"tweets": {"key": "id S"}}, not_managed=("tweets: time to live on at",))
    assert TablePlan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "5", "null", '{"a": 1}', '{"steps": [], "seen": {}}'),
        *('{"steps": [{}], "seen": {}, "not_managed": []}', '{"steps": [{"hazards": [5]}], "seen": {}}'),
        '{"steps": [{"hazards": [], "shape": "round"}], "seen": {}, "not_managed": []}',
    ],
)
def test_text_that_is_no_plan_is_refused_with_the_remedy(text):
    with pytest.raises(OperationError, match=r"not a plan that TablePlan.to_json\(\) .*session.tables.plan"):
        TablePlan.from_json(text)


@pytest.mark.parametrize(("name", "value"), [("seen", 5), ("not_managed", "x"), ("steps", {}), ("checksums", [])])
def test_member_that_was_changed_since_is_named(name, value):
    plan = TablePlan(steps=(), seen={"tweets": {"key": "id S"}})
    with pytest.raises(OperationError, match=rf"{name} (was changed after it was written|is no list); make"):
        TablePlan.from_json(json.dumps({**json.loads(plan.to_json()), name: value}))
