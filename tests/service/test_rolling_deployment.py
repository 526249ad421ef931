"""An old and a new release side by side on real engines: neither meets what it cannot read, and nothing is lost."""

from collections import Counter
from random import Random

import pytest

from dynamap_async import Attr, Model, PartitionKey, StoredItem, Version, attr, downgrade, upgrade
from dynamap_async.errors import ItemVersionError, OperationError, VersionConflictError

pytestmark = pytest.mark.asyncio


class Before(Model, table="people", schema_version=2):
    """The release that runs; its first version is long gone."""

    number: PartitionKey[int]
    name: Attr[str]
    visits: Attr[int] = attr(default=0)
    version: Version[int] = attr(default=0)

    @upgrade(to=2)
    @staticmethod
    def no_change(item: StoredItem) -> None:
        pass


class Person(Model, abstract=True, schema_version=3):
    number: PartitionKey[int]
    given: Attr[str]
    family: Attr[str]
    nick: Attr[str | None] = attr(default=None)
    visits: Attr[int] = attr(default=0)
    version: Version[int] = attr(default=0)

    @upgrade(to=2, changes=())
    @staticmethod
    def no_change(item: StoredItem) -> None:
        pass

    @upgrade(to=3, changes=("name", "given", "family"))
    @staticmethod
    def two_names(item: StoredItem) -> None:
        item["given"], item["family"] = item.pop("name").split(" ")

    @downgrade(to=2)
    @staticmethod
    def one_name(item: StoredItem) -> None:
        item["name"] = f"{item.pop('given')} {item.pop('family')}"


class During(Person, table="people", writes=2):
    """The release that can do both, and writes what the one before it reads."""


class After(Person, table="people"):
    """The release that writes the new form."""


def renamed(person, name):
    """Give an instance of either release another name."""
    if isinstance(person, Before):
        person.name = name
    else:
        person.given, person.family = name.split(" ")


def made(model, number, name, **values):
    given, family = name.split(" ")
    names = {"name": name} if model is Before else {"given": given, "family": family}
    return model(number=number, **names, **values)


class Program:
    """One process of a release, which reads items, changes them, and saves them some time later."""

    def __init__(self, session, model, random, expected):
        self.session, self.model, self.random, self.expected = session, model, random, expected
        self.held = []

    async def step(self):
        number = self.random.randrange(12)
        if self.held and self.random.random() < 0.6:
            await self.save(self.held.pop(self.random.randrange(len(self.held))))
        elif number not in self.expected:
            await self.create(number)
        else:
            self.held.append(await self.session.get(self.model, number, consistent_read=True))

    async def create(self, number):
        name = f"New Person{number}"
        await self.session.create(made(self.model, number, name))
        self.expected[number] = {"name": name, "visits": 0, "nick": None}

    async def save(self, person):
        name, nick = f"Name {self.random.randrange(1000)}", f"nick{self.random.randrange(1000)}"
        person.visits += 1
        rename, call = self.random.random() < 0.5, self.random.random() < 0.5 and not isinstance(person, Before)
        if rename:
            renamed(person, name)
        if call:
            person.nick = nick
        try:
            await self.session.save(person)
        except VersionConflictError:
            return  # somebody else was first: it is not done, and nobody takes it for done
        expected = self.expected[person.number]
        expected["visits"] += 1
        if rename:
            expected["name"] = name
        if call:
            expected["nick"] = nick


@pytest.mark.parametrize("seed", range(4))
async def test_nothing_is_lost_while_releases_replace_each_other(session, seed):
    await session.tables.create(After)
    random, expected = Random(seed), {}
    program = {model: Program(session, model, random, expected) for model in (Before, During, After)}
    for running in ([Before], [Before, During], [During], [During, After], [After]):
        for _ in range(40):
            await program[random.choice(running)].step()
    report = await session.upgrade(After)
    found = {
        each.number: {"name": f"{each.given} {each.family}", "visits": each.visits, "nick": each.nick}
        for each in await session.scan(After).consistent()
    }
    assert found == expected
    assert sum(each["visits"] for each in found.values()) > 20
    assert report.remaining == 0


