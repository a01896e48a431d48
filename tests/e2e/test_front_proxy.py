"""Request-header authentication of a started server: the front proxy's certificate and the headers, on the wire."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

PATH = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def review(cluster: Any, pair: str, **headers: str) -> dict[str, Any]:
    """Return who the server takes a client with that certificate for."""
    pki = next(Path(cluster.kubeconfig).parent.rglob("pki"))
    context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
    context.load_cert_chain(pki / f"{pair}.crt", pki / f"{pair}.key")
    body = json.dumps({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}).encode()
    sent = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    request = urllib.request.Request(cluster.url + PATH, data=body, headers=sent)
    with urllib.request.urlopen(request, context=context) as answer:
        user: dict[str, Any] = json.load(answer)["status"]["userInfo"]
    return user


def test_front_proxy_headers_identify_the_user(cluster):
    user = review(cluster, "front-proxy-client", x_remote_user="jane", x_remote_group="dev")
    assert user == {"username": "jane", "groups": ["dev", "system:authenticated"]}


def test_front_proxy_certificate_alone_identifies_no_user(cluster):
    with pytest.raises(urllib.error.HTTPError, match="401") as refused:
        review(cluster, "front-proxy-client")
    refused.value.close()


def test_front_proxy_headers_of_other_clients_are_ignored(cluster):
    assert review(cluster, "admin", x_remote_user="jane")["username"] == "kubernetes-admin"
