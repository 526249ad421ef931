"""What answers DescribeTable and is no DynamoDB is told of, with a remedy."""

import asyncio

import pytest

from dynamap_async import Model, PartitionKey, RetryPolicy, Session
from dynamap_async.errors import DamagedResponseError, Outcome


class Tweet(Model, table="tweets"):
    id: PartitionKey[str]


class Stranger:
    """A server that answers anything in the same way."""

    max_connections = 64

    def __init__(self, answer):
        self.answer = answer

    async def open(self):
        pass

    async def close(self):
        pass

    async def send(self, request):
        return self.answer


CALLS = {
    "exists": lambda tables: tables.exists(Tweet),
    "describe": lambda tables: tables.describe(Tweet),
    "update_throughput": lambda tables: tables.update_throughput(Tweet, throughput=None),
    "create": lambda tables: tables.create(Tweet),
}


@pytest.mark.parametrize(
    "answer", [{}, {"message": "hello"}, {"Table": None}, {"Table": []}, {"Table": "x"}, {"Table": {}}], ids=str
)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_description_that_is_none_says_to_check_the_endpoint(call, answer):
    async def main():
        async with Session(transport=Stranger(answer), retry=RetryPolicy(max_attempts=1)) as session:
            await call(session.tables)

    with pytest.raises(
        DamagedResponseError, match="'tweets': the answer does not have .* check the endpoint"
    ) as raised:
        asyncio.run(main())
    error = raised.value
    assert error.operation in ("CreateTable", "DescribeTable")
    assert (error.table, error.outcome) == ("tweets", Outcome.UNKNOWN)


def test_recovery_of_which_no_period_is_told_reaches_as_far_back_as_any_does():
    told = {
        "PointInTimeRecoveryStatus": "ENABLED",
        "EarliestRestorableDateTime": 1.7e9,
        "LatestRestorableDateTime": 1.8e9,
    }

    async def main():
        answer = {"ContinuousBackupsDescription": {"PointInTimeRecoveryDescription": told}}
        async with Session(transport=Stranger(answer)) as session:
            return await session.tables.backups.recovery(Tweet)

    assert asyncio.run(main()).days == 35
