"""Imports of a new table from S3.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/S3DataImport.Format.html
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from io import StringIO
from typing import TYPE_CHECKING, Any

from dynamap_async.simulated import wire
from dynamap_async.simulated.buckets import (
    COMPRESSION,
    SOURCE,
    TOKEN,
    Unreadable,
    content,
    decompressor,
    lines,
    reachable,
    refuse_ion,
    source_keys,
)
from dynamap_async.simulated.constraints import Structure, choice, listing, number, text
from dynamap_async.simulated.control import CREATE_TABLE, create_table
from dynamap_async.simulated.errors import Refused, invalid
from dynamap_async.simulated.jobs import Failed, Job
from dynamap_async.simulated.keys import admit_new
from dynamap_async.simulated.service import ACCOUNT
from dynamap_async.simulated.shapes import ATTRIBUTES
from dynamap_async.simulated.store import Table
from dynamap_async.simulated.values import Item

if TYPE_CHECKING:
    from dynamap_async.simulated.buckets import Buckets
    from dynamap_async.simulated.service import Service

_TABLE = (
    "TableName",
    "AttributeDefinitions",
    "KeySchema",
    "BillingMode",
    "ProvisionedThroughput",
    "OnDemandThroughput",
    "SSESpecification",
    "GlobalSecondaryIndexes",
    "VectorIndexes",
)
_CREATION = Structure({member: check for member, check in CREATE_TABLE.members.items() if member in _TABLE})
IMPORT_TABLE = Structure(
    {
        "ClientToken": TOKEN,
        "S3BucketSource!": SOURCE,
        "InputFormat!": choice("DYNAMODB_JSON", "ION", "CSV"),
        "InputFormatOptions": Structure(
            {
                "Csv": Structure(
                    {
                        "Delimiter": text(1, 1, r"[,;:|\t ]"),
                        "HeaderList": listing(text(1, 65_536, r"[\x20-\x21\x23-\x2B\x2D-\x7E]*"), 1, 255),
                    }
                )
            }
        ),
        "InputCompressionType": COMPRESSION,
        "TableCreationParameters!": _CREATION,
    }
)
DESCRIBE_IMPORT = Structure({"ImportArn!": text(37, 1024)})
LIST_IMPORTS = Structure(
    {"TableArn": text(1, 1024), "PageSize": number(1, 25), "NextToken": text(112, 1024, "([0-9a-f]{16})+")}
)
_LINE = Structure({"Item!": ATTRIBUTES})


class _Import:
    """One import.

    Args:
        service: the service.
        buckets: its buckets.
        body: the request.
        table: the new table.
        decompress: reads its objects.
    """

    def __init__(
        self,
        service: Service,
        buckets: Buckets,
        body: dict[str, Any],
        table: Table,
        decompress: Callable[[bytes], bytes],
    ) -> None:
        self._service = service
        self._buckets = buckets
        self._body = body
        self._decompress = decompress
        self._table = table

    def run(self, job: Job, share: float) -> None:
        """Give the table its items when its time has passed."""
        source, table, store = self._body["S3BucketSource"], self._table, self._service.store
        bucket: str = source["S3Bucket"]
        if store.tables.get(table.name) is not table:
            raise Failed("ResourceNotFoundException", f"Requested resource not found: Table: {table.name}")
        try:
            keys = source_keys(self._buckets, bucket, source.get("S3KeyPrefix", ""))
        except Failed:
            store.drop(table.name)
            raise
        if share < 1:
            return
        size = processed = imported = 0
        for key in keys:
            try:
                found = content(self._buckets, bucket, key, self._decompress)
            except Unreadable:
                processed += 1
                continue
            size += len(found)
            for item in _items(self._body, table, found):
                processed += 1
                imported += item is not None and _take(table, item)
        self._service.settle()
        job.keep(
            ProcessedSizeBytes=size,
            ProcessedItemCount=processed,
            ImportedItemCount=imported,
            ErrorCount=processed - imported,
        )


def import_table(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out ImportTable. The table has its items when it is ACTIVE."""
    buckets, now = reachable(service.buckets), service.clock()
    refuse_ion(body["InputFormat"])
    conflict = Refused("ImportConflictException", "The client token was used with other parameters")
    if (job := service.jobs.repeated("import", body, now, conflict)) is not None:
        return {"ImportTableDescription": _description(job)}
    if body["InputFormat"] != "CSV" and body.get("InputFormatOptions") is not None:
        raise invalid("InputFormatOptions is only supported for the input format CSV")
    creation = body["TableCreationParameters"]
    decompress = decompressor(body.get("InputCompressionType", "NONE"))
    create_table(service, creation, kind="import_table")
    table = service.store.tables[creation["TableName"]]
    table_arn = service.arn(table.name)
    chance = service.random(f"import/{now}/{len(service.jobs.of('import'))}")
    arn = f"{table_arn}/import/{int(now * 1000):014}-{chance.randrange(16**8):08x}"
    run = _Import(service, buckets, body, table, decompress).run
    job = Job("import", arn, table_arn, body.get("ClientToken"), body, now, service.states.until(table), run)
    job.keep(
        TableId=table.settings["TableId"],
        CloudWatchLogGroupArn=f"arn:aws:logs:{service.region}:{ACCOUNT}:log-group:/aws-dynamodb/imports:*",
        ErrorCount=0,
        ProcessedSizeBytes=0,
        ProcessedItemCount=0,
        ImportedItemCount=0,
        S3BucketSource=body["S3BucketSource"],
        InputFormat=body["InputFormat"],
        InputFormatOptions=body.get("InputFormatOptions"),
        InputCompressionType=body.get("InputCompressionType", "NONE"),
        TableCreationParameters=creation,
    )
    service.jobs.start(job)
    return {"ImportTableDescription": _description(job)}


