"""Whole files or none: what may be written to, and what stays as it was."""

import errno
import os
import resource
import shutil
import socket
import stat
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from hedgerow._files import check_target, whole_file
from hedgerow.cli.commands import app
from hedgerow.data.table_writing import write_table
from hedgerow.plots.style import save_figure


def put(path, text="new", **settings):
    with whole_file(path, **settings) as temporary:
        temporary.write_text(text)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


# --------------------------------------------------------------------------- what may be written


def device(path):
    os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 3))  # as /dev/null


def unix_socket(path):
    socket.socket(socket.AF_UNIX).bind(str(path))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (device, "is a device"),
        (os.mkfifo, "is a pipe"),
        (unix_socket, "is a socket"),
        (os.mkdir, "is a folder"),
    ],
    ids=["device", "pipe", "socket", "folder"],
)
@pytest.mark.parametrize("linked", [False, True], ids=["itself", "by a link"])
def test_only_regular_files_are_written_to(tmp_path, make, words, linked):
    path = tmp_path / "it"
    try:
        make(path)
    except PermissionError:
        pytest.skip("only root makes devices")
    before = path.lstat()
    asked = path
    if linked:
        asked = tmp_path / "link"
        asked.symlink_to(path)
    for write in (check_target, put):
        with pytest.raises(OSError, match=words):
            write(asked)
    assert path.lstat() == before
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]


@pytest.mark.parametrize("permissions", [0o600, 0o640, 0o664])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path, permissions):
    path = tmp_path / "p"
    path.write_text("old")
    path.chmod(permissions)
    with whole_file(path) as temporary:
        temporary.write_text("new")
        assert mode(temporary) == 0o600  # nobody else reads it on the way
    assert path.read_text() == "new"
    assert mode(path) == permissions


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_new_file_has_what_the_umask_leaves(tmp_path, umask):
    before = os.umask(umask)
    try:
        put(tmp_path / "p")
        write_table(pd.DataFrame({"a": [1]}), tmp_path / "t.parquet")
    finally:
        os.umask(before)
    assert mode(tmp_path / "p") == mode(tmp_path / "t.parquet") == 0o666 & ~umask


@pytest.mark.skipif(os.getuid() != 0, reason="only root writes to files of others")
def test_a_file_of_somebody_else_stays_theirs(tmp_path):
    path = tmp_path / "p"
    path.write_text("old")
    os.chown(path, 65534, 65534)
    put(path)
    assert (path.read_text(), path.stat().st_uid, path.stat().st_gid) == ("new", 65534, 65534)


@pytest.mark.parametrize("there", [True, False], ids=["to a file", "to nothing yet"])
def test_a_link_stays_and_what_it_points_to_is_written(tmp_path, there):
    (tmp_path / "elsewhere").mkdir()
    path, link = tmp_path / "elsewhere" / "p", tmp_path / "link"
    if there:
        path.write_text("old")
    link.symlink_to(path)
    put(link)
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert not path.is_symlink()
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["elsewhere", "link", "p"]


def test_a_read_only_file_stays(tmp_path):
    path = tmp_path / "p"
    path.write_text("old")
    path.chmod(0o444)
    for write in (check_target, put):
        with pytest.raises(PermissionError, match="is read-only"):
            write(path)
    assert path.read_text() == "old"


def test_a_file_that_is_there_may_be_kept(tmp_path):
    put(tmp_path / "p", "old", overwrite=False)
    with pytest.raises(FileExistsError, match="is there already: give another name, or --force"):
        put(tmp_path / "p", overwrite=False)
    with pytest.raises(FileExistsError):
        check_target(tmp_path / "p", overwrite=False)
    assert (tmp_path / "p").read_text() == "old"
    put(tmp_path / "p")
    assert (tmp_path / "p").read_text() == "new"


