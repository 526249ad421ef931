"""Exports of tables to S3, whole or what has changed in a time.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/S3DataExport.Output.html
"""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from hashlib import md5
from string import ascii_lowercase, digits
from typing import TYPE_CHECKING, Any, Final

from dynamap_async.simulated import wire
from dynamap_async.simulated.buckets import (
    BUCKET,
    ENCRYPTION,
    KMS_KEY,
    OWNER,
    PREFIX,
    TOKEN,
    joined,
    reachable,
    refuse_ion,
    refuse_missing,
)
from dynamap_async.simulated.constraints import Structure, choice, number, text
from dynamap_async.simulated.errors import Refused, invalid
from dynamap_async.simulated.jobs import Job
from dynamap_async.simulated.keys import key_of
from dynamap_async.simulated.reads import selection
from dynamap_async.simulated.settings import recoverable, restorable
from dynamap_async.simulated.shapes import ATTRIBUTES, EXPRESSION, NAMES
from dynamap_async.simulated.store import HASHES, Entry, Position, Table

if TYPE_CHECKING:
    from dynamap_async.simulated.buckets import Buckets
    from dynamap_async.simulated.service import Service

_ARN = text(1, 1024)
EXPORT_TABLE = Structure(
    {
        "TableArn!": _ARN,
        "ExportTime": number(),
        "ClientToken": TOKEN,
        "S3Bucket!": BUCKET,
        "S3BucketOwner": OWNER,
        "S3Prefix": PREFIX,
        "S3SseAlgorithm": ENCRYPTION,
        "S3SseKmsKeyId": KMS_KEY,
        "ExportFormat": choice("DYNAMODB_JSON", "ION"),
        "ExportType": choice("FULL_EXPORT", "INCREMENTAL_EXPORT"),
        "IncrementalExportSpecification": Structure(
            {
                "ExportFromTime": number(),
                "ExportToTime": number(),
                "ExportViewType": choice("NEW_IMAGE", "NEW_AND_OLD_IMAGES"),
            }
        ),
        "FilterSpecification": Structure(
            {
                "FilterExpression": EXPRESSION,
                "ProjectionExpression": EXPRESSION,
                "KeyConditionExpression": EXPRESSION,
                "ExpressionAttributeNames": NAMES,
                "ExpressionAttributeValues": ATTRIBUTES,
            }
        ),
    }
)
DESCRIBE_EXPORT = Structure({"ExportArn!": text(37, 1024)})
LIST_EXPORTS = Structure({"TableArn": _ARN, "MaxResults": number(1, 25), "NextToken": text()})
_PARTITIONS: Final = 4
"""What a new on-demand table has; each is exported into a file of its own, which may be empty."""
_SHORTEST, _LONGEST = 15 * 60, 24 * 3600
_LETTERS = ascii_lowercase + digits


