"""A file is replaced whole or not at all, and stays the file that its owner made."""

import errno
import os
import stat

import pytest

from tallybayes.replacing import need_writable, replacing

pytestmark = pytest.mark.skipif(os.name != "posix", reason="owners and links are POSIX")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "m.tally"
    path.write_bytes(b"old")
    return path


def write(path, content=b"new", **how):
    with replacing(path, **how) as file:
        file.write(content)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755, 0o444])
def test_the_mode_is_kept(path, mode):
    path.chmod(mode)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_bytes() == b"new"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="root gives files away")
def test_the_owner_is_kept(path):
    os.chown(path, 1234, 5678)
    write(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 5678)


def test_an_owner_that_may_not_be_given_is_no_error(path, monkeypatch):
    if os.geteuid() == 0:
        os.chown(path, 1234, 5678)

    def chown(*_):
        raise PermissionError(errno.EPERM, "not yours")

    monkeypatch.setattr(os, "chown", chown)
    write(path)
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("steps", [1, 3])
def test_a_symbolic_link_stays_and_its_file_changes(path, tmp_path, steps):
    (tmp_path / "elsewhere").mkdir()
    at = path
    for i in range(steps):
        link = tmp_path / "elsewhere" / f"link{i}"
        link.symlink_to(os.path.relpath(at, link.parent))
        at = link
    write(at)
    assert at.is_symlink()
    assert path.read_bytes() == b"new"
    assert not path.is_symlink()


def test_a_link_to_nothing_makes_its_file(tmp_path):
    (tmp_path / "link").symlink_to("m.tally")
    write(tmp_path / "link")
    assert (tmp_path / "m.tally").read_bytes() == b"new"
    assert (tmp_path / "link").is_symlink()


def test_a_new_file_has_the_mode_of_new_files(tmp_path):
    write(tmp_path / "new")
    (tmp_path / "plain").touch()
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_file_and_folder_reach_the_disk_in_order(path, monkeypatch):
    """Content, then name, then folder."""
    done = []
    fsync, replace = os.fsync, os.replace

    def synced(descriptor):
        done.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def replaced(*names):
        done.append("replace")
        replace(*names)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    write(path)
    assert done == ["file", "replace", "folder"]


@pytest.mark.parametrize("number", [errno.EINVAL, errno.ENOTSUP])
def test_a_folder_that_cannot_be_synchronised(path, monkeypatch, number):
    fsync = os.fsync

    def synced(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, "not here")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", synced)
    write(path)
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("call", ["fsync", "replace", "chmod"])
def test_an_error_names_the_file_and_leaves_it(path, tmp_path, monkeypatch, call):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(OSError, match="No space left") as caught:
        write(path)
    assert caught.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["m.tally"]


def test_a_full_disk_is_named(path):
    """ENOSPC of a write has no name of its own."""

    def fill():
        with replacing(path) as file:
            full = os.open("/dev/full", os.O_WRONLY)
            os.dup2(full, file.fileno())
            os.close(full)
            file.write(b"x" * 100_000)

    with pytest.raises(OSError, match="No space left") as caught:
        fill()
    assert caught.value.filename == str(path)
    assert path.read_bytes() == b"old"


def test_what_the_block_raises_leaves_the_file(path, tmp_path):

    def interrupted():
        with replacing(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["m.tally"]


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/null")])
def test_what_is_no_regular_file_is_not_replaced(tmp_path, make):
    make(tmp_path / "odd")
    for act in (write, need_writable):
        with pytest.raises(OSError, match="device or a pipe") as caught:
            act(tmp_path / "odd")
        assert caught.value.filename == str(tmp_path / "odd")
    assert len(os.listdir(tmp_path)) == 1


def test_a_place_is_tried_without_a_trace(path, tmp_path, monkeypatch):
    need_writable(path)
    need_writable(tmp_path / "new")
    assert os.listdir(tmp_path) == ["m.tally"]
    with pytest.raises(OSError, match=r"new\.tally"):
        need_writable("/proc/new.tally")
