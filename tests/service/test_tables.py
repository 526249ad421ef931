"""Tables made from models on real engines, described, and deleted again."""

from dataclasses import replace
from datetime import datetime

import pytest

from dynamap_async import (
    KEYS_ONLY,
    Attr,
    GlobalIndex,
    LocalIndex,
    Model,
    PartitionKey,
    Recovery,
    Session,
    SortKey,
    Table,
    TableSettings,
    Throughput,
    TimeToLive,
    attr,
    include,
)
from dynamap_async.errors import (
    ModelDefinitionError,
    OperationError,
    ResourceInUseError,
    ResourceNotFoundError,
    SessionStateError,
    TableProtectedError,
)
from dynamap_async.models import definition_of
from dynamap_async.request import Request
from dynamap_async.tables.requests import create_request

pytestmark = pytest.mark.asyncio


class Tweet(Model, table="tweets"):
    user_id: PartitionKey[str] = attr(name="pk")
    tweet_id: SortKey[int]
    posted_at: Attr[datetime]
    city: Attr[str | None] = attr(default=None)
    blob: Attr[bytes | None] = attr(default=None)
    text: Attr[str] = attr(name="body", default="")
    expires_at: TimeToLive[datetime | None] = attr(name="ttl", default=None)

    by_time = LocalIndex(sort_key="posted_at")
    by_blob = LocalIndex("blob-index", sort_key="blob", projection=include("text", "city"))
    by_city = GlobalIndex(
        "city-index",
        partition_key="city",
        sort_key="posted_at",
        projection=KEYS_ONLY,
        throughput=Throughput(read=10, write=2),
    )
    by_city_text = GlobalIndex(partition_key="city", projection=include("text"))


class Plain(Model, table="plain"):
    id: PartitionKey[int]


class Provisioned(Model, table="provisioned", throughput=Throughput(read=5, write=3)):
    id: PartitionKey[bytes]
    group: Attr[str]
    other: Attr[str]
    by_group = GlobalIndex(partition_key="group", throughput=Throughput(read=7, write=8))
    by_other = GlobalIndex(partition_key="other")


async def test_a_table_has_everything_that_its_model_declares(session):
    await session.tables.create(Tweet)
    found = await session.tables.describe(Tweet)
    declared = definition_of(Tweet).table
    assert found.schema.name == session._runner.context.tables.prefix + "tweets"
    assert found.schema.keys == declared.keys
    assert found.schema.attribute_types == declared.attribute_types
    by_name = {index.name: index for index in found.schema.indexes}
    for index in declared.indexes:
        assert by_name[index.name].kind == index.kind
        assert by_name[index.name].keys == index.keys
        assert by_name[index.name].projection.type == index.projection.type
        assert set(by_name[index.name].projection.attributes) == set(index.projection.attributes)
    assert by_name.keys() == {index.name for index in declared.indexes}


async def test_a_new_table_is_active_on_demand_and_empty(session):
    await session.tables.create(Plain)
    found = await session.tables.describe(Plain)
    assert (found.status, found.is_active, found.billing) == ("ACTIVE", True, "on-demand")
    assert (found.item_count, found.size_bytes) == (0, 0)
    assert found.schema.throughput is None
    assert found.arn.endswith(found.schema.name)
    assert found.created_at is not None
    assert found.created_at.tzinfo is not None


async def test_declared_throughput_makes_a_provisioned_table(session):
    await session.tables.create(Provisioned)
    found = await session.tables.describe(Provisioned)
    assert (found.billing, found.schema.throughput) == ("provisioned", Throughput(read=5, write=3))
    assert found.schema.index("by_group").throughput == Throughput(read=7, write=8)
    assert found.schema.index("by_other").throughput == Throughput(read=5, write=3)


async def test_throughput_can_be_given_when_creating(session):
    await session.tables.create(Plain, throughput=Throughput(read=2, write=1))
    assert (await session.tables.describe(Plain)).schema.throughput == Throughput(read=2, write=1)


async def test_tables_are_usable_once_created(session):
    await session.tables.create(Tweet, Plain, Provisioned)
    await session.put(Plain(id=0))
    assert await session.get(Plain, 0) == Plain(id=0)


