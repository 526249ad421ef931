"""What a table has besides keys, indexes and time to live, as models declare it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import Any, Final, Literal, TypeAlias, get_args

from dynamap_async.config import Throughput
from dynamap_async.dataclass import dataclass
from dynamap_async.limits import RECOVERY_DAYS, TAGS_PER_TABLE
from dynamap_async.schema.on_demand import OnDemand

StreamView: TypeAlias = Literal["keys", "new", "old", "new-and-old", "off"]
"""What a stream tells of each change: keys, the item after it, the item before it, or both; ``off`` is no stream."""

TableClass: TypeAlias = Literal["standard", "infrequent-access"]
"""What storage costs, and requests: ``infrequent-access`` is cheaper to store, and dearer to read and write."""

STREAM_VIEWS: Final[Mapping[str, StreamView]] = {
    "KEYS_ONLY": "keys",
    "NEW_IMAGE": "new",
    "OLD_IMAGE": "old",
    "NEW_AND_OLD_IMAGES": "new-and-old",
}
"""The API's name of a stream's view -> ours."""

TABLE_CLASSES: Final[Mapping[str, TableClass]] = {
    "STANDARD": "standard",
    "STANDARD_INFREQUENT_ACCESS": "infrequent-access",
}
"""The API's name of a table class -> ours."""


InsightsMode: TypeAlias = Literal["accessed-and-throttled", "throttled", "off"]
"""Which keys Contributor Insights counts: the most accessed and the most throttled, or only these; ``off`` for none."""

INSIGHTS_MODES: Final[Mapping[str, InsightsMode]] = {
    "ACCESSED_AND_THROTTLED_KEYS": "accessed-and-throttled",
    "THROTTLED_KEYS": "throttled",
}
"""The API's name of a mode of Contributor Insights -> ours."""

