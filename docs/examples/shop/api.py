"""The JSON API. What clients see are views: the table's keys are nobody's business outside."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, HTTPException
from pydantic import BaseModel

from dynamap_async import Parts
from dynamap_async.integrations.fastapi import CursorPage, OpenSession, PageRequest, error_responses, paging
from shop.models import Category, Order, OrderLine, Price, Product
from shop.orders import Basket, place_order

router = APIRouter(prefix="/api")


class ProductView(BaseModel):
    """A product as clients see it. The version goes back with a change."""

    product_id: str
    category: Category
    name: str
    price: Decimal
    stock: int
    version: int


class NewPrice(BaseModel):
    """A change of a price, by somebody who has seen this version of the product."""

    price: Price
    version: int


class LineView(BaseModel):
    """One product of an order."""

    product_id: str
    count: int
    price: Decimal


class OrderView(BaseModel):
    """An order, without its lines."""

    order_id: UUID
    customer_id: str
    placed: datetime
    total: Decimal


class WholeOrder(BaseModel):
    """An order with its lines."""

    order: OrderView
    lines: list[LineView]


@router.get("/products", responses=error_responses(400), response_model=CursorPage[ProductView])
async def list_products(
    session: OpenSession, category: Category, asked: Annotated[PageRequest, Depends(paging(size=20, most=100))]
) -> CursorPage[Product]:
    """List a category by name, page by page."""
    products = session.query(Product).where(Product.category == category)
    return asked.response(await products.page(size=asked.size, after=asked.after))


@router.get("/products/{product_id}", responses=error_responses(404), response_model=ProductView)
async def read_product(product_id: str, session: OpenSession) -> Product:
    """Read one product. Concurrent requests share calls to DynamoDB."""
    return await session.get(Product, Parts(product_id=product_id))


@router.patch("/products/{product_id}", responses=error_responses(404, 409), response_model=ProductView)
async def change_price(product_id: str, change: NewPrice, session: OpenSession) -> Product:
    """Change a price, unless the product was changed since the client has seen it: that is a 409."""
    key = Parts(product_id=product_id)
    return await session.update(Product, key).set(Product.price, change.price).expect_version(change.version)


@router.post("/orders", status_code=201, responses=error_responses(404, 409), response_model=OrderView)
async def order(basket: Basket, session: OpenSession) -> Order:
    """Place an order: all of it or nothing."""
    return await place_order(session, basket)


@router.get("/orders/{order_id}", responses=error_responses(404), response_model=WholeOrder)
async def read_order(order_id: UUID, session: OpenSession) -> dict[str, object]:
    """Read an order with its lines, in one query."""
    found = await session.query(Order, OrderLine).where(Order.order_id == order_id).grouped()
    if not found[Order]:
        raise HTTPException(404, "There is no such order.")
    return {"order": found[Order][0], "lines": found[OrderLine]}
