"""The hosts at which AWS takes DynamoDB requests, without botocore, whose import takes a quarter of a second.

``nox -s hosts`` compares all of them with the rules that botocore 1.44.8, or a newer one, has for its own clients.

Source: https://docs.aws.amazon.com/general/latest/gr/ddb.html and
https://docs.aws.amazon.com/sdkref/latest/guide/feature-account-endpoints.html
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple, TypeAlias, cast, get_args

from dynamap_async.config import Credentials
from dynamap_async.dataclass import dataclass
from dynamap_async.errors import ConfigurationError
from dynamap_async.request import Request
from dynamap_async.service import ARN_START, Service, table_arn
from dynamap_async.transport.endpoint import FIPS_NAME, Endpoint, to_endpoint

AccountMode: TypeAlias = Literal["preferred", "required", "disabled"]
"""Whether hosts of one account are used, as the setting ``account_id_endpoint_mode`` of AWS's SDKs says it."""


class AwsPartition(NamedTuple):
    """A part of AWS with domains of its own."""

    regions: re.Pattern[str]
    """The form of its regions' names."""
    domain: str
    """The domain of its hosts."""
    dual_stack_domain: str
    """The domain of those that are reached over IPv6 as well."""
    is_fips: bool = False
    """Whether the cryptography of its usual hosts, over IPv4 and of no account, is validated by FIPS 140."""


_AWS: Final = AwsPartition(re.compile(r"(us|eu|ap|sa|ca|me|af|il|mx)-\w+-\d+"), "amazonaws.com", "api.aws")
"""What a region belongs to of which nothing else is known."""
_PARTITIONS: Final = (
    _AWS,
    AwsPartition(re.compile(r"cn-\w+-\d+"), "amazonaws.com.cn", "api.amazonwebservices.com.cn"),
    AwsPartition(re.compile(r"eusc-(de)-\w+-\d+"), "amazonaws.eu", "api.amazonwebservices.eu"),
    AwsPartition(re.compile(r"us-iso-\w+-\d+"), "c2s.ic.gov", "api.aws.ic.gov"),
    AwsPartition(re.compile(r"us-isob-\w+-\d+"), "sc2s.sgov.gov", "api.aws.scloud"),
    AwsPartition(re.compile(r"eu-isoe-\w+-\d+"), "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"),
    AwsPartition(re.compile(r"us-isof-\w+-\d+"), "csp.hci.ic.gov", "api.aws.hci.ic.gov"),
    AwsPartition(re.compile(r"us-gov-\w+-\d+"), "amazonaws.com", "api.aws", is_fips=True),
)
_LOCAL: Final = "local"
_LOCAL_URL: Final = "http://localhost:8000"
"""Where AWS's rules have the region ``local``."""
_LOCAL_SIGNED_FOR: Final = "us-east-1"
"""The region that signatures name there."""
_ANY_ACCOUNT: Final = "000000000000"
"""An account to try whether there are hosts of accounts at all."""
_LABEL: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9-]{0,62}")


@dataclass(frozen=True, slots=True)
class AwsEndpoints:
    """The endpoints that AWS has for a service in a region: one for all accounts, and one for each."""

    service: Service
    region: str
    """A name such as ``fips-us-east-1`` asks for FIPS as well."""
    dual_stack: bool = False
    """Whether hosts have to be reached over IPv6 as well."""
    fips: bool = False
    """Whether their cryptography has to be validated by FIPS 140."""
    account_mode: AccountMode = "preferred"

    @property
    def shared(self) -> Endpoint:
        """The endpoint for all accounts."""
        return self._at(None, "disabled")

    def of(self, account: str | None) -> Endpoint:
        """Return the endpoint for the tables of an account.

        Args:
            account: the account; None where it is not known.

        Raises:
            ConfigurationError: there is no such host, or one of an account is required and the account is not known.
        """
        return self._at(account, self.account_mode)

    def waits_for_account(self, account: str | None) -> bool:
        """Return True if only the ARN of a table can tell whose host is wanted.

        Args:
            account: the account of the credentials; None where it is not known.

        Raises:
            ConfigurationError: the host of an account is required, and none has one.
        """
        if account or self.account_mode != "required":
            return False
        self.of(_ANY_ACCOUNT)
        return True

    def account_of(self, request: Request, used: Credentials) -> str | None:
        """Return the account whose host a request goes to; None for the host of all accounts.

        Args:
            request: the request. If its table is named by an ARN, the account is the owner's.
            used: the credentials that it is signed with.

        Raises:
            ConfigurationError: the table is in another region.
        """
        account = used.account_id
        table = request.tables[0] if request.tables else request.table
        if table.startswith(ARN_START) and (owner := table_arn(table)) is not None:
            account, region = owner.account, FIPS_NAME.sub("", self.region)
            if owner.region != region:
                raise ConfigurationError(
                    f"{table} is a table in {owner.region}, and this session sends to {region}; open a session with "
                    f'region="{owner.region}" for it'
                )
        return None if self.account_mode == "disabled" else account

    def _at(self, account: str | None, mode: AccountMode) -> Endpoint:
        region = FIPS_NAME.sub("", self.region)
        fips = self.fips or region != self.region
        url = host_url(self.service, region, dual_stack=self.dual_stack, fips=fips, account=account, account_mode=mode)
        return to_endpoint(url, _LOCAL_SIGNED_FOR if url == _LOCAL_URL else region)


