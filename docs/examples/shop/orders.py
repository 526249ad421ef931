"""Orders: placed as a whole or not at all, and once however often the button is pressed."""

from collections.abc import Sequence
from decimal import Decimal
from uuid import UUID, uuid4

from pydantic import BaseModel, Field

from dynamap_async import Parts, Session
from dynamap_async.errors import TransactionCanceledError
from shop.baskets import MOST_PRODUCTS
from shop.models import BasketLine, Count, Customer, Order, OrderLine, Product
from shop.money import Money


class NewOrder(BaseModel):
    """How many of which product a customer orders. The client chooses the order's id, and so may send it again."""

    order_id: UUID = Field(default_factory=uuid4)
    customer_id: str = Field(min_length=1)
    counts: dict[str, Count] = Field(min_length=1, max_length=MOST_PRODUCTS)
    total: Money | None = Field(default=None, description="What the customer expects to pay; any other is refused.")


class WholeOrder(BaseModel):
    """An order with its lines."""

    order: Order
    lines: list[OrderLine]


class UnavailableError(Exception):
    """A product is gone, its stock does not suffice, or a price or the basket has changed. Nothing was ordered."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(f"Sold out, or just changed: {', '.join(names)}")


async def place_order(session: Session, wanted: NewOrder, *, basket: Sequence[BasketLine] = ()) -> Order:
    """Place an order: take its products from the stock, and what is ordered out of the basket.

    If this order was placed before, it is returned as it is, and nothing is changed.

    Args:
        session: an open session.
        wanted: what is ordered.
        basket: the lines of the basket that become the order, as they were read.

    Raises:
        ItemNotFoundError: there is no such customer.
        UnavailableError: a product is not there, or not in that number, or not at the expected price; or the basket
            was changed meanwhile.

    Cost: one BatchGetItem and one TransactWriteItems.
    """
    # Awaited together, these reads are one request.
    placed, _, found = await session.gather(
        session.find(Order, Parts(order_id=wanted.order_id)),
        session.get(Customer, Parts(customer_id=wanted.customer_id)),
        session.get_many(Product, [Parts(product_id=product_id) for product_id in wanted.counts]),
    )
    if placed is not None and placed.customer_id == wanted.customer_id:
        return placed
    products = [product for product in found if product is not None]
    if len(products) < len(found):
        raise UnavailableError(sorted(wanted.counts.keys() - {product.product_id for product in products}))
    total = sum((product.price * wanted.counts[product.product_id] for product in products), start=Decimal(0))
    if wanted.total not in (None, total):
        raise UnavailableError(["the total"])
    order = Order(order_id=wanted.order_id, customer_id=wanted.customer_id, total=total)
    try:
        async with session.transaction() as tx:
            tx.create(order)
            for number, product in enumerate(products, start=1):
                product_id, price, count = product.product_id, product.price, wanted.counts[product.product_id]
                stock = tx.update(Product, Parts(product_id=product_id)).add(Product.stock, -count)
                stock.where(Product.stock >= count, Product.price == price)
                tx.create(
                    OrderLine(order_id=order.order_id, number=number, product_id=product_id, count=count, price=price)
                )
            for line in basket:
                tx.delete(line, where=BasketLine.count == line.count)
    except TransactionCanceledError as error:
        return placed_before(order, error)
    return order


def placed_before(order: Order, error: TransactionCanceledError) -> Order:
    """Return the stored order, if the same one was placed at the same time; otherwise raise why nothing was ordered."""
    for reason in error.failures:  # each has the stored item whose condition failed
        if isinstance(reason.item, Order) and reason.item.customer_id == order.customer_id:
            return reason.item
    names = [reason.item.name for reason in error.failures if isinstance(reason.item, Product)]
    if any(reason.model == BasketLine.__name__ for reason in error.failures):
        names.append("your basket")
    if names:
        raise UnavailableError(names) from error
    raise error


async def find_order(session: Session, order_id: UUID) -> WholeOrder | None:
    """Return an order with its lines, read in one query; None if there is no such order."""
    found = await session.query(Order, OrderLine).where(Order.order_id == order_id).consistent().grouped()
    return WholeOrder(order=found[Order][0], lines=found[OrderLine]) if found[Order] else None
