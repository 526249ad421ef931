"""What runs once on the shop's table: ``dynamap migrate``, in the order of the ids, and by one process at a time."""

from dynamap_async import Parts, Session
from dynamap_async.migrations import Migration, migration
from shop.models import BasketLine, Customer, OrderLine


@migration("2026-11-prices-of-lines")
async def prices_of_lines(session: Session, _run: Migration) -> None:
    """Store the lines of the first year as present ones; until then they are upgraded whenever they are read."""
    await session.upgrade(OrderLine)


@migration("2026-12-baskets-of-nobody")
async def baskets_of_nobody(session: Session, run: Migration) -> None:
    """Empty the baskets of customers who are gone. Done twice, it does no harm."""
    async for line in run.scan(BasketLine):
        if await session.find(Customer, Parts(customer_id=line.customer_id)) is None:
            await session.delete(line)
