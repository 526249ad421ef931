"""The GraphQL endpoint. Each field loads what it needs by a loader, so that a whole answer costs few requests."""

from datetime import datetime
from decimal import Decimal
from uuid import UUID

import strawberry
from strawberry.extensions import MaskErrors, QueryDepthLimiter
from strawberry.fastapi import BaseContext, GraphQLRouter
from strawberry.schema.config import StrawberryConfig

from dynamap_async import Parts, Session
from dynamap_async.integrations.fastapi import OpenSession
from shop.models import Customer, Order, OrderLine, Product
from shop.money import CURRENCY, plain


class Loaders(BaseContext):
    """The loaders of one web request: what one of them has read, it does not read again."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.customers = session.loader(Customer)
        self.products = session.loader(Product)
        self.orders = session.loader(Order, by=Order.customer_id, descending=True, limit=20)
        self.lines = session.loader(OrderLine, by=OrderLine.order_id)


Info = strawberry.Info[Loaders, None]


@strawberry.type(name="Product")
class ProductNode:
    """A product."""

    product_id: strawberry.ID
    name: str
    price: Decimal
    stock: int

    @classmethod
    async def load(cls, info: Info, product_id: str) -> "ProductNode | None":
        """Load one by its key: all that are wanted at the same time are one BatchGetItem."""
        found = await info.context.products.load(Parts(product_id=product_id))
        if found is None:
            return None
        return cls(product_id=strawberry.ID(found.product_id), name=found.name, price=found.price, stock=found.stock)


@strawberry.type(name="OrderLine")
class LineNode:
    """One product of an order, at the price of that day."""

    count: int
    price: Decimal
    product_id: strawberry.Private[str]

    @strawberry.field
    async def product(self, info: Info) -> ProductNode | None:
        """The product as it is today."""
        return await ProductNode.load(info, self.product_id)


@strawberry.type(name="Order")
class OrderNode:
    """What a customer bought at one time."""

    order_id: UUID
    placed: datetime
    total: Decimal

    @strawberry.field
    async def lines(self, info: Info) -> list[LineNode]:
        """Its lines: one query for each order, all at the same time."""
        lines = await info.context.lines.load(self.order_id)
        return [LineNode(count=line.count, price=line.price, product_id=line.product_id) for line in lines]


@strawberry.type(name="Customer")
class CustomerNode:
    """Who buys."""

    customer_id: strawberry.ID
    name: str

    @strawberry.field
    async def orders(self, info: Info) -> list[OrderNode]:
        """The latest orders, at most 20."""
        orders = await info.context.orders.load(self.customer_id)
        return [OrderNode(order_id=order.order_id, placed=order.placed, total=order.total) for order in orders]


@strawberry.type
class Query:
    """Where a question begins."""

    @strawberry.field
    async def customer(self, info: Info, customer_id: strawberry.ID) -> CustomerNode | None:
        """One customer."""
        found = await info.context.customers.load(Parts(customer_id=customer_id))
        return found if found is None else CustomerNode(customer_id=strawberry.ID(found.customer_id), name=found.name)

    @strawberry.field
    async def product(self, info: Info, product_id: strawberry.ID) -> ProductNode | None:
        """One product."""
        return await ProductNode.load(info, product_id)


async def loaders(session: OpenSession) -> Loaders:
    """Make the context of one web request."""
    return Loaders(session)


money = strawberry.scalar(name="Money", description=f"An amount in {CURRENCY}.", serialize=plain, parse_value=Decimal)
schema = strawberry.Schema(
    Query,
    config=StrawberryConfig(scalar_map={Decimal: money}),
    # An error's text goes into the server's log and not to the client, and a query has at most eight levels.
    extensions=[MaskErrors, lambda: QueryDepthLimiter(max_depth=8)],
)
router: GraphQLRouter[Loaders, None] = GraphQLRouter(schema, path="/graphql", context_getter=loaders)
