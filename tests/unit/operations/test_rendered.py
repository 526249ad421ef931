"""The expressions of updates are rendered once for each shape."""

from typing import Any
from unittest.mock import patch

import pytest

from dynamap_async import Attr, Model, PartitionKey, Update, attr
from dynamap_async.errors import ExpressionError, OutOfRangeError
from dynamap_async.expressions import render_update
from dynamap_async.models import definition_of
from dynamap_async.planning.context import Context


class Tweet(Model, table="tweets"):
    user: PartitionKey[str]
    text: Attr[str] = attr(default="")
    likes: Attr[int] = attr(default=0)
    words: Attr[dict[str, int]] = attr(default_factory=dict)


@pytest.fixture(autouse=True)
def fresh() -> None:
    definition_of(Tweet).compiled.clear()


def rendered_times(*updates: Any) -> int:
    with patch("dynamap_async.operations.update.render_update", side_effect=render_update) as anew:
        for update in updates:
            update.request(Context())
    return anew.call_count


def of(user: str, text: str, likes: int) -> Any:
    return Update(Tweet, user).set(Tweet.text, text).add(Tweet.likes, likes).where(Tweet.likes < likes + 7)


def test_updates_that_differ_in_values_are_rendered_once() -> None:
    assert rendered_times(*(of(f"user-{number}", f"text {number}", number + 1) for number in range(50))) == 1


def test_the_values_of_each_update_are_its_own() -> None:
    for user, text, likes in (("ada", "a", 1), ("bob", "b", 2)):
        body = of(user, text, likes).request(Context()).body
        assert body["Key"] == {"user": {"S": user}}
        assert body["ExpressionAttributeValues"] == {
            ":v0": {"S": text},
            ":v1": {"N": str(likes)},
            ":v2": {"N": str(likes + 7)},
        }


@pytest.mark.parametrize(
    "other",
    [
        Update(Tweet, "ada").set(Tweet.text, "a").add(Tweet.likes, 1),
        Update(Tweet, "ada").add(Tweet.likes, 1).set(Tweet.text, "a").where(Tweet.likes < 8),
        of("ada", "a", 1).upsert(),
        Update(Tweet, "ada").set(Tweet.text, "a").set(Tweet.likes, 1).where(Tweet.likes < 8),
        Update(Tweet, "ada").set(Tweet.text, "a").add(Tweet.likes, 1).where(Tweet.likes <= 8),
    ],
    ids=range(5),
)
def test_updates_of_another_form_are_rendered_for_themselves(other: Any) -> None:
    assert rendered_times(of("ada", "a", 1), other, other) == 2


def test_a_field_that_no_update_may_change_is_refused_each_time() -> None:
    for _ in range(2):
        with pytest.raises(ExpressionError, match="key"):
            Update(Tweet, "ada").set(Tweet.user, "bob")


def test_values_that_are_too_large_together_are_refused_in_a_known_shape_too() -> None:
    def update(text: str) -> Any:
        return Update(Tweet, "ada").add(Tweet.likes, 1).where(Tweet.text == text)

    update("short").request(Context())
    with pytest.raises(OutOfRangeError, match="bytes"):
        update("x" * 2**21).request(Context())


def test_what_is_kept_holds_no_values_and_is_bounded() -> None:
    of("ada", "hush", 1).request(Context())
    assert "hush" not in repr(definition_of(Tweet).compiled)
    for number in range(600):
        Update(Tweet, "ada").set(Tweet.words[f"word {number}"], 1).request(Context())
    assert len(definition_of(Tweet).compiled) <= 512
