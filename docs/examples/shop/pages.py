"""The pages, made on the server. All of them work without JavaScript: "More" then leads to another page."""

from decimal import Decimal
from pathlib import Path
from typing import Annotated, Final
from uuid import UUID, uuid4

from fastapi import APIRouter, Cookie, Depends, Form, HTTPException, Request, Response
from fastapi.responses import RedirectResponse
from fastapi.templating import Jinja2Templates
from pydantic import BaseModel, Field

from dynamap_async import Parts
from dynamap_async.errors import VersionConflictError
from dynamap_async.integrations.fastapi import OpenSession
from shop.baskets import put_in_basket, read_basket
from shop.models import Category, Order, Product
from shop.money import Money, Price, plain, shown
from shop.orders import NewOrder, UnavailableError, find_order, place_order

router = APIRouter()
templates = Jinja2Templates(
    Path(__file__).with_name("templates"), context_processors=[lambda _: {"categories": list(Category)}]
)
templates.env.filters |= {"plain": plain, "money": shown}
ON_A_PAGE: Final = 6


class Visitor:
    """Who asks for a page. The cookie stands where your own sign-in would be."""

    def __init__(
        self, request: Request, session: OpenSession, customer: Annotated[str, Cookie(min_length=1)] = "ada"
    ) -> None:
        self.customer_id = customer
        self.session = session
        self._request = request

    def page(self, template: str, *, refusal: str | None = None, **context: object) -> Response:
        """Render a page; with a refusal, as the answer 409."""
        context |= {"customer_id": self.customer_id, "refusal": refusal}
        return templates.TemplateResponse(self._request, template, context, status_code=409 if refusal else 200)


CurrentVisitor = Annotated[Visitor, Depends()]


class Choice(BaseModel):
    """The form that puts a product into the basket, changes how many it holds, or with 0 takes them out."""

    product_id: str
    count: int = Field(ge=0, le=99)


class Purchase(BaseModel):
    """The form that orders what is in the basket: the order's id makes a second click harmless."""

    order_id: UUID
    total: Money


class Repricing(BaseModel):
    """The form that changes a price."""

    product_id: str
    price: Price
    version: int


@router.get("/")
async def browse(visitor: CurrentVisitor, category: Category = Category.TEA, after: str | None = None) -> Response:
    """Show a category, and what the customer has ordered."""
    return await category_page(visitor, category, after=after)


@router.post("/price")
async def reprice(
    visitor: CurrentVisitor, change: Annotated[Repricing, Form()], category: Category = Category.TEA
) -> Response:
    """Change a price, and return to the category."""
    update = visitor.session.update(Product, Parts(product_id=change.product_id)).set(Product.price, change.price)
    try:
        await update.expect_version(change.version)
    except VersionConflictError:
        refusal = "Somebody else changed this product meanwhile. This is how it is now; look, and try again."
        return await category_page(visitor, category, refusal=refusal)
    return RedirectResponse(f"/?category={category}", status_code=303)


@router.get("/basket")
async def basket(visitor: CurrentVisitor) -> Response:
    """Show the basket."""
    return await basket_page(visitor)


@router.post("/basket")
async def choose(visitor: CurrentVisitor, choice: Annotated[Choice, Form()]) -> Response:
    """Change the basket, and show it. A second click changes nothing more."""
    await put_in_basket(visitor.session, visitor.customer_id, choice.product_id, choice.count)
    return RedirectResponse("/basket", status_code=303)


@router.post("/orders")
async def order(visitor: CurrentVisitor, purchase: Annotated[Purchase, Form()]) -> Response:
    """Order what is in the basket, and show the order."""
    lines = await read_basket(visitor.session, visitor.customer_id)
    if lines:  # otherwise the first click has emptied it
        counts = {line.product_id: line.count for line in lines}
        wanted = NewOrder(
            order_id=purchase.order_id, customer_id=visitor.customer_id, counts=counts, total=purchase.total
        )
        try:
            await place_order(visitor.session, wanted, basket=lines)
        except UnavailableError as error:
            return await basket_page(visitor, refusal=f"{error}. Nothing was ordered.")
    return RedirectResponse(f"/orders/{purchase.order_id}", status_code=303)


@router.get("/orders/{order_id}")
async def read_order(visitor: CurrentVisitor, order_id: UUID) -> Response:
    """Show an order of the customer."""
    session, customer_id = visitor.session, visitor.customer_id
    found, lines = await session.gather(find_order(session, order_id), read_basket(session, customer_id))
    if found is None or found.order.customer_id != customer_id:
        raise HTTPException(404, "You have no such order.")
    products = await session.get_many(Product, [Parts(product_id=line.product_id) for line in found.lines])
    ordered = list(zip(found.lines, products, strict=True))
    return visitor.page("order.html", basket=lines, order=found.order, ordered=ordered)


async def category_page(
    visitor: Visitor, category: Category, *, after: str | None = None, refusal: str | None = None
) -> Response:
    """Render a category, and the customer's latest orders."""
    session, customer_id = visitor.session, visitor.customer_id
    products, orders, lines = await session.gather(
        session.query(Product).where(Product.category == category).page(size=ON_A_PAGE, after=after),
        session.query(Order).where(Order.customer_id == customer_id).descending().limit(5),
        read_basket(session, customer_id),
    )
    return visitor.page(
        "category.html", refusal=refusal, basket=lines, category=category, products=products, orders=orders
    )


async def basket_page(visitor: Visitor, *, refusal: str | None = None) -> Response:
    """Render the basket, at the prices of this moment."""
    lines = await read_basket(visitor.session, visitor.customer_id)
    products = await visitor.session.get_many(Product, [Parts(product_id=line.product_id) for line in lines])
    chosen = list(zip(lines, products, strict=True))
    total = sum((product.price * line.count for line, product in chosen if product), start=Decimal(0))
    return visitor.page("basket.html", refusal=refusal, basket=lines, chosen=chosen, total=total, order_id=uuid4())
