"""Plans as values: what is read back from their JSON."""

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
