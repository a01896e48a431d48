"""Kubeconfig files: loading one raises ConfigError only."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from steersman.client.credentials import ConfigError
from steersman.client.kubeconfig import load_kubeconfig

TOKENS = (b"apiVersion: v1\n", b"kind: Config\n", b"clusters:\n", b"- name: a\n", b"  cluster:\n", b"    server: https://a\n", b"users:\n", b"  user:\n",
          b"contexts:\n", b"  context:\n", b"    cluster: a\n", b"    user: a\n", b"current-context: a\n", b"certificate-authority-data: ", b"YQ==",
          b"client-key-data: ", b"client-certificate: ", b"token: ", b"tokenFile: ", b"username: ", b"exec:\n", b"command: a\n",
          b"apiVersion: client.authentication.k8s.io/v1\n", b"interactiveMode: Never\n", b"env:\n", b"args: [a]\n", b"as: a\n", b"as-groups: [a]\n",
          b"as-user-extra: {a: [b]}\n", b"proxy-url: ", b"insecure-skip-tls-verify: true\n", b"&a ", b"*a", b"<<: ", b"{", b"}", b"[", b"]", b"!!",
          b"2024-99-05", b"\\0", b"tls-server-name: ", b"namespace: ")  # fmt: skip


@cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="fuzz-kubeconfig-")


def run(data: bytes) -> None:
    path = Path(_folder().name) / "config"
    path.write_bytes(data)
    for context in ("", "a"):
        try:
            access = load_kubeconfig(path, context=context)
        except ConfigError as error:
            assert str(path) in str(error) or str(error)
            continue
        assert access.server
        assert isinstance(access.namespace, str)
