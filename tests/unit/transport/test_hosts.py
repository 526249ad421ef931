"""The hosts of AWS; ``tests/beside/hosts.py`` compares all of them with botocore's rules."""

import pytest

from dynamap_async.errors import ConfigurationError
from dynamap_async.service import DYNAMODB, SEARCH, STREAMS
from dynamap_async.transport.hosts import host_url

ACCOUNT = "111122223333"


@pytest.mark.parametrize(
    ("service", "region", "how", "host"),
    [
        (DYNAMODB, "eu-west-1", {}, "dynamodb.eu-west-1.amazonaws.com"),
        (STREAMS, "eu-west-1", {}, "streams.dynamodb.eu-west-1.amazonaws.com"),
        (SEARCH, "eu-west-1", {}, "search-dynamodb.eu-west-1.amazonaws.com"),
        (DYNAMODB, "cn-north-1", {}, "dynamodb.cn-north-1.amazonaws.com.cn"),
        (DYNAMODB, "eusc-de-east-1", {}, "dynamodb.eusc-de-east-1.amazonaws.eu"),
        (DYNAMODB, "xx-new-1", {}, "dynamodb.xx-new-1.amazonaws.com"),
        (STREAMS, "eu-west-1", {"dual_stack": True}, "streams-dynamodb.eu-west-1.api.aws"),
        (DYNAMODB, "us-east-1", {"fips": True}, "dynamodb-fips.us-east-1.amazonaws.com"),
        (DYNAMODB, "us-gov-west-1", {"fips": True}, "dynamodb.us-gov-west-1.amazonaws.com"),
        (STREAMS, "us-east-1", {"fips": True, "dual_stack": True}, "streams-dynamodb-fips.us-east-1.api.aws"),
        (DYNAMODB, "eu-west-1", {"account": ACCOUNT}, f"{ACCOUNT}.ddb.eu-west-1.amazonaws.com"),
        (STREAMS, "eu-west-1", {"account": ACCOUNT}, f"{ACCOUNT}.streams-ddb.eu-west-1.amazonaws.com"),
        (SEARCH, "eu-west-1", {"account": ACCOUNT}, f"{ACCOUNT}.search-ddb.eu-west-1.amazonaws.com"),
        (
            STREAMS,
            "eu-west-1",
            {"account": ACCOUNT, "fips": True},
            f"{ACCOUNT}.streams-ddb-fips.eu-west-1.amazonaws.com",
        ),
        (DYNAMODB, "eu-west-1", {"account": ACCOUNT, "account_mode": "disabled"}, "dynamodb.eu-west-1.amazonaws.com"),
        (DYNAMODB, "us-iso-east-1", {"account": ACCOUNT}, "dynamodb.us-iso-east-1.c2s.ic.gov"),
        (DYNAMODB, "us-east-1", {"account": ACCOUNT, "fips": True}, "dynamodb-fips.us-east-1.amazonaws.com"),
    ],
)
def test_a_service_is_reached_at_the_host_that_aws_gives_it(service, region, how, host):
    assert host_url(service, region, **how) == f"https://{host}"


def test_the_region_local_is_a_program_on_this_machine():
    assert host_url(DYNAMODB, "local") == "http://localhost:8000"


@pytest.mark.parametrize(
    ("region", "how", "remedy"),
    [
        ("eu-west-1", {}, "the credentials name no account; set AWS_ACCOUNT_ID"),
        ("eu-west-1", {"account": ACCOUNT, "fips": True}, "hosts of accounts have no FIPS form; turn it off"),
        ("us-iso-east-1", {"account": ACCOUNT}, "us-iso-east-1 has no hosts of accounts; use another region"),
    ],
)
def test_a_host_of_an_account_that_is_required_and_does_not_exist_is_refused(region, how, remedy):
    with pytest.raises(ConfigurationError, match=f"account_id_endpoint_mode is 'required', but .*{remedy}"):
        host_url(DYNAMODB, region, account_mode="required", **how)


def test_what_cannot_be_part_of_a_host_is_no_account():
    with pytest.raises(ConfigurationError, match="'evil.example/' is no account of AWS"):
        host_url(DYNAMODB, "eu-west-1", account="evil.example/")


@pytest.mark.parametrize("how", [{"fips": True}, {"dual_stack": True}])
def test_the_region_local_has_one_host(how):
    with pytest.raises(ConfigurationError, match="has neither FIPS nor dual-stack hosts"):
        host_url(DYNAMODB, "local", **how)
