"""The handler of each library: user -> model. Each is a context that opens the library and closes it again."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from benchmarks.items import START, TABLE, plain, wire_key
from benchmarks.subjects.plain_model import PlainPost

Read = Callable[[str], Awaitable[object]]
Handler = tuple[type, Read]
"""The model that the service answers with, and what reads one."""


@asynccontextmanager
async def without_database(endpoint: str) -> AsyncIterator[Handler]:
    """Answer with a model that is there already."""
    post = PlainPost(**plain("user-000000"))

    async def read(user_id: str) -> object:
        return post

    yield PlainPost, read


@asynccontextmanager
async def dynamap_async(endpoint: str) -> AsyncIterator[Handler]:
    """`session.get`."""
    from benchmarks.subjects.ours import Post
    from dynamap_async import Credentials, Session

    credentials = Credentials(access_key_id="AKIAEXAMPLE", secret_access_key="secret")
    async with Session(endpoint_url=endpoint, region="eu-west-1", credentials=credentials) as session:
        yield Post, lambda user_id: session.get(Post, user_id, START)


@asynccontextmanager
async def dynamoxy_pydantic(endpoint: str) -> AsyncIterator[Handler]:
    """`get` of a repository of Pydantic models."""
    import dynamoxy

    from benchmarks.subjects.dynamoxy_pydantic import Post

    credentials = dynamoxy.Credentials("AKIAEXAMPLE", "secret")
    async with dynamoxy.Client(region="eu-west-1", endpoint_url=endpoint, credentials=credentials) as client:
        repository = client.repository(Post)
        yield Post, lambda user_id: repository.get(user_id, START)


@asynccontextmanager
async def aiobotocore(endpoint: str) -> AsyncIterator[Handler]:
    """`get_item`, its tags taken off and Pydantic asked by hand."""
    from benchmarks.subjects.aiobotocore import Aiobotocore

    subject = Aiobotocore()
    await subject.open(endpoint)

    async def read(user_id: str) -> object:
        answer = await subject.client.get_item(TableName=TABLE, Key=wire_key(user_id))
        return PlainPost.model_validate({name: _untagged(value) for name, value in answer["Item"].items()})

    yield PlainPost, read
    await subject.close()


def _untagged(value: Mapping[str, Any]) -> Any:
    ((tag, inner),) = value.items()
    match tag:
        case "N":
            return float(inner) if "." in inner else int(inner)
        case "L":
            return [_untagged(each) for each in inner]
        case "M":
            return {name: _untagged(each) for name, each in inner.items()}
    return inner


NOTHING = "no database"
OURS = "dynamap_async"
HANDLERS: Mapping[str, Callable[[str], AbstractAsyncContextManager[Handler]]] = {
    NOTHING: without_database,
    OURS: dynamap_async,
    "dynamoxy-pydantic": dynamoxy_pydantic,
    "aiobotocore": aiobotocore,
}
DISTRIBUTIONS = ("fastapi", "starlette", "uvicorn", "httptools", "uvloop", "pydantic", "dynamoxy", "aiobotocore")
"""What is installed for them, for the versions in the results."""
