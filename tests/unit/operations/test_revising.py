"""A revised value is what ``dataclasses.replace`` makes of it."""

from dataclasses import fields, replace

import pytest

from dynamap_async.operations.updating import UpdateSpec
from dynamap_async.planning.plan import Plan
from dynamap_async.planning.read_spec import ReadSpec
from dynamap_async.planning.reading import Reading
from dynamap_async.planning.replace_fields import revised
from dynamap_async.planning.route import Route


def test_a_revised_value_is_another_one_with_the_changes():
    spec = ReadSpec(model=object, limit=3)
    made = revised(spec, limit=5, descending=True)
    assert made == replace(spec, limit=5, descending=True)
    assert (spec.limit, spec.descending) == (3, False)


@pytest.mark.parametrize("kind", [ReadSpec, UpdateSpec, Route, Plan, Reading])
def test_classes_that_are_revised_keep_their_fields_where_they_can_be_copied_at_once(kind):
    assert not any(vars(base).get("__slots__") for base in kind.__mro__)
    assert not hasattr(kind, "__post_init__")
    assert all(field.init for field in fields(kind))
