"""The shop over a real socket: uvicorn serves, httpx asks, an engine answers."""

import asyncio
import html
import os
import re
import signal
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path
from uuid import UUID, uuid4

import httpx
import pytest

from dynamap_async import Attr, Model, PartitionKey, SortKey, Table
from dynamap_async.migrations import find_migrations, migrate

pytestmark = pytest.mark.asyncio

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
NO_SUCH_ID = "00000000-0000-4000-8000-000000000000"


async def product(client, product_id):
    return (await client.get(f"/api/products/{product_id}")).json()


def names(page: str) -> list[str]:
    return re.findall(r"<li>\s*<h2>(.*?)</h2>", page)


async def test_the_page_shows_a_category_and_leads_on_to_its_end(client):
    first = await client.get("/")
    assert names(first.text) == ["Assam", "Ceylon", "Darjeeling", "Earl Grey", "Genmaicha", "Jasmine"]
    assert first.text.count('href="/orders/') == 2
    link = re.search(r'rel="next" href="(.*?)"', first.text)
    second = await client.get(html.unescape(link[1]))
    assert names(second.text) == ["Lapsang", "Oolong", "Rooibos", "Sencha"]
    assert 'rel="next"' not in second.text


async def test_the_page_brings_its_style_and_script(client):
    page = (await client.get("/")).text
    files = re.findall(r'(?:href|src)="(/static/.*?)"', page)
    assert [(await client.get(file)).status_code for file in files] == [200, 200]


async def test_the_list_of_products_has_next_links(client):
    found, path = [], "/api/products?category=tea&size=4"
    while path:
        page = (await client.get(path)).json()
        found.append([each["name"] for each in page["items"]])
        path = page["next"]
    assert [len(page) for page in found if page] == [4, 4, 2]
    assert len(set().union(*found)) == 10


async def test_keys_of_the_table_are_neither_shown_nor_described(client):
    assert set(await product(client, "assam")) == {"product_id", "category", "name", "price", "stock", "version"}
    schemas = (await client.get("/api/openapi.json")).json()["components"]["schemas"]
    described = {field for schema in schemas.values() for field in schema.get("properties", ())}
    assert described >= {"product_id", "order_id", "lines", "total"}
    assert described.isdisjoint({"pk", "sk", "owner", "place"})


async def test_amounts_of_money_have_two_decimals(client):
    page = (await client.get("/")).text
    question = {"query": '{product(productId: "ceylon") {price}}'}
    answer = (await client.post("/api/graphql", json=question)).json()
    assert (await product(client, "ceylon"))["price"] == answer["data"]["product"]["price"] == "5.90"
    assert "€ 5.90" in page


async def test_the_api_says_the_currency(client):
    schemas = (await client.get("/api/openapi.json")).json()["components"]["schemas"]
    described = [schemas["Product"]["properties"]["price"], schemas["Order"]["properties"]["total"]]
    assert [(each["type"], each["description"]) for each in described] == [("string", "An amount in EUR.")] * 2


async def test_a_line_of_the_first_version_is_read_with_its_price(client, stored):
    from shop.models import SHOP, Order

    class LineInCents(Model, table=Table(SHOP.name, partition_key="pk", sort_key="sk"), kind="line"):
        pk: PartitionKey[str]
        sk: SortKey[str]
        order_id: Attr[UUID]
        number: Attr[int]
        product_id: Attr[str]
        count: Attr[int]
        cents: Attr[int]

    order = await stored.put(Order(customer_id="ada", total=Decimal("13.00")))
    line = {"order_id": order.order_id, "number": 1, "product_id": "assam", "count": 2, "cents": 650}
    await stored.put(LineInCents(pk=order.pk, sk="LINE#01", **line))
    whole = (await client.get(f"/api/orders/{order.order_id}")).json()
    assert [each["price"] for each in whole["lines"]] == ["6.50"]


async def test_the_migrations_store_lines_with_prices_and_empty_the_baskets_of_nobody(client, stored):
    from shop import migrations
    from shop.models import SHOP, BasketLine, OrderLine

    class LineInCents(Model, table=Table(SHOP.name, partition_key="pk", sort_key="sk"), kind="line"):
        pk: PartitionKey[str]
        sk: SortKey[str]
        order_id: Attr[UUID]
        number: Attr[int]
        product_id: Attr[str]
        count: Attr[int]
        cents: Attr[int]

    line = {"order_id": UUID(NO_SUCH_ID), "number": 1, "product_id": "assam", "count": 2, "cents": 650}
    await stored.put(LineInCents(pk=f"ORDER#{NO_SUCH_ID}", sk="LINE#01", **line))
    await stored.put(BasketLine(customer_id="nobody", product_id="assam", count=1))
    await stored.put(BasketLine(customer_id="ada", product_id="assam", count=1))
    declared = find_migrations(migrations)
    assert [each.state for each in await migrate(stored, *declared)] == ["done", "done"]
    assert (await stored.upgrade(OrderLine, dry_run=True)).behind == 0
    assert {each.customer_id for each in await stored.scan(BasketLine).consistent()} == {"ada"}
    assert await migrate(stored, *declared) == ()