@pytest.mark.parametrize(("model", "attribute", "status"), [(Tweet, "ttl", "ENABLED"), (Plain, None, "DISABLED")])
async def test_time_to_live_is_on_where_the_model_declares_it(session, model, attribute, status):
    await session.tables.create(model)
    found = await session.tables.describe(model)
    assert (found.schema.ttl_attribute, found.ttl_status) == (attribute, status)


async def test_tags_are_set(session):
    await session.tables.create(Plain, tags={"team": "search", "empty": ""})
    found = await session.tables.describe(Plain)
    request = Request(operation="ListTagsOfResource", body={"ResourceArn": found.arn}, table="")
    tags = (await session._executor.send(request))["Tags"]
    assert {tag["Key"]: tag["Value"] for tag in tags} == {"team": "search", "empty": ""}


async def test_a_table_exists_from_its_creation_to_its_deletion(session):
    assert await session.tables.exists(Plain) is False
    await session.tables.create(Plain)
    assert await session.tables.exists(Plain) is True
    await session.tables.delete(Plain)
    assert await session.tables.exists(Plain) is False


async def test_operations_on_a_deleted_table_fail(session):
    await session.tables.create(Plain)
    await session.tables.delete(Plain)
    for use in (session.find(Plain, 1), session.put(Plain(id=1)), session.tables.describe(Plain)):
        with pytest.raises(ResourceNotFoundError) as caught:
            await use
        assert caught.value.table.endswith("plain")


async def test_creating_a_table_twice_is_refused(session):
    await session.tables.create(Plain)
    with pytest.raises(ResourceInUseError, match="if_missing=True"):
        await session.tables.create(Plain)


async def test_deleting_a_missing_table_is_refused(session):
    with pytest.raises(ResourceNotFoundError):
        await session.tables.delete(Plain)


async def test_tables_of_one_prefix_are_apart_from_those_of_another(engine, session):
    async with engine.session(table_prefix="another-") as other:
        await session.tables.create(Plain)
        assert await other.tables.exists(Plain) is False


class Base(Model, table="family"):
    id: PartitionKey[str]
    group: Attr[str | None] = attr(default=None)
    by_group = GlobalIndex(partition_key="group")


class Cat(Base):
    colour: Attr[str | None] = attr(default=None)
    expires_at: TimeToLive[datetime | None] = attr(default=None)
    by_colour = GlobalIndex(partition_key="colour")


class Dog(Base):
    size: Attr[int | None] = attr(default=None)
    by_size = GlobalIndex(partition_key="size")


async def test_models_of_one_table_are_created_as_one_table_with_the_indexes_of_all(session):
    await session.tables.create(Base, Cat, Dog)
    found = await session.tables.describe(Base)
    assert {index.name for index in found.schema.indexes} == {"by_group", "by_colour", "by_size"}
    assert found.schema.ttl_attribute == "expires_at"
    await session.tables.delete(Dog, Cat, Base)
    assert await session.tables.exists(Cat) is False


async def test_a_model_without_table_has_nothing_to_create(session):
    class Loose(Model):
        value: Attr[int]

    for use in (session.tables.create(Loose), session.tables.exists(Loose), session.tables.delete(Loose)):
        with pytest.raises(ModelDefinitionError, match="has no table"):
            await use


async def test_time_to_live_needs_waiting(session):
    with pytest.raises(OperationError, match="drop wait=False"):
        await session.tables.create(Plain, Tweet, wait=False)
    assert await session.tables.exists(Plain) is False


async def test_tables_of_a_closed_session_are_refused(engine):
    session: Session = engine.session()
    with pytest.raises(SessionStateError):
        await session.tables.exists(Plain)


async def test_a_protected_table_is_not_deleted(session):
    await session.tables.create(Plain)
    await session.tables.protect(Plain)
    assert (await session.tables.describe(Plain)).is_protected
    with pytest.raises(TableProtectedError):
        await session.tables.delete(Plain)
    await session.tables.delete(Plain, force=True)
    assert not await session.tables.exists(Plain)


