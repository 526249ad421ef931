"""What is measured of the engine in the process are requests that it answers."""

import json

import pytest

from benchmarks.engine import cost, filled, requests


@pytest.mark.parametrize("index", [False, True])
def test_each_request_that_is_measured_is_answered(index):
    service = filled(300, index=index)
    for operation, body in requests().values():
        assert cost(lambda operation=operation, body=body: service.execute(operation, body), 1, calls=1) > 0


@pytest.mark.parametrize("name", ["query of 100", "query with a filter"])
def test_a_query_finds_the_page_that_its_name_says(name):
    _status, answer = filled(300).execute(*requests()[name])
    assert json.loads(answer)["Count"] == 100
