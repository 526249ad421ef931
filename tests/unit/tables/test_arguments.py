"""What is given to ``session.tables`` by mistake is named, with a remedy, before anything is sent."""

import asyncio

import pytest

from dynamap_async import Attr, Model, PartitionKey, Session, Throughput, attr
from dynamap_async.errors import OperationError


class Tweet(Model, table="tweets"):
    id: PartitionKey[str]
    text: Attr[str] = attr(default="")


class Silent:
    """A service that is not to be asked."""

    max_connections = 64

    def __init__(self):
        self.requests = []

    async def open(self):
        pass

    async def close(self):
        pass

    async def send(self, request):
        self.requests.append(request)
        return {}


def refusal(use):
    """Return why ``use``, given ``session.tables``, is refused; nothing may have been sent."""
    service = Silent()

    async def main():
        async with Session(transport=service) as session:
            with pytest.raises(OperationError) as raised:
                await use(session.tables)
        return str(raised.value)

    message = asyncio.run(main())
    assert not service.requests
    return message


CALLS = {
    "create": lambda tables, given, **more: tables.create(given, **more),
    "create, after a model": lambda tables, given, **more: tables.create(Tweet, given, **more),
    "delete": lambda tables, given, **more: tables.delete(given, **more),
    "exists": lambda tables, given, **more: tables.exists(given, **more),
    "describe": lambda tables, given, **more: tables.describe(given, **more),
    "plan": lambda tables, given, **more: tables.plan(given, **more),
    "verify": lambda tables, given, **more: tables.verify(given, **more),
    "ensure": lambda tables, given, **more: tables.ensure(given, **more),
    "update_time_to_live": lambda tables, given, **more: tables.update_time_to_live(given, **more),
    "update_throughput": lambda tables, given, **more: tables.update_throughput(given, throughput=None, **more),
}


@pytest.mark.parametrize("more", [{}, {"period": "2024-01"}], ids=["now", "a period"])
@pytest.mark.parametrize("given", [[Tweet], "tweets", Tweet(id="a"), int, None], ids=repr)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_what_is_no_model_is_refused_by_name(call, given, more):
    message = refusal(lambda tables: call(tables, given, **more))
    assert message == (
        f"{given!r} is neither a model nor a Table; pass the classes themselves, as in create(Tweet, Follow)"
    )


@pytest.mark.parametrize("given", [5, {"read": 5, "write": 5}, Throughput], ids=repr)
@pytest.mark.parametrize("call", ["create", "update_throughput"])
def test_what_is_no_throughput_is_refused_by_name(call, given):
    message = refusal(lambda tables: getattr(tables, call)(Tweet, throughput=given))
    assert message == f"throughput={given!r} is not a Throughput; write Throughput(read=10, write=2)"
