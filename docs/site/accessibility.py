"""Looks at pages of the built site in headless Chromium: axe-core finds no violation of WCAG A and AA on any of them.

`nox -s site` runs it after the build. With a folder as its argument it keeps screenshots there instead, 1280 and 390
pixels wide, light and dark, to be looked at.

Source: https://chromedevtools.github.io/devtools-protocol/
"""

import asyncio
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

BUILD = Path(__file__).parents[2] / "build" / "site"
AXE = "axe-core@4.14.1"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-proxy-server",
    "--no-first-run",
)
PAGES = (
    "index.html",
    "tutorials/first-table.html",
    "how-to/query.html",
    "how-to/fastapi.html",
    "how-to/test-your-code.html",
    "coming-from/pynamodb.html",
    "explanation/single-table.html",
    "explanation/performance.html",
    "reference/errors.html",
    "reference/names/keys-and-results.html",
)
WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
PATIENCE_SECONDS = 180
RULES = {
    "light": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]},
    "dark": {"type": "rule", "values": ["color-contrast"]},  # all that differs from the light page
}
CHECK = """
axe.run(document, {runOnly: %s, resultTypes: ["violations"]}).then(
  found => found.violations.map(each => [each.id, each.help, each.nodes.slice(0, 5).map(node => node.html)])
)
"""


class Tab:
    """A tab of the browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = count(1)
        self._session: dict[str, str] = {}

    async def begin(self) -> None:
        """Open the tab."""
        target = await self.ask("Target.createTarget", url="about:blank")
        opened = await self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = {"sessionId": opened["sessionId"]}
        await self.ask("Page.enable")

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Give an order to the browser, and return its answer."""
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": params, **self._session})
        return (await self._next(lambda said: said.get("id") == number))["result"]

    async def _next(self, wanted: Any) -> Any:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not wanted(said := json.loads((await self._socket.receive()).data)):
                pass
        return said

    async def visit(self, url: str, *, width: int, scheme: str) -> None:
        """Show a page, in a window of a width and in a colour scheme."""
        await self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 500
        )
        await self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        await self.ask("Page.navigate", url=url)
        await self._next(lambda said: said.get("method") == "Page.loadEventFired")

    async def js(self, expression: str) -> Any:
        """Return the value of an expression on the page; that of a promise when it is there."""
        said = await self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in said:
            raise RuntimeError(str(said["exceptionDetails"]))
        return said["result"].get("value")


@asynccontextmanager
async def tab_of(browser: str) -> AsyncGenerator[Tab]:
    """Start a browser, and give a tab of it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        command = [*FLAGS, "--remote-debugging-port=0", f"--user-data-dir={home}", "about:blank"]
        process = await asyncio.create_subprocess_exec(browser, *command, stderr=asyncio.subprocess.PIPE)
        try:
            assert process.stderr is not None
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not (line := (await process.stderr.readline()).decode()).startswith("DevTools listening on "):
                    if not line:
                        raise RuntimeError(f"{browser} did not start")
            async with aiohttp.ClientSession() as http, http.ws_connect(line.split()[-1], max_msg_size=0) as socket:
                tab = Tab(socket)
                await tab.begin()
                yield tab
        finally:
            process.terminate()
            await process.communicate()


@asynccontextmanager
async def served(folder: Path) -> AsyncGenerator[str]:
    """Serve a folder, and give the address."""
    app = web.Application()
    app.router.add_static("/", folder)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


def axe() -> str:
    """Return the program that looks for violations, from the npm registry."""
    folder = BUILD.parent / "axe"
    program = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not program.exists():
        npm = shutil.which("npm") or "npm"
        subprocess.run([npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, AXE], check=True)
    return program.read_text("utf-8")


async def violations(browser: str) -> list[str]:
    """Return what axe finds on the pages, in each colour scheme."""
    program, told = axe(), list[str]()
    async with served(BUILD / "site") as address, tab_of(browser) as tab:
        for page in PAGES:
            for scheme, rules in RULES.items():
                await tab.visit(address + page, width=WIDTHS[0], scheme=scheme)
                await tab.js(program)
                found = await tab.js(CHECK % json.dumps(rules))
                told += [f"{page}, {scheme}: {name}: {text}: {nodes}" for name, text, nodes in found]
    return told


async def keep_pictures(browser: str, folder: Path) -> None:
    """Keep screenshots of the pages."""
    async with served(BUILD / "site") as address, tab_of(browser) as tab:
        for page in PAGES:
            for width in WIDTHS:
                for scheme in SCHEMES:
                    await tab.visit(address + page, width=width, scheme=scheme)
                    picture = await tab.ask("Page.captureScreenshot")
                    name = f"{page.removesuffix('.html').replace('/', '-')}-{width}-{scheme}.png"
                    (folder / name).write_bytes(base64.b64decode(picture["data"]))


def main() -> None:
    """Look for violations, or keep pictures."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    missing = "Chromium" if browser is None else None if shutil.which("npm") else "npm"
    if browser is None or missing is not None:
        print(f"no {missing}: nobody looked at the pages")
        sys.exit(os.environ.get("CI") == "true")
    if len(sys.argv) > 1:
        folder = Path(sys.argv[1])
        folder.mkdir(parents=True, exist_ok=True)
        asyncio.run(keep_pictures(browser, folder))
        return
    found = asyncio.run(violations(browser))
    if found:
        sys.exit("\n".join(found))
    print(f"axe found nothing on {len(PAGES)} pages, light and dark")


if __name__ == "__main__":
    main()
