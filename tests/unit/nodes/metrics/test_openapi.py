"""The OpenAPI document of metrics.k8s.io."""

from steersman.nodes.metrics import openapi


def test_document_resolves_its_references():
    document = openapi.document()
    schemas = document["components"]["schemas"]
    for item in document["paths"].values():
        schema = item["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        assert schema["$ref"].rpartition("/")[2] in schemas


def test_index_names_the_document_with_its_hash():
    [(path, address)] = openapi.index()["paths"].items()
    assert address["serverRelativeURL"].startswith(f"/openapi/v3/{path}?hash=")
