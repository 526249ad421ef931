"""How requests reach DynamoDB and answers come back. The only home of aiobotocore."""

from dynamap_async.transport.client import ClientTransport
from dynamap_async.transport.connection import AioClient, AioConfig, AioSession, Connection
from dynamap_async.transport.http import WireTransport
from dynamap_async.transport.protocol import Transport
from dynamap_async.transport.statements import statement_error, statement_responses

__all__ = [
    "AioClient",
    "AioConfig",
    "AioSession",
    "ClientTransport",
    "Connection",
    "Transport",
    "WireTransport",
    "statement_error",
    "statement_responses",
]
