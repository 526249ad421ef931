"""The shop's page in headless Chromium, driven through its DevTools: what people see and click.

Source: https://chromedevtools.github.io/devtools-protocol/
"""

import asyncio
import base64
import json
import os
from contextlib import asynccontextmanager
from itertools import count

import aiohttp
import anyio
import pytest
import pytest_asyncio

pytestmark = [pytest.mark.asyncio, pytest.mark.parametrize("engine", ["memory"], indirect=True)]

# An expression that comes true when something on the page changes.
UNTIL = """new Promise(done => {
  const changed = () => (%s) && done(true);
  new MutationObserver(changed).observe(document, {subtree: true, childList: true, attributes: true});
  changed();
})"""
PATIENCE_SECONDS = 120
PRODUCTS = "document.querySelectorAll('#products > li').length"
STOCK = "document.querySelector('#products .soft').innerText"
ORDERS = "document.querySelectorAll('aside .price').length"
HEADING = "document.querySelector('h1').innerText"
PATH = "location.pathname"
MORE = "document.querySelector('a[rel=next]')"


class Tab:
    """A tab of the browser, with a history and cookies of its own."""

    def __init__(self, socket):
        self._socket = socket
        self._numbers = count(1)
        self._answers = {}
        self._loaded = asyncio.Event()
        self._session_id = None
        self.complaints = []
        """What the page threw, and what the browser wrote into the console as an error."""

    async def listen(self):
        """Take what comes from the browser until the connection closes."""
        async for message in self._socket:
            said = json.loads(message.data)
            if "id" in said:
                self._answers.pop(said["id"]).set_result(said)
            elif said["method"] == "Page.loadEventFired":
                self._loaded.set()
            elif said["method"] == "Runtime.exceptionThrown":
                self.complaints.append(said["params"]["exceptionDetails"]["text"])
            elif said["method"] == "Log.entryAdded" and said["params"]["entry"]["level"] == "error":
                self.complaints.append(said["params"]["entry"]["text"])

    async def begin(self):
        context = await self.ask("Target.createBrowserContext")
        target = await self.ask("Target.createTarget", url="about:blank", **context)
        opened = await self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session_id = opened["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            await self.ask(f"{domain}.enable")

    async def ask(self, method, **params):
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        session = {} if self._session_id is None else {"sessionId": self._session_id}
        await self._socket.send_json({"id": number, "method": method, "params": params, **session})
        async with asyncio.timeout(PATIENCE_SECONDS):
            said = await answer
        assert "error" not in said, said
        return said["result"]

    async def js(self, expression):
        """Return the value of an expression on the page; that of a promise when it is there."""
        said = await self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in said, said
        return said["result"].get("value")

    async def click(self, selector):
        """Click on what leads to another page, and wait for that."""
        async with self.loading():
            await self.js(f"document.querySelector({json.dumps(selector)}).click()")

    async def until(self, condition):
        await self.js(UNTIL % condition)

    @asynccontextmanager
    async def loading(self):
        """Wait for the page to which what is done inside leads."""
        self._loaded.clear()
        yield
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._loaded.wait()

    async def visit(self, url):
        async with self.loading():
            await self.ask("Page.navigate", url=str(url))

    async def picture(self, name):
        """Keep a screenshot for people to look at, where SHOP_SCREENSHOTS names a folder."""
        folder = os.environ.get("SHOP_SCREENSHOTS")
        if folder:
            picture = await self.ask("Page.captureScreenshot", captureBeyondViewport=True)
            await anyio.Path(folder, f"{name}.png").write_bytes(base64.b64decode(picture["data"]))


@pytest_asyncio.fixture
async def tab(browser):
    async with aiohttp.ClientSession() as http, http.ws_connect(browser, max_msg_size=0) as socket:
        tab = Tab(socket)
        listening = asyncio.create_task(tab.listen())
        await tab.begin()
        yield tab
        await socket.close()
        await listening


async def test_more_adds_the_next_products_to_those_that_are_there(tab, client):
    await tab.visit(client.base_url)
    before = await tab.js("location.href"), await tab.js(PRODUCTS)
    await tab.js(f"{MORE}.click()")
    await tab.until(f"{PRODUCTS} == 10")
    assert before == (await tab.js("location.href"), 6)
    assert await tab.js(f"{MORE} === null")
    assert tab.complaints == []


async def test_without_javascript_more_leads_to_the_next_page(tab, client):
    await tab.ask("Network.setBlockedURLs", urls=["*more.js"])
    await tab.ask("Network.enable")
    await tab.visit(client.base_url)
    await tab.click("a[rel=next]")
    assert await tab.js(PRODUCTS) == 4


@pytest.mark.parametrize("blocked", [[], ["*.js"]], ids=["with JavaScript", "without JavaScript"])
async def test_from_the_product_through_the_basket_to_the_order(tab, client, blocked):
    await tab.ask("Network.setBlockedURLs", urls=blocked)
    await tab.ask("Network.enable")
    await tab.visit(client.base_url)
    before = int((await tab.js(STOCK)).split()[0]), await tab.js(ORDERS)
    await tab.click("#products form button")
    assert (await tab.js(PATH), await tab.js("document.querySelector('.total').innerText")) == (
        "/basket",
        "Total\n€ 6.50",
    )
    await tab.picture("basket")
    await tab.click(".order button")
    assert (await tab.js(HEADING), await tab.js("document.querySelector('.basket').innerText")) == (
        "Your order",
        "Basket",
    )
    await tab.picture("order")
    await tab.click("main a")
    assert (await tab.js(STOCK), await tab.js(ORDERS)) == (f"{before[0] - 1} in stock", before[1] + 1)
    assert blocked or tab.complaints == []


async def test_the_basket_is_changed_and_emptied_by_its_buttons(tab, client):
    await client.post("/basket", data={"product_id": "assam", "count": 1})
    await tab.visit(client.base_url.join("/basket"))
    await tab.js("document.querySelector('.line input[type=number]').value = 3")
    await tab.click(".line button")
    assert await tab.js("document.querySelector('.total .price').innerText") == "€ 19.50"
    await tab.click(".line form + form button")
    assert await tab.js("document.querySelector('.empty').innerText") == "Your basket is empty."
    assert tab.complaints == []


async def test_an_error_leads_back_to_the_shop(tab, client):
    await tab.visit(client.base_url.join("/?category=zzz"))
    await tab.picture("error")
    await tab.click("main a")
    assert (await tab.js(PATH), await tab.js(HEADING)) == ("/", "Tea")


async def test_a_price_that_somebody_else_has_changed_is_kept_and_shown(tab, client):
    await tab.visit(client.base_url)
    seen = (await client.get("/api/products/assam")).json()
    await client.patch("/api/products/assam", json={"price": "6.75", "version": seen["version"]})
    await tab.js("document.querySelector('summary').click()")
    await tab.click("details form button")
    assert "Somebody else changed this product" in await tab.js("document.querySelector('[role=alert]').innerText")
    assert await tab.js("document.querySelector('#products .price').innerText") == "€ 6.75"
    await tab.picture("refused")


PAGES = {"ada": ("/", "/basket", "/nothing"), "zed": ("/?category=chocolate", "/basket")}
"""Pages of a customer with orders and a basket, and of one with neither."""


@pytest.mark.parametrize("width", [360, 390, 1280])
async def test_nothing_is_cut_off(tab, client, width):
    await client.post("/basket", data={"product_id": "earl-grey", "count": 12})
    await client.post("/basket", data={"product_id": "dark", "count": 1})
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    await tab.ask("Emulation.setDeviceMetricsOverride", **screen)
    for customer, paths in PAGES.items():
        await tab.ask("Network.setCookie", name="customer", value=customer, url=str(client.base_url))
        for number, path in enumerate(paths):
            await tab.visit(client.base_url.join(path))
            assert (path, await tab.js("document.documentElement.scrollWidth")) == (path, width)
            await tab.picture(f"{customer}-{number}-{width}")
