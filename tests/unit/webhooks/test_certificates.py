"""Serving certificates of webhook servers."""

import pytest

from steersman.asynckit.serving_tls import PemPair
from steersman.webhooks import CertificateFiles


async def test_files_are_read_at_each_load(tmp_path):
    (tmp_path / "tls.crt").write_bytes(b"cert")
    (tmp_path / "tls.key").write_bytes(b"key")
    files = CertificateFiles(tmp_path)
    assert await files.load() == PemPair(b"cert", b"key")
    (tmp_path / "tls.key").write_bytes(b"new")
    assert await files.load() == PemPair(b"cert", b"new")


async def test_files_may_have_other_names(tmp_path):
    (tmp_path / "a.pem").write_bytes(b"both")
    assert await CertificateFiles(tmp_path, cert="a.pem", key="a.pem").load() == PemPair(b"both", b"both")


async def test_missing_file_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        await CertificateFiles(tmp_path).load()
