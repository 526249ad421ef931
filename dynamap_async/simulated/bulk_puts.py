"""Bulk puts: items from S3 into a table that is there, with reports of those that were not written.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/BulkPutItems.Requesting.html
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from dynamap_async.simulated import wire, writes
from dynamap_async.simulated.buckets import (
    BUCKET,
    COMPRESSION,
    ENCRYPTION,
    KMS_KEY,
    OWNER,
    PREFIX,
    TOKEN,
    Unreadable,
    content,
    decompressor,
    joined,
    lines,
    reachable,
    refuse_ion,
    refuse_missing,
    source_keys,
)
from dynamap_async.simulated.constraints import Structure, choice, listing, number, text
from dynamap_async.simulated.errors import Refused, invalid
from dynamap_async.simulated.jobs import Failed, Job
from dynamap_async.simulated.service import ACCOUNT
from dynamap_async.simulated.shapes import ATTRIBUTES, EXPRESSION, PLACEHOLDERS, TABLE_NAME
from dynamap_async.simulated.store import Change, Table

if TYPE_CHECKING:
    from dynamap_async.simulated.buckets import Buckets
    from dynamap_async.simulated.service import Service

_ARN = text(37, 1024)
_LEAST_UNITS: Final = 1024
START_BULK_PUT_ITEMS = Structure(
    {
        "ClientToken": TOKEN,
        "InputS3Configuration!": Structure(
            {
                "S3BucketOwner": OWNER,
                "S3Bucket!": BUCKET,
                "S3KeyPrefix": PREFIX,
                "InputFormat!": choice("DYNAMODB_JSON", "ION"),
                "InputCompressionType": COMPRESSION,
            }
        ),
        "OutputS3Configuration!": Structure(
            {
                "S3BucketOwner": OWNER,
                "S3Bucket": BUCKET,
                "S3KeyPrefix": PREFIX,
                "S3SseAlgorithm": ENCRYPTION,
                "S3SseKmsKeyId": KMS_KEY,
                "OutputType!": listing(choice("ERROR", "CONDITION_CHECK_FAILURE")),
            }
        ),
        "TableName!": TABLE_NAME,
        "MaxWriteRequestUnits": number(_LEAST_UNITS),
        "PerformanceTier": choice("STANDARD", "ACCELERATED"),
    }
)
DESCRIBE_BULK_OPERATION = Structure({"BulkOperationArn!": _ARN})
CANCEL_BULK_OPERATION = DESCRIBE_BULK_OPERATION
LIST_BULK_OPERATIONS = Structure({"MaxResults": number(1, 25), "NextToken": text(1, 1024, "([0-9a-f]{16})+")})
_LINE = Structure({"Item!": ATTRIBUTES, "ConditionExpression": EXPRESSION, **PLACEHOLDERS})


class _BulkPut:
    """What one bulk put has done.

    Args:
        service: the service.
        buckets: its buckets.
        body: the request.
        table: where the items go.
        root: below which key the reports lie.
    """

    def __init__(self, service: Service, buckets: Buckets, body: dict[str, Any], table: Table, root: str) -> None:
        self._service = service
        self._buckets = buckets
        self._body = body
        self._table = table
        self._root = root
        self._output = body["OutputS3Configuration"]
        self._decompress = decompressor(body["InputS3Configuration"].get("InputCompressionType", "NONE"))
        self._records: list[tuple[str, int, bytes | None]] | None = None
        """What is read: the key of the object, the number of the line, and the line; None if there is none to read."""
        self._total = 0
        self._done = 0
        self._processed = 0
        self._failed = 0
        self._stopped: set[str] = set()
        """Objects of which nothing more is read."""
        self._reports: dict[str, list[bytes]] = defaultdict(list)
        self._usage: dict[str, int] = defaultdict(int)
        """The bytes that were written into the table (under no name) and into its indexes."""

    def run(self, job: Job, share: float) -> str | None:
        """Write the items for which it is time, and the reports at the end."""
        records = self._read()
        table = self._service.store.tables.get(self._table.name)
        if table is None or table is not self._table or table.status == "DELETING":
            raise Failed("ResourceNotFoundException", f"Requested resource not found: Table: {self._table.name}")
        until = int(len(records) * share)
        if until > self._done:
            self._service.store.journal.note(partial(vars(self).update, self._progress()))
        for key, number_, line in records[self._done : until]:
            if key not in self._stopped:
                self._put(key, number_, line)
        self._done = max(self._done, until)
        ends = share >= 1 or job.status == "CANCELLING"
        outcome = None
        if ends:
            outcome = "CANCELLED" if job.status == "CANCELLING" else "COMPLETED_WITH_ERRORS" if self._failed else None
            if outcome == "CANCELLED":
                job.keep(FailureCode="Cancelled", FailureMessage="The bulk operation was cancelled")
            self._report(job, outcome or "COMPLETED")
        self._keep_counts(job)
        return outcome

    def _progress(self) -> dict[str, Any]:
        """Return a copy of what changes while items are written."""
        own = vars(self)
        counts = {name: own[name] for name in ("_done", "_processed", "_failed")}
        reports = defaultdict(list, {kind: [*lines] for kind, lines in self._reports.items()})
        return {**counts, "_stopped": set(self._stopped), "_reports": reports, "_usage": self._usage.copy()}

    def _read(self) -> list[tuple[str, int, bytes | None]]:
        if self._records is None:
            source = self._body["InputS3Configuration"]
            refuse_missing(self._buckets, self._output["S3Bucket"])
            found: list[tuple[str, int, bytes | None]] = []
            for key in source_keys(self._buckets, source["S3Bucket"], source.get("S3KeyPrefix", "")):
                self._total += len(self._buckets.read(source["S3Bucket"], key))
                try:
                    text_ = content(self._buckets, source["S3Bucket"], key, self._decompress)
                except Unreadable:
                    found.append((key, 0, None))
                    continue
                found.extend((key, number_, line) for number_, line in lines(text_))
            self._records = found
        return self._records

    def _put(self, key: str, number_: int, line: bytes | None) -> None:
        self._processed += 1
        if line is None:
            self._fail(key, number_, line, invalid("The object is not compressed as InputCompressionType says"))
            return
        try:
            record = wire.read(line)
        except Refused:
            self._stopped.add(key)  # what follows cannot be trusted
            self._fail(key, number_, line, invalid("The line is no JSON"))
            return
        try:
            _LINE.admit(record)
            write = writes.put({"TableName": self._table.name, **record}, self._service.table)
        except Refused as refused:
            self._fail(key, number_, line, refused)
            return
        old = write.old_item if write.condition is not None else None
        if not write.is_allowed(old):
            self._reports["CONDITION_CHECK_FAILURE"].append(
                wire.answer({"S3Key": key, "LineNumber": number_, "Item": record["Item"], "ExistingItem": old})
            )
            return
        change = self._table.change(write.position, *write.new_item(old))
        self._service.carry(change)
        self._count(change)

    def _fail(self, key: str, number_: int, line: bytes | None, refused: Refused) -> None:
        self._failed += 1
        told = {
            "S3Key": key,
            "LineNumber": number_,
            "ErrorCode": refused.code,
            "ErrorMessage": refused.message,
            "Record": None if line is None else line.decode("utf-8", "replace"),
        }
        self._reports["ERROR"].append(wire.answer(told))

    def _count(self, change: Change) -> None:
        self._usage[""] += change.size
        for each in change.indexes:
            if each.new is not None and each.is_one:
                self._usage[f"/{each.index.name}"] += each.new.size

    def _keep_counts(self, job: Job) -> None:
        records = len(self._read())
        usage = {name[1:]: size for name, size in self._usage.items() if name.startswith("/")}
        told: dict[str, Any] = {
            "TableName": self._table.name,
            "BulkPutBytes": self._usage[""] + sum(usage.values()),
            "Table": {"BulkPutBytes": self._usage[""]},
        }
        for member, is_global in (("LocalSecondaryIndexes", False), ("GlobalSecondaryIndexes", True)):
            of_kind = {
                name: {"BulkPutBytes": usage.get(name, 0)}
                for name, index in self._table.indexes.items()
                if index.is_global is is_global
            }
            if of_kind:
                told[member] = of_kind
        job.keep(
            TotalInputBytes=self._total,
            ProcessedInputBytes=self._total * self._done // records if records else self._total,
            ProcessedItemCount=self._processed,
            FailedItemCount=self._failed,
            BulkOperationUsage=[told],
        )

    def _report(self, job: Job, outcome: str) -> None:
        """Write what was not written, of the kinds that were asked for, and a manifest."""
        bucket, files = self._output["S3Bucket"], list[dict[str, Any]]()
        for kind in sorted(set(self._output["OutputType"])):
            if self._reports[kind]:
                key = f"{self._root}/{kind}/00000.json"
                self._buckets.write(bucket, key, b"".join(line + b"\n" for line in self._reports[kind]))
                files.append({"outputType": kind, "itemCount": len(self._reports[kind]), "dataFileS3Key": key})
        manifest = {"bulkOperationArn": job.arn, "bulkOperationStatus": outcome, "files": files}
        self._buckets.write(bucket, f"{self._root}/manifest.json", wire.write(manifest))


def start_bulk_put_items(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out StartBulkPutItems."""
    buckets, now = reachable(service.buckets), service.clock()
    refuse_ion(body["InputS3Configuration"]["InputFormat"])
    conflict = Refused(
        "IdempotentParameterMismatchException",
        "An error occurred (IdempotentParameterMismatchException): the token was used with other parameters",
    )
    if (job := service.jobs.repeated("bulk", body, now, conflict)) is not None:
        return {"BulkOperationDescription": _description(job)}
    output = body["OutputS3Configuration"]
    if not output["OutputType"]:
        raise invalid("OutputType must have at least one value")
    if output.get("S3Bucket") is None:
        raise invalid("S3Bucket is required in OutputS3Configuration")
    if (output.get("S3SseAlgorithm") == "KMS") is not ("S3SseKmsKeyId" in output):
        raise invalid("S3SseKmsKeyId must be specified if S3SseAlgorithm is KMS, and only then")
    table = service.described(body["TableName"])
    if table.status not in {"ACTIVE", "UPDATING"} or any(
        index.status in {"CREATING", "ALLOCATING", "BACKFILLING"} for index in table.all_indexes
    ):
        raise Refused(
            "ResourceInUseException", f"The table, or an index of it, is being created or deleted: {table.name}"
        )
    table_arn = service.arn(table.name)
    if any(job.ended is None and job.table_arn == table_arn for job in service.jobs.of("bulk")):
        raise Refused("LimitExceededException", f"A bulk operation on the table is in progress: {table.name}")
    chance = service.random(f"bulk/{now}/{len(service.jobs.of('bulk'))}")
    name = str(UUID(int=chance.getrandbits(128), version=4))
    arn = f"arn:aws:dynamodb:{service.region}:{ACCOUNT}:bulk-operation/{name}"
    root = joined(output.get("S3KeyPrefix"), "AWSDynamoDB", name)
    run = _BulkPut(service, buckets, body, table, root).run
    ends = now + service.states.seconds("bulk_put", table.name)
    job = Job("bulk", arn, table_arn, body.get("ClientToken"), body, now, ends, run)
    job.keep(
        TableDetails=[{"TableName": table.name, "TableId": table.settings["TableId"]}],
        InputS3Configuration={"InputCompressionType": "NONE", **body["InputS3Configuration"]},
        OutputS3Configuration=output,
        PerformanceTier=body.get("PerformanceTier", "STANDARD"),
        **{name: body[name] for name in ("MaxWriteRequestUnits",) if body.get(name) is not None},
        ProcessedItemCount=0,
        ProcessedInputBytes=0,
        FailedItemCount=0,
    )
    service.jobs.start(job)
    return {"BulkOperationDescription": _description(job)}


