"""The services of AWS that requests go to. This is the only place that knows how each is addressed and signed for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dynamap_async.dataclass import dataclass

CONTENT_TYPE: Final = "application/x-amz-json-1.0"
"""The media type of every request and answer."""


# Compared by identity: a transport finds a request's endpoint by its service, for each request.
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Service:
    """One service of AWS: what its requests are called, and what its answers report.

    Which endpoint it has is looked up by its ID (``transport/lookup.py``). The forms of its answers are in
    ``transport/answer_forms.py``.
    """

    id: str
    """Its service ID, by which AWS's SDKs and configuration files know it.

    Source: https://docs.aws.amazon.com/sdkref/latest/guide/ss-endpoints-table.html
    """

    target_prefix: str
    """What stands before the operation in the header ``X-Amz-Target``: the name of the API, with its version."""

    signing_name: str
    """The name that signatures are made for."""

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


DYNAMODB: Final = Service(
    id="DynamoDB",
    target_prefix="DynamoDB_20120810",
    signing_name="dynamodb",
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
