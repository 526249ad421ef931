"""What a ``LocalEngine`` does as DynamoDB does it, and a program finds out in production otherwise."""

import math
import re
from contextlib import closing
from datetime import UTC, datetime, timedelta

import boto3
import pytest

from dynamap_async import Attr, GlobalIndex, Model, PartitionKey, TimeToLive
from dynamap_async.errors import ConfigurationError
from dynamap_async.testing import Durations, FrozenClock, LocalEngine, StreamShards

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Login(Model, table="logins"):
    user: PartitionKey[str]
    city: Attr[str]
    ends: TimeToLive[datetime | None] = None

    by_city = GlobalIndex(partition_key="city")


@pytest.mark.asyncio
@pytest.mark.parametrize("over", ["process", "http"])
async def test_a_program_that_reads_its_own_writes_from_an_index_fails_with_a_lag(over):
    clock = FrozenClock(NOON)
    login = Login(user="ada", city="London")
    async with LocalEngine(models=[Login], clock=clock, lag=0.2) as engine, engine.session(over=over) as session:
        await session.put(login)
        assert await session.query(Login).where(Login.city == "London") == []
        assert await session.find(Login, "ada") is None
        assert await session.find(Login, "ada", consistent_read=True) == login
        clock.advance(0.2)
        assert await session.query(Login).where(Login.city == "London") == [login]
        assert await session.find(Login, "ada") == login


@pytest.mark.asyncio
async def test_expired_items_are_deleted_within_two_days(tmp_path):
    clock = FrozenClock(NOON)
    login = Login(user="ada", city="London", ends=NOON + timedelta(hours=1))
    file = tmp_path / "dev.json"
    async with LocalEngine(models=[Login], clock=clock, expire=True, data=file) as engine, engine.session() as session:
        await session.put(login)
        clock.advance(timedelta(hours=1))
        assert await session.find(Login, "ada") == login
    async with LocalEngine(clock=clock, expire=True, data=file) as engine, engine.session() as session:
        clock.advance(1)
        assert await session.find(Login, "ada") == login
        clock.advance(timedelta(days=2))
        assert await session.find(Login, "ada") is None


def test_a_table_is_exported_to_a_folder_and_imported_from_it(tmp_path):
    keys = {"aws_access_key_id": "local", "aws_secret_access_key": "local", "region_name": "eu-west-1"}
    with LocalEngine(models=[Login], buckets={"backup": tmp_path}) as engine:
        items = [{"user": {"S": f"u{number}"}, "city": {"S": "London"}} for number in range(9)]
        engine.load("logins", items)
        client = boto3.client("dynamodb", endpoint_url=engine.endpoint_url, **keys)
        with closing(client):
            client.update_continuous_backups(
                TableName="logins", PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True}
            )
            arn = client.describe_table(TableName="logins")["Table"]["TableArn"]
            export = client.export_table_to_point_in_time(TableArn=arn, S3Bucket="backup")["ExportDescription"]
            done = client.describe_export(ExportArn=export["ExportArn"])["ExportDescription"]
            assert (done["ExportStatus"], done["ItemCount"]) == ("COMPLETED", 9)
            folder = done["ExportManifest"].rpartition("/")[0]
            imported = client.import_table(
                S3BucketSource={"S3Bucket": "backup", "S3KeyPrefix": f"{folder}/data/"},
                InputFormat="DYNAMODB_JSON",
                InputCompressionType="GZIP",
                TableCreationParameters={
                    "TableName": "copies",
                    "KeySchema": [{"AttributeName": "user", "KeyType": "HASH"}],
                    "AttributeDefinitions": [{"AttributeName": "user", "AttributeType": "S"}],
                    "BillingMode": "PAY_PER_REQUEST",
                },
            )["ImportTableDescription"]
            done = client.describe_import(ImportArn=imported["ImportArn"])["ImportTableDescription"]
            assert (done["ImportStatus"], done["ImportedItemCount"]) == ("COMPLETED", 9)
        assert engine.items("copies") == engine.items("logins")


@pytest.mark.parametrize(
    ("setting", "remedy"),
    [
        ({"buckets": "folder"}, "'folder' names no buckets; write {'backup': 'folder'}"),
        ({"buckets": {"backup": ""}}, "the bucket 'backup' has no folder: ''"),
        ({"lag": -1}, "lag=-1 is not a number of seconds, 0 or more; write lag=0.2"),
        ({"lag": True}, "lag=True is not a number"),
        ({"lag": float("nan")}, "lag=nan is not a number"),
        ({"expire": "60"}, "expire='60' is not a number of seconds, 0 or more; write expire=True for two days"),
        ({"expire": float("inf")}, "expire=inf is not a number"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_with_the_remedy(setting, remedy):
    with pytest.raises(ConfigurationError, match=re.escape(remedy)):
        LocalEngine(**setting)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"streams": True}, "streams=True is no StreamShards; write streams=StreamShards()"),
        ({"streams": StreamShards(splits=3.0)}, "splits=3.0 is no list of seconds"),
        ({"capacity": 5}, "capacity=5 is no Capacity; write capacity=Capacity()"),
        ({"durations": 5.0}, "durations=5.0 is no Durations; write durations=Durations()"),
        ({"durations": Durations(backfill=math.nan)}, "backfill=nan"),
        ({"durations": Durations(backfill=(1.0, math.inf))}, "backfill="),
        ({"durations": Durations(backfill=(1.0, 2.0, 3.0))}, "backfill="),
        ({"durations": Durations(create_table=(3, 1))}, "create_table=(3, 1) begins with the highest; write (1, 3)"),
    ],
)
def test_a_mode_that_cannot_be_is_refused_with_what_to_write(wrong, text):
    with pytest.raises(ConfigurationError, match=re.escape(text)):
        LocalEngine(**wrong)


@pytest.mark.parametrize("what", ["log", "refusals", "stream_calls"])
def test_what_an_engine_tells_of_a_mode_that_is_off_is_empty(what):
    with LocalEngine() as engine:
        assert getattr(engine, what) == ()
    with pytest.raises(ConfigurationError, match="is not running"):
        getattr(engine, what)
