"""A player's profile: items of six kinds in one partition of an existing table, told apart by its own marker.

One published piece of equipment has ``001EQUIPMENTS#002`` where the others have three digits; so that part is text.
"""

import pytest

from dynamap_async import Attr, Model, PartitionKey, Parts, SortKey, Table, UnknownItem, attr, template
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

    entry: SortKey[str] = template("#METADATA#{player}")


class Friend(Model):
    id: Attr[str] = attr(name="FriendId", alias="FriendId")
    name: Attr[str] = attr(name="FriendName", alias="FriendName")


class Friends(Entry, kind="Friends"):
    friends: Attr[list[Friend]] = attr(name="FriendList")

    entry: SortKey[str] = template("FRIENDS#{player}")


class Item(Entry, kind="Item"):
    number: Attr[int] = attr(stored=False)
    name: Attr[str] = attr(name="ItemName")
    type: Attr[str] = attr(name="ItemType")
    count: Attr[str] = attr(name="ItemCount")
    attributes: Attr[dict[str, int]] = attr(name="ItemAttributes")

    entry: SortKey[str] = template("ITEMS#{number:03d}")


class Equipment(Entry, kind="Equipment"):
    number: Attr[str] = attr(stored=False)
    name: Attr[str] = attr(name="EquipmentName")
    type: Attr[str] = attr(name="EquipmentType")
    attributes: Attr[dict[str, int]] = attr(name="EquipmentAttributes")

    entry: SortKey[str] = template("EQUIPMENTS#{number}")


class Task(Entry, kind="Task"):
    number: Attr[int] = attr(stored=False)
    name: Attr[str] = attr(name="TaskName")
    description: Attr[str] = attr(name="TaskDescription")
    status: Attr[str] = attr(name="TaskStatus")
    reward: Attr[dict[str, int]] = attr(name="TaskReward")

    entry: SortKey[str] = template("TASK#{number:03d}")


class Activity(Entry, kind="Activity"):
    number: Attr[int] = attr(stored=False)
    name: Attr[str] = attr(name="ActivityName")
    type: Attr[str] = attr(name="ActivityType")
    begins: Attr[str] = attr(name="ActivityStartTime")
    ends: Attr[str] = attr(name="ActivityEndTime")
    reward: Attr[dict[str, int]] = attr(name="ActivityReward")

    entry: SortKey[str] = template("ACTIVITY#{number:03d}")


MODELS = {"game-player-profiles": GAMES}
KINDS = [Profile, Activity, Activity, Activity, Equipment, Equipment, Equipment, Friends, Item, Item, Item, Task]

REQUESTS = {
    "player-all": lambda session: session.query(Profile, Friends, Item, Equipment, Task, Activity).where(
        Profile.player == "player001"
    ),
    "metadata": lambda session: session.query(Profile).where(Profile.player == "player001"),
    "items": lambda session: session.query(Item).where(Item.player == "player001"),
    "equipment": lambda session: session.query(Equipment).where(Equipment.player == "player001"),
    "equipment-between": lambda session: session.query(Equipment).where(
        Equipment.player == "player001", Equipment.number.between("001", "002")
    ),
    "tasks-in-progress": lambda session: session.query(Task).where(
        Task.player == "player001", Task.status == "InProgress"
    ),
    "strong-items": lambda session: session.query(Item).where(
        Item.player == "player001", Item.attributes["ATK"] >= 100
    ),
}


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
async def test_each_kind_is_read_alone_without_a_condition_on_it(filled):
    for model in (Profile, Friends, Item, Equipment, Task, Activity):
        query = filled.query(model).where(model.player == "player001")
        assert len(query.explain().key_conditions) == 2
        found = await query
        assert {type(each) for each in found} == {model}
        assert len(found) == [*KINDS, Task, Task].count(model)


@pytest.mark.asyncio(loop_scope="module")
async def test_the_profile_is_grouped_by_class(filled):
    grouped = await REQUESTS["player-all"](filled).grouped()
    assert [each.name for each in grouped[Task]] == [each.name for each in grouped[Entry] if isinstance(each, Task)]
    assert [friend.name for friend in grouped[Friends][0].friends] == ["Alice", "Bob"]
    assert len(grouped[Entry]) == len(grouped.items)


@pytest.mark.asyncio(loop_scope="module")
async def test_an_entry_is_named_by_its_parts(filled):
    assert (await filled.get(Item, Parts(player="player001", number=3))).name == "Sword of the Dragon"
    assert (await filled.get(Profile, Parts(player="player001"))).nickname == "John"
    some = filled.query(Item).where(Item.player == "player001", Item.number.between(2, 3))
    assert [item.number for item in await some.descending()] == [3, 2]


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
