"""Tables to generate models from: those of the scenarios, designs as published, and what checks generated modules."""

import importlib.util
import json
import random
import re
import sys
import uuid
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dynamap_async import Model, Table
from dynamap_async.generate import Sample
from dynamap_async.models import definition_of
from dynamap_async.schema import IndexKind, IndexSchema, KeyAttribute, KeySchema, TableSchema
from dynamap_async.tables.requests import read_description

SCENARIOS = Path(__file__).parents[2] / "scenarios" / "data"
ACTIVE = {"TableStatus": "ACTIVE", "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"}}


@dataclass(frozen=True)
class Entity:
    """One kind of items of a published design: its keys as patterns, its attributes by what their values are."""

    keys: dict[str, str]
    attributes: dict[str, str] = field(default_factory=dict)
    needs: dict[str, str] = field(default_factory=dict)
    """Key -> the attribute without which it is not stored."""
    joined: frozenset[str] = frozenset()
    """Keys whose parts stand side by side, so that nothing tells where one ends."""


class Text(str):
    """A text that a pattern may ask for in one case: ``{title:lower}``."""

    __slots__ = ()

    def __format__(self, form: str, /) -> str:
        return {"lower": self.lower, "upper": self.upper}.get(form, lambda: str(self))()


@dataclass(frozen=True)
class PublishedDesign:
    """A table as its author published it."""

    entities: dict[str, Entity]
    indexes: tuple[tuple[str, ...], ...] = ()
    marker: str | None = None
    keys: tuple[str, ...] = ("PK", "SK")

    @property
    def schema(self) -> TableSchema:
        def schema(names: tuple[str, ...]) -> KeySchema:
            return KeySchema((KeyAttribute(names[0], "S"),), tuple(KeyAttribute(each, "S") for each in names[1:]))

        indexes = (
            IndexSchema(name=f"gsi{n}", kind=IndexKind.GLOBAL, keys=schema(keys)) for n, keys in enumerate(self.indexes)
        )
        return TableSchema(name="published", keys=schema(self.keys), indexes=tuple(indexes))

    def items(self, seed: int, count: int = 60) -> dict[str, list[dict[str, Any]]]:
        """Return entity -> items, of which many share a partition."""
        chance = random.Random(seed)
        made: dict[str, list[dict[str, Any]]] = {}
        for name, entity in self.entities.items():
            known: dict[str, dict[str, Any]] = {}
            for number in range(count):
                item = self._item(name, entity, number, chance)
                known[str([item[key] for key in self.keys])] = item
            made[name] = list(known.values())
        return made

    def _item(self, name: str, entity: Entity, number: int, chance: random.Random) -> dict[str, Any]:
        patterns = " ".join(entity.keys.values())
        names = dict.fromkeys(re.findall(r"{(\w+)", patterns))
        kinds = {**dict.fromkeys(names, "name"), **entity.attributes}
        values = {part: VALUES[kind.rstrip("?-")](chance, number) for part, kind in kinds.items()}
        item = {
            part: values[part]
            for part, kind in entity.attributes.items()
            if not kind.endswith("-") and not (kind.endswith("?") and chance.random() < 0.3)
        }
        plain = {part: next(iter(value.values())) for part, value in values.items()}
        plain = {
            part: int(text) if "N" in values[part] and "." not in text else Text(text) for part, text in plain.items()
        }
        there = {key: pattern for key, pattern in entity.keys.items() if entity.needs.get(key, key) in {*item, key}}
        item |= {key: {"S": pattern.format(**plain)} for key, pattern in there.items()}
        return item | ({self.marker: {"S": name}} if self.marker else {})


def _words(chance: random.Random) -> str:
    return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=7))


def _moment(chance: random.Random) -> str:
    month, day, hour = chance.randint(1, 12), chance.randint(1, 28), chance.randint(0, 23)
    return f"2024-{month:02}-{day:02}T{hour:02}:{chance.randint(0, 59):02}:{chance.randint(0, 59):02}"


