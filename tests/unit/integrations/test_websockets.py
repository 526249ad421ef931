"""A websocket of FastAPI has the application's session, and middlewares for requests leave it alone."""

from typing import Annotated

import pytest
from fastapi import Depends, FastAPI, WebSocket
from fastapi.testclient import TestClient

from dynamap_async import Credentials, Scope, Session
from dynamap_async.integrations.fastapi import CancelOnDisconnect, OpenSession, ScopeRequests, lifespan, scoped


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
