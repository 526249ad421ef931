"""The services of AWS that requests go to. This is the only place that knows how each is addressed and signed for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from dynamap_async.dataclass import dataclass

CONTENT_TYPE: Final = "application/x-amz-json-1.0"
"""The media type of every request and answer."""


ARN_START: Final = "arn:"
"""What ARNs begin with, and no table's name does: it has no colon."""
_TABLE_ARN: Final = re.compile(r"arn:aws[a-z-]*:dynamodb:([a-z0-9-]+):([0-9]{12}):table/([A-Za-z0-9_.-]+)")


class TableArn(NamedTuple):
    """The parts of a table's ARN."""

    region: str
    account: str
    name: str


def table_arn(table: object) -> TableArn | None:
    """Return the parts of the ARN that a table is named by; None where that is its name, or neither."""
    found = _TABLE_ARN.fullmatch(table) if isinstance(table, str) else None
    return None if found is None else TableArn(*found.groups())


# Compared by identity: a transport finds a request's endpoint by its service, for each request.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Service:
    """One service of AWS: what its requests are called, and what its answers report.

    Which endpoint is configured for it is looked up by its ID (``transport/lookup.py``), and what AWS calls its hosts
    is put together in ``transport/hosts.py``. The forms of its answers are in ``transport/answer_forms.py``.
    """

    id: str
    """Its service ID, by which AWS's SDKs and configuration files know it.

    Source: https://docs.aws.amazon.com/sdkref/latest/guide/ss-endpoints-table.html
    """

    target_prefix: str
    """What stands before the operation in the header ``X-Amz-Target``: the name of the API, with its version."""

    signing_name: str
    """The name that signatures are made for."""

    host: str
    """What its hosts' names begin with, before the region."""

    dual_stack_host: str
    """The same of hosts that are reached over IPv6 as well."""

    account_host: str
    """What stands between the account and the region in the names of hosts of one account."""

    without_accounts: re.Pattern[str]
    """The regions that have no hosts of single accounts."""

    has_account_fips: bool = False
    """Whether there are such hosts whose cryptography is validated by FIPS 140."""

    has_local: bool = True
    """Whether the region ``local`` stands for a program on this machine."""

    metered: Mapping[str, str]
    """Each operation that takes capacity units -> the ``ReturnConsumedCapacity`` by which its answer reports them."""

    @property
    def client_name(self) -> str:
        """The name by which aiobotocore makes a client for it."""
        return self.id.lower().replace(" ", "")

    @property
    def configuration_name(self) -> str:
        """Its name in configuration files, and in capitals in the environment."""
        return self.id.lower().replace(" ", "_")

    def target(self, operation: str) -> str:
        """Return the value of the header ``X-Amz-Target``.

        Args:
            operation: the API's own name of the operation.
        """
        return f"{self.target_prefix}.{operation}"


_APART: Final = r"(eusc|us-iso[bf]?|eu-isoe)-.*"
_WITHOUT_ACCOUNTS: Final = re.compile(rf"{_APART}|cn-(?!(north|northwest)-1$).*|us-gov-(?!(east|west)-1$).*")

DYNAMODB: Final = Service(
    id="DynamoDB",
    target_prefix="DynamoDB_20120810",
    signing_name="dynamodb",
    host="dynamodb",
    dual_stack_host="dynamodb",
    account_host="ddb",
    without_accounts=_WITHOUT_ACCOUNTS,
    metered={
        "BatchExecuteStatement": "INDEXES",
        "BatchGetItem": "INDEXES",
        "BatchWriteItem": "INDEXES",
        "DeleteItem": "INDEXES",
        "ExecuteStatement": "INDEXES",
        "ExecuteTransaction": "INDEXES",
        "GetItem": "INDEXES",
        "PutItem": "INDEXES",
        "Query": "INDEXES",
        "Scan": "INDEXES",
        "TransactGetItems": "TOTAL",  # which reads no index
        "TransactWriteItems": "INDEXES",
        "UpdateItem": "INDEXES",
    },
)
"""Tables and their items."""

STREAMS: Final = Service(
    id="DynamoDB Streams",
    target_prefix="DynamoDBStreams_20120810",
    signing_name="dynamodb",
    host="streams.dynamodb",
    dual_stack_host="streams-dynamodb",
    account_host="streams-ddb",
    without_accounts=re.compile(rf"{_APART}|me-(central|south)-1"),
    has_account_fips=True,
    has_local=False,
    metered={},
)
"""The changes of items."""

SEARCH: Final = Service(
    id="DynamoDB",
    target_prefix="DynamoDB_20120810",
    signing_name="dynamodb",
    host="search-dynamodb",
    dual_stack_host="search-dynamodb",
    account_host="search-ddb",
    without_accounts=_WITHOUT_ACCOUNTS,
    metered={},
)
"""Vector search, which is an operation of DynamoDB at a host of its own."""
