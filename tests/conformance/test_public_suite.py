"""The engine in the process answers a public suite as DynamoDB does, but for the tests in ``differences.txt``.

The suite, https://github.com/nubo-db/dynamodb-conformance (MIT), is run by Node, and is no part of this checkout:
``DYNAMAP_CONFORMANCE`` names a folder with it, in which ``npm install`` was run. It takes half a minute for each mode.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest

from dynamap_async.testing import Capacity, Durations, LocalEngine

VARIABLE = "DYNAMAP_CONFORMANCE"
DIFFERENCES = Path(__file__).with_name("differences.txt")
TESTS = 601
SHORT = Durations(**dict.fromkeys(Durations.__dataclass_fields__, 0.01) | {"lag": 0.0})  # the suite describes at once


@pytest.mark.parametrize(
    "mode",
    [{}, {"lag": 0, "expire": True}, {"capacity": Capacity(units=1_000_000)}, {"durations": SHORT}],
    ids=["plain", "late", "ample", "durations"],
)
@pytest.mark.skipif(VARIABLE not in os.environ, reason=f"{VARIABLE} names no folder with the public suite")
def test_the_public_suite_passes_but_for_what_is_listed(tmp_path, mode):
    report = tmp_path / "report.json"
    with LocalEngine(**mode) as engine:
        variables = os.environ | {"DYNAMODB_ENDPOINT": engine.endpoint_url}
        command = ["npx", "vitest", "run", "--reporter=json", f"--outputFile={report}"]
        subprocess.run(command, cwd=os.environ[VARIABLE], env=variables, check=False, capture_output=True, timeout=1800)
    tests = [test for file in json.loads(report.read_text("utf-8"))["testResults"] for test in file["assertionResults"]]
    assert len(tests) >= TESTS
    others = sorted(test["fullName"] for test in tests if test["status"] != "passed")
    assert others == DIFFERENCES.read_text("utf-8").splitlines()
