"""Times without a zone: those that were read are written as they are stored, and new ones are refused."""

import copy
import pickle
from datetime import UTC, datetime, time
from typing import Annotated
from uuid import UUID

import pytest
from pydantic import AfterValidator, BaseModel, NaiveDatetime, PastDatetime
from pydantic_core import from_json, to_json

from dynamap_async import Attr, Model, PartitionKey, Put, attr
from dynamap_async.errors import EncodeError
from dynamap_async.models import definition_of, is_remembered
from dynamap_async.operations import Save
from dynamap_async.transport.pieces import leave_items

OWN = "2026-01-02T03:04:05.000000"
"""As this library writes a time without a zone."""
FOREIGN = ["2026-01-02T03:04:05", "2026-01-02 03:04:05", "2026-01-02T03:04:05.000", "2026-01-02T03:04"]
ZONED = {"S": "2026-01-02T03:04:05.000000Z"}


class Visit(BaseModel):
    at: datetime
    note: str = ""


class Page(Model, table="pages"):
    id: PartitionKey[str]
    at: Attr[datetime]
    seen: Attr[datetime | None] = attr(default=None)
    either: Attr[datetime | int] = attr(default=0)
    past: Attr[PastDatetime | None] = attr(default=None)
    local: Attr[NaiveDatetime | None] = attr(default=None)
    pair: Attr[tuple[datetime, ...]] = attr(default=())
    several: Attr[list[datetime]] = attr(default_factory=list)
    distinct: Attr[set[datetime]] = attr(default_factory=set)
    named: Attr[dict[str, datetime]] = attr(default_factory=dict)
    visit: Attr[Visit | None] = attr(default=None)
    visits: Attr[list[Visit]] = attr(default_factory=list)
    title: Attr[str] = attr(default="")


def wire(text):
    return {"S": text}


PLACES = {
    "at": wire,
    "seen": wire,
    "either": wire,
    "past": wire,
    "local": wire,
    "pair": lambda text: {"L": [wire(text), ZONED]},
    "several": lambda text: {"L": [ZONED, wire(text)]},
    "distinct": lambda text: {"SS": [text]},
    "named": lambda text: {"M": {"first": wire(text)}},
    "visit": lambda text: {"M": {"at": wire(text), "note": wire(text)}},
    "visits": lambda text: {"L": [{"M": {"at": wire(text), "note": wire("x")}}]},
}
"""Field -> how an attribute that holds a text is stored."""


def as_dicts(items):
    return items


def as_json(items):
    answer = to_json({"Items": items})
    return (leave_items(answer) or from_json(answer))["Items"]


def read(model, *items, way=as_dicts):
    return definition_of(model).items.decode(way(list(items)))


def put(item):
    return from_json(Put(item)._json)


def stored(place, text):
    return {"id": {"S": "a"}, "at": ZONED, place: PLACES[place](text)}


ways = pytest.mark.parametrize("way", [as_dicts, as_json])


@ways
@pytest.mark.parametrize("text", [OWN, *FOREIGN])
@pytest.mark.parametrize("place", PLACES)
def test_a_time_without_a_zone_is_put_as_it_is_stored(place, text, way):
    item = stored(place, text)
    [found] = read(Page, item, way=way)
    assert put(found)[place] == item[place]
    assert put(found)["at"] == item["at"]


@ways
@pytest.mark.parametrize("place", PLACES)
def test_one_of_a_page_is_put_as_it_is_stored(place, way):
    usual, item = {"id": {"S": "b"}, "at": ZONED}, stored(place, FOREIGN[0])
    found = read(Page, usual, item, usual, way=way)
    assert [put(each)[place] for each in found if each.id == "a"] == [item[place]]
    assert all(put(each)["at"] == ZONED for each in found if each.id == "b")


@pytest.mark.parametrize(
    "copied", [Page.model_copy, copy.copy, copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))]
)
def test_a_copy_puts_a_time_as_it_is_stored(copied):
    item = stored("at", FOREIGN[0])
    [found] = read(Page, item)
    assert put(copied(found))["at"] == item["at"]


