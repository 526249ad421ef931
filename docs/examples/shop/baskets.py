"""Baskets: what customers are about to order, stored beside them in the table."""

from typing import Final

from dynamap_async import Parts, Session
from shop.models import BasketLine, Product

MOST_PRODUCTS: Final = 20
"""Of an order: it is one transaction, which has room for 100 actions, and each product takes three."""


async def read_basket(session: Session, customer_id: str) -> list[BasketLine]:
    """Return what is in a basket. Beyond 20 products, the others come into sight when these are ordered."""
    lines = session.query(BasketLine).where(BasketLine.customer_id == customer_id)
    return await lines.consistent().limit(MOST_PRODUCTS)


async def put_in_basket(session: Session, customer_id: str, product_id: str, count: int) -> None:
    """Let a basket hold so many of a product, whatever it held before; 0 takes the product out.

    Raises:
        ItemNotFoundError: there is no such product.
    """
    if count == 0:
        await session.delete(BasketLine, Parts(customer_id=customer_id, product_id=product_id))
        return
    await session.get(Product, Parts(product_id=product_id))
    await session.put(BasketLine(customer_id=customer_id, product_id=product_id, count=count))