def account_mode(said: object) -> AccountMode:
    """Return the setting ``account_id_endpoint_mode``, checked.

    Args:
        said: what the configuration says; None for nothing.

    Raises:
        ConfigurationError: there is no such mode.
    """
    mode = str(said or "preferred").lower()
    if mode not in get_args(AccountMode):
        raise ConfigurationError(f"account_id_endpoint_mode is {said!r}; write 'preferred', 'required' or 'disabled'")
    return cast("AccountMode", mode)


def is_aws_host(name: str) -> bool:
    """Return whether a host belongs to AWS.

    Args:
        name: its name, in lower case and without a port.
    """
    return any(name.endswith((f".{each.domain}", f".{each.dual_stack_domain}")) for each in _PARTITIONS)


def host_url(
    service: Service,
    region: str,
    *,
    dual_stack: bool = False,
    fips: bool = False,
    account: str | None = None,
    account_mode: AccountMode = "preferred",
) -> str:
    """Return the address of a service in a region, as AWS's SDKs reach it.

    Args:
        service: the service.
        region: the region.
        dual_stack: whether the host has to be reached over IPv6 as well.
        fips: whether its cryptography has to be validated by FIPS 140.
        account: the account that owns the table, or that the credentials are of; None where it is not known.
        account_mode: whether a host of that account is wanted.

    Raises:
        ConfigurationError: there is no such host, or the account is missing.
    """
    if region == _LOCAL and service.has_local:
        if fips or dual_stack:
            raise ConfigurationError(
                f"the region 'local' is {_LOCAL_URL}, which has neither FIPS nor dual-stack hosts; name a region of "
                "AWS, or turn use_fips_endpoint and use_dualstack_endpoint off"
            )
        return _LOCAL_URL
    partition = partition_of(region)
    domain = partition.dual_stack_domain if dual_stack else partition.domain
    owner = _owner(service, region, account, fips=fips, mode=account_mode)
    if owner:
        name = f"{owner}.{service.account_host}"
    else:
        name = service.dual_stack_host if dual_stack else service.host
        fips = fips and (dual_stack or not partition.is_fips)
    return f"https://{name}{'-fips' if fips else ''}.{region}.{domain}"


def partition_of(region: str) -> AwsPartition:
    """Return the partition that a region belongs to."""
    return next((each for each in _PARTITIONS if each.regions.fullmatch(region)), _AWS)


def _owner(service: Service, region: str, account: str | None, *, fips: bool, mode: AccountMode) -> str:
    """Return the account whose host is used; nothing where there is none."""
    if mode == "disabled":
        return ""
    missing = ""
    if fips and not service.has_account_fips:
        missing = "use_fips_endpoint is on, and hosts of accounts have no FIPS form; turn it off"
    elif service.without_accounts.fullmatch(region):
        missing = f"{region} has no hosts of accounts; use another region"
    elif not account:
        missing = (
            "the credentials name no account; set AWS_ACCOUNT_ID, aws_account_id in the profile or account_id of "
            "Credentials, name the table by its ARN"
        )
    elif _LABEL.fullmatch(account) is None:
        raise ConfigurationError(
            f"{account!r} is no account of AWS, as credentials name it in AWS_ACCOUNT_ID or aws_account_id; write its "
            "twelve digits"
        )
    if missing and mode == "required":
        raise ConfigurationError(
            f"account_id_endpoint_mode is 'required', but {missing}, or set account_id_endpoint_mode to 'preferred'"
        )
    return "" if missing else account or ""