def _description(job: Job) -> dict[str, Any]:
    return {**_summary(job), **({} if job.token is None else {"ClientToken": job.token}), **job.details}


def _summary(job: Job) -> dict[str, Any]:
    return {
        "BulkOperationArn": job.arn,
        "BulkOperationStatus": job.status,
        "StartTime": job.started,
        **({} if job.ended is None else {"EndTime": job.ended}),
    }


def _found(service: Service, arn: str) -> Job:
    job = service.jobs.find("bulk", arn)
    if job is None:
        raise Refused("ResourceNotFoundException", f"Requested resource not found: Bulk operation: {arn} not found")
    return job


def describe_bulk_operation(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out DescribeBulkOperation."""
    return {"BulkOperationDescription": _description(_found(service, body["BulkOperationArn"]))}


def cancel_bulk_operation(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out CancelBulkOperation. What was written stays; what has ended stays as it is."""
    job = _found(service, body["BulkOperationArn"])
    job.cancel()
    return {"BulkOperationArn": job.arn, "BulkOperationStatus": job.status}


def list_bulk_operations(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out ListBulkOperations."""
    found = list(reversed(service.jobs.of("bulk")))
    page, token = service.jobs.page(found, body, "MaxResults", service.clock())
    return {"BulkOperationsSummaryList": [_summary(job) for job in page], "NextToken": token}
