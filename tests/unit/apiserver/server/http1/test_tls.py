"""TLS contexts and the files they are made of (handshakes are tested in ``test_serving`` and ``test_peer``)."""

import pytest

from steersman.apiserver.server.http1.tls import TLSFileError, TLSFiles, tls_context


@pytest.mark.parametrize("name", ["certificate", "key", "client_cas"])
@pytest.mark.parametrize(("text", "reason"), [(None, "No such file or directory"), ("", ""), ("nonsense", "")])
def test_tls_context_names_the_file_that_cannot_be_used(pki, tmp_path, name, text, reason):
    path = tmp_path / "broken.pem"
    if text is not None:
        path.write_text(text)
    files = {"certificate": pki.server.certificate, "key": pki.server.key, "client_cas": (pki.ca.certificate,)}
    files[name] = (path,) if name == "client_cas" else path
    with pytest.raises(TLSFileError, match=rf"{path}.*{reason}"):
        tls_context(TLSFiles(**files))
