"""Nothing outside the roots is read, whatever links, names and special files a checkpoint is made of."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from schemas.errors import SourceError
from tests.sources.written import library_bytes, words, write_indexed
from workers.engine.sources.checkpoint import open_checkpoint
from workers.engine.sources.hashed_file import hash_file
from workers.engine.sources.roots import ANYWHERE, Roots

CONTENT = library_bytes({"a": ("uint8", (4,), words(4))})
OUTSIDE = "outside of them once links are followed"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The one allowed root, beside a folder `secret` that no source may reach."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "model.safetensors").write_bytes(CONTENT)
    (tmp_path / "secret" / "config.json").write_text("{}")
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def place_itself(root: Path) -> Path:
    return root.parent / "secret"


def place_by_dots(root: Path) -> Path:
    return root / ".." / "secret"


def place_that_begins_alike(root: Path) -> Path:
    (root.parent / "root-too").mkdir()
    return root.parent / "root-too"


def linked_folder(root: Path) -> Path:
    (root / "base").symlink_to(root.parent / "secret")
    return root / "base"


def linked_file(root: Path) -> Path:
    (root / "model.safetensors").symlink_to("../secret/model.safetensors")
    return root


def dots_through_a_link(root: Path) -> Path:
    (root / "sub").mkdir()
    (root / "link").symlink_to(root.parent / "secret")
    return root / "link" / ".." / "secret" / "model.safetensors"


def linked_in_two_steps(root: Path) -> Path:
    (root / "inner").symlink_to("../secret")
    (root / "base").symlink_to("inner/model.safetensors")
    return root / "base"


def linked_shard(root: Path) -> Path:
    write_indexed(root, {}, {"a": "x.safetensors"})
    (root / "x.safetensors").symlink_to("../secret/model.safetensors")
    return root


def linked_index(root: Path) -> Path:
    write_indexed(root.parent / "secret", {}, {"a": "model.safetensors"})
    (root / "model.safetensors.index.json").symlink_to("../secret/model.safetensors.index.json")
    return root


def absent_outside(root: Path) -> Path:
    return root.parent / "absent"


ESCAPES: tuple[Callable[[Path], Path], ...] = (
    place_itself,
    place_by_dots,
    place_that_begins_alike,
    linked_folder,
    linked_file,
    dots_through_a_link,
    linked_in_two_steps,
    linked_shard,
    linked_index,
    absent_outside,
)


@pytest.mark.parametrize("escape", ESCAPES, ids=lambda escape: escape.__name__)
def test_no_way_out_of_the_roots(escape: Callable[[Path], Path], root: Path) -> None:
    with pytest.raises(SourceError, match=OUTSIDE) as caught:
        open_checkpoint("base", escape(root), Roots((root,)))
    assert str(root) in str(caught.value)


def test_config_and_resources_may_not_be_links_out(root: Path) -> None:
    (root / "model.safetensors").write_bytes(CONTENT)
    (root / "config.json").symlink_to("../secret/config.json")
    checkpoint = open_checkpoint("base", root, Roots((root,)))
    with pytest.raises(SourceError, match=OUTSIDE):
        checkpoint.config()
    with pytest.raises(SourceError, match=OUTSIDE):
        hash_file("resource config.json", checkpoint.file("config.json"), Roots((root,)))


def test_links_from_one_root_into_another_are_followed(root: Path) -> None:
    roots = Roots((root, root.parent / "secret"))
    assert list(open_checkpoint("base", linked_shard(root), roots).tensors) == ["a"]


def test_a_root_may_itself_be_a_link(root: Path) -> None:
    (root / "model.safetensors").write_bytes(CONTENT)
    (root.parent / "alias").symlink_to("root")
    for place in (root, root.parent / "alias"):
        assert list(open_checkpoint("base", place, Roots((root.parent / "alias",))).tensors) == ["a"]


def test_without_any_root_nothing_is_allowed(root: Path) -> None:
    with pytest.raises(SourceError, match="of which there are none"):
        open_checkpoint("base", root, Roots(()))


def test_the_command_line_may_read_anywhere(root: Path) -> None:
    assert list(open_checkpoint("base", linked_folder(root), ANYWHERE).tensors) == ["a"]


def test_what_lies_outside_is_not_told_apart(root: Path) -> None:
    """Present, absent, a folder, or a link to elsewhere: the message is the same."""
    (root.parent / "link").symlink_to("/etc")
    messages = set()
    for name in ("secret", "absent", "link", "secret/model.safetensors", "link/passwd"):
        with pytest.raises(SourceError) as caught:
            open_checkpoint("base", root.parent / name, Roots((root,)))
        messages.add(str(caught.value).replace(str(root.parent / name), ""))
    assert len(messages) == 1


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(path))


def a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_directory(path: Path) -> None:
    path.mkdir()


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("make", "found"),
    [(a_pipe, "a named pipe"), (a_socket, "a socket"), (a_device, "a device"), (a_directory, "a directory")],
)
def test_what_is_no_regular_file_is_not_opened(
    make: Callable[[Path], None], found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "special")
    with pytest.raises(SourceError, match=f"expected a regular file, found {found}"):
        ANYWHERE.open_file(tmp_path / "special", "special")


@pytest.mark.parametrize("swap", ["folder", "file"])
def test_a_link_put_there_between_resolving_and_opening_is_not_followed(
    swap: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = root / "base"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(CONTENT)
    resolve = Roots.resolve

    def resolve_then_swap(self: Roots, place: Path, where: str) -> Path:
        resolved = resolve(self, place, where)
        if swap == "folder":
            folder.rename(root / "moved")
            folder.symlink_to(root.parent / "secret")
        else:
            (folder / "model.safetensors").unlink()
            (folder / "model.safetensors").symlink_to(root.parent / "secret" / "model.safetensors")
        return resolved

    monkeypatch.setattr(Roots, "resolve", resolve_then_swap)
    with pytest.raises(SourceError, match=r"no directory|a link put there"):
        Roots((root,)).open_file(folder / "model.safetensors", "shard")


def test_descriptors_are_closed_after_success_and_refusal(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(CONTENT)
    os.mkfifo(tmp_path / "pipe")
    before = sorted(Path("/proc/self/fd").iterdir())
    open_checkpoint("base", tmp_path, ANYWHERE)
    for name in ("pipe", "absent", "absent/x"):
        with pytest.raises(SourceError):
            ANYWHERE.open_file(tmp_path / name, name)
    assert sorted(Path("/proc/self/fd").iterdir()) == before