async def test_a_category_without_products_says_so(client, stored):
    from shop.models import Category, Product

    chocolate = await stored.query(Product).where(Product.category == Category.CHOCOLATE)
    await stored.delete_many(chocolate)
    page = await client.get("/?category=chocolate")
    assert (page.status_code, names(page.text)) == (200, [])
    assert "Nothing is on these shelves today." in page.text


async def test_who_has_not_ordered_yet_is_told_so(client):
    page = await client.get("/", headers={"Cookie": "customer=zed"})
    assert "You have not ordered anything yet." in page.text


async def test_who_has_not_seen_the_latest_version_does_not_overwrite_it(client):
    seen = (await product(client, "ceylon"))["version"]
    first = await client.patch("/api/products/ceylon", json={"price": "7.25", "version": seen})
    second = await client.patch("/api/products/ceylon", json={"price": "1.00", "version": seen})
    form = {"product_id": "ceylon", "price": "1.00", "version": seen}
    page = await client.post("/price?category=tea", data=form)
    assert [answer.status_code for answer in (first, second, page)] == [200, 409, 409]
    assert (second.json()["expected"], second.json()["stored"]) == (seen, seen + 1)
    assert "Somebody else changed this product" in page.text
    assert (await product(client, "ceylon"))["price"] == "7.25"


async def test_an_order_takes_all_of_its_products_from_the_stock_or_none(client):
    basket = {"customer_id": "bob", "counts": {"ceylon": 2, "java": 1}}
    placed = await client.post("/api/orders", json=basket)
    whole = (await client.get(f"/api/orders/{placed.json()['order_id']}")).json()
    refused = await client.post("/api/orders", json={"customer_id": "bob", "counts": {"ceylon": 1, "jasmine": 1}})
    assert (placed.status_code, placed.json()["total"]) == (201, "21.60")
    assert {line["product_id"]: line["count"] for line in whole["lines"]} == basket["counts"]
    assert refused.status_code == 409
    assert refused.json() == {"detail": "Sold out, or just changed: Jasmine", "code": "unavailable"}
    assert (await product(client, "ceylon"))["stock"] == 10


async def test_an_order_that_is_sent_twice_is_placed_once(client):
    wanted = {"order_id": str(uuid4()), "customer_id": "bob", "counts": {"ceylon": 2}}
    answers = [await client.post("/api/orders", json=wanted) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert answers[0].json() == answers[1].json()
    assert (await product(client, "ceylon"))["stock"] == 10


async def test_an_order_that_was_placed_is_answered_though_it_could_not_be_placed_now(client):
    wanted = {"order_id": str(uuid4()), "customer_id": "bob", "counts": {"assam": 2}, "total": "13.00"}
    first = await client.post("/api/orders", json=wanted)
    seen = await product(client, "assam")
    await client.patch("/api/products/assam", json={"price": "7.00", "version": seen["version"]})
    second = await client.post("/api/orders", json=wanted)
    assert (seen["stock"], second.status_code) == (0, 201)
    assert second.json() == first.json()


async def test_an_order_takes_two_requests(client, faults):
    await client.post("/api/orders", json={"customer_id": "bob", "counts": {"ceylon": 2, "java": 1, "white": 1}})
    assert [entry.operation for entry in faults.log] == ["BatchGetItem", "TransactWriteItems"]


async def test_no_more_is_sold_than_there_is(client):
    basket = {"customer_id": "ada", "counts": {"white": 5}}
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(client.post("/api/orders", json=basket)) for _ in range(6)]
    assert Counter(task.result().status_code for task in tasks) == {201: 3, 409: 3}
    assert (await product(client, "white"))["stock"] == 4


QUESTION = """{
  ada: customer(customerId: "ada") { orders { lines { count product { name } } } }
  bob: customer(customerId: "bob") { orders { lines { product { name } } } }
  nobody: customer(customerId: "zed") { name }
}"""


