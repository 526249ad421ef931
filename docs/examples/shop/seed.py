"""A little data to begin with."""

from decimal import Decimal
from typing import Final

from dynamap_async import Session
from shop.models import SHOP, Category, Customer, Product
from shop.orders import Basket, place_order

STOCK: Final = {
    Category.TEA: (
        ("Assam", "6.50"),
        ("Ceylon", "5.90"),
        ("Darjeeling", "8.20"),
        ("Earl Grey", "6.80"),
        ("Genmaicha", "7.40"),
        ("Jasmine", "7.10"),
        ("Lapsang", "9.00"),
        ("Oolong", "11.50"),
        ("Rooibos", "4.90"),
        ("Sencha", "8.80"),
    ),
    Category.COFFEE: (("Bourbon", "12.00"), ("Java", "9.80"), ("Mocha", "13.40"), ("Robusta", "7.60")),
    Category.CHOCOLATE: (("Dark", "3.20"), ("Milk", "2.80"), ("White", "2.90")),
}


async def prepare(session: Session) -> None:
    """Create the table with its first items, unless it exists."""
    if await session.tables.exists(SHOP):
        return
    await session.tables.create(SHOP)
    await session.put_many(
        [
            Product(
                product_id=name.lower().replace(" ", "-"),
                category=category,
                name=name,
                price=Decimal(price),
                stock=(5 + 7 * number) % 20,
            )
            for category, products in STOCK.items()
            for number, (name, price) in enumerate(products)
        ]
    )
    await session.put_many([Customer(customer_id="ada", name="Ada"), Customer(customer_id="bob", name="Bob")])
    await place_order(session, Basket(customer_id="ada", counts={"assam": 1, "dark": 2}))
    await place_order(session, Basket(customer_id="ada", counts={"java": 1, "dark": 1, "sencha": 2}))
    await place_order(session, Basket(customer_id="bob", counts={"assam": 2}))
