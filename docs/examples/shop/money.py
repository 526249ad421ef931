"""Money: exact decimals of one currency, which is named here and nowhere else."""

from decimal import Decimal
from typing import Annotated, Final

from pydantic import Field, PlainSerializer

CURRENCY: Final = "EUR"
SIGN: Final = "€"


def plain(amount: Decimal) -> str:
    """Return an amount as programs take it: ``6.50``."""
    return f"{amount:.2f}"


def shown(amount: Decimal) -> str:
    """Return an amount as people read it: ``€ 6.50``."""
    return f"{SIGN} {amount:,.2f}"


# DynamoDB keeps a decimal exact, but drops the zeros at its end: the JSON that goes out gets them back.
Money = Annotated[
    Decimal,
    PlainSerializer(plain, return_type=str, when_used="json"),
    Field(description=f"An amount in {CURRENCY}."),
]
Price = Annotated[Money, Field(gt=0, max_digits=8, decimal_places=2)]