VALUES = {
    "name": lambda chance, number: {"S": f"{_words(chance)}{number % 9}"},
    "group": lambda chance, number: {"S": f"g-{number % 7}x"},
    "city": lambda chance, number: {"S": chance.choice(["Oslo", "Rome", "Bern", "Riga", "Cork"])},
    "id": lambda chance, number: {"S": f"{chance.getrandbits(60):015x}"},
    "uuid": lambda chance, number: {"S": str(uuid.UUID(int=chance.getrandbits(128)))},
    "number": lambda chance, number: {"N": str(chance.randint(1, 9999))},
    "price": lambda chance, number: {"N": f"{chance.randint(1, 99)}.{chance.randint(1, 9)}"},
    "date": lambda chance, number: {"S": _moment(chance)[:10]},
    "time": lambda chance, number: {"S": _moment(chance)},
    "instant": lambda chance, number: {"S": f"{_moment(chance)}.{chance.randint(0, 999_999):06}Z"},
    "seconds": lambda chance, number: {"S": f"{_moment(chance)}Z"},
    "epoch": lambda chance, number: {"N": str(chance.randint(1_600_000_000, 1_700_000_000))},
    "status": lambda chance, number: {"S": chance.choice(["open", "paid", "sent"])},
    "flag": lambda chance, number: {"BOOL": chance.random() < 0.5},
    "tags": lambda chance, number: {"SS": sorted({_words(chance) for _ in range(2)})},
    "lines": lambda chance, number: {"L": [{"S": _words(chance)} for _ in range(chance.randint(0, 3))]},
    "map": lambda chance, number: {"M": {"street": {"S": _words(chance)}, "number": {"N": str(number)}}},
    "loose": lambda chance, number: {"M": {_words(chance): {"N": str(number)}}},
    "title": lambda chance, number: {"S": f"{_words(chance).title()} Of_{_words(chance).title()}"},
    "binary": lambda chance, number: {"B": "H4sIAAAA"},
}
"""What values of a kind are; a kind ends with ? where items may lack it, and with - where only keys hold it."""


