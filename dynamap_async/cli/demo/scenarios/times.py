"""How the published tables store times: as text, in forms of their own that sort by time too."""

from datetime import UTC, datetime

from dynamap_async import StoredForm


def _utc_milliseconds(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _utc_seconds(time: datetime) -> str:
    return time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds")


def _from_utc_seconds(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


UTC_MILLISECONDS = StoredForm(
    name="a time to the millisecond", tag="S", encode=_utc_milliseconds, decode=datetime.fromisoformat
)
"""``2015-09-22T19:58:22.514Z``"""

UTC_SECONDS = StoredForm(name="a time to the second", tag="S", encode=_utc_seconds, decode=_from_utc_seconds)
"""``2020-04-24T14:50:00``, meant as UTC"""
