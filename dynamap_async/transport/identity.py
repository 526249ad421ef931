"""Whose credentials are used, as AWS's token service tells it to anybody who has them. Imports aiobotocore."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from aiobotocore.config import AioConfig
from aiobotocore.session import AioSession
from botocore.exceptions import BotoCoreError, ClientError

_SECONDS: Final = 3.0
"""How long AWS may take for its answer."""


async def caller_identity(*, region: str | None, profile: str | None) -> str | None:
    """Return the Amazon Resource Name of the user or role that credentials belong to, with its account's number.

    Args:
        region: the region whose token service is asked; None for that of the environment or the profile.
        profile: the profile that has the credentials; None for those of the environment.

    Returns:
        None if there are no credentials, or AWS does not tell within three seconds.

    Source: https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html
    """
    try:
        async with asyncio.timeout(_SECONDS):
            session: Any = AioSession(profile=profile)
            config = AioConfig(retries={"max_attempts": 0})
            async with session.create_client("sts", region_name=region, config=config) as client:
                answer: dict[str, str] = await client.get_caller_identity()
    except (BotoCoreError, ClientError, TimeoutError):
        return None
    return answer.get("Arn")