PUBLISHED = {
    # Facts of designs that were published; words and values are our own.
    "photo-sharing": PublishedDesign(  # AWS's sample of a photo sharing application
        {
            "User": Entity(
                {"PK": "USER#{username}", "SK": "USER#{username}"}, {"username": "name", "followerCount": "number"}
            ),
            "Photo": Entity(
                {"PK": "UP#{username}", "SK": "PHOTO#{photoId}"},
                {"username": "group", "photoId": "id", "likesCount": "number"},
            ),
            "Like": Entity(
                {
                    "PK": "PL#{photoId}",
                    "SK": "LIKE#{likingUsername}",
                    "GSI1PK": "PL#{photoId}",
                    "GSI1SK": "LIKE#{likeId}",
                },
                {"photoId": "group", "likingUsername": "name", "likeId": "id"},
            ),
            "Comment": Entity(
                {"PK": "PC#{photoId}", "SK": "COMMENT#{commentId}"},
                {"photoId": "group", "commentId": "id", "commentingUsername": "name", "content": "name"},
            ),
        },
        (("GSI1PK", "GSI1SK"),),
    ),
    "online-shop": PublishedDesign(  # a shop in one table, with orders under customers
        {
            "Customer": Entity(
                {"PK": "CUSTOMER#{Username}", "SK": "CUSTOMER#{Username}"},
                {"Username": "name", "Email": "name", "Addresses": "map"},
            ),
            "CustomerEmail": Entity(
                {"PK": "CUSTOMEREMAIL#{Email}", "SK": "CUSTOMEREMAIL#{Email}"}, {"Email": "name", "Owner": "name"}
            ),
            "Order": Entity(
                {
                    "PK": "CUSTOMER#{Username}",
                    "SK": "#ORDER#{OrderId}",
                    "GSI1PK": "ORDER#{OrderId}",
                    "GSI1SK": "ORDER#{OrderId}",
                },
                {"Username": "group", "OrderId": "id", "Status": "status", "CreatedAt": "time", "Amount": "price"},
            ),
            "OrderItem": Entity(
                {
                    "PK": "ORDER#{OrderId}#ITEM#{ItemId}",
                    "SK": "ORDER#{OrderId}#ITEM#{ItemId}",
                    "GSI1PK": "ORDER#{OrderId}",
                    "GSI1SK": "ITEM#{ItemId}",
                },
                {"OrderId": "group", "ItemId": "id", "Description": "name", "Price": "price"},
            ),
        },
        (("GSI1PK", "GSI1SK"),),
        marker="Type",
    ),
    "sessions": PublishedDesign(  # sessions by token, and by user through an index
        {
            "Session": Entity(
                {"SessionToken": "{SessionToken}"},
                {"SessionToken": "uuid", "Username": "group", "CreatedAt": "seconds", "ExpiresAt": "epoch"},
            )
        },
        (("Username",),),
        keys=("SessionToken",),
    ),
    "code-hosting": PublishedDesign(  # repositories, their issues and stars; numbers padded
        {
            "Repo": Entity(
                {"PK": "REPO#{Owner}#{Name}", "SK": "REPO#{Owner}#{Name}"},
                {"Owner": "group", "Name": "name", "Stars": "number"},
            ),
            "Issue": Entity(
                {"PK": "REPO#{Owner}#{Name}", "SK": "ISSUE#{Number:06d}"},
                {"Owner": "group", "Name": "city", "Number": "number", "Title": "name", "Status": "status"},
            ),
            "Star": Entity(
                {"PK": "REPO#{Owner}#{Name}", "SK": "STAR#{User}"},
                {"Owner": "group", "Name": "city", "User": "name", "StarredAt": "instant"},
            ),
        }
    ),
    "deals": PublishedDesign(  # deals by day
        {
            "Deal": Entity(
                {"PK": "DEAL#{DealId}", "SK": "DEAL#{DealId}", "GSI1PK": "DEALS#{Day}", "GSI1SK": "DEAL#{DealId}"},
                {"DealId": "id", "Day": "date", "Title": "name", "Price": "price"},
            ),
            "Brand": Entity(
                {"PK": "BRAND#{Brand}", "SK": "BRAND#{Brand}"}, {"Brand": "name", "Logo": "binary", "Likes": "number"}
            ),
            "Message": Entity(
                {"PK": "MESSAGES#{Username}", "SK": "MESSAGE#{MessageId}"},
                {"Username": "group", "MessageId": "id", "Unread": "flag", "Subject": "name"},
            ),
        },
        (("GSI1PK", "GSI1SK"),),
    ),
    "electro": PublishedDesign(  # keys and marker as ElectroDB writes them
        {
            "task": Entity(
                {"pk": "$taskapp#team_{team}", "sk": "$task_1#project_{project}#task_{task}"},
                {"team": "group", "project": "city", "task": "id", "points": "number", "__edb_v__": "version"},
            ),
            "employee": Entity(
                {"pk": "$taskapp#employee_{employee}", "sk": "$employee_1"},
                {"employee": "id", "title": "name", "__edb_v__": "version"},
            ),
        },
        marker="__edb_e__",
        keys=("pk", "sk"),
    ),
    "one-table": PublishedDesign(  # markers and keys as OneTable writes them
        {
            "Account": Entity(
                {"pk": "account#{id}", "sk": "account#"}, {"id": "id", "name": "name", "balance": "price"}
            ),
            "User": Entity(
                {"pk": "account#{accountId}", "sk": "user#{email}", "gs1pk": "user#{email}", "gs1sk": "user#"},
                {"accountId": "group", "email": "name", "role": "status"},
            ),
        },
        (("gs1pk", "gs1sk"),),
        marker="_type",
        keys=("pk", "sk"),
    ),
    "iot": PublishedDesign(  # readings of devices by day, in epoch seconds and padded
        {
            "Device": Entity(
                {"PK": "DEVICE#{device}", "SK": "META"}, {"device": "name", "model": "city", "firmware": "name"}
            ),
            "Reading": Entity(
                {"PK": "DEVICE#{device}", "SK": "READING#{at}"},
                {"device": "group", "at": "instant", "celsius": "price"},
            ),
            "Alarm": Entity(
                {"PK": "DEVICE#{device}", "SK": "ALARM#{at}#{code}"},
                {"device": "group", "at": "seconds", "code": "status", "closed": "flag?"},
            ),
        }
    ),
    "places": PublishedDesign(  # stores by country and place: one kind, nothing repeated in attributes
        {
            "Store": Entity(
                {"PK": "COUNTRY#{country}", "SK": "{state}#{city}#{number}"},
                {
                    "country": "group-",
                    "state": "city-",
                    "city": "city-",
                    "number": "id-",
                    "manager": "name",
                    "opened": "date",
                },
            )
        },
    ),
    "orders-with-lines": PublishedDesign(  # a line's key goes on where that of its order ends
        {
            "Customer": Entity(
                {"PK": "CUSTOMER#{customer}", "SK": "CUSTOMER#{customer}"},
                {"customer": "id-", "name": "title", "joined": "date"},
            ),
            "Address": Entity(
                {"PK": "CUSTOMER#{customer}", "SK": "CUSTOMER#{customer}#ADDRESS#{label}"},
                {"customer": "group-", "label": "city-", "street": "title", "country": "city"},
            ),
            "Order": Entity(
                {"PK": "CUSTOMER#{customer}", "SK": "ORDER#{orderId}"},
                {"customer": "group-", "orderId": "id", "status": "status", "total": "price"},
            ),
            "Line": Entity(
                {"PK": "CUSTOMER#{customer}", "SK": "ORDER#{orderId}#ITEM#{number}"},
                {"customer": "group-", "orderId": "id", "number": "number", "sku": "name", "quantity": "number"},
            ),
        },
    ),
    "projects-in-levels": PublishedDesign(  # three levels of one hierarchy in one key
        {
            "Project": Entity(
                {"PK": "ORG#{org}", "SK": "PROJECT#{project}"},
                {"org": "group-", "project": "name-", "title": "title", "budget": "price"},
            ),
            "Task": Entity(
                {"PK": "ORG#{org}", "SK": "PROJECT#{project}#TASK#{task}"},
                {"org": "group-", "project": "name-", "task": "id-", "due": "date", "state": "status"},
            ),
            "Comment": Entity(
                {"PK": "ORG#{org}", "SK": "PROJECT#{project}#TASK#{task}#COMMENT#{comment}"},
                {
                    "org": "group-",
                    "project": "name-",
                    "task": "group-",
                    "comment": "id-",
                    "author": "name",
                    "body": "title",
                },
            ),
        },
    ),
    "cart": PublishedDesign(  # a name of a key that says what is in it
        {
            "Line": Entity(
                {"CustomerID": "{customer}", "Status#Date": "{status}#{date}"},
                {"customer": "group-", "status": "status-", "date": "instant-", "Price": "price", "Count": "number"},
            )
        },
        keys=("CustomerID", "Status#Date"),
    ),
    "invoices": PublishedDesign(  # an adjacency list
        {
            "root": Entity(
                {"PK": "I#{invoice}", "SK": "root"},
                {"invoice": "id-", "InvoiceDate": "date", "InvoiceBalance": "price"},
            ),
            "C": Entity({"PK": "I#{invoice}", "SK": "C#{customer}"}, {"invoice": "group-", "customer": "id-"}),
            "B": Entity(
                {"PK": "I#{invoice}", "SK": "B#{bill}"},
                {"invoice": "group-", "bill": "id-", "BillAmount": "price", "BillBalance": "price"},
            ),
        },
        (("SK",),),
    ),
    "learning": PublishedDesign(  # a school: kinds by a marker of no known name
        {
            "course": Entity(
                {"PK": "course/{course}", "SK": "course"}, {"course": "id", "credits": "number", "teacher": "name"}
            ),
            "pupil": Entity(
                {"PK": "pupil/{pupil}", "SK": "pupil"}, {"pupil": "id", "year": "number", "address": "map"}
            ),
            "mark": Entity(
                {"PK": "pupil/{pupil}", "SK": "mark/{course}"},
                {"pupil": "group", "course": "id", "grade": "price", "tags": "tags"},
            ),
        },
        marker="what",
    ),
    "followers": PublishedDesign(  # photos, likes and who follows whom; the index turns some pairs round
        {
            "User": Entity(
                {"PK": "USER#{username}", "SK": "USER#{username}"},
                {"username": "id", "name": "title", "followerCount": "number", "followingCount": "number"},
            ),
            "Photo": Entity(
                {"PK": "UP#{username}", "SK": "PHOTO#{photoId}"},
                {"username": "group", "photoId": "id", "url": "name", "likesCount": "number", "commentCount": "number"},
            ),
            "Like": Entity(
                {
                    "PK": "PL#{photoId}",
                    "SK": "LIKE#{likingUsername}",
                    "GSI1PK": "PL#{photoId}",
                    "GSI1SK": "LIKE#{likeId}",
                },
                {"photoId": "group", "likingUsername": "name", "likeId": "id"},
            ),
            "Comment": Entity(
                {"PK": "PC#{photoId}", "SK": "COMMENT#{commentId}"},
                {"photoId": "group", "commentId": "id", "commentingUsername": "name", "content": "title"},
            ),
            "Follow": Entity(
                {
                    "PK": "FOLLOW#{followedUsername}",
                    "SK": "FOLLOW#{followingUsername}",
                    "GSI1PK": "FOLLOW#{followingUsername}",
                    "GSI1SK": "FOLLOW#{followedUsername}",
                },
                {"followedUsername": "group", "followingUsername": "id"},
            ),
        },
        (("GSI1PK", "GSI1SK"),),
    ),
    "battle-royale": PublishedDesign(  # players and games, of which an index holds the open ones
        {
            "User": Entity(
                {"PK": "USER#{username}", "SK": "#METADATA#{username}"},
                {"username": "id", "name": "title", "birthdate": "date", "email": "name"},
            ),
            "Game": Entity(
                {"PK": "GAME#{game_id}", "SK": "#METADATA#{game_id}"},
                {
                    "game_id": "uuid",
                    "creator": "name",
                    "map": "city",
                    "people": "number",
                    "create_time": "time",
                    "open_timestamp": "time?",
                },
            ),
            "UserGameMapping": Entity(
                {"PK": "GAME#{game_id}", "SK": "USER#{username}"},
                {"game_id": "group", "username": "id", "place": "number"},
            ),
        },
        (("map", "open_timestamp"), ("SK", "PK")),
    ),
    "toolbox-orders": PublishedDesign(  # orders by state and time, with the marker of dynamodb-toolbox
        {
            "UserProfile": Entity(
                {"pk": "USER#{username}", "sk": "#PROFILE#{username}"},
                {"username": "id", "email": "name", "fullName": "title", "addresses": "loose", "_ct": "time"},
            ),
            "Order": Entity(
                {
                    "pk": "USER#{username}",
                    "sk": "ORDER#{orderId}",
                    "gsi1pk": "ORDER#{orderId}",
                    "gsi1sk": "USER#{username}",
                    "gsi2pk": "USER#{username}",
                    "gsi2sk": "{status:upper}#{placedAt}",
                },
                {
                    "username": "group",
                    "orderId": "id",
                    "status": "status",
                    "placedAt": "time-",
                    "shippingAddress": "map",
                },
            ),
            "OrderItem": Entity(
                {
                    "pk": "ITEM#{itemId}",
                    "sk": "ORDER#{orderId}",
                    "gsi1pk": "ORDER#{orderId}",
                    "gsi1sk": "ITEM#{itemId}",
                },
                {"itemId": "id", "orderId": "group", "productName": "title", "price": "price", "quantity": "number"},
            ),
        },
        (("gsi1pk", "gsi1sk"), ("gsi2pk", "gsi2sk")),
        marker="_et",
        keys=("pk", "sk"),
    ),
    "one-table-invoices": PublishedDesign(  # accounts with users and invoices; an index lists each kind by name
        {
            "Account": Entity(
                {"pk": "account#{id}", "sk": "account#", "gs1pk": "account#", "gs1sk": "account#{name}{id}"},
                {"id": "id", "name": "title", "balance": "number"},
                joined=frozenset(("gs1sk",)),
            ),
            "User": Entity(
                {"pk": "account#{accountId}", "sk": "user#{email}", "gs1pk": "user#", "gs1sk": "user#{name}#{id}"},
                {
                    "accountId": "group",
                    "id": "uuid",
                    "name": "title",
                    "email": "name",
                    "role": "status",
                    "address": "map",
                },
            ),
            "Product": Entity(
                {"pk": "product#{id}", "sk": "product#", "gs1pk": "product#", "gs1sk": "product#{name}#{id}"},
                {"id": "id", "name": "title", "price": "price"},
            ),
            "Invoice": Entity(
                {
                    "pk": "account#{accountId}",
                    "sk": "invoice#{id}",
                    "gs1pk": "invoice#",
                    "gs1sk": "invoice#{date}#{id}",
                },
                {"accountId": "group", "id": "id", "date": "seconds", "product": "name", "count": "number"},
            ),
        },
        (("gs1pk", "gs1sk"),),
        marker="_type",
        keys=("pk", "sk"),
    ),
    "electro-offices": PublishedDesign(  # tasks and employees in collections; some employees have no manager
        {
            "task": Entity(
                {
                    "pk": "$task-manager#taskname_{taskName}",
                    "sk": "$task_1#project_{project}#employee_{employee}",
                    "gsi1pk": "$task-manager#project_{project}",
                    "gsi1sk": "$task_1#employee_{employee}#status_{status}",
                    "gsi3pk": "$task-manager#employee_{employee}",
                    "gsi3sk": "$assignments#task_1#project_{project}#status_{status}",
                    "gsi4pk": "$task-manager#status_{status}",
                    "gsi4sk": "$task_1#project_{project}#employee_{employee}",
                },
                {
                    "taskName": "id",
                    "project": "group",
                    "employee": "name",
                    "status": "status",
                    "points": "number",
                    "__edb_v__": "version",
                },
            ),
            "employee": Entity(
                {
                    "pk": "$task-manager#employee_{employee}",
                    "sk": "$employee_1",
                    "gsi1pk": "$task-manager#officename_{officeName:lower}",
                    "gsi1sk": "$workplaces#employee_1#team_{team}#title_{title:lower}#employee_{employee}",
                    "gsi2pk": "$task-manager#team_{team}",
                    "gsi2sk": "$employee_1#datehired_{dateHired}#title_{title:lower}",
                    "gsi3pk": "$task-manager#employee_{employee}",
                    "gsi3sk": "$assignments#employee_1",
                    "gsi5pk": "$task-manager#manager_{manager}",
                    "gsi5sk": "$employee_1#team_{team}#officename_{officeName:lower}",
                },
                {
                    "employee": "uuid",
                    "firstName": "name",
                    "officeName": "city",
                    "title": "title",
                    "team": "group",
                    "dateHired": "date",
                    "manager": "name?",
                    "__edb_v__": "version",
                },
                needs={"gsi5pk": "manager", "gsi5sk": "manager"},
            ),
        },
        tuple((f"gsi{n}pk", f"gsi{n}sk") for n in range(1, 6)),
        marker="__edb_e__",
        keys=("pk", "sk"),
    ),
}
VALUES["version"] = lambda chance, number: {"S": "1"}


