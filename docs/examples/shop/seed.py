"""A little data to begin with: products and customers from ``seed.json``, and a few orders."""

from pathlib import Path

from dynamap_async import Session
from dynamap_async.testing import read_items
from shop.models import SHOP, Customer, Product
from shop.orders import NewOrder, place_order


async def prepare(session: Session) -> None:
    """Create the table with its first items, unless it exists."""
    if await session.tables.exists(SHOP):
        return
    await session.tables.create(SHOP)
    await session.put_many(read_items(Path(__file__).with_name("seed.json"), Product, Customer))
    await place_order(session, NewOrder(customer_id="ada", counts={"assam": 1, "dark": 2}))
    await place_order(session, NewOrder(customer_id="ada", counts={"java": 1, "dark": 1, "sencha": 2}))
    await place_order(session, NewOrder(customer_id="bob", counts={"assam": 2}))