def test_no_folder_to_write_into(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in ("nowhere", "file"):
        with pytest.raises(FileNotFoundError, match=f"There is no folder .*{folder} to write p"):
            check_target(tmp_path / folder / "p")


# --------------------------------------------------------------------------- what goes wrong


def sentences(error, name):
    """What is said of a failed write names the target and not the temporary file."""
    assert error.filename == str(name)
    assert ".hedgerow-" not in str(error)
    return error.strerror


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("kind", ["csv", "parquet", "png", "policy"])
def test_a_full_disk_leaves_what_was_there(tmp_path, there, kind):
    """A limit on the size of files stands for a small disk: writes fail half-way."""
    path = tmp_path / f"out.{kind}"
    if there:
        path.write_text("old")
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(OSError, match="cannot be written") as caught:
            large(kind, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert caught.value.errno == errno.EFBIG
    assert sentences(caught.value, path).endswith(
        "what was there is untouched" if there else "nothing was written"
    )
    assert [file.name for file in tmp_path.iterdir()] == ([path.name] if there else [])
    assert not there or path.read_text() == "old"


def large(kind, path):
    """Write something of more than a few pages."""
    noise = np.random.default_rng(0).normal(size=(20_000, 2))
    if kind in ("csv", "parquet"):
        write_table(pd.DataFrame(noise, columns=["a", "b"]), path)
    elif kind == "png":
        from matplotlib.figure import Figure

        figure = Figure()
        figure.add_subplot().scatter(*noise.T, s=1)
        save_figure(figure, path)
    else:
        with whole_file(path) as temporary:
            temporary.write_bytes(noise.tobytes())


def test_a_full_disk_of_a_few_pages(tmp_path):
    """The same on a disk that is full, where one can be had."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(disk)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("disks cannot be mounted here")
    try:
        (disk / "p").write_text("old")
        with pytest.raises(OSError, match=r"No space left on device") as caught:
            large("policy", disk / "p")
        assert caught.value.errno == errno.ENOSPC
        sentences(caught.value, disk / "p")
        assert [file.name for file in disk.iterdir()] == ["p"]
        assert (disk / "p").read_text() == "old"
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.fixture
def as_somebody():
    """A user to whom permissions apply, for as long as the test lasts."""
    if os.getuid() != 0:
        yield
        return
    os.setresuid(65534, 65534, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


@pytest.fixture
def closed(as_somebody):
    """A folder with a file in it, in which nothing may be made."""
    folder = Path(tempfile.mkdtemp())  # pytest's own are for its user alone
    (folder / "p").write_text("old")
    folder.chmod(0o555)
    yield folder
    assert [(file.name, file.read_text()) for file in folder.iterdir()] == [("p", "old")]
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_folder_that_cannot_be_written_to(closed):
    for write in (check_target, put):
        with pytest.raises(PermissionError, match=f"The folder {closed} cannot be written to"):
            write(closed / "p")


def test_what_the_writer_raises_about_other_things_is_passed_on(tmp_path):
    def fail():
        raise error

    for error in (ValueError("odd"), FileNotFoundError(2, "gone", "/elsewhere"), OSError("plain")):
        with pytest.raises(type(error)) as caught, whole_file(tmp_path / "p"):
            fail()
        assert caught.value is error
    assert not list(tmp_path.iterdir())


# --------------------------------------------------------------------------- commands


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A policy and the table it was learned from."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"wind": rng.uniform(0, 9, 60).round(2)})
    table["demand"] = (20 + table["wind"] + rng.uniform(0, 5, 60)).round(2)
    write_table(table, folder / "table.csv")
    assert call(*fitting(folder / "table.csv", folder / "policy.hedgerow")).exit_code == 0
    return folder / "policy.hedgerow", folder / "table.csv"


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def fitting(table, out):
    costs = ("--outcome", "demand", "--holding", 1, "--stockout", 3)
    return ("fit", table, *costs, "--model", "erm", "--rule", "affine", "--steps", 50, "-o", out)


def commands(policy, table, folder):
    """Every command that writes a file, and the file."""
    return [
        (fitting(table, folder / "new.hedgerow"), folder / "new.hedgerow"),
        (("decide", policy, table, "-o", folder / "new.csv"), folder / "new.csv"),
        (("report", policy, table, "-o", folder / "new.html"), folder / "new.html"),
        (("explain", policy, table, "--figure", folder / "new.png"), folder / "new.png"),
    ]


def test_commands_replace_a_file_only_if_told_to(files, tmp_path):
    for asked, out in commands(*files, tmp_path):
        out.write_text("old")
        refused = call(*asked)
        assert refused.exit_code == 1
        assert f"{out} is there already: give another name, or --force" in flat(refused.stderr)
        assert out.read_text() == "old"
        assert call(*asked, "--force").exit_code == 0
        assert out.read_bytes() != b"old"


@pytest.mark.parametrize("trouble", ["full", "device"])
def test_commands_that_cannot_write_say_so_in_one_sentence(files, tmp_path, monkeypatch, trouble):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    words = {"full": "cannot be written (No space left on device)", "device": "is a device"}
    for asked, out in commands(*files, tmp_path):
        with monkeypatch.context() as patch:
            if trouble == "full":
                out.write_text("old")
                patch.setattr("os.replace", full)
            else:
                out.symlink_to("/dev/null")
            result = call(*asked, "--force")
        assert result.exit_code == 1
        assert words[trouble] in flat(result.stderr)
        assert len(result.stderr.strip().splitlines()) <= 3  # one sentence, wrapped
        assert out.is_symlink() if trouble == "device" else out.read_text() == "old"
    assert not [file for file in tmp_path.iterdir() if file.name.startswith(".")]


def test_commands_in_a_folder_that_cannot_be_written_to(closed):
    for asked, _ in commands(closed / "policy", closed / "table.csv", closed):
        result = call(*asked)
        assert result.exit_code == 1
        assert flat(result.stderr) == f"The folder {closed} cannot be written to."


def flat(text):
    return " ".join(text.split())
