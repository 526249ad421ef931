"""The native engine's program comes from npm's registry, is what it should be, and is found afterwards."""

import hashlib
import io
import os
import platform
import re
import socket
import tarfile
import threading
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from dynamap_async.errors import ConfigurationError
from dynamap_async.testing import native_program
from dynamap_async.testing.native_program import find_program, install_program, installed_program, npm_registry

PROGRAM = b"#!/bin/sh\necho dynoxide\n"
ADDRESS = "/@dynoxide/linux-x64/-/linux-x64-1.2.1.tgz"


def package() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, content in {"package/package.json": b"{}", "package/bin/dynoxide": PROGRAM}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return file.getvalue()


PACKAGE = package()


class Registry(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        found = self.path.endswith(ADDRESS)
        self.send_response(200 if found else 404)
        self.end_headers()
        self.wfile.write(PACKAGE if found else b"")

    def log_message(self, *arguments):
        pass


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch, tmp_path):
    """Let nothing of this machine's npm count, and nothing be installed."""
    for name in [name for name in os.environ if name.lower().startswith("npm_config_") or "proxy" in name.lower()]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("DYNAMAP_NATIVE_ENGINE", raising=False)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("NPM_CONFIG_USERCONFIG", str(tmp_path / "user.npmrc"))
    monkeypatch.setattr(native_program, "_cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    digest = b64encode(hashlib.sha512(PACKAGE).digest()).decode()
    monkeypatch.setattr(native_program, "HASHES", {"linux-x64": digest})


@pytest.fixture
def registry(monkeypatch):
    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        server.asked = []
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        monkeypatch.setenv("NPM_CONFIG_REGISTRY", f"http://127.0.0.1:{server.server_port}/npm/")
        yield server
        server.shutdown()
        thread.join()


def test_program_is_installed_once_found_and_runs(registry):
    assert find_program() is None
    program = install_program()
    assert program == installed_program() == find_program()
    assert program.read_bytes() == PROGRAM
    assert os.access(program, os.X_OK)
    assert registry.asked == [f"/npm{ADDRESS}"]
    assert [each.name for each in program.parent.iterdir()] == [program.name]


def test_program_that_the_environment_names_comes_first(registry, monkeypatch):
    install_program()
    monkeypatch.setenv("DYNAMAP_NATIVE_ENGINE", "/opt/dynoxide")
    assert find_program() == Path("/opt/dynoxide")


def test_package_with_another_hash_is_refused_and_not_unpacked(registry, monkeypatch):
    monkeypatch.setattr(native_program, "HASHES", {"linux-x64": "expected=="})
    with pytest.raises(ConfigurationError, match=r"is not the expected file: .* expected==. Nothing was installed"):
        install_program()
    assert find_program() is None
    assert not installed_program().parent.exists()


@pytest.mark.parametrize(("system", "machine"), [("Linux", "riscv64"), ("Darwin", "arm64"), ("Windows", "AMD64")])
def test_platform_without_a_package_is_named_with_the_remedy(registry, monkeypatch, system, machine):
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    with pytest.raises(
        ConfigurationError, match=f"for {system} {machine}, only for linux-x64: .*DYNAMAP_NATIVE_ENGINE"
    ):
        install_program()
    assert registry.asked == []


def test_registry_without_the_package_is_named_with_its_answer(registry, monkeypatch):
    monkeypatch.setattr(native_program, "VERSION", "9.9.9")
    with pytest.raises(ConfigurationError, match=r"linux-x64-9\.9\.9\.tgz returned 404 Not Found"):
        install_program()


def test_registry_that_cannot_be_reached_is_named_with_the_remedy(monkeypatch):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # taken, and nobody listens
        monkeypatch.setenv("NPM_CONFIG_REGISTRY", f"http://127.0.0.1:{closed.getsockname()[1]}")
        with pytest.raises(ConfigurationError, match=r"could not be downloaded .* check the network, HTTPS_PROXY"):
            install_program()


@pytest.mark.parametrize("url", ["file:///etc", "registry.example.com", "ftp://host"])
def test_registry_that_is_no_web_address_is_refused(monkeypatch, url):
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", url)
    with pytest.raises(ConfigurationError, match="set NPM_CONFIG_REGISTRY"):
        install_program()


def test_package_that_is_much_too_large_is_not_read_to_its_end(registry, monkeypatch):
    monkeypatch.setattr(native_program, "_MOST_BYTES", 10)
    with pytest.raises(ConfigurationError, match="more than 10 bytes"):
        install_program()


def test_cache_that_cannot_be_written_is_named(registry, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setattr(native_program, "_cache_folder", lambda: tmp_path / "file")
    with pytest.raises(ConfigurationError, match="cannot be written to"):
        install_program()


@pytest.mark.parametrize(
    ("variables", "project", "user", "expected"),
    [
        ({}, "", "", "https://registry.npmjs.org"),
        ({}, "", "registry=https://user.test/npm/", "https://user.test/npm"),
        ({}, " registry = https://project.test/ ", "registry=https://user.test", "https://project.test"),
        ({"npm_config_registry": "https://own.test"}, "registry=https://project.test", "", "https://own.test"),
        (
            {"NPM_CONFIG_REGISTRY": "https://own.test"},
            "",
            "@dynoxide:registry=https://scope.test",
            "https://scope.test",
        ),
        ({}, "@other:registry=https://other.test", "", "https://registry.npmjs.org"),
        ({}, "# registry=https://one.test\n; registry=https://two.test", "", "https://registry.npmjs.org"),
        ({"MIRROR": "mirror.test"}, 'registry="https://${MIRROR}/npm"', "", "https://mirror.test/npm"),
    ],
)
def test_registry_is_the_one_that_npm_is_set_to(monkeypatch, tmp_path, variables, project, user, expected):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    Path(".npmrc").write_text(project, "utf-8")
    (tmp_path / "user.npmrc").write_text(user, "utf-8")
    assert npm_registry() == expected


@pytest.mark.skipif(os.name != "posix", reason="POSIX only: folders of Linux")
@pytest.mark.parametrize(("cache", "folder"), [("{home}/own", "own"), ("relative", ".cache"), (None, ".cache")])
def test_program_lies_in_the_cache_of_the_user(monkeypatch, tmp_path, cache, folder):
    monkeypatch.undo()
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    if cache is not None:
        monkeypatch.setenv("XDG_CACHE_HOME", cache.format(home=tmp_path))
    assert installed_program() == tmp_path / folder / "dynamap" / "dynoxide-1.2.1" / "dynoxide"


def test_pinned_package_is_that_of_the_project_s_own_tests():
    script = Path(__file__).parents[3] / ".ci" / "native-engine"
    if not script.exists():
        pytest.skip("not a checkout")
    pinned = dict(re.findall(r'^(\w+)="(.*)"$', script.read_text("utf-8"), re.MULTILINE))
    assert pinned["version"] == native_program.VERSION
    assert pinned["integrity"] == PINNED["linux-x64"]


PINNED = dict(native_program.HASHES)
