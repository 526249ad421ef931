"""The basket, and the page of an order, over a real socket."""

import asyncio
import re
from decimal import Decimal

import pytest

pytestmark = pytest.mark.asyncio

NO_SUCH_ID = "00000000-0000-4000-8000-000000000000"


async def choose(client, **counts):
    for product_id, count in counts.items():
        answer = await client.post("/basket", data={"product_id": product_id, "count": count})
        assert (answer.status_code, answer.headers["Location"]) == (303, "/basket")


async def basket(client):
    """Return product -> count, as the page shows them."""
    page = (await client.get("/basket")).text
    return {
        name: int(count)
        for name, count in re.findall(r'<h2>(.*?)</h2>.*?name="count" value="(\d+)" min', page, flags=re.DOTALL)
    }


async def button(client):
    """Return what the button of the order sends."""
    page = (await client.get("/basket")).text
    return dict(re.findall(r'name="(order_id|total)" value="(.*?)"', page))


async def stock(client, product_id):
    return (await client.get(f"/api/products/{product_id}")).json()["stock"]


async def test_an_empty_basket_says_so_and_cannot_be_ordered(client):
    page = (await client.get("/basket")).text
    assert "Your basket is empty." in page
    assert 'action="/orders"' not in page


async def test_a_basket_shows_what_is_in_it_and_adds_up(client):
    await choose(client, ceylon=2, dark=1)
    page = (await client.get("/basket")).text
    assert await basket(client) == {"Ceylon": 2, "Dark": 1}
    assert "€ 15.00" in page
    assert "Basket <b>3</b>" in page


async def test_choosing_again_changes_how_many_there_are(client):
    await choose(client, ceylon=2)
    await choose(client, ceylon=5)
    assert await basket(client) == {"Ceylon": 5}


async def test_choosing_none_takes_a_product_out(client):
    await choose(client, ceylon=2, dark=1)
    await choose(client, ceylon=0)
    assert await basket(client) == {"Dark": 1}


async def test_what_the_shop_does_not_sell_does_not_come_into_a_basket(client):
    answer = await client.post("/basket", data={"product_id": "nothing", "count": 1})
    assert (answer.status_code, await basket(client)) == (404, {})


async def test_what_is_no_longer_sold_can_be_taken_out(client, stored):
    from shop.models import Product

    from dynamap_async import Parts

    await choose(client, ceylon=2)
    await stored.delete(Product, Parts(product_id="ceylon"))
    assert "no longer sold" in (await client.get("/basket")).text
    await choose(client, ceylon=0)
    assert await basket(client) == {}


async def test_each_customer_has_a_basket(client):
    await choose(client, ceylon=2)
    page = await client.get("/basket", headers={"Cookie": "customer=bob"})
    assert "Your basket is empty." in page.text


async def test_ordering_empties_the_basket_and_leads_to_the_order(client):
    await choose(client, ceylon=2, dark=1)
    form = await button(client)
    answer = await client.post("/orders", data=form, follow_redirects=True)
    assert (answer.status_code, answer.url.path) == (200, f"/orders/{form['order_id']}")
    assert re.findall(r"<h2>(.*?)</h2>", answer.text) == ["Ceylon", "Dark"]
    assert "2 at € 5.90" in answer.text
    assert "€ 15.00" in answer.text
    assert (await basket(client), await stock(client, "ceylon")) == ({}, 10)


async def test_a_second_click_orders_nothing_more(client):
    await choose(client, ceylon=2)
    form = await button(client)
    answers = [await client.post("/orders", data=form) for _ in range(2)]
    assert [(each.status_code, each.headers["Location"]) for each in answers] == [
        (303, f"/orders/{form['order_id']}")
    ] * 2
    assert await stock(client, "ceylon") == 10


async def test_two_clicks_at_the_same_time_place_one_order(client):
    await choose(client, ceylon=2)
    form = await button(client)
    async with asyncio.TaskGroup() as group:
        clicks = [group.create_task(client.post("/orders", data=form)) for _ in range(2)]
    assert [click.result().status_code for click in clicks] == [303, 303]
    assert (await basket(client), await stock(client, "ceylon")) == ({}, 10)


async def test_what_is_chosen_after_the_first_click_stays_in_the_basket(client):
    await choose(client, ceylon=2)
    form = await button(client)
    await client.post("/orders", data=form)
    await choose(client, dark=1)
    answer = await client.post("/orders", data=form)
    assert answer.headers["Location"] == f"/orders/{form['order_id']}"
    assert await basket(client) == {"Dark": 1}


async def test_what_cannot_be_ordered_stays_in_the_basket(client):
    await choose(client, ceylon=2, jasmine=1)
    answer = await client.post("/orders", data=await button(client))
    assert answer.status_code == 409
    assert "Sold out, or just changed: Jasmine. Nothing was ordered." in answer.text
    assert await basket(client) == {"Ceylon": 2, "Jasmine": 1}


async def test_a_total_that_the_customer_has_not_seen_is_refused(client):
    await choose(client, ceylon=2)
    form = await button(client)
    version = (await client.get("/api/products/ceylon")).json()["version"]
    await client.patch("/api/products/ceylon", json={"price": "6.10", "version": version})
    answer = await client.post("/orders", data=form)
    assert answer.status_code == 409
    assert "just changed: the total" in answer.text
    assert "€ 12.20" in answer.text
    assert (await basket(client), await stock(client, "ceylon")) == ({"Ceylon": 2}, 12)


async def test_a_basket_that_was_changed_meanwhile_is_not_ordered(client, stored):
    from shop.baskets import read_basket
    from shop.orders import NewOrder, UnavailableError, place_order

    await choose(client, ceylon=2)
    seen = await read_basket(stored, "ada")
    await choose(client, ceylon=3)
    with pytest.raises(UnavailableError, match="your basket"):
        await place_order(stored, NewOrder(customer_id="ada", counts={"ceylon": 2}), basket=seen)
    assert (await basket(client), await stock(client, "ceylon")) == ({"Ceylon": 3}, 12)


async def test_a_basket_of_more_than_an_order_takes_is_ordered_in_two(client, stored):
    from shop.models import BasketLine, Category, Product

    ids = [f"kind-{number:02}" for number in range(23)]
    common = {"category": Category.TEA, "price": Decimal(1), "stock": 5}
    await stored.put_many([Product(product_id=each, name=each, **common) for each in ids])
    await stored.put_many([BasketLine(customer_id="ada", product_id=each, count=1) for each in ids])
    assert (await client.post("/orders", data=await button(client))).status_code == 303
    assert await basket(client) == dict.fromkeys(ids[20:], 1)


async def test_only_the_customer_sees_an_order(client):
    wanted = {"customer_id": "bob", "counts": {"ceylon": 1}}
    order_id = (await client.post("/api/orders", json=wanted)).json()["order_id"]
    bob = await client.get(f"/orders/{order_id}", headers={"Cookie": "customer=bob"})
    ada = [await client.get(f"/orders/{each}") for each in (order_id, NO_SUCH_ID)]
    assert bob.status_code == 200
    assert [answer.status_code for answer in ada] == [404, 404]
    assert ada[0].text == ada[1].text
