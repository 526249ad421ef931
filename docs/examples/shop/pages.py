"""The page to browse the shop, made on the server. Without JavaScript it works too: "More" is then another page."""

from pathlib import Path
from typing import Annotated, Final
from uuid import UUID, uuid4

from fastapi import APIRouter, Cookie, Depends, Form, Request, Response
from fastapi.responses import RedirectResponse
from fastapi.templating import Jinja2Templates
from pydantic import BaseModel, Field

from dynamap_async import Parts, Session
from dynamap_async.errors import VersionConflictError
from dynamap_async.integrations.fastapi import OpenSession
from shop.models import Category, Order, Price, Product
from shop.orders import Basket, UnavailableError, place_order

router = APIRouter(include_in_schema=False)
templates = Jinja2Templates(Path(__file__).with_name("templates"))


async def signed_in(customer: Annotated[str, Cookie()] = "ada") -> str:
    """Return who is shopping. This stands where your own sign-in would be."""
    return customer


CustomerId = Annotated[str, Depends(signed_in)]
ON_A_PAGE: Final = 6


class Purchase(BaseModel):
    """The form of the button that buys. Its order id makes a second click harmless."""

    order_id: UUID
    product_id: str
    count: int = Field(ge=1, le=99)


class Repricing(BaseModel):
    """The form that changes a price."""

    product_id: str
    price: Price
    version: int


@router.get("/")
async def browse(
    request: Request,
    session: OpenSession,
    customer_id: CustomerId,
    category: Category = Category.TEA,
    after: str | None = None,
) -> Response:
    """Show a category, and what the customer has ordered."""
    return await show(request, session, customer_id, category, after=after)


@router.post("/buy")
async def buy(
    request: Request,
    session: OpenSession,
    customer_id: CustomerId,
    purchase: Annotated[Purchase, Form()],
    category: Category = Category.TEA,
) -> Response:
    """Order one product, and return to the page."""
    basket = Basket(order_id=purchase.order_id, customer_id=customer_id, counts={purchase.product_id: purchase.count})
    try:
        await place_order(session, basket)
    except UnavailableError as error:
        return await show(request, session, customer_id, category, refusal=f"{error}.")
    return RedirectResponse(f"/?category={category}", status_code=303)


@router.post("/price")
async def reprice(
    request: Request,
    session: OpenSession,
    customer_id: CustomerId,
    change: Annotated[Repricing, Form()],
    category: Category = Category.TEA,
) -> Response:
    """Change a price, and return to the page."""
    key = Parts(product_id=change.product_id)
    try:
        await session.update(Product, key).set(Product.price, change.price).expect_version(change.version)
    except VersionConflictError:
        refusal = "Somebody else changed this product meanwhile. This is how it is now; look, and try again."
        return await show(request, session, customer_id, category, refusal=refusal)
    return RedirectResponse(f"/?category={category}", status_code=303)


async def show(
    request: Request,
    session: Session,
    customer_id: str,
    category: Category,
    *,
    after: str | None = None,
    refusal: str | None = None,
) -> Response:
    """Render the page; with a refusal, as the answer 409."""
    products, orders = await session.gather(
        session.query(Product).where(Product.category == category).page(size=ON_A_PAGE, after=after),
        session.query(Order).where(Order.customer_id == customer_id).descending().limit(5),
    )
    context = {
        "categories": list(Category),
        "category": category,
        "customer_id": customer_id,
        "products": products.items,
        "after": products.cursor,
        "orders": orders,
        "new_order_id": uuid4,
        "refusal": refusal,
    }
    return templates.TemplateResponse(request, "shop.html", context, status_code=409 if refusal else 200)