def test_a_time_is_put_as_it_is_stored_after_other_values_were_changed():
    item = stored("at", FOREIGN[0]) | {"several": {"L": [wire(FOREIGN[1])]}}
    [found] = read(Page, item)
    found.title = "new"
    found.several.append(datetime(2027, 1, 1, tzinfo=UTC))
    assert put(found)["at"] == item["at"]
    assert put(found)["several"] == {"L": [wire(FOREIGN[1]), wire("2027-01-01T00:00:00.000000Z")]}


def test_a_time_is_put_as_it_is_stored_again_after_it_was_written():
    item = stored("at", FOREIGN[0])
    [found] = read(Page, item)
    Put(found).acknowledged()
    assert put(found)["at"] == item["at"]


@pytest.mark.parametrize("write", [Put, Save])
def test_another_time_without_a_zone_is_refused(write):
    [found] = read(Page, stored("at", FOREIGN[0]))
    found.at = datetime(2026, 1, 2, 3, 4, 6)  # noqa: DTZ001 - that is the point
    with pytest.raises(EncodeError, match=r"Page.at: datetime with a time zone expected"):
        write(found)


def test_a_time_that_is_given_a_zone_is_put_as_this_library_writes_it():
    [found] = read(Page, stored("at", FOREIGN[0]))
    found.at = found.at.replace(tzinfo=UTC)
    assert put(found)["at"] == ZONED


def test_another_local_time_is_put_as_this_library_writes_it():
    [found] = read(Page, stored("local", FOREIGN[0]))
    found.local = datetime(2027, 1, 1)  # noqa: DTZ001 - that is the point
    assert put(found)["local"] == {"S": "2027-01-01T00:00:00.000000"}


@pytest.mark.parametrize("place", PLACES)
def test_a_save_of_what_did_not_change_sends_nothing(place):
    [found] = read(Page, stored(place, FOREIGN[0]))
    assert Save(found).unneeded


@pytest.mark.parametrize("place", ["at", "local"])
def test_a_save_of_something_else_leaves_the_times(place):
    [found] = read(Page, stored(place, FOREIGN[0]))
    found.title = "new"
    assert Save(found)._changes == {"title": {"S": "new"}}


def test_a_text_that_looks_like_a_time_is_put_as_it_is():
    [found] = read(Page, stored("at", FOREIGN[0]) | {"title": {"S": FOREIGN[0]}})
    found.title = OWN
    assert put(found)["title"] == {"S": OWN}


class Other(Model, table="others"):
    id: PartitionKey[str]
    at: Attr[datetime]
    owner: Attr[UUID] = attr(default=UUID(int=0))
    opens: Attr[time] = attr(default=time(8))


@pytest.mark.parametrize(
    ("name", "text", "own"),
    [
        ("at", "2026-01-02T03:04:05+00:00", "2026-01-02T03:04:05.000000Z"),
        ("at", "2026-01-02T05:04:05.000+02:00", "2026-01-02T03:04:05.000000Z"),
        ("at", "2026-01-02T03:04:05.000Z", "2026-01-02T03:04:05.000000Z"),
        ("owner", "B0A9C3F2-1111-4222-8333-ABCDEFABCDEF", "b0a9c3f2-1111-4222-8333-abcdefabcdef"),
        ("opens", "08:30", "08:30:00"),
    ],
)
def test_what_else_is_spelled_otherwise_is_put_as_this_library_writes_it_and_left_by_save(name, text, own):
    [found] = read(Other, {"id": {"S": "a"}, "at": ZONED} | {name: {"S": text}})
    assert Save(found).unneeded
    assert put(found)[name] == {"S": own}


class Corrected(Model, table="corrected"):
    id: PartitionKey[str]
    at: Attr[Annotated[datetime, AfterValidator(lambda value: value.replace(tzinfo=UTC))]]


def test_a_time_to_which_the_model_gives_a_zone_is_put_with_it():
    [found] = read(Corrected, {"id": {"S": "a"}, "at": {"S": FOREIGN[0]}})
    assert put(found)["at"] == ZONED


def test_an_instance_that_was_made_is_not_remembered_for_its_times():
    page = Page(id="a", at=datetime(2026, 1, 2))  # noqa: DTZ001 - that is the point
    assert not is_remembered(page)
    with pytest.raises(EncodeError, match="time zone"):
        Put(page)
