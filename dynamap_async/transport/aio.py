"""aiobotocore's own classes, by the names that the library gives them. Importing this loads aiobotocore."""

from __future__ import annotations

from typing import TypeAlias

import aiobotocore.client
import aiobotocore.config
import aiobotocore.session

AioClient: TypeAlias = aiobotocore.client.AioBaseClient
"""A client made by aiobotocore."""

AioConfig: TypeAlias = aiobotocore.config.AioConfig
"""aiobotocore's settings of a client."""

AioSession: TypeAlias = aiobotocore.session.AioSession
"""aiobotocore's source of credentials and configuration."""
