"""Every host of ours is the one that the newest botocore's rules have: run by ``nox -s hosts``, which installs it."""

import gzip
import itertools
import json
from pathlib import Path

import botocore
import pytest
from botocore.endpoint_provider import EndpointProvider
from botocore.exceptions import EndpointProviderError

from dynamap_async.errors import ConfigurationError
from dynamap_async.service import DYNAMODB, SEARCH, STREAMS
from dynamap_async.transport.hosts import host_url

DATA = Path(botocore.__file__).parent / "data"
PARTITIONS = json.loads((DATA / "partitions.json").read_text("utf-8"))
REGIONS = sorted(region for each in PARTITIONS["partitions"] for region in each["regions"] if "global" not in region)
UNKNOWN_REGIONS = ["local", "eu-north-9", "cn-east-7", "us-gov-north-3", "us-iso-far-4", "moon-1"]
ACCOUNT = "111122223333"


def rules(service: str) -> EndpointProvider:
    packed = next((DATA / service / "2012-08-10").glob("endpoint-rule-set-1.json*"))
    text = gzip.decompress(packed.read_bytes()) if packed.suffix == ".gz" else packed.read_bytes()
    return EndpointProvider(json.loads(text), PARTITIONS)


RULES = {
    DYNAMODB: (rules("dynamodb"), {}, "ResourceArn", "table/visits"),
    SEARCH: (rules("dynamodb"), {"IsSearchOperation": True}, "ResourceArn", "table/visits"),
    STREAMS: (rules("dynamodbstreams"), {}, "StreamArn", "table/visits/stream/2026-11-28T00:00:00.000"),
}


def theirs(provider: EndpointProvider, **asked: object) -> str | None:
    try:
        return str(provider.resolve_endpoint(**asked).url)
    except EndpointProviderError:
        return None


@pytest.mark.parametrize("region", REGIONS + UNKNOWN_REGIONS)
def test_every_host_is_the_one_of_botocores_rules(region):
    differ = []
    ways = itertools.product(
        RULES, (False, True), (False, True), ("preferred", "required", "disabled"), (None, ACCOUNT), (False, True)
    )
    for service, dual_stack, fips, mode, account, by_arn in ways:
        provider, others, arn, resource = RULES[service]
        asked = {**others, "Region": region, "UseDualStack": dual_stack, "UseFIPS": fips, "AccountIdEndpointMode": mode}
        if account and not by_arn:
            asked["AccountId"] = account
        elif account:
            asked[arn] = f"arn:aws:dynamodb:{region}:{account}:{resource}"
            asked["AccountId"] = "999999999999"  # that of the credentials, which the table's stands over
        expected = theirs(provider, **asked)
        try:
            ours = host_url(service, region, dual_stack=dual_stack, fips=fips, account=account, account_mode=mode)
        except ConfigurationError:
            ours = None
        if ours != expected:
            differ.append((asked, ours, expected))

    assert differ == []
