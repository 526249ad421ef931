"""What mypy and pyright find of fields that may be ``MISSING``: a type of its own, as None is."""

from typing import assert_type

from pydantic import MISSING

from dynamap_async import Attr, Condition, Expr, Model, PartitionKey, Update, attr


class Customer(Model, table="customers"):
    id: PartitionKey[str]
    email: Attr[str | MISSING] = attr(default=MISSING)
    age: Attr[int | MISSING | None] = attr(default=MISSING)


def domain(customer: Customer) -> str:
    assert_type(customer.email, str | MISSING)
    customer.email.partition("@")  # type: ignore[union-attr]  # pyright: ignore[reportAttributeAccessIssue,reportUnknownMemberType]
    if customer.email is MISSING:
        return ""
    return customer.email.partition("@")[2]


def clear(customer: Customer) -> None:
    customer.email = customer.age = MISSING
    customer.email = None  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]


assert_type(Customer.email, Expr[str | MISSING])
assert_type(Customer.email == MISSING, Condition)
assert_type(Customer.age > 3, Condition)
Customer(id="a", email="ada@example.org", age=MISSING)
Update(Customer, "a").set(Customer.email, MISSING).set(Customer.age, None)
Update(Customer, "a").set(Customer.email, None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType, reportCallIssue]
