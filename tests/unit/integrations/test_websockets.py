"""A websocket of FastAPI has the application's session, and middlewares for requests leave it alone."""

from typing import Annotated

import pytest
from fastapi import Depends, FastAPI, WebSocket
from fastapi.testclient import TestClient

from dynamap_async import Credentials, Scope, Session
from dynamap_async.errors import ConfigurationError, ItemNotFoundError
from dynamap_async.integrations.fastapi import (
    CancelOnDisconnect,
    OpenSession,
    ScopeRequests,
    add_error_handlers,
    lifespan,
    scoped,
)


@pytest.fixture
def app():
    credentials = Credentials(access_key_id="x", secret_access_key="x")
    make = lambda: Session(region="eu-west-1", endpoint_url="http://127.0.0.1:9", credentials=credentials)  # noqa: E731
    app = FastAPI(lifespan=lifespan(make))
    app.add_middleware(CancelOnDisconnect)
    app.add_middleware(ScopeRequests, timeout=5)
    return app


def test_a_websocket_has_the_session_and_a_scope_by_choice(app):
    @app.websocket("/rooms/{name}")
    async def room(socket: WebSocket, session: OpenSession, scope: Annotated[Scope, Depends(scoped())]) -> None:
        await socket.accept()
        await socket.send_json([type(session).__name__, scope.name, hasattr(socket.state, "dynamap_scope")])
        await socket.close()

    with TestClient(app) as client, client.websocket_connect("/rooms/lobby") as socket:
        assert socket.receive_json() == ["Session", "WS /rooms/{name}", False]


@pytest.mark.parametrize("accepted", [True, False], ids=["accepted", "not yet"])
@pytest.mark.parametrize(
    "error", [ItemNotFoundError("gone", model="Note"), ConfigurationError("wrong")], ids=lambda error: error.code
)
def test_an_error_of_a_websocket_reaches_the_server_as_it_is(app, error, accepted):
    add_error_handlers(app)

    @app.websocket("/rooms")
    async def room(socket: WebSocket) -> None:
        if accepted:
            await socket.accept()
        raise error

    with TestClient(app) as client, pytest.raises(type(error)) as caught, client.websocket_connect("/rooms") as socket:
        socket.receive_json()
    assert caught.value is error
