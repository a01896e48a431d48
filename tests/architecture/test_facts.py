"""Where recorded facts of a running Kubernetes 1.36 lie beside the checkout, what is served equals them."""

from pathlib import Path

import pytest

from steersman.apiserver.discovery.catalog import Catalog
from steersman.apiserver.openapi.builder import Builder
from steersman.schema.resources import table

FACTS = Path(__file__).parents[3] / "shared" / "facts"
pytestmark = pytest.mark.skipif(not FACTS.is_dir(), reason="no recorded facts beside this checkout")

#: Parameters that the facts name; others are said by reference there.
NAMED = {"body", "dryRun", "fieldValidation"}


def test_openapi_operations_are_upstreams():
    recorded = {tuple(line.split()) for line in (FACTS / "openapi-operations.txt").read_text().splitlines()}
    paths = Builder(Catalog(table()), lambda gvk, *, v3: None).swagger()["paths"]
    served = set()
    for path, item in paths.items():
        for method, operation in item.items():
            if method != "parameters":
                hidden = {"body"} if method in ("delete", "patch") else set()
                names = {p["name"] for p in operation["parameters"]} & NAMED - hidden
                row = (
                    method.upper(),
                    path,
                    operation["operationId"],
                    operation.get("x-kubernetes-action", "-"),
                    "params=" + ",".join(sorted(names)),
                    "codes=" + ",".join(sorted(operation["responses"])),
                )
                served.add(row)
    assert served == recorded
