"""The command ``python -m shop``: the shop on an engine inside this process, until Ctrl-C."""

import argparse
import os
import secrets
from contextlib import ExitStack

import uvicorn

from dynamap_async import Credentials, Session
from dynamap_async.testing import LocalEngine
from shop.app import make_app
from shop.seed import prepare


def main() -> None:
    """Serve the shop, and say where."""
    parser = argparse.ArgumentParser(prog="python -m shop", description="A small shop over one DynamoDB table.")
    parser.add_argument("--port", type=int, default=8000, help="the port to serve at; 0 takes any that is free")
    parser.add_argument("--endpoint-url", help="an engine that runs already; otherwise one starts in this process")
    arguments = parser.parse_args()
    # All processes that serve the shop sign cursors with the same secret.
    cursor_secret = os.environ.get("SHOP_CURSOR_SECRET") or secrets.token_hex(32)

    with ExitStack() as stack:
        endpoint_url = arguments.endpoint_url or stack.enter_context(LocalEngine()).endpoint_url

        def make_session() -> Session:
            # For AWS, drop endpoint and credentials: the session then finds both as every AWS SDK does.
            return Session(
                region="eu-west-1",
                endpoint_url=endpoint_url,
                credentials=Credentials(access_key_id="local", secret_access_key="local"),  # noqa: S106 - no engine verifies it
                cursor_secret=cursor_secret,
            )

        uvicorn.run(make_app(make_session, on_start=prepare), port=arguments.port)