@pytest.fixture(scope="session", params=PUBLISHED)
def published(request: pytest.FixtureRequest) -> tuple[PublishedDesign, dict[str, list[dict[str, Any]]]]:
    """Return each published design in turn, with items of it by entity."""
    design = PUBLISHED[request.param]
    return design, design.items(seed=7)


@cache
def scenario_samples() -> dict[str, Sample]:
    """Return folder and table -> all items that a scenario publishes of it."""
    found = {}
    for file in sorted(SCENARIOS.glob("*/schema.json")):
        items = file.with_name("items.json")
        published = json.loads(items.read_text("utf-8")) if items.exists() else {}
        for table in json.loads(file.read_text("utf-8")):
            schema = read_description({"Table": {**table, **ACTIVE}}).schema
            stored = published.get(schema.name, ())
            found[f"{file.parent.name}/{schema.name}"] = Sample(schema=schema, items=tuple(stored), complete=True)
    return found


@pytest.fixture(scope="session")
def all_samples() -> dict[str, Sample]:
    """Return name -> sample, of every table here."""
    published = {
        name: Sample(schema=design.schema, items=tuple(item for group in design.items(7).values() for item in group))
        for name, design in PUBLISHED.items()
    }
    return {**scenario_samples(), **published}


@pytest.fixture(params=scenario_samples())
def scenario(request: pytest.FixtureRequest) -> Sample:
    """Return each table of the scenarios in turn, with all items that are published."""
    return scenario_samples()[request.param]


