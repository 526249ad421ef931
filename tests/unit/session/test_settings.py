"""A setting that cannot work is named, with a remedy, where it is given and not where it is first used."""

import re

import pytest

from dynamap_async import BatchPolicy, CapacityPolicy, RetryPolicy, Session
from dynamap_async.errors import ConfigurationError


async def async_clock():
    """Stand for a clock that nobody awaits."""


WRONG = [
    ({"batching": False}, "batching=False is not a BatchPolicy; write batching=BatchPolicy(enabled=False)"),
    ({"retry": 5}, "retry=5 is not a RetryPolicy; write retry=RetryPolicy(max_attempts=3)"),
    ({"retry": BatchPolicy()}, "is not a RetryPolicy"),
    ({"retry": RetryPolicy}, "is not a RetryPolicy"),
    (
        {"capacity": "describe"},
        "capacity='describe' is not a CapacityPolicy; write capacity=CapacityPolicy(limits=\"describe\")",
    ),
    ({"table_prefix": 5}, 'table_prefix=5 is not a string; write table_prefix="shop-dev-"'),
    ({"close_timeout_seconds": -1}, "close_timeout_seconds=-1: give seconds, 0 or more"),
    ({"close_timeout_seconds": float("nan")}, "close_timeout_seconds=nan: give seconds"),
    ({"close_timeout_seconds": "5"}, "close_timeout_seconds='5': give seconds"),
    ({"close_timeout_seconds": None}, "close_timeout_seconds=None: give seconds"),
    ({"clock": 5}, "clock=5 is not a plain function that returns epoch seconds; write clock=time.time"),
    ({"clock": async_clock}, "is not a plain function that returns epoch seconds"),
    ({"observer": 5}, "an observer must be a plain function of one event"),
    ({"before_write": 5}, "before_write=5 is not a list of functions; write before_write=[function]"),
    ({"after_read": 5}, "after_read=5 is not a list of functions; write after_read=[function]"),
    ({"cursor_secret": 5}, "cursor_secret must be a string or bytes, not int"),
    ({"cursor_secret": ["hidden"]}, "cursor_secret must be a string or bytes, not list"),
    ({"cursor_secret": b""}, "cursor_secret is empty; drop it, or give a secret"),
    ({"credentials": ("AKID", "hidden")}, "credentials cannot be of type tuple; write credentials=Credentials("),
]


@pytest.mark.parametrize(("settings", "message"), WRONG, ids=[", ".join(each) for each, _ in WRONG])
def test_a_setting_that_cannot_work_is_refused_when_the_session_is_made(settings, message):
    with pytest.raises(ConfigurationError, match=re.escape(message)) as raised:
        Session(**settings)
    assert "hidden" not in str(raised.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"batching": BatchPolicy(), "retry": RetryPolicy(), "capacity": CapacityPolicy()},
        {"batching": None, "retry": None, "capacity": None, "cursor_secret": None},
        {"close_timeout_seconds": 0},
        {"close_timeout_seconds": float("inf")},
        {"cursor_secret": "0123456789abcdef"},
        {"cursor_secret": b"0123456789abcdef"},
        {"observer": iter([print])},
        {"after_read": (print,)},
    ],
    ids=", ".join,
)
def test_a_setting_that_can_work_is_taken(settings):
    Session(**settings)


@pytest.mark.parametrize("secret", ["k", b"k", "0123456789abcde", "é" * 7])
def test_a_secret_of_fewer_than_16_bytes_warns_where_the_session_is_made_and_is_not_shown(secret):
    with pytest.warns(UserWarning, match=re.escape("secrets.token_bytes(32)")) as warned:
        Session(cursor_secret=secret)
    [warning] = warned
    assert warning.filename == __file__
    assert str(secret) not in str(warning.message).split()
    assert f"has only {len(secret if isinstance(secret, bytes) else secret.encode())} bytes" in str(warning.message)


def test_a_secret_of_16_bytes_in_8_characters_is_long_enough():
    Session(cursor_secret="é" * 8)
