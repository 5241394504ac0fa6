from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from schemas.errors import OutputError
from workers.engine.publication import publish, refuse_taken

NAMES = ("m.ninfer", "m.ninfer.part-0001", "m.ninfer.part-0002")
FREE = "a name that is not taken (or --force)"


@pytest.fixture
def finished(tmp_path: Path) -> list[Path]:
    """Three finished files in a folder beside their targets, the entry first."""
    folder = tmp_path / "work"
    folder.mkdir()
    for name in NAMES:
        (folder / name).write_bytes(f"new {name}".encode())
    return [folder / name for name in NAMES]


@pytest.fixture
def targets(tmp_path: Path) -> list[Path]:
    return [tmp_path / name for name in NAMES]


def contents(folder: Path) -> dict[str, bytes]:
    """The files in a folder by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


NEW = {name: f"new {name}".encode() for name in NAMES}


def failing(number: int) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


def recorded(calls: list[str], function: Callable[..., None]) -> Callable[..., None]:
    """The function, which also notes the name of the file that it gives a name to."""

    def record(source: Path, target: Path, **others: object) -> None:
        calls.append(Path(target).name)
        function(source, target, **others)

    return record


@pytest.mark.parametrize("overwrite", [False, True])
def test_all_files_get_their_names_the_entry_last(
    tmp_path: Path, finished: list[Path], targets: list[Path], monkeypatch: pytest.MonkeyPatch, overwrite: bool
) -> None:
    calls: list[str] = []
    monkeypatch.setattr(os, "link", recorded(calls, os.link))
    monkeypatch.setattr(os, "replace", recorded(calls, os.replace))
    publish(finished, targets, overwrite=overwrite)
    assert calls == ["m.ninfer.part-0002", "m.ninfer.part-0001", "m.ninfer"]
    assert contents(tmp_path) == NEW
    assert contents(tmp_path / "work") == {}, "they were moved"


def test_force_replaces_what_is_there(tmp_path: Path, finished: list[Path], targets: list[Path]) -> None:
    for target in targets:
        target.write_bytes(b"old")
    publish(finished, targets, overwrite=True)
    assert contents(tmp_path) == NEW


@pytest.mark.parametrize("taken", NAMES)
@pytest.mark.parametrize("links", [True, False])
def test_a_name_that_is_taken_meanwhile_is_kept_and_no_other_is_given(
    tmp_path: Path, finished: list[Path], targets: list[Path], monkeypatch: pytest.MonkeyPatch, taken: str, links: bool
) -> None:
    (tmp_path / taken).write_bytes(b"precious")
    if not links:
        monkeypatch.setattr(os, "link", failing(errno.EPERM))
    with pytest.raises(OutputError) as caught:
        publish(finished, targets, overwrite=False)
    assert str(caught.value) == f"{tmp_path / taken}: expected {FREE}, found an existing file"
    assert contents(tmp_path) == {taken: b"precious"}


@pytest.mark.parametrize("taken", NAMES)
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_folder_that_takes_a_name_is_left_and_no_other_name_is_given(
    tmp_path: Path, finished: list[Path], targets: list[Path], taken: str, overwrite: bool
) -> None:
    (tmp_path / taken).mkdir()
    with pytest.raises(OutputError, match=f"{taken}: expected "):
        publish(finished, targets, overwrite=overwrite)
    assert contents(tmp_path) == {}
    assert (tmp_path / taken).is_dir()


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP, errno.EMLINK])
def test_a_file_system_without_hard_links_gets_files_by_renaming(
    tmp_path: Path, finished: list[Path], targets: list[Path], monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(os, "link", failing(number))
    publish(finished, targets, overwrite=False)
    assert contents(tmp_path) == NEW


@pytest.mark.parametrize("good", [0, 1, 2])
@pytest.mark.parametrize(("overwrite", "function"), [(False, "link"), (True, "replace")])
def test_a_failure_in_the_middle_leaves_no_name_behind(
    tmp_path: Path,
    finished: list[Path],
    targets: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    good: int,
    overwrite: bool,
    function: str,
) -> None:
    real = getattr(os, function)
    calls: list[Path] = []

    def fails_later(source: Path, target: Path, **others: object) -> None:
        if len(calls) == good:
            failing(errno.EIO)()
        calls.append(target)
        real(source, target, **others)

    monkeypatch.setattr(os, function, fails_later)
    with pytest.raises(OutputError, match=r"expected a name that can be given to the finished file, found .*Input/ou"):
        publish(finished, targets, overwrite=overwrite)
    assert len(calls) == good
    assert contents(tmp_path) == {}


def test_an_interrupt_in_the_middle_leaves_no_name_behind(
    tmp_path: Path, finished: list[Path], targets: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.link

    def interrupted(source: Path, target: Path, **_: object) -> None:
        if Path(target).name == "m.ninfer":
            raise KeyboardInterrupt
        real(source, target)

    monkeypatch.setattr(os, "link", interrupted)
    with pytest.raises(KeyboardInterrupt):
        publish(finished, targets, overwrite=False)
    assert contents(tmp_path) == {}


def test_names_that_cannot_be_made_durable_are_taken_back(
    tmp_path: Path, finished: list[Path], targets: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", failing(errno.EIO))
    with pytest.raises(OutputError) as caught:
        publish(finished, targets, overwrite=False)
    assert str(caught.value) == f"{tmp_path}: expected a durable name, found Input/output error"
    assert contents(tmp_path) == {}


def test_work_that_cannot_be_removed_after_all_was_named_is_no_failure(
    tmp_path: Path, finished: list[Path], targets: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "unlink", failing(errno.EROFS))
    publish(finished, targets, overwrite=False)
    assert contents(tmp_path) == NEW


def test_free_names_in_a_folder_that_exists_are_not_refused(targets: list[Path]) -> None:
    refuse_taken(targets, overwrite=False)
    targets[1].write_bytes(b"old")
    refuse_taken(targets, overwrite=True)


@pytest.mark.parametrize("overwrite", [False, True])
def test_places_where_no_file_can_be_put_are_refused(tmp_path: Path, targets: list[Path], overwrite: bool) -> None:
    targets[2].mkdir()
    with pytest.raises(OutputError) as caught:
        refuse_taken(targets, overwrite=overwrite)
    assert str(caught.value) == f"{targets[2]}: expected a file name, found a folder"
    with pytest.raises(OutputError) as caught:
        refuse_taken([tmp_path / "none" / "m.ninfer"], overwrite=overwrite)
    message = f"expected a folder that exists, found no folder {tmp_path / 'none'}"
    assert str(caught.value) == f"{tmp_path / 'none' / 'm.ninfer'}: {message}"


def test_taken_names_are_refused_even_where_a_link_leads_nowhere(tmp_path: Path, targets: list[Path]) -> None:
    targets[1].symlink_to(tmp_path / "nowhere")
    with pytest.raises(OutputError) as caught:
        refuse_taken(targets, overwrite=False)
    assert str(caught.value) == f"{targets[1]}: expected {FREE}, found an existing file"
