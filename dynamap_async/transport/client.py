"""The transport that calls a user's own aiobotocore client, for programs whose instrumentation hooks botocore."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import botocore
from aiobotocore.client import AioBaseClient
from botocore.exceptions import BotoCoreError, ChecksumError, ClientError, HTTPClientError, ParamValidationError
from botocore.exceptions import ConnectionError as BotoConnectionError
from botocore.model import OperationNotFoundError
from botocore.parsers import ResponseParserError

from dynamap_async.errors import ConfigurationError, RequestRejectedError, ServiceError
from dynamap_async.native.json_text import write_json
from dynamap_async.request import Request
from dynamap_async.service import DYNAMODB, STREAMS, Service
from dynamap_async.transport.aio import AioClient
from dynamap_async.transport.failures import damaged, describe, packed, place_of, transport_error, unsendable
from dynamap_async.transport.translate import service_error
from dynamap_async.wire import Body

_botocore: Any = botocore  # unannotated
_LOST_ANSWERS = (HTTPClientError, BotoConnectionError, ChecksumError, ResponseParserError, aiohttp.ClientError, OSError)
"""What a client raises for a failed exchange, in contrast to a wrong configuration."""


class ClientTransport:
    """Sends each request through a DynamoDB client that the user made and will close.

    What it cannot do, because the client hides it:

    - verify checksums in the ``standard`` and ``adaptive`` retry modes: only ``legacy`` looks at them;
    - tell a damaged body from an empty answer, unless its content type or its status gives it away;
    - tell an answer that came unasked, while a connection was idle: aiohttp gives it to the next request;
    - follow the service's clock, or fetch new credentials when they are refused as expired;
    - send operations and parameters that the installed botocore does not know;
    - keep botocore from following redirects and firing its events, some of which may send on their own.

    It costs about five times the CPU of ``WireTransport`` for a small request.

    Args:
        client: an aiobotocore client for DynamoDB whose retries are turned off.
        streams_client: the same for DynamoDB Streams; None where no stream is read. Engines whose shard ids are
            shorter than AWS's need ``AioConfig(parameter_validation=False)``.
    """

    def __init__(self, client: AioClient, streams_client: AioClient | None = None) -> None:
        """Create a transport over a client.

        Args:
            client: an open client for DynamoDB, with its retries turned off. It is not closed here.
            streams_client: an open client for DynamoDB Streams, likewise; None where no stream is read.

        Raises:
            ConfigurationError: it is no client of aiobotocore.
        """
        given = {DYNAMODB: ("client", client), STREAMS: ("streams_client", streams_client)}
        for service, (keyword, each) in given.items():
            if each is not None and not isinstance(each, AioBaseClient):
                raise ConfigurationError(
                    f"{keyword}= must be an open aiobotocore client, not {type(each).__module__}.{type(each).__name__};"
                    f' write async with aiobotocore.session.get_session().create_client("{service.client_name}") as '
                    "client"
                )
        self._client: Any = client
        self._clients: Mapping[Service, Any] = {
            service: each for service, (_, each) in given.items() if each is not None
        }

    def __repr__(self) -> str:
        return f"<{type(self).__name__} to {self._client.meta.endpoint_url} over a client of aiobotocore>"

    @property
    def max_connections(self) -> int:
        """How many requests can travel at the same time."""
        return min(int(each.meta.config.max_pool_connections) for each in self._clients.values())

    async def open(self) -> None:
        """Check that the client can be used.

        Raises:
            ConfigurationError: it is not for DynamoDB, or it resends requests by itself.
        """
        for service, client in self._clients.items():
            name = client.meta.service_model.service_name
            if name != service.client_name:
                raise ConfigurationError(
                    f"the client is for {name!r}, not for {service.id}; make it with "
                    f'create_client("{service.client_name}")'
                )
            retries: Any = client.meta.config.retries
            if not retries or retries.get("total_max_attempts") != 1:
                raise ConfigurationError(
                    "the client repeats requests by itself, which can apply an update twice; make it with "
                    f'create_client("{service.client_name}", config=AioConfig(retries={{"total_max_attempts": 1}}))'
                )

    async def send(self, request: Request) -> Body:
        """Send the request through the client and return the answer's JSON object, in wire form.

        Args:
            request: the operation with its body in wire form.

        Raises:
            ServiceError: DynamoDB answered with an error.
            TransportError: no usable answer arrived.
            EncodeError: the request cannot be encoded, so nothing was sent.
            ConfigurationError: the client has no credentials, or its botocore does not know the operation; or there
                is no client for streams.
        """
        client = self._clients.get(request.service)
        if client is None:
            raise ConfigurationError(
                f"{place_of(request)}: DynamoDB's streams need a client of their own beside client=; give the session "
                f'streams_client=, made with create_client("{request.service.client_name}", '
                'config=AioConfig(retries={"total_max_attempts": 1}))'
            )
        try:
            write_json(request.body)  # botocore would send half of a surrogate pair, as an escape sequence
        except TypeError as error:
            raise unsendable(request, error) from None
        operation = _operation(client, request)
        parameters = to_client_form(request.body, operation.input_shape)
        call = getattr(client, _botocore.xform_name(request.operation))
        try:
            answer = await call(**parameters)
        except ClientError as error:
            raise _service_error(client, request, error) from error
        except ParamValidationError as error:
            raise _rejected(request, error) from error
        except UnicodeDecodeError as error:  # of botocore's parser, for what is no JSON and no text either
            raise damaged(
                request, "the answer is no text; it may be packed, which was not asked for", foreign=True
            ) from error
        except _LOST_ANSWERS as error:
            meta: Any = client.meta
            host: str = urlsplit(str(meta.endpoint_url)).netloc
            place = f"{host} (region {meta.region_name!r})"
            raise transport_error(error, request, place) from error
        except BotoCoreError as error:
            raise ConfigurationError(f"{place_of(request)}: the client cannot send it: {error}") from error
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise damaged(request, f"the client cannot read the answer ({describe(error)})", foreign=True) from error
        metadata = answer.get("ResponseMetadata", {})
        headers, status = metadata.get("HTTPHeaders", {}), metadata.get("HTTPStatusCode", 200)
        if status != 200:
            raise damaged(request, f"the answer has the status {status} and is no JSON object", foreign=True)
        # botocore takes a body that is no JSON for an empty object.
        if (damage := packed(request, headers.get("content-encoding"))) is not None:
            raise damage
        media_type = headers.get("content-type", "json")
        if "json" not in media_type:
            raise damaged(request, f"the answer is {media_type}", foreign=True)
        content: Body = to_wire_form(answer, operation.output_shape)
        return content

    async def close(self) -> None:
        """Do nothing: whoever made the client closes it."""


def _operation(client: Any, request: Request) -> Any:
    try:
        return client.meta.service_model.operation_model(request.operation)
    except OperationNotFoundError as error:
        raise ConfigurationError(
            f"the installed botocore does not know {request.operation}; upgrade aiobotocore"
        ) from error


def _service_error(client: Any, request: Request, error: ClientError) -> ServiceError:
    answer: Any = error.response
    metadata = answer.get("ResponseMetadata", {})
    code = str(answer["Error"].get("Code", ""))
    shape = client.meta.service_model.shape_for_error_code(code)
    modelled: Body = {} if shape is None else to_wire_form(answer, shape)
    return service_error(
        request,
        code=code,
        status=int(metadata.get("HTTPStatusCode", 0)),
        facts={**modelled, "message": answer["Error"].get("Message")},
        request_id=metadata.get("RequestId"),
    )


def _rejected(request: Request, error: ParamValidationError) -> RequestRejectedError:
    # The service would have refused it too; botocore only looked first, so there is no status and no request id.
    return RequestRejectedError(
        f"{place_of(request)}: {error}",
        service_code="ValidationException",
        operation=request.operation,
        table=request.table,
        status=0,
    )


def to_client_form(value: Any, shape: Any) -> Any:
    """Return a part of a request as an aiobotocore client takes it. Members unknown to its model stay as they are.

    Args:
        value: the part, in wire form.
        shape: botocore's shape of it.
    """
    match shape.type_name:
        case "blob":
            return base64.b64decode(value)
        case "structure":
            members = shape.members
            return {
                name: to_client_form(part, members[name]) if name in members else part for name, part in value.items()
            }
        case "map":
            return {name: to_client_form(part, shape.value) for name, part in value.items()}
        case "list":
            return [to_client_form(part, shape.member) for part in value]
        case _:
            return value


def to_wire_form(value: Any, shape: Any) -> Any:
    """Return a part of an answer as it was on the wire. Members unknown to the model are left out.

    Args:
        value: the part, as an aiobotocore client gave it.
        shape: botocore's shape of it.
    """
    match shape.type_name:
        case "blob":
            return base64.b64encode(value).decode()
        case "timestamp":
            return value.timestamp()
        case "structure":
            members = shape.members
            return {name: to_wire_form(part, members[name]) for name, part in value.items() if name in members}
        case "map":
            return {name: to_wire_form(part, shape.value) for name, part in value.items()}
        case "list":
            return [to_wire_form(part, shape.member) for part in value]
        case _:
            return value