def canonical(value: dict[str, Any]) -> Any:
    """Return a value in wire form so that equal ones are equal: numbers as numbers, sets as sets."""
    [(tag, content)] = value.items()
    match tag:
        case "N":
            return tag, Decimal(content)
        case "NS":
            return tag, frozenset(map(Decimal, content))
        case "SS" | "BS":
            return tag, frozenset(content)
        case "L":
            return tag, [canonical(each) for each in content]
        case "M":
            return tag, {name: canonical(each) for name, each in content.items()}
    return tag, content


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch):
    """Return a function (text) -> the module that it is, for the length of a test."""

    def load(text: str) -> ModuleType:
        module = importlib.util.module_from_spec(importlib.util.spec_from_loader("generated_models", None))
        monkeypatch.setitem(sys.modules, "generated_models", module)
        exec(compile(text, "generated_models.py", "exec"), module.__dict__)
        return module

    return load


@pytest.fixture
def unequal():
    """Return a function (module, items) -> the items that its models do not write as they were read.

    Each is written as it was read, and as a new item of the same values, with the keys that the model makes: it has to
    be in the same indexes.
    """

    def written(module: ModuleType, item: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        found = vars(module).values()
        table = next((each for each in found if isinstance(each, Table)), None)
        own = (each for each in found if isinstance(each, type) and issubclass(each, Model) and each is not Model)
        model = (
            next(each for each in own if definition_of(each).table is not None)
            if table is None
            else table.models[table.kind_of(item)]
        )
        definition = definition_of(model)
        [read] = definition.items.decode([item])
        computed = () if definition.computed is None else definition.computed.templates
        fresh = model(**{name: value for name, value in read.__dict__.items() if name not in computed})
        return definition.items.encode(read), definition.items.encode(fresh)

    def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
        return {name: canonical(each) for name, each in one.items()} == {n: canonical(e) for n, e in other.items()}

    return lambda module, items: [item for item in items if not all(same(each, item) for each in written(module, item))]
