"""Whole files or none."""

import os

import pytest

from pliant.errors import InputError
from pliant.files import replace_file, replace_path


def test_success_replaces(tmp_path):
    path = tmp_path / "deep" / "a.bin"
    for text in (b"one", b"two"):
        with replace_file(path) as file:
            file.write(text)
        assert path.read_bytes() == text
    assert [p.name for p in path.parent.iterdir()] == ["a.bin"]


def test_failure_leaves_what_was_there(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), replace_file(path) as file:
        file.write(b"half")
        _ = 1 / 0
    with pytest.raises(KeyboardInterrupt), replace_path(path) as temporary:
        temporary.write_bytes(b"half")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old" and [p.name for p in tmp_path.iterdir()] == ["a.bin"]


def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"), replace_file(tmp_path / "file" / "a"):
        pass
    with pytest.raises(InputError, match="folder"), replace_file(tmp_path):
        pass


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(InputError, match="cannot write"), replace_file(tmp_path / "a"):
            pass
    finally:
        tmp_path.chmod(0o700)