_REPLICATED: Final = "new-and-old"
"""The view of the stream that replicas need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """Continuous backups: the table can be restored as it was at any second of the last days.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/PointInTimeRecovery_Howitworks.html
    """

    days: int = RECOVERY_DAYS
    """How far back, in days: 1 to 35."""

    def __post_init__(self) -> None:
        if type(self.days) is not int or not 1 <= self.days <= RECOVERY_DAYS:
            raise ValueError(f"Recovery(days={self.days!r}): DynamoDB keeps 1 to {RECOVERY_DAYS} days")


@dataclass(frozen=True, slots=True, kw_only=True)
class Encryption:
    """The key that a table is encrypted with; every table is.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/encryption.howitworks.html
    """

    kms_key: str | None = None
    """An ARN, an id or an alias of a KMS key. None for the key that AWS owns, ``alias/aws/dynamodb`` for the account's
    own key that AWS manages. What an alias stands for only KMS can tell: give the ARN to have the key compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContributorInsights:
    """Contributor Insights: CloudWatch counts which keys are accessed most, and which are throttled.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/contributorinsights_HowItWorks.html
    """

    table: InsightsMode | None = "accessed-and-throttled"
    """What is counted of the table; None where that is not managed."""
    indexes: Mapping[str, InsightsMode] = field(default_factory=dict[str, InsightsMode])
    """Name of a global index -> what is counted of it. What is not named is not managed."""

    def __post_init__(self) -> None:
        _check_choice("table", self.table, get_args(InsightsMode))
        _check_type("indexes", _is(self.indexes, Mapping), self.indexes, '{"by-city": "throttled"}')
        for name, mode in self.indexes.items():
            _check_choice(f"indexes[{name!r}]", mode or "", get_args(InsightsMode))

    def __hash__(self) -> int:
        return hash((self.table, frozenset(self.indexes.items())))

    def modes(self) -> dict[str | None, InsightsMode]:
        """Return what is managed: name of a global index, or None for the table -> its mode."""
        of_table: dict[str | None, InsightsMode] = {} if self.table is None else {None: self.table}
        return of_table | dict(sorted(self.indexes.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSettings:
    """Settings of a table; one that is None is not managed: nothing is compared, and nothing changed."""

    billing: OnDemand | Throughput | None = None
    """How capacity is paid for: by request, or provisioned, of which ``throughput=`` of a model is the short form."""
    stream: StreamView | None = None
    """What the table's stream tells of each change; ``off`` for no stream."""
    recovery: Recovery | Literal[False] | None = None
    """Whether it can be restored as it was at any second of the last days; False turns that off."""
    deletion_protection: bool | None = None
    """Whether DynamoDB refuses to delete it."""
    table_class: TableClass | None = None
    """What storage and requests cost."""
    encryption: Encryption | None = None
    """The key that it is encrypted with."""
    tags: Mapping[str, str] | None = None
    """All of its tags but those of AWS, which begin with ``aws:``."""
    replicas: Collection[str] | None = None
    """The other regions that have a copy of the table, as in ``["us-east-1"]``: all of them. ``apply`` adds and removes
    them, ``create`` does not. They need the stream ``new-and-old``, which DynamoDB turns on by itself."""
    insights: ContributorInsights | None = None
    """What CloudWatch counts of the keys of the table and of its global indexes."""
    autoscaled: bool = False
    """Whether another service sets its throughput, so that it is sent when the table is made, and not compared."""

    def __post_init__(self) -> None:
        _check_type("billing", _is(self.billing, (OnDemand, Throughput)), self.billing, "OnDemand(max_write=500)")
        _check_choice("stream", self.stream, get_args(StreamView))
        _check_choice("table_class", self.table_class, get_args(TableClass))
        _check_type(
            "recovery", self.recovery is False or _is(self.recovery, Recovery), self.recovery, "Recovery(days=7)"
        )
        _check_type("deletion_protection", _is(self.deletion_protection, bool), self.deletion_protection, "True")
        _check_type("encryption", _is(self.encryption, Encryption), self.encryption, 'Encryption(kms_key="...")')
        _check_type("insights", _is(self.insights, ContributorInsights), self.insights, "ContributorInsights()")
        _check_type("autoscaled", isinstance(self.autoscaled, bool), self.autoscaled, "True")
        if self.tags is not None:
            check_tags(self.tags)
        if self.replicas is not None:
            _check_replicas(self.replicas, self.stream)

    def __hash__(self) -> int:
        return hash(
            (self.billing, self.stream, self.recovery, self.deletion_protection, self.table_class, self.encryption)
        )

    def declared(self) -> dict[str, Any]:
        """Return the managed settings: name -> value."""
        found = {name: value for name in SETTING_NAMES if (value := getattr(self, name)) is not None}
        return found if self.replicas is None else {**found, "replicas": frozenset(self.replicas)}

    def completed(self, other: TableSettings) -> TableSettings:
        """Return these settings, with those of another where these are None.

        Args:
            other: what fills the gaps.
        """
        return TableSettings(**other.declared() | self.declared(), autoscaled=self.autoscaled or other.autoscaled)

    def clash(self, other: TableSettings) -> str | None:
        """Return the name of a setting to which both give different values; None if there is none.

        Args:
            other: what it is compared with.
        """
        mine, theirs = self.declared(), other.declared()
        unlike = next((name for name in mine if name in theirs and mine[name] != theirs[name]), None)
        if unlike is None and any(
            one.get("replicas") and rest.get("stream", _REPLICATED) != _REPLICATED
            for one, rest in ((mine, theirs), (theirs, mine))
        ):
            return "stream"
        return unlike


SETTING_NAMES: Final = (
    *("billing", "stream", "recovery", "deletion_protection", "table_class", "encryption", "tags", "replicas"),
    "insights",
)
"""The settings that are compared."""


def check_tags(tags: Mapping[str, str]) -> None:
    """Raise ValueError for tags that DynamoDB refuses.

    Args:
        tags: name -> value.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Tagging.html
    """
    given: object = tags
    if not isinstance(given, Mapping) or any(not isinstance(each, str) for pair in tags.items() for each in pair):
        raise ValueError(f'tags={given!r} is not a mapping of strings; write {{"team": "shop"}}')
    check_tag_names(tags)


def check_tag_names(names: Collection[str]) -> None:
    """Raise ValueError for names of tags that DynamoDB refuses; see ``check_tags``."""
    if len(names) > TAGS_PER_TABLE:
        raise ValueError(f"{len(names)} tags; DynamoDB allows {TAGS_PER_TABLE}")
    if own := sorted(name for name in names if name.startswith("aws:")):
        raise ValueError(f"the tag {own[0]!r} begins with aws:, which is reserved for AWS; choose another name")


def _check_replicas(given: object, stream: StreamView | None) -> None:
    regions: Any = given
    if (
        isinstance(given, str)
        or not isinstance(given, Collection)
        or not all(isinstance(each, str) and each for each in regions)
    ):
        raise ValueError(f'replicas={given!r} is not a list of regions; write replicas=["us-east-1"]')
    if regions and stream not in (None, _REPLICATED):
        raise ValueError(f'stream={stream!r}: replicas need stream="{_REPLICATED}"; write that, or leave stream out')


def _is(value: object, kind: type | tuple[type, ...]) -> bool:
    return value is None or isinstance(value, kind)


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value is not None and value not in choices:
        raise ValueError(f"{name}={value!r} is not one of {', '.join(map(repr, choices))}")


def _check_type(name: str, is_right: object, value: object, example: str) -> None:
    if not is_right:
        raise ValueError(f"{name}={value!r}: write {name}={example}")