async def test_graphql_asks_once_for_each_list_and_never_twice_for_an_item(client, faults):
    answer = (await client.post("/api/graphql", json={"query": QUESTION})).json()
    orders = answer["data"]["ada"]["orders"]
    assert [[line["product"]["name"] for line in order["lines"]] for order in orders] == [
        ["Java", "Dark", "Sencha"],
        ["Assam", "Dark"],
    ]
    assert answer["data"]["nobody"] is None
    sent = Counter(entry.operation for entry in faults.log)
    # Lists: the orders of two customers, and of a customer who is none nothing; the lines of three orders.
    assert sent["Query"] == 2 + 3
    # Items: three customers at once, and four products as the lines come in.
    assert sent["BatchGetItem"] + sent["GetItem"] <= 1 + 3


async def test_graphql_keeps_what_went_wrong_to_itself(client, faults):
    faults.on("GetItem").throttle()
    answer = (await client.post("/api/graphql", json={"query": '{product(productId: "assam") {name}}'})).json()
    assert (answer["data"]["product"], answer["errors"][0]["message"]) == (None, "Unexpected error.")


ERRORS = [
    ("GET", "/api/products/nothing", None, 404),
    ("GET", f"/api/orders/{NO_SUCH_ID}", None, 404),
    ("PATCH", "/api/products/nothing", {"price": "1.00", "version": 1}, 404),
    ("POST", "/api/orders", {"customer_id": "zed", "counts": {"assam": 1}}, 404),
    ("POST", "/api/orders", {"customer_id": "ada", "counts": {"nothing": 1}}, 409),
    ("POST", "/api/orders", {"customer_id": "ada", "counts": {"assam": 1}, "total": "6.00"}, 409),
    ("POST", "/api/orders", {"customer_id": "ada", "counts": {}}, 422),
    ("POST", "/api/orders", {"customer_id": "ada", "counts": {"assam": 0}}, 422),
    ("PATCH", "/api/products/assam", {"price": "0.001", "version": 1}, 422),
    ("GET", "/api/products?category=cars", None, 422),
    ("GET", "/api/products?category=tea&after=nonsense", None, 400),
    ("GET", "/api/nothing", None, 404),
]


async def test_what_cannot_be_done_is_answered_by_its_meaning(client):
    answers = [await client.request(method, path, json=body) for method, path, body, _ in ERRORS]
    assert [answer.status_code for answer in answers] == [status for *_, status in ERRORS]
    assert all(answer.json()["detail"] for answer in answers)


async def test_a_busy_database_is_answered_with_when_to_try_again(client, faults):
    faults.on("Query").throttle()
    answers = [await client.get(path) for path in ("/", "/api/products?category=tea")]
    assert [(answer.status_code, answer.headers["Retry-After"]) for answer in answers] == [(503, "1")] * 2


async def test_nothing_is_left_when_the_shop_closes(shop, serving):
    before = asyncio.all_tasks()
    async with serving(shop) as client, asyncio.TaskGroup() as group:
        for _ in range(5):
            group.create_task(client.get("/"))
    assert asyncio.all_tasks() == before


async def test_one_command_starts_the_shop_and_an_interrupt_ends_it():
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES), "PYTHONUNBUFFERED": "1"}
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "shop", "--port", "0"), env=environment, stderr=asyncio.subprocess.PIPE
    )
    try:
        said = ""
        while "running on http" not in said:
            line = await program.stderr.readline()
            assert line, said
            said += line.decode()
        url = re.search(r"http://127\.0\.0\.1:\d+", said)[0]
        async with httpx.AsyncClient(trust_env=False, timeout=300) as client:
            assert names((await client.get(url)).text)[0] == "Assam"
        program.send_signal(signal.SIGINT)
        rest = (await program.stderr.read()).decode()
        assert await program.wait() == 0
    finally:
        if program.returncode is None:  # one that has just ended would be waited for here, and by asyncio in vain
            program.kill()
            await program.wait()
    assert "Traceback" not in rest


async def test_without_its_packages_the_shop_says_in_one_line_what_to_install():
    # -S leaves out site-packages, and with them everything that was ever installed.
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-S", "-m", "shop"),
        cwd=EXAMPLES,
        env={},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await program.communicate()
    assert program.returncode == 1
    (line,) = said.decode().splitlines()
    assert line.startswith("The shop needs dynamap_async, fastapi, ")
    assert line.endswith('"dynamap-async[fastapi]" jinja2 python-multipart strawberry-graphql uvicorn')
