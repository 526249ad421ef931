"""What an integration is given is checked where it is given, not at the application's start or at a request."""

import re
from functools import partial

import pytest

from dynamap_async import Session
from dynamap_async.errors import ConfigurationError
from dynamap_async.integrations.aiohttp import finishing_middleware, scope_middleware, session_context
from dynamap_async.integrations.awslambda import LambdaSession
from dynamap_async.integrations.fastapi import CancelOnDisconnect, ScopeRequests, lifespan, scoped


async def asynchronous(*_given):
    pytest.fail("called")


class Telling:
    async def __call__(self, scope):
        pytest.fail("called")


async def app(connection, receive, send):
    pytest.fail("called")


@pytest.mark.parametrize("given", [Session(), None, asynchronous], ids=["session", "nothing", "async"])
@pytest.mark.parametrize("taker", [lifespan, session_context, LambdaSession], ids=lambda each: each.__name__)
def test_what_makes_no_sessions_is_refused_with_what_to_write(taker, given):
    with pytest.raises(ConfigurationError, match=re.escape(f"write {taker.__name__}(lambda: Session(...))")):
        taker(given)


@pytest.mark.parametrize("given", [asynchronous, Telling(), 5], ids=["async function", "async object", "number"])
@pytest.mark.parametrize("taker", [partial(ScopeRequests, app), scope_middleware], ids=["asgi", "aiohttp"])
def test_what_cannot_be_told_of_scopes_is_refused(taker, given):
    with pytest.raises(ConfigurationError, match=r"ended=.*: give a plain function of one scope"):
        taker(ended=given)


@pytest.mark.parametrize(
    "taker", [partial(ScopeRequests, app), scope_middleware, scoped], ids=["asgi", "aiohttp", "one"]
)
def test_a_limit_that_none_is_is_refused_before_a_request_comes(taker):
    with pytest.raises(ConfigurationError, match="max_read_units=-1"):
        taker(max_read_units=-1)
    with pytest.raises(ConfigurationError, match="max_read_units=True"):
        taker(max_read_units=True)


@pytest.mark.parametrize("given", ["GET", "get", {"get"}, ["GET", "Post"], {5}, 5], ids=repr)
@pytest.mark.parametrize(
    "taker", [lambda methods: CancelOnDisconnect(app, methods), finishing_middleware], ids=["asgi", "aiohttp"]
)
def test_methods_that_no_request_has_are_refused_with_what_to_write(taker, given):
    with pytest.raises(ConfigurationError, match=r"methods=.*methods=\{'GET'\}"):
        taker(given)