def _items(body: dict[str, Any], table: Table, found: bytes) -> Iterator[Item | None]:
    """Yield the items of an object; None for those that cannot be read."""
    if body["InputFormat"] == "CSV":
        yield from _csv_items(body, table, found)
        return
    for _number, line in lines(found):
        try:
            read = wire.read(line)
            _LINE.admit(read)
        except Refused:
            yield None
        else:
            yield read["Item"]


def _csv_items(body: dict[str, Any], table: Table, found: bytes) -> Iterator[Item | None]:
    options = body.get("InputFormatOptions", {}).get("Csv", {})
    types = {part.name: part.type for place in (table, *table.indexes.values()) for part in place.parts}
    try:
        records = csv.reader(StringIO(found.decode(), newline=""), delimiter=options.get("Delimiter", ","), strict=True)
        names: list[str] | None = options.get("HeaderList")
        for cells in records:
            if names is None:
                names = cells
            elif cells:
                fits = len(cells) == len(names)
                # All but keys is text.
                yield (
                    {name: {types.get(name, "S"): cell} for name, cell in zip(names, cells, strict=True)}
                    if fits
                    else None
                )
    except (UnicodeDecodeError, csv.Error):
        yield None  # and nothing of what follows


def _take(table: Table, item: Item) -> bool:
    """Store an item, and return whether it is one for this table."""
    try:
        position, size = admit_new(table, item)
    except Refused:
        return False
    table.replace(position, item, size)
    return True


def _description(job: Job) -> dict[str, Any]:
    return {
        "ImportArn": job.arn,
        "ImportStatus": job.status,
        "TableArn": job.table_arn,
        "StartTime": job.started,
        **({} if job.ended is None else {"EndTime": job.ended}),
        **({} if job.token is None else {"ClientToken": job.token}),
        **{name: value for name, value in job.details.items() if value is not None},
    }


def describe_import(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out DescribeImport."""
    job = service.jobs.find("import", body["ImportArn"])
    if job is None:
        raise Refused("ImportNotFoundException", f"Import not found: {body['ImportArn']}")
    return {"ImportTableDescription": _description(job)}


_SUMMARY = (
    "ImportArn",
    "ImportStatus",
    "TableArn",
    "S3BucketSource",
    "CloudWatchLogGroupArn",
    "InputFormat",
    "StartTime",
    "EndTime",
)


def list_imports(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """Carry out ListImports."""
    table = body.get("TableArn")
    found = [job for job in reversed(service.jobs.of("import")) if table in {None, job.table_arn}]
    page, token = service.jobs.page(found, body, "PageSize", service.clock())
    told = [_description(job) for job in page]
    return {
        "ImportSummaryList": [{name: each[name] for name in _SUMMARY if name in each} for each in told],
        "NextToken": token,
    }
