"""Texts next to other texts, in the order of their bytes."""

import pytest

from dynamap_async.models.templates.template import after_all, before, just_after

LAST = "\U0010ffff"


@pytest.mark.parametrize(
    ("text", "following"),
    [("a", "b"), ("a#", "a$"), (f"a{LAST}", "b"), (LAST, None), ("", None), ("a\ud7ff", "a\ue000")],
)
def test_the_first_text_behind_all_that_begin_so(text, following):
    assert after_all(text) == following


def test_the_first_text_behind_one():
    assert just_after("Ann") == "Ann\0"


@pytest.mark.parametrize(
    ("text", "previous"),
    [("b", f"a{LAST}"), ("a0", f"a/{LAST}"), ("a\0", "a"), ("", ""), ("a\ue000", f"a\ud7ff{LAST}")],
)
def test_a_text_behind_all_that_stand_before_one(text, previous):
    assert before(text) == previous
