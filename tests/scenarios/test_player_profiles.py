"""A player's profile: items of six kinds in one partition of an existing table, told apart by its own marker."""

import pytest

from dynamap_async import Attr, Model, PartitionKey, SortKey, Table, UnknownItem, attr
from dynamap_async.errors import ItemKindError

SCENARIO = "player-profiles"

GAMES = Table("game-player-profiles", partition_key="PK", sort_key="SK", discriminator="Type")


class Entry(Model, table=GAMES, abstract=True):
    """What a player has: the base of the family."""

    player: PartitionKey[str]
    entry: SortKey[str]


class Profile(Entry, kind="Metadata"):
    created: Attr[str] = attr(name="CreatedAt")
    updated: Attr[str] = attr(name="UpdatedAt")
    nickname: Attr[str] = attr(name="Nickname")
    email: Attr[str] = attr(name="Email")
    gender: Attr[str] = attr(name="Gender")
    avatar: Attr[str] = attr(name="Avatar")
    currency: Attr[str] = attr(name="Currency")
    level: Attr[str] = attr(name="PlayerLevel")
    health: Attr[str] = attr(name="PlayerHealth")
    experience: Attr[str] = attr(name="PlayerExperience")


class Friend(Model):
    id: Attr[str] = attr(name="FriendId", alias="FriendId")
    name: Attr[str] = attr(name="FriendName", alias="FriendName")


class Friends(Entry, kind="Friends"):
    friends: Attr[list[Friend]] = attr(name="FriendList")


class Item(Entry, kind="Item"):
    name: Attr[str] = attr(name="ItemName")
    type: Attr[str] = attr(name="ItemType")
    count: Attr[str] = attr(name="ItemCount")
    attributes: Attr[dict[str, int]] = attr(name="ItemAttributes")


class Equipment(Entry, kind="Equipment"):
    name: Attr[str] = attr(name="EquipmentName")
    type: Attr[str] = attr(name="EquipmentType")
    attributes: Attr[dict[str, int]] = attr(name="EquipmentAttributes")


class Task(Entry, kind="Task"):
    name: Attr[str] = attr(name="TaskName")
    description: Attr[str] = attr(name="TaskDescription")
    status: Attr[str] = attr(name="TaskStatus")
    reward: Attr[dict[str, int]] = attr(name="TaskReward")


class Activity(Entry, kind="Activity"):
    name: Attr[str] = attr(name="ActivityName")
    type: Attr[str] = attr(name="ActivityType")
    begins: Attr[str] = attr(name="ActivityStartTime")
    ends: Attr[str] = attr(name="ActivityEndTime")
    reward: Attr[dict[str, int]] = attr(name="ActivityReward")


MODELS = {"game-player-profiles": Entry}
KINDS = [Profile, Activity, Activity, Activity, Equipment, Equipment, Equipment, Friends, Item, Item, Item, Task]

REQUESTS = {
    "player-all": lambda session: session.query(Profile, Friends, Item, Equipment, Task, Activity).where(
        Profile.player == "player001"
    ),
    "metadata": lambda session: session.query(Profile).where(
        Profile.player == "player001", Profile.entry == "#METADATA#player001"
    ),
    "items": lambda session: session.query(Item).where(Item.player == "player001", Item.entry.begins_with("ITEMS#")),
    "equipment": lambda session: session.query(Equipment).where(
        Equipment.player == "player001", Equipment.entry.begins_with("EQUIPMENTS#")
    ),
    "equipment-between": lambda session: session.query(Equipment).where(
        Equipment.player == "player001", Equipment.entry.between("EQUIPMENTS#001", "EQUIPMENTS#002")
    ),
    "tasks-in-progress": lambda session: session.query(Task).where(
        Task.player == "player001", Task.entry.begins_with("TASK#"), Task.status == "InProgress"
    ),
    "strong-items": lambda session: session.query(Item).where(
        Item.player == "player001", Item.entry.begins_with("ITEMS#"), Item.attributes["ATK"] >= 100
    ),
}


@pytest.fixture(scope="module")
def items(wire_items, read_item):
    """Return everything to be put, each as the model of its kind."""
    wires = [dict(wire) for wire in wire_items["game-player-profiles"]]
    return [read_item(GAMES.models[wire.pop("Type")["S"]], wire) for wire in wires]


def test_every_published_request_is_asked(published):
    assert REQUESTS.keys() == published.requests.keys()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", REQUESTS)
async def test_request_gives_the_published_items(name, ask):
    await ask(name)


def test_created_table_has_the_published_keys_and_indexes(published, described):
    assert described("game-player-profiles") == published.tables["game-player-profiles"]


def test_stored_items_are_the_published_ones_to_the_letter(wire_items, stored, by_key):
    table = "game-player-profiles"
    assert by_key(table, stored(table)) == by_key(table, wire_items[table])


@pytest.mark.asyncio(loop_scope="module")
async def test_the_whole_profile_is_one_request_and_each_item_of_its_own_class(filled):
    query = REQUESTS["player-all"](filled)
    before = filled.statistics().requests
    found = await query
    assert filled.statistics().requests - before == 1
    assert [type(each) for each in found] == [*KINDS, Task, Task]
    assert query.explain().filters == ()
    assert await filled.query(Entry).where(Entry.player == "player001") == found


@pytest.mark.asyncio(loop_scope="module")
async def test_the_profile_is_read_without_key_conditions_on_the_kind(filled):
    """The marker alone keeps other kinds out, where the program knows nothing of how keys begin."""
    for model in (Profile, Friends, Item, Equipment, Task, Activity):
        found = await filled.query(model).where(model.player == "player001")
        assert {type(each) for each in found} == {model}
        assert len(found) == [*KINDS, Task, Task].count(model)


@pytest.mark.asyncio(loop_scope="module")
async def test_the_profile_is_grouped_by_class(filled):
    grouped = await REQUESTS["player-all"](filled).grouped()
    assert [each.name for each in grouped[Task]] == [each.name for each in grouped[Entry] if isinstance(each, Task)]
    assert [friend.name for friend in grouped[Friends][0].friends] == ["Alice", "Bob"]
    assert len(grouped[Entry]) == len(grouped.items)


@pytest.mark.asyncio(loop_scope="function")
async def test_a_kind_that_the_program_does_not_know_is_named(session):
    await session.tables.create(GAMES)
    newer = Table("game-player-profiles", partition_key="PK", sort_key="SK", discriminator="Type")

    class Pet(Model, table=newer, kind="Pet"):
        player: PartitionKey[str]
        entry: SortKey[str]

    await session.put(Pet(player="player001", entry="PETS#001"))
    query = session.query(Item, Task).where(Item.player == "player001")
    with pytest.raises(ItemKindError, match="'Type' 'Pet'.*import the model of that kind"):
        await query
    assert await query.unknown("skip") == []
    assert [type(each) for each in await query.unknown("raw")] == [UnknownItem]
