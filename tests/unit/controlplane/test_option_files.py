"""Files that options name."""

import pytest

from steersman.controlplane.option_files import check_key_pair, check_readable, read_file
from steersman.controlplane.options import OptionError


def test_missing_file_and_directory_are_rejected(tmp_path):
    with pytest.raises(OptionError, match=r"^--f: cannot read .*/none: no such file or directory$"):
        check_readable("--f", tmp_path / "none")
    with pytest.raises(OptionError, match="is a directory, expected a file"):
        check_readable("--f", tmp_path)


def test_contents_are_read_or_the_flag_is_named(tmp_path):
    (tmp_path / "a").write_bytes(b"text")
    assert read_file("--f", tmp_path / "a") == b"text"
    with pytest.raises(OptionError, match=r"^--f: cannot read .*/none: no such file or directory$"):
        read_file("--f", tmp_path / "none")


def test_files_that_are_no_pair_are_rejected(tmp_path):
    (tmp_path / "a").write_text("garbage")
    with pytest.raises(OptionError, match=r"^--c and --k: .*/a and .*/a are not a PEM certificate and its key$"):
        check_key_pair("--c and --k", tmp_path / "a", tmp_path / "a")
