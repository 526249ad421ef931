"""A value with some fields replaced is what ``dataclasses.replace`` makes of it."""

from dataclasses import fields, replace

import pytest

from dynamap_async.dataclass import replace_fields
from dynamap_async.operations.updatable import UpdateSpec
from dynamap_async.planning.plan import Plan, Route
from dynamap_async.planning.read_spec import ReadSpec
from dynamap_async.planning.reading import Reading


def test_a_value_with_replaced_fields_is_another_one():
    spec = ReadSpec(model=object, limit=3)
    made = replace_fields(spec, limit=5, descending=True)
    assert made == replace(spec, limit=5, descending=True)
    assert (spec.limit, spec.descending) == (3, False)


@pytest.mark.parametrize("kind", [ReadSpec, UpdateSpec, Route, Plan, Reading])
def test_classes_whose_fields_are_replaced_keep_them_where_they_can_be_copied_at_once(kind):
    assert not any(vars(base).get("__slots__") for base in kind.__mro__)
    assert not hasattr(kind, "__post_init__")
    assert all(field.init for field in fields(kind))
