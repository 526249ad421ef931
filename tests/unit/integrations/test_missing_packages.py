"""Without the package that it integrates, an integration says which extra brings it; nothing else needs one."""

import importlib
import subprocess
import sys

import pytest

from dynamap_async.integrations.missing_packages import missing_extra

# module -> the package that is not there, the extra that brings it
INTEGRATIONS = {"fastapi": ("fastapi", "fastapi"), "otel": ("opentelemetry.context", "otel")}


@pytest.mark.parametrize(("module", "package", "extra"), [(name, *rest) for name, rest in INTEGRATIONS.items()])
def test_a_missing_package_is_named_with_its_extra(monkeypatch, module, package, extra):
    name = f"dynamap_async.integrations.{module}"
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module(name)
    remedy = f'pip install "dynamap-async[{extra}]"'
    top = package.partition(".")[0]
    assert str(caught.value) == f"{name} needs the package {top!r}, which the extra {extra!r} installs: {remedy}"
    assert caught.value.name == package


def test_a_missing_module_of_our_own_is_no_missing_extra():
    error = ModuleNotFoundError("no such module", name="dynamap_async.gone")
    assert missing_extra("fastapi", error) is error


def test_the_package_of_integrations_imports_none_of_them():
    program = "import dynamap_async.integrations, sys; print([each for each in sys.argv[1:] if each in sys.modules])"
    packages = sorted(package.partition(".")[0] for package, _ in INTEGRATIONS.values())
    ran = subprocess.run([sys.executable, "-c", program, *packages], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
