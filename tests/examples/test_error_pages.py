"""Errors of the pages are pages; those of the API stay JSON."""

import pytest

pytestmark = pytest.mark.asyncio

NO_SUCH_ID = "00000000-0000-4000-8000-000000000000"
WRONG = [
    (
        "GET",
        "/?category=zzz",
        None,
        422,
        "category: Input should be &#39;tea&#39;, &#39;coffee&#39; or &#39;chocolate&#39;.",
    ),
    ("GET", "/?after=nonsense", None, 400, "The cursor is damaged"),
    ("GET", "/nothing", None, 404, "The shop has nothing at /nothing."),
    ("GET", "/static/nothing.css", None, 404, "The shop has nothing at /static/nothing.css."),
    ("DELETE", "/basket", None, 405, "Method Not Allowed"),
    ("GET", f"/orders/{NO_SUCH_ID}", None, 404, "You have no such order."),
    ("GET", "/orders/zzz", None, 422, "order_id: Input should be a valid UUID"),
    ("POST", "/orders", {"order_id": NO_SUCH_ID}, 422, "total: Field required."),
    ("POST", "/basket", {"product_id": "assam", "count": "many"}, 422, "count: Input should be a valid integer"),
    ("POST", "/basket", {"product_id": "assam", "count": "100"}, 422, "count: Input should be less than"),
    ("POST", "/basket", {"product_id": "nothing", "count": "1"}, 404, "The item does not exist."),
    ("POST", "/price", {"product_id": "assam", "price": "0", "version": "1"}, 422, "price: Input should be greater"),
]


def is_page(answer) -> bool:
    """Return whether an answer is one of the shop's pages, with a way back."""
    kind = answer.headers["Content-Type"]
    return kind.startswith("text/html") and "/static/shop.css" in answer.text and '<a href="/">' in answer.text


@pytest.mark.parametrize(
    ("method", "path", "form", "status", "said"), WRONG, ids=[f"{each[0]} {each[1]}" for each in WRONG]
)
async def test_what_cannot_be_done_is_answered_with_a_page_that_says_why(client, method, path, form, status, said):
    answer = await client.request(method, path, data=form)
    assert (answer.status_code, is_page(answer)) == (status, True)
    assert said in answer.text


async def test_a_database_that_cannot_be_reached_is_answered_with_a_page(client, faults):
    faults.on("Query").refuse_connection()
    answer = await client.get("/")
    assert (answer.status_code, answer.headers["Retry-After"], is_page(answer)) == (503, "1", True)
    assert "The database cannot be reached." in answer.text


@pytest.fixture
def impatient(patient, monkeypatch):
    monkeypatch.setattr("shop.app.PAGE_SECONDS", 0.1)


async def test_a_page_that_takes_too_long_is_answered_with_a_page(impatient, client, faults):
    faults.on("Query").delay(0.9)
    answer = await client.get("/")
    assert (answer.status_code, is_page(answer)) == (504, True)
    assert "The request took too long." in answer.text


async def test_a_fault_of_the_program_is_answered_with_a_page_that_keeps_it_secret(client, faults):
    faults.on("Query").reject("The table's secret")
    answer = await client.get("/")
    assert (answer.status_code, is_page(answer)) == (500, True)
    assert "It is not your fault" in answer.text
    assert "secret" not in answer.text


async def test_errors_of_the_api_are_json(client, faults):
    faults.on("Query").refuse_connection()
    paths = ("/api/nothing", "/api/products?category=zzz", "/api/products?category=tea", "/api/products/nothing")
    answers = [await client.get(path) for path in paths]
    assert [answer.status_code for answer in answers] == [404, 422, 503, 404]
    assert all("detail" in answer.json() for answer in answers)
