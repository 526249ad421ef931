"""Placing an order: all of it or nothing, and once however often the button is pressed."""

from decimal import Decimal
from typing import Annotated
from uuid import UUID, uuid4

from pydantic import BaseModel, Field

from dynamap_async import Parts, Session
from dynamap_async.errors import TransactionCanceledError
from shop.models import Customer, Order, OrderLine, Product


class Basket(BaseModel):
    """What a customer wants: how many of which product. The client chooses the order's id, and so may send it again."""

    order_id: UUID = Field(default_factory=uuid4)
    customer_id: str = Field(min_length=1)
    counts: dict[str, Annotated[int, Field(ge=1, le=99)]] = Field(min_length=1, max_length=20)


class UnavailableError(Exception):
    """A product is gone, its stock does not suffice, or its price has just changed. Nothing was ordered."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(f"Sold out, or just changed: {', '.join(names)}")
        self.names = names


async def place_order(session: Session, basket: Basket) -> Order:
    """Place an order, and take its products from the stock.

    Raises:
        ItemNotFoundError: there is no such customer.
        UnavailableError: a product is not there, or not in that number, or not at the price that was read.

    Cost: one BatchGetItem and one TransactWriteItems.
    """
    # Awaited together, these reads are one request.
    _, found = await session.gather(
        session.get(Customer, Parts(customer_id=basket.customer_id)),
        session.get_many(Product, [Parts(product_id=product_id) for product_id in basket.counts]),
    )
    products = [product for product in found if product is not None]
    if len(products) < len(found):
        raise UnavailableError(sorted(basket.counts.keys() - {product.product_id for product in products}))
    order = Order(
        order_id=basket.order_id,
        customer_id=basket.customer_id,
        total=sum((product.price * basket.counts[product.product_id] for product in products), start=Decimal(0)),
    )
    try:
        async with session.transaction() as tx:
            tx.create(order)
            for number, product in enumerate(products, start=1):
                product_id, price, count = product.product_id, product.price, basket.counts[product.product_id]
                stock = tx.update(Product, Parts(product_id=product_id)).add(Product.stock, -count)
                stock.where(Product.stock >= count, Product.price == price)
                tx.create(
                    OrderLine(order_id=order.order_id, number=number, product_id=product_id, count=count, price=price)
                )
    except TransactionCanceledError as error:
        return placed_before(order, error)
    return order


def placed_before(order: Order, error: TransactionCanceledError) -> Order:
    """Return the stored order, if the same basket was sent before; otherwise raise why nothing was ordered."""
    stored = [reason.item for reason in error.failures]  # of each action whose condition failed
    for item in stored:
        if isinstance(item, Order) and item.customer_id == order.customer_id:
            return item
    unavailable = [item.name for item in stored if isinstance(item, Product)]
    if unavailable:
        raise UnavailableError(unavailable) from error
    raise error
