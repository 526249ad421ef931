"""The example applications of the documentation, imported as their users do: from docs/examples; and a browser."""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from collections import deque
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Thread, Timer
from uuid import uuid4

import httpx
import pytest
import pytest_asyncio
import uvicorn

from dynamap_async import RetryPolicy
from dynamap_async.testing.faults import Faults

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
sys.path.append(str(EXAMPLES))

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",  # which Chromium needs where root runs it, as CI does
    "--disable-gpu",
    "--disable-dev-shm-usage",  # containers have little of it
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-proxy-server",
    "--remote-debugging-port=0",
)


@asynccontextmanager
async def served(app):
    """Serve on a socket that listens already: who connects before the start waits in its queue."""
    # By its protocol asyncio knows a TCP connection, and answers without the 40 ms of Nagle's algorithm.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, ws="none"))
    task = asyncio.create_task(server.serve([listening]))
    try:
        async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=300) as client:
            yield client
    finally:
        server.should_exit = True
        await task


@pytest.fixture
def serving():
    """Return the context manager that serves an application and gives a client of it."""
    return served


@pytest.fixture
def faults() -> Faults:
    return Faults()


@pytest.fixture
def prefix() -> str:
    return f"t{uuid4().hex[:12]}-"


@pytest_asyncio.fixture
async def stored(engine, prefix):
    """Return a session on the shop's table, to look at what is stored, and to change it behind the shop's back."""
    from shop.seed import prepare

    async with engine.session(table_prefix=prefix) as session:
        await prepare(session)
        yield session


@pytest.fixture
def patient(monkeypatch):
    """Let the shop wait as long as a busy machine takes, and no bulk read pause, which would divide its call."""
    monkeypatch.setattr("dynamap_async.stored.flow.SLICE_SECONDS", 300)
    monkeypatch.setattr("shop.app.PAGE_SECONDS", 300)
    monkeypatch.setattr("shop.app.REQUEST_SECONDS", 300)


@pytest.fixture
def shop(patient, engine, faults, prefix, stored):
    from shop.app import make_app

    return make_app(lambda: faults.session(engine, table_prefix=prefix, retry=RetryPolicy(max_attempts=1)))


@pytest_asyncio.fixture
async def client(shop):
    async with served(shop) as client:
        yield client


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Start a headless Chromium, and return the address of its DevTools."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        reason = "no Chromium: apt-get install --no-install-recommends chromium"
        if os.environ.get("CI") == "true":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    home = tmp_path_factory.mktemp("browser")
    command = [program, *FLAGS, f"--user-data-dir={home}", "about:blank"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        said, patience = [], Timer(60, process.kill)
        patience.start()
        for line in process.stderr:
            said.append(line)
            if line.startswith("DevTools listening on "):
                break
        else:
            patience.cancel()
            pytest.fail(f"{program} did not start:\n{''.join(said)}", pytrace=False)
        patience.cancel()
        rest = Thread(target=deque, args=(process.stderr, 0))  # what nobody reads would stop it in the end
        rest.start()
        yield said[-1].split()[-1]
        process.terminate()
        rest.join()