class _Export:
    """One export: what it has to write, and where.

    Args:
        service: the service.
        buckets: its buckets.
        body: the request.
        table: what is exported.
        now: the time.
    """

    def __init__(self, service: Service, buckets: Buckets, body: dict[str, Any], table: Table, now: float) -> None:
        self._buckets = buckets
        self._bucket: str = body["S3Bucket"]
        self._chance = service.random(f"export/{now}/{len(service.jobs.of('export'))}")
        self.name = f"{int(now * 1000):014}-{self._chance.randrange(16**8):08x}"
        root = joined(body.get("S3Prefix"), "AWSDynamoDB")
        self._folder = f"{root}/{self.name}"
        self.manifest = f"{self._folder}/manifest-summary.json"
        self.kind = body.get("ExportType", "FULL_EXPORT")
        begin, end = restorable(service, table)
        if self.kind == "INCREMENTAL_EXPORT":
            self._data = f"{root}/data"
            self._take_changes(body, table, begin, end)
        else:
            self._data = f"{self._folder}/data"
            self._take_all(body, table, begin, end)
        self.items = sum(map(len, self._files))
        self.bytes = table.bytes
        self._summary |= {
            "tableArn": service.arn(table.name),
            "tableId": table.settings["TableId"],
            "s3Bucket": self._bucket,
            "s3Prefix": body.get("S3Prefix"),
            "s3SseAlgorithm": body.get("S3SseAlgorithm", "AES256"),
            "s3SseKmsKeyId": body.get("S3SseKmsKeyId"),
            "manifestFilesS3Key": f"{self._folder}/manifest-files.json",
            "billedSizeBytes": self.bytes,
            "itemCount": self.items,
            "outputFormat": "DYNAMODB_JSON",
        }

    def _take_all(self, body: dict[str, Any], table: Table, begin: float, end: float) -> None:
        if body.get("IncrementalExportSpecification") is not None:
            raise invalid("IncrementalExportSpecification is only supported for INCREMENTAL_EXPORT")
        at, chosen = body.get("ExportTime", end), body.get("FilterSpecification")
        if not begin <= at <= end:
            raise _outside()
        self._files = _items(table, at, chosen)
        self._summary: dict[str, Any] = {"version": "2020-06-30", "exportTime": _written(at)}
        self.details: dict[str, Any] = {"ExportTime": at, "FilterSpecification": chosen}

    def _take_changes(self, body: dict[str, Any], table: Table, begin: float, end: float) -> None:
        asked: dict[str, Any] = body.get("IncrementalExportSpecification") or {}
        since = asked.get("ExportFromTime")
        if since is None:
            raise invalid("IncrementalExportSpecification with ExportFromTime is required for INCREMENTAL_EXPORT")
        if body.get("ExportTime") is not None or body.get("FilterSpecification") is not None:
            raise invalid("ExportTime and FilterSpecification are not supported for INCREMENTAL_EXPORT")
        until, view = asked.get("ExportToTime", end), asked.get("ExportViewType", "NEW_AND_OLD_IMAGES")
        if since < begin or until > end:
            raise _outside()
        if not _SHORTEST <= until - since <= _LONGEST:
            raise invalid("ExportToTime must be at least 15 minutes and at most 24 hours after ExportFromTime")
        self._files = _changes(table, since, until, with_old=view != "NEW_IMAGE")
        self._summary = {
            "version": "2023-08-01",
            "exportFromTime": _written(since),
            "exportToTime": _written(until),
            "outputView": view,
            "exportType": self.kind,
        }
        specification = {"ExportFromTime": since, "ExportToTime": until, "ExportViewType": view}
        self.details = {"IncrementalExportSpecification": specification}

    def run(self, job: Job, share: float) -> None:
        """Write the files when its time has passed."""
        refuse_missing(self._buckets, self._bucket)
        self._buckets.write(self._bucket, f"{self._folder}/_started", b"")
        if share < 1:
            return
        listed = [self._write_items(lines) for lines in self._files]
        self._write_manifest("manifest-files", b"".join(wire.write(each) + b"\n" for each in listed))
        times = {"startTime": _written(job.started), "endTime": _written(job.ends)}
        self._write_manifest("manifest-summary", wire.write({"exportArn": job.arn, **times, **self._summary}))

    def _write_items(self, lines: list[bytes]) -> dict[str, Any]:
        key = f"{self._data}/{''.join(self._chance.choices(_LETTERS, k=26))}.json.gz"
        content = gzip.compress(b"".join(line + b"\n" for line in lines), mtime=0)
        self._buckets.write(self._bucket, key, content)
        digest = md5(content, usedforsecurity=False)
        return {
            "itemCount": len(lines),
            "md5Checksum": b64encode(digest.digest()).decode(),
            "etag": digest.hexdigest(),
            "dataFileS3Key": key,
        }

    def _write_manifest(self, file: str, content: bytes) -> None:
        digest = b64encode(md5(content, usedforsecurity=False).digest())
        self._buckets.write(self._bucket, f"{self._folder}/{file}.checksum", digest)
        self._buckets.write(self._bucket, f"{self._folder}/{file}.json", content)