class StrictGuest(Model, table="guests", schema_version=2):
    """A release that was deployed without a thought of the next one."""

    number: PartitionKey[int]
    visits: Attr[int] = attr(default=0)

    @upgrade(to=2)
    @staticmethod
    def no_change(item: StoredItem) -> None:
        pass


class RunningGuest(StrictGuest, accepts=3):
    """The release that reads what the next one writes."""


class NextGuest(StrictGuest, schema_version=3):
    """The release that writes one more attribute."""

    language: Attr[str]

    @upgrade(to=3)
    @staticmethod
    def english(item: StoredItem) -> None:
        item["language"] = "en"


@pytest.mark.parametrize("seed", range(2))
async def test_a_release_that_accepts_the_next_version_meets_no_error_and_drops_nothing_of_it(session, seed):
    await session.tables.create(NextGuest)
    await session.put_many(StrictGuest(number=number) for number in range(30))
    random, visits, spoken = Random(seed), Counter(), {}
    for _ in range(200):
        number = random.randrange(30)
        release = random.choice([RunningGuest, NextGuest]) if number < 20 else RunningGuest
        guest = await session.get(release, number, consistent_read=True)
        guest.visits += 1
        visits[number] += 1
        if isinstance(guest, NextGuest):
            guest.language = spoken[number] = random.choice(["de", "fr", "it"])
        await session.save(guest)
    found = await session.scan(NextGuest).consistent()
    assert {each.number: (each.visits, each.language) for each in found} == {
        number: (visits[number], spoken.get(number, "en")) for number in range(30)
    }
    refused = set()
    for number in range(30):
        try:
            await session.get(StrictGuest, number)
        except ItemVersionError:
            refused.add(number)
    assert refused == set(spoken) != set()


async def test_every_way_of_writing_writes_what_the_release_before_reads(session):
    await session.tables.create(After)
    await session.put(made(During, 1, "Ada Lovelace"))
    await session.create(made(During, 2, "Ada Lovelace"))
    await session.save(made(During, 3, "Ada Lovelace"))
    await session.put_many([made(During, 4, "Ada Lovelace"), made(During, 5, "Ada Lovelace")])
    await session.replace(made(During, 6, "Ada Lovelace"))
    async with session.transaction() as tx:
        tx.put(made(During, 7, "Ada Lovelace"))
        tx.create(made(During, 8, "Ada Lovelace"))
    numbers = list(range(1, 9))
    old, new = [await session.get_many(model, numbers) for model in (Before, During)]
    assert {(each.name, each.version) for each in old} == {("Ada Lovelace", 1)}
    assert {(each.given, each.family) for each in new} == {("Ada", "Lovelace")}


async def test_saving_sends_only_what_changed_of_the_older_form(session):
    await session.tables.create(After)
    await session.put(made(Before, 1, "Ada Lovelace"))
    person = await session.get(During, 1)
    assert await session.save(person) is person  # nothing changed, so nothing is written
    assert (await session.get(Before, 1)).version == 1
    person.family = "Byron"
    await session.save(person)
    assert (await session.get(Before, 1)).name == "Ada Byron"
    person.visits = 3
    await session.save(person)
    found = await session.get(Before, 1)
    assert (found.name, found.visits, found.version) == ("Ada Byron", 3, 3)


async def test_an_item_of_the_new_form_keeps_it_when_the_release_that_can_do_both_saves_it(session):
    await session.tables.create(After)
    await session.put(made(After, 1, "Ada Lovelace"))
    person = await session.get(During, 1)
    person.given = "Augusta"
    await session.save(person)
    assert (await session.get(After, 1)).given == "Augusta"
    assert (await session.upgrade(After)).behind == 0


async def test_updates_of_what_has_another_form_are_refused_for_they_would_be_lost(session):
    await session.tables.create(After)
    await session.put(made(Before, 1, "Ada Lovelace"))
    with pytest.raises(OperationError, match=r"During in version 3.*version 2.*create"):
        await session.update(During, 1).set(During.visits, 1).upsert()
    with pytest.raises(OperationError, match="without writes="):
        session.upgrade(During)
    await session.update(During, 1).add(During.visits, 1)
    assert (await session.get(Before, 1)).visits == 1
