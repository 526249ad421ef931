"""Before a guarded environment is changed, a command tells whose credentials it uses."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from dynamap_async.cli.configuration import find_configuration
from dynamap_async.cli.confirmation import confirm
from dynamap_async.cli.endings import CommandError
from dynamap_async.cli.place import place_of
from dynamap_async.transport import identity

ARN = "arn:aws:sts::123456789012:assumed-role/deploy/build-7"
ANSWER = f"""<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
<GetCallerIdentityResult><Arn>{ARN}</Arn><UserId>a</UserId><Account>123456789012</Account></GetCallerIdentityResult>
</GetCallerIdentityResponse>"""


@pytest.fixture
def tokens(project, monkeypatch):
    """A token service that answers with a status; return the statuses that it is to answer with."""
    statuses = [200]
    monkeypatch.setattr(identity, "_SECONDS", 60.0)  # a client is made within them: long on a busy machine

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(statuses[0])
            self.end_headers()
            self.wfile.write(ANSWER.encode() if statuses[0] == 200 else b"<ErrorResponse/>")

        def log_message(self, *_): ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    yield statuses
    server.shutdown()
    server.server_close()


@pytest.fixture
def place(project):
    """Return a function (environment) -> where its commands go."""
    (project / "dynamap.toml").write_text(
        'region = "eu-west-1"\n[env.prod]\nguard = "name"\n[env.dev]\n[env.here]\nguard = "name"\n'
        'endpoint_url = "http://127.0.0.1:1"\n',
        "utf-8",
    )
    return lambda name: place_of(find_configuration(project), models=(), environment=name, given={})


def test_whose_credentials_a_change_uses_is_told_first(tokens, place, capsys):
    with pytest.raises(CommandError, match="--yes-in prod"):
        confirm(place("prod"), "Delete everything?", yes=True, yes_in=None)
    assert capsys.readouterr().err == f"You are {ARN}\n"
    tokens[0] = 403
    confirm(place("prod"), "Delete everything?", yes=False, yes_in="prod")
    assert capsys.readouterr().err == "You are unknown: AWS did not tell whose credentials these are\n"


@pytest.mark.parametrize("name", ["dev", "here"])
def test_nobody_is_told_where_nothing_is_guarded_or_it_is_not_aws(tokens, place, capsys, name):
    confirm(place(name), "Delete everything?", yes=True, yes_in=name)
    assert capsys.readouterr().err == ""