def export_table_to_point_in_time(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out ExportTableToPointInTime."""
    buckets, now = reachable(service.buckets), service.clock()
    refuse_ion(body.get("ExportFormat"))
    conflict = Refused("ExportConflictException", "The client token was used with other parameters")
    if (job := service.jobs.repeated("export", body, now, conflict)) is not None:
        return {"ExportDescription": _description(job)}
    table = recoverable(service, body["TableArn"])
    export = _Export(service, buckets, body, table, now)
    table_arn = service.arn(table.name)
    arn = f"{table_arn}/export/{export.name}"
    ends = now + service.states.seconds("export", table.name)
    job = Job("export", arn, table_arn, body.get("ClientToken"), body, now, ends, export.run)
    job.keep(
        TableId=table.settings["TableId"],
        S3Bucket=body["S3Bucket"],
        S3BucketOwner=body.get("S3BucketOwner"),
        S3Prefix=body.get("S3Prefix"),
        S3SseAlgorithm=body.get("S3SseAlgorithm", "AES256"),
        S3SseKmsKeyId=body.get("S3SseKmsKeyId"),
        ExportFormat="DYNAMODB_JSON",
        ExportType=export.kind,
        ExportManifest=export.manifest,
        BilledSizeBytes=export.bytes,
        ItemCount=export.items,
        **export.details,
    )
    service.jobs.start(job)
    return {"ExportDescription": _description(job)}


def _outside() -> Refused:
    return Refused(
        "InvalidExportTimeException", "The specified ExportTime is outside of the point in time recovery window"
    )


def _written(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{int(moment * 1000) % 1000:03}Z"


def _by_partition(found: Iterable[tuple[Position, bytes]]) -> list[list[bytes]]:
    files: list[list[bytes]] = [[] for _number in range(_PARTITIONS)]
    for position, line in found:
        files[int.from_bytes(position[:8], "big") * _PARTITIONS // HASHES].append(line)
    return files


def _items(table: Table, at: float, asked: dict[str, Any] | None) -> list[list[bytes]]:
    """Return the lines of each file of a full export."""
    found = sorted(table.entries_at(at).items())
    if asked is None:
        return _by_partition((position, b'{"Item":%s}' % entry.text) for position, entry in found)
    chosen = selection(table, asked)
    pairs = ((position, chosen(position, entry)) for position, entry in found)
    return _by_partition((position, b'{"Item":%s}' % text_) for position, text_ in pairs if text_ is not None)


def _changes(table: Table, begin: float, end: float, *, with_old: bool) -> list[list[bytes]]:
    """Return the lines of each file of an incremental export: one for each item that has changed."""
    before, after = table.entries_at(begin, inclusive=False), table.entries_at(end, inclusive=False)
    written = {past.position: past.written for past in table.past if begin <= past.written < end}

    def told() -> Iterator[tuple[Position, bytes]]:
        for position, moment in sorted(written.items()):
            old, new = before.get(position), after.get(position)
            known: Entry | None = new or old
            if known is None:  # it came and went
                continue
            line = {
                "Metadata": {"WriteTimestampMicros": {"N": str(int(moment * 1_000_000))}},
                "Keys": key_of(table, known.item),
                "OldImage": old.text if old is not None and with_old else None,
                "NewImage": None if new is None else new.text,
            }
            yield position, wire.answer(line)

    return _by_partition(told())


def _description(job: Job) -> dict[str, Any]:
    finished = job.status == "COMPLETED"
    hidden = () if finished else ("BilledSizeBytes", "ItemCount", "ExportManifest")
    return {
        "ExportArn": job.arn,
        "ExportStatus": job.status,
        "StartTime": job.started,
        **({} if job.ended is None else {"EndTime": job.ended}),
        "TableArn": job.table_arn,
        **({} if job.token is None else {"ClientToken": job.token}),
        **{name: value for name, value in job.details.items() if value is not None and name not in hidden},
    }


def describe_export(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out DescribeExport."""
    job = service.jobs.find("export", body["ExportArn"])
    if job is None:
        raise Refused("ExportNotFoundException", f"Export not found: {body['ExportArn']}")
    return {"ExportDescription": _description(job)}


def list_exports(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out ListExports."""
    table = body.get("TableArn")
    found = sorted(
        (job for job in service.jobs.of("export") if table in {None, job.table_arn}),
        key=lambda job: job.arn,
        reverse=True,
    )
    page, token = service.jobs.page(found, body, "MaxResults", service.clock())
    return {
        "ExportSummaries": [
            {"ExportArn": job.arn, "ExportStatus": job.status, "ExportType": job.details["ExportType"]} for job in page
        ],
        "NextToken": token,
    }
