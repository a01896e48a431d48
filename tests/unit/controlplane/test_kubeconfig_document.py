"""Kubeconfigs as YAML nodes."""

import pytest
import yaml

from steersman.controlplane.kubeconfig_document import DocumentError, KubeconfigDocument

#: Scalars that YAML 1.1 reads as something else than they look like.
ODD = """\
apiVersion: v1
kind: Config
current-context: "1"
clusters:
- name: work
  cluster: {server: "https://work", insecure-skip-tls-verify: true}
users:
- name: me
  user: {token: 0123, username: yes, password: 1_000, until: 2026-01-02}
contexts:
- {name: "1", context: {cluster: work, user: me}}
preferences: {}
extensions:
- name: x
"""


def scalars(text):
    """Return key and text of each scalar, as written."""
    return [token.value for token in yaml.scan(text) if isinstance(token, yaml.ScalarToken)]


def test_scalars_of_others_stay_as_they_were_written():
    document = KubeconfigDocument.parse(ODD.encode())
    document.put("users", {"name": "new", "user": {"token": "0123"}})
    document.remove("users", "new")
    dumped = document.dump().decode()
    assert scalars(dumped) == scalars(ODD)
    assert yaml.safe_load(dumped) == yaml.safe_load(ODD)


def test_entries_are_put_replaced_in_place_and_removed():
    document = KubeconfigDocument.parse(b"users: [{name: a, user: {}}, {name: b, user: {}}, {name: a, user: {x: y}}]")
    document.put("users", {"name": "a", "user": {"token": "t"}})
    assert document.entries("users") == [{"name": "a", "user": {"token": "t"}}, {"name": "b", "user": {}}]
    document.remove("users", "a")
    document.put("contexts", {"name": "c", "context": {"cluster": "b"}})
    loaded = yaml.safe_load(document.dump())
    assert loaded["users"] == [{"name": "b", "user": {}}]
    assert document.entry("contexts", "c") == loaded["contexts"][0]
    assert document.entry("clusters", "c") is None


def test_current_context_is_read_and_written():
    document = KubeconfigDocument.parse(ODD.encode())
    assert document.current_context == "1"
    document.current_context = "true"
    assert yaml.safe_load(document.dump())["current-context"] == "true"
    assert KubeconfigDocument.parse(b"current-context: null").current_context == ""


@pytest.mark.parametrize("text", [b"", b"# nothing", b"null", b"clusters: null"])
def test_document_of_an_empty_text_is_an_empty_kubeconfig(text):
    document = KubeconfigDocument.parse(text)
    document.put("clusters", {"name": "a", "cluster": {}})
    loaded = yaml.safe_load(document.dump())
    assert loaded == {"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "a", "cluster": {}}]}


@pytest.mark.parametrize("text", [b"[1]", b"text", b"clusters: {a: 1}", b"a: [", b"\x00", b"\xff", b"a: 1\n---\nb: 2"])
def test_document_rejects_other_files(text):
    with pytest.raises(DocumentError):
        KubeconfigDocument.parse(text)
