"""What these tests look at: the package that is installed, and the checkout around them."""

import ast
from pathlib import Path

import pytest

import dynamap_async

CHECKOUT = Path(__file__).parents[2]
PACKAGE = Path(dynamap_async.__file__).parent


@pytest.fixture
def checkout() -> Path:
    return CHECKOUT


@pytest.fixture
def package() -> Path:
    return PACKAGE


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes `module` once for each module of the package."""
    if "module" in metafunc.fixturenames:
        paths = sorted(PACKAGE.rglob("*.py"))
        metafunc.parametrize("module", paths, ids=lambda path: str(path.relative_to(PACKAGE)))


@pytest.fixture
def tree(module: Path) -> ast.Module:
    return ast.parse(module.read_text("utf-8"))
