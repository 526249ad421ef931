"""The JSON API. The models are what it answers with."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, HTTPException
from pydantic import BaseModel

from dynamap_async import Parts
from dynamap_async.integrations.fastapi import CursorPage, OpenSession, PageRequest, error_responses, paging
from shop.models import Category, Order, Product
from shop.money import Price
from shop.orders import NewOrder, WholeOrder, find_order, place_order

router = APIRouter()


class NewPrice(BaseModel):
    """A change of a price, by somebody who has seen this version of the product."""

    price: Price
    version: int


@router.get("/products", responses=error_responses(400))
async def list_products(
    session: OpenSession, category: Category, asked: Annotated[PageRequest, Depends(paging(size=20, most=100))]
) -> CursorPage[Product]:
    """List a category by name, page by page."""
    products = session.query(Product).where(Product.category == category)
    return asked.response(await products.page(size=asked.size, after=asked.after))


@router.get("/products/{product_id}", responses=error_responses(404))
async def read_product(product_id: str, session: OpenSession) -> Product:
    """Read one product. Concurrent requests share calls to DynamoDB."""
    return await session.get(Product, Parts(product_id=product_id))


@router.patch("/products/{product_id}", responses=error_responses(404, 409))
async def change_price(product_id: str, change: NewPrice, session: OpenSession) -> Product:
    """Change a price, unless the product was changed since the client has seen it: that is a 409."""
    key = Parts(product_id=product_id)
    return await session.update(Product, key).set(Product.price, change.price).expect_version(change.version)


@router.post("/orders", status_code=201, responses=error_responses(404, 409))
async def order(wanted: NewOrder, session: OpenSession) -> Order:
    """Place an order: all of it or nothing."""
    return await place_order(session, wanted)


@router.get("/orders/{order_id}", responses=error_responses(404))
async def read_order(order_id: UUID, session: OpenSession) -> WholeOrder:
    """Read an order with its lines."""
    found = await find_order(session, order_id)
    if found is None:
        raise HTTPException(404, "There is no such order.")
    return found
