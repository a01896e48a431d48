"""``steersman envtest``; its control planes: ``tests/e2e/test_envtest.py``."""

from pathlib import Path

import pytest

from steersman.cli import envtest


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def test_envtest_prints_the_folder_of_the_assets(capsys, tmp_path):
    assert envtest.run([]) == 0
    folder = Path(capsys.readouterr().out.strip())
    assert folder.parent == tmp_path / "steersman" / "envtest"
    assert {"etcd", "kube-apiserver", "kubectl"} <= {path.name for path in folder.iterdir()}
    assert "--secure-port" in (folder / ".kube-apiserver-help").read_text()
    assert "--insecure-port" not in (folder / ".kube-apiserver-help").read_text()


def test_envtest_reports_a_folder_that_cannot_be_written(capsys, tmp_path):
    (tmp_path / "steersman").write_text("a file")
    assert envtest.run([]) == 1
    assert "cannot write the assets" in capsys.readouterr().err
