import pytest

from dynamap_async.config import Credentials
from dynamap_async.errors import ConfigurationError
from dynamap_async.transport import AioConfig, AioSession, Connection

CREDENTIALS = Credentials(access_key_id="AKID", secret_access_key="hidden")


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        ({"profile": "dev", "aio_session": AioSession()}, "AioSession(profile=...)"),
        ({"profile": "dev", "credentials": CREDENTIALS}, "profile and credentials"),
        ({"region": "eu-west-1", "aio_config": AioConfig(region_name="us-east-1")}, "us-east-1"),
    ],
)
def test_contradictory_settings_are_refused_with_a_remedy(facts, named):
    with pytest.raises(ConfigurationError) as raised:
        Connection(**facts)
    assert named in str(raised.value)


def test_explicit_credentials_may_stand_beside_a_session():
    session = AioSession()
    connection = Connection(credentials=CREDENTIALS, aio_session=session, region="eu-west-1")
    assert connection.aio_session is session


def test_repr_hides_the_secret():
    assert "hidden" not in repr(Connection(credentials=CREDENTIALS))
