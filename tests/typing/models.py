"""Models as users write them: what right.py, wrong.py and the run-time tests are about. Also imported and run."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address
from typing import Annotated, ClassVar, Generic, Literal, TypeVar
from uuid import UUID

from pydantic import AnyUrl, BaseModel, ConfigDict, Field, computed_field, field_validator

from dynamap_async import (
    EPOCH_MILLISECONDS,
    KEYS_ONLY,
    UNMARKED,
    Attr,
    GlobalIndex,
    LocalIndex,
    Model,
    PartitionKey,
    SortKey,
    StoredForm,
    Table,
    Throughput,
    TimeToLive,
    Version,
    attr,
    computed_attr,
    include,
    template,
)


class Geo(Model):
    lat: Attr[Decimal]


class Address(Model):
    city: Attr[str]
    zip: Attr[str | None] = attr(default=None)
    geo: Attr[Geo | None] = attr(default=None)


@dataclass
class Boxed:
    colour: str


class Plain(BaseModel):
    colour: str


class Tweet(Model, table="tweets"):
    user_id: PartitionKey[str]
    tweet_id: SortKey[int]
    posted_at: Attr[datetime]
    city: Attr[str | None] = attr(default=None)
    likes: Attr[int] = attr(default=0)
    tags: Attr[set[str]] = attr(default_factory=set)
    text: Attr[str] = attr(name="body", default="", description="what was said")
    price: Attr[Decimal] = attr(default=Decimal(0))
    address: Attr[Address | None] = attr(default=None)
    home: Attr[Address] = attr(default_factory=lambda: Address(city=""), alias="homeAddress")
    history: Attr[list[Address]] = attr(default_factory=list)
    places: Attr[dict[str, Address]] = attr(default_factory=dict)
    words: Attr[list[str]] = attr(default_factory=list)
    counts: Attr[dict[str, int]] = attr(default_factory=dict)
    pair: Attr[tuple[int, str] | None] = attr(default=None)
    plain: Attr[Plain | None] = attr(default=None)
    boxed: Attr[Boxed | None] = attr(default=None)
    seen_at: Attr[datetime | None] = attr(default=None, stored_as=EPOCH_MILLISECONDS)
    expires_at: TimeToLive[datetime | None] = attr(default=None)
    version: Version[int] = attr(default=0)
    limited: Attr[Annotated[int, Field(ge=0)]] = attr(default=0)
    note: str = ""
    source: Annotated[str, Field(max_length=10)] = "web"

    by_time = LocalIndex(sort_key="posted_at")
    by_likes = LocalIndex("like-index", sort_key="likes", projection=include("text"))
    by_city = GlobalIndex(
        "city-index",
        partition_key="city",
        sort_key="posted_at",
        projection=KEYS_ONLY,
        throughput=Throughput(read=10, write=2),
    )

    model_config = ConfigDict(validate_assignment=True)

    @field_validator("text")
    @classmethod
    def not_blank(cls, value: str) -> str:
        return value.strip()

    @computed_field  # type: ignore[prop-decorator]  # Pydantic's own way under mypy
    @property
    def shout(self) -> str:
        return self.text.upper()

    def older(self, other: "Tweet") -> bool:
        return self.posted_at < other.posted_at and self.likes > 3


class Guest(Model, table="guests"):
    id: PartitionKey[str]
    name: Attr[str]
    visits: Attr[int] = attr(default=0)

    @computed_attr(depends=("name",))
    def loud(self) -> str:
        return self.name.upper()

    @computed_attr(depends=("visits",), name="r")
    def regular(self) -> int | None:
        return self.visits if self.visits > 9 else None

    by_loud = GlobalIndex(partition_key="loud", sort_key="regular")


class Retweet(Tweet, table="retweets"):
    original: Attr[int]
    likes: Attr[int] = attr(default=1)


class Audited(Model, abstract=True):
    created_at: Attr[datetime]
    by_created = GlobalIndex(partition_key="created_at")


class User(Audited, table="users"):
    name: PartitionKey[str]
    active: Attr[bool] = attr(default=True)
    by_name = GlobalIndex(partition_key=["name", "active_since"], projection=include("active"))
    by_active: ClassVar[GlobalIndex] = GlobalIndex(partition_key="active_since", sort_key=("name", "created_at"))
    active_since: Attr[datetime | None] = attr(default=None)


K = TypeVar("K")


class Entity(Model, Generic[K], abstract=True):
    id: PartitionKey[K]
    label: Attr[str] = attr(default="")


class Thing(Entity[UUID], table="things"):
    size: Attr[int] = attr(default=0)


class Parcel(Model, table="parcels"):
    id: PartitionKey[str]
    made_at: Attr[datetime]
    sent_at: Attr[datetime | None] = attr(default=None)
    status: Attr[Literal["new", "sent"]] = attr(default="new")
    before: Attr[Literal["new", "sent"] | None] = attr(default=None)
    weights: Attr[list[float]] = attr(default_factory=list)
    prices: Attr[dict[str, float]] = attr(default_factory=dict)
    mixed: Attr[dict[str, str | int]] = attr(default_factory=dict)
    notes: Attr[list[str | None]] = attr(default_factory=list)
    stops: Attr[dict[str, Address | None]] = attr(default_factory=dict)
    marks: Attr[set[Literal["fragile", "heavy"]]] = attr(default_factory=set)
    labels: Attr[frozenset[str]] = attr(default_factory=frozenset)
    names: Attr[tuple[str, ...]] = attr(default=())


class Ticket(Model, table="tickets"):
    number: PartitionKey[int] = attr(autoincrement=True)
    created_at: Attr[datetime] = attr(on_create=datetime.now, name="born")
    updated_at: Attr[datetime | None] = attr(on_update=datetime.now)
    written_by: Attr[str | None] = attr(write_id=True)
    title: Attr[str]
    weight: Attr[float] = attr(default=0.0)


class Import(Model, table="imports"):
    number: PartitionKey[int] = attr(autoincrement=True, default=...)
    created_at: Attr[datetime] = attr(on_create=datetime.now, default=...)
    updated_at: Attr[datetime | None] = attr(on_update=datetime.now, default=...)
    written_by: Attr[str | None] = attr(write_id=True, default=...)
    title: Attr[str]


SHOP = Table(
    "shop",
    partition_key="pk",
    sort_key="sk",
    indexes=(GlobalIndex("gsi1", partition_key="gsi1pk"),),
    discriminator="type",
)


class Customer(Model, table=SHOP, kind=UNMARKED):
    customer_id: PartitionKey[str]
    sk: SortKey[str] = attr(default="0")
    name: Attr[str] = attr(default="")


class Order(Model, table=SHOP, kind="order"):
    customer_id: PartitionKey[str]
    number: SortKey[str]
    total: Attr[Decimal] = attr(default=Decimal(0))


class Gift(Order, kind="gift"):
    note: Attr[str] = attr(default="")


class Store(Model, table="stores"):
    country: Attr[str]
    region: Attr[str] = attr(stored=False)
    number: Attr[int]
    city: Attr[str | None] = attr(default=None)
    pk: PartitionKey[str] = template("country:{country}")
    sk: SortKey[str] = template("{region}#{number:06d}")
    in_city: Attr[str | None] = template("city:{city:lower}", name="gsi1pk", escape=True)
    by_city = GlobalIndex(partition_key="in_city")


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


class Serial:
    """A type of the program's own, as identifiers are."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __lt__(self, other: "Serial") -> bool:
        return self.text < other.text


SERIAL = StoredForm(name="serial", tag="S", encode=lambda serial: serial.text, decode=Serial)


class Lap(Model, table="laps"):
    length: PartitionKey[timedelta]
    begins: SortKey[time]


class Host(Model, table="hosts"):
    address: PartitionKey[IPv4Address]
    seen: SortKey[datetime] = attr(stored_as=EPOCH_MILLISECONDS)


class Link(Model, table="links"):
    url: PartitionKey[AnyUrl]
    size: SortKey[Size]


class Part(Model, table="parts"):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    serial: PartitionKey[Serial] = attr(stored_as=SERIAL)
    stock: Attr[dict[Size, int]] = attr(default_factory=dict)
    shelves: Attr[dict[int, Address]] = attr(default_factory=dict)
    checked: Attr[dict[date, float] | None] = attr(default=None)
    codes: Attr[Sequence[str]] = attr(default=())
    notes: Attr[Sequence[int] | None] = attr(default=None)
    price: Attr[Decimal] = attr(default=Decimal(0))
    was: Attr[Decimal | None] = attr(default=None)
    weight: Attr[float] = attr(default=0.0)