async def test_the_names_of_all_tables_of_the_session_s_prefix_are_listed(session, engine):
    await session.tables.create(Plain, Provisioned)
    prefix = session._runner.context.tables.prefix
    assert await session.tables.names() == (f"{prefix}plain", f"{prefix}provisioned")
    assert await session.tables.names(prefix="plai") == (f"{prefix}plain",)


async def test_names_are_listed_over_several_pages(session):
    await session.tables.create(Tweet)
    schema = definition_of(Plain).require_table("listed")
    prefix = session._runner.context.tables.prefix
    for number in range(101):
        name = f"{prefix}many-{number:03}"
        request = create_request(replace(schema, name=name), throughput=None, tags={})
        await session._executor.send(request)
    assert len(await session.tables.names(prefix="many-")) == 101


@pytest.mark.parametrize(
    "settings",
    [
        TableSettings(stream="keys"),
        TableSettings(deletion_protection=True),
        TableSettings(tags={"team": "shop"}),
        pytest.param(
            TableSettings(recovery=Recovery(days=7)),
            marks=pytest.mark.engine_fault("native", "has no DescribeContinuousBackups and UpdateContinuousBackups"),
        ),
        TableSettings(table_class="infrequent-access"),
    ],
    ids=lambda settings: next(iter(settings.declared())),
)
async def test_a_setting_is_made_with_the_table_and_added_to_it_later(session, settings):
    made = Table("set-at-once", partition_key="pk", settings=settings)
    before, after = (Table("set-later", partition_key="pk", settings=each) for each in (None, settings))
    await session.tables.create(made, before)
    plan = await session.tables.plan(made, after)
    assert [step.table.rpartition("set-")[2] for step in plan.steps] == ["later"]
    await session.tables.apply(plan, allow={"class-changed"}, timeout_seconds=60)
    assert (await session.tables.plan(made, after)).is_empty
    await session.tables.delete(made, before, force=True)


async def test_tags_are_added_changed_and_taken_away_and_others_stay(session):
    table = Table("tagged", partition_key="pk", settings=TableSettings(tags={"team": "shop"}))
    await session.tables.create(table)
    await session.tables.tag(table, {"stage": "test", "owner": "ann"})
    await session.tables.tag(table, {"stage": "live"})
    await session.tables.untag(table, ["owner", "never-there"])
    assert await session.tables.tags(table) == {"team": "shop", "stage": "live"}
    await session.tables.delete(table)


async def test_no_tags_need_no_request(session):
    before = session.statistics().requests
    await session.tables.tag(Plain, {})
    await session.tables.untag(Plain, [])
    assert session.statistics().requests == before


async def test_tags_of_a_table_that_is_not_there_are_refused_by_its_name(session):
    for call in (session.tables.tags(Plain), session.tables.tag(Plain, {"a": "b"}), session.tables.untag(Plain, ["a"])):
        with pytest.raises(ResourceNotFoundError, match="plain"):
            await call


@pytest.mark.parametrize(
    ("tags", "words"),
    [
        ({"aws:cost": "a"}, "plain: the tag 'aws:cost' begins with aws:"),
        ({str(n): "" for n in range(51)}, "plain: 51 tags; DynamoDB allows 50"),
        ({"a": 1}, "plain: tags={'a': 1} is not a mapping of strings"),
        (["a"], "is not a mapping of strings"),
    ],
)
async def test_tags_that_dynamodb_refuses_are_refused_with_the_table_and_the_tag(session, tags, words):
    with pytest.raises(OperationError, match=words):
        await session.tables.tag(Plain, tags)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["aws:cost"], "plain: the tag 'aws:cost' begins with aws:"),
        ([str(n) for n in range(51)], "plain: 51 tags; DynamoDB allows 50"),
        ("team", "needs a list of tag names; write"),
        ({"team": "shop"}, "needs a list of tag names; write"),
        ([1], "which are strings"),
    ],
)
async def test_names_of_tags_that_cannot_be_taken_away_are_refused(session, names, words):
    with pytest.raises(OperationError, match=words):
        await session.tables.untag(Plain, names)
