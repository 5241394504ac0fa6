"""`ninforge download` against a real service, undisturbed and with everything that may go wrong on the way."""

from __future__ import annotations

import errno
import json
import shutil
import signal
import subprocess
from collections import namedtuple
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import OutputError
from schemas.minimum_reader import minimum_reader
from service.client.partial_files import PartialFile, opened_partial, partial_path
from tests.cli.commands import INSTALLED, answered, ninforge, refused, succeeded
from tests.cli.intermediary import Answer, Intermediary, intermediary, unchanged
from tests.parted_job import ENTRY, NAMES, PARTS, published_model
from tests.running_service import RunningService
from tests.service_processes import until

pytestmark = pytest.mark.usefixtures("usual_signals")


@dataclass(frozen=True)
class Published:
    """A job that is ready on a service that runs, and the content of its files by name."""

    service: RunningService
    job: str
    files: dict[str, bytes]

    @property
    def address(self) -> str:
        return str(self.service.client.base_url)

    def partial(self, folder: Path, name: str) -> Path:
        """Where the bytes of one of the files gather."""
        return partial_path(folder / name, sha256(self.files[name]).hexdigest())


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    with published_model(tmp_path_factory.mktemp("service") / "data") as made:
        yield Published(made.service, made.job["id"], made.files)


@pytest.fixture
def between(published: Published) -> Iterator[Intermediary]:
    with intermediary(published.service.client) as between:
        yield between


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def arguments(job: str, url: str, out: Path) -> Sequence[str]:
    return ("download", job, "--url", url, "--out", str(out))


def test_all_files_come_under_their_names_and_open_together(published: Published, out: Path) -> None:
    said = succeeded(*arguments(published.job, published.address, out))
    assert contents(out) == published.files
    for name, content in published.files.items():
        assert f"{out / name}: {len(content)} bytes" in said
        assert sha256(content).hexdigest() in said
    assert f"opens in {minimum_reader(3)}" in said
    inspected = answered("inspect", out / ENTRY)
    assert [part["bytes"] for part in inspected["parts"]] == [len(content) for content in published.files.values()]


def test_the_document_tells_of_every_file(published: Published, out: Path) -> None:
    document = answered(*arguments(published.job, published.address, out))
    assert document["framing"] == 3
    assert document["artifact_id"] == published.files[ENTRY][16:32].hex()
    assert document["bytes"] == sum(map(len, published.files.values()))
    assert document["parts"] == [
        {
            "path": str(out / name),
            "bytes": len(content),
            "sha256": sha256(content).hexdigest(),
            "fetched": len(content),
        }
        for name, content in published.files.items()
    ]


def test_an_artifact_of_one_file_comes_alike(published: Published, out: Path) -> None:
    job = published.service.work(published.service.submit())
    succeeded(*arguments(job["id"], published.address, out))
    [(name, content)] = contents(out).items()
    assert name == "small.mixed.v2.ninfer"
    assert sha256(content).hexdigest() == job["artifact"]["sha256"]


def test_what_is_there_already_is_not_fetched_again(published: Published, between: Intermediary, out: Path) -> None:
    (out / NAMES[1]).write_bytes(published.files[NAMES[1]])
    said = succeeded(*arguments(published.job, between.address, out))
    assert between.paths() == ["manifest", "0", "2"]
    assert said.count("was there already") == 1
    between.requests.clear()
    assert succeeded(*arguments(published.job, between.address, out)).count("was there already") == PARTS
    assert between.paths() == ["manifest"]
    assert contents(out) == published.files


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_download_that_was_killed_is_taken_up_where_it_was(
    published: Published, between: Intermediary, out: Path, number: signal.Signals
) -> None:
    name, sent = NAMES[1], 100_000
    partial = published.partial(out, name)

    def stall(path: str, answer: Answer) -> Answer:
        if path.endswith("parts/1"):
            answer.sent, answer.stalls = sent, True
        return answer

    between.change = stall
    process = subprocess.Popen([INSTALLED, *arguments(published.job, between.address, out)], stderr=subprocess.DEVNULL)
    until(lambda: partial.stat().st_size if partial.exists() else 0, lambda size: size == sent)
    process.send_signal(number)
    assert process.wait(60) == (-number if number is signal.SIGKILL else 128 + number)
    assert not set(contents(out)) & set(NAMES), "nothing has its name before all of it is there"
    between.change = unchanged
    between.requests.clear()
    document = answered(*arguments(published.job, between.address, out))
    assert [ranged for _, ranged in between.requests] == [None, f"bytes={sent}-", None]
    assert between.paths() == ["manifest", "1", "2"]
    assert [part["fetched"] for part in document["parts"]] == [
        0,
        len(published.files[name]) - sent,
        len(published.files[NAMES[2]]),
    ]
    assert contents(out) == published.files


def test_a_connection_that_breaks_is_told_and_what_came_stays(
    published: Published, between: Intermediary, out: Path
) -> None:
    def cut(path: str, answer: Answer) -> Answer:
        answer.sent = 5000 if path.endswith("parts/0") else None
        return answer

    between.change = cut
    message = refused(*arguments(published.job, between.address, out))
    assert "run the command again" in message
    assert contents(out)[published.partial(out, ENTRY).name] == published.files[ENTRY][:5000]
    between.change = unchanged
    succeeded(*arguments(published.job, between.address, out))
    assert contents(out) == published.files


def test_the_whole_file_comes_again_where_the_service_gives_no_ranges(
    published: Published, between: Intermediary, out: Path
) -> None:
    published.partial(out, ENTRY).write_bytes(b"begun")

    def whole(path: str, answer: Answer) -> Answer:
        if path.endswith("parts/0"):
            return Answer(200, {}, published.files[ENTRY])
        return answer

    between.change = whole
    succeeded(*arguments(published.job, between.address, out))
    assert ("bytes=5-") in [ranged for _, ranged in between.requests]
    assert contents(out) == published.files


def test_another_artifact_under_the_same_name_is_begun_anew(
    published: Published, between: Intermediary, out: Path
) -> None:
    """What came of the entry belongs to another content than the manifest tells of by now."""
    other = partial_path(out / ENTRY, sha256(b"another content").hexdigest())
    other.write_bytes(b"another")
    succeeded(*arguments(published.job, between.address, out))
    assert [ranged for _, ranged in between.requests] == [None] * (PARTS + 1)
    assert contents(out) == {**published.files, other.name: b"another"}


def test_a_file_that_is_not_the_one_of_the_manifest_is_refused_before_it_comes(
    published: Published, between: Intermediary, out: Path
) -> None:
    def other_tag(path: str, answer: Answer) -> Answer:
        if path.endswith("parts/1"):
            answer.headers["etag"] = f'"{"0" * 64}"'
        return answer

    between.change = other_tag
    assert "expected the file that the manifest tells of" in refused(*arguments(published.job, between.address, out))
    assert not set(contents(out)) & set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_bytes_of_another_hash_are_refused_and_not_kept(
    published: Published, between: Intermediary, out: Path, name: str
) -> None:
    def flip(path: str, answer: Answer) -> Answer:
        if path.endswith(f"parts/{NAMES.index(name)}"):
            answer.body = answer.body[:-1] + bytes([answer.body[-1] ^ 1])
        return answer

    between.change = flip
    message = refused(*arguments(published.job, between.address, out))
    assert f"{name}: expected bytes with the SHA-256 {sha256(published.files[name]).hexdigest()}" in message
    assert not set(contents(out)) & set(NAMES)
    assert not published.partial(out, name).exists()
    between.change = unchanged
    succeeded(*arguments(published.job, between.address, out))
    assert contents(out) == published.files


def test_a_beginning_that_was_damaged_is_found_out(published: Published, out: Path) -> None:
    published.partial(out, ENTRY).write_bytes(bytes(4096))
    assert "SHA-256" in refused(*arguments(published.job, published.address, out))
    assert not set(contents(out)) & set(NAMES)
    succeeded(*arguments(published.job, published.address, out))
    assert contents(out) == published.files


@pytest.mark.parametrize("more", [0, 1])
def test_a_partial_file_of_all_bytes_or_more_is_checked(published: Published, out: Path, more: int) -> None:
    published.partial(out, ENTRY).write_bytes(published.files[ENTRY] + bytes(more))
    document = answered(*arguments(published.job, published.address, out))
    assert document["parts"][0]["fetched"] == (len(published.files[ENTRY]) if more else 0)
    assert contents(out) == published.files


def test_more_bytes_than_the_manifest_says_are_refused(published: Published, between: Intermediary, out: Path) -> None:
    def longer(path: str, answer: Answer) -> Answer:
        if path.endswith("parts/2"):
            answer.body += bytes(10)
        return answer

    between.change = longer
    assert "found more" in refused(*arguments(published.job, between.address, out))
    assert published.partial(out, NAMES[2]).stat().st_size <= len(published.files[NAMES[2]])


def test_another_range_than_the_one_asked_for_is_refused(
    published: Published, between: Intermediary, out: Path
) -> None:
    published.partial(out, ENTRY).write_bytes(published.files[ENTRY][:10])

    def shifted(path: str, answer: Answer) -> Answer:
        if path.endswith("parts/0"):
            answer.headers["content-range"] = "bytes 9-99/100"
        return answer

    between.change = shifted
    assert "bytes 10-" in refused(*arguments(published.job, between.address, out))
    assert published.partial(out, ENTRY).read_bytes() == published.files[ENTRY][:10]


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("name", "../elsewhere"),
        ("name", "/elsewhere"),
        ("name", "a\\b"),
        ("name", ".."),
        ("name", ""),
        ("name", NAMES[1]),
        ("sha256", "../" * 21 + "x"),
        ("sha256", "A" * 64),
        ("bytes", 0),
        ("index", 1),
        ("bytes", "many"),
    ],
)
def test_a_manifest_that_no_artifact_has_is_refused(
    published: Published, between: Intermediary, out: Path, member: str, value: object
) -> None:
    def change(path: str, answer: Answer) -> Answer:
        if path.endswith("manifest"):
            document: dict[str, Any] = json.loads(answer.body)
            document["parts"][0][member] = value
            answer.body = json.dumps(document).encode()
        return answer

    between.change = change
    refused(*arguments(published.job, between.address, out))
    assert between.paths() == ["manifest"]
    assert contents(out) == {}


def test_an_answer_that_is_no_manifest_is_refused(published: Published, between: Intermediary, out: Path) -> None:
    between.change = lambda _, __: Answer(200, {}, b"<html>welcome</html>")
    assert "expected what the interface calls ArtifactManifest" in refused(
        *arguments(published.job, between.address, out)
    )


def test_what_the_service_says_is_told(published: Published, out: Path) -> None:
    waiting = published.service.submit()
    assert "409: Job" in refused(*arguments(waiting, published.address, out))
    unknown = "01890a5d-ac96-774b-bcce-b302099a8057"
    assert f"404: There is no job {unknown}." in refused(*arguments(unknown, published.address, out))


def test_a_service_that_is_not_there_is_told(out: Path) -> None:
    message = refused(*arguments("01890a5d-ac96-774b-bcce-b302099a8057", "http://127.0.0.1:9", out))
    assert "expected an answer" in message
    assert "http://127.0.0.1:9/v1/jobs/" in message


def test_a_password_in_the_address_is_not_told(out: Path) -> None:
    message = refused(*arguments("01890a5d-ac96-774b-bcce-b302099a8057", "http://me:secret@127.0.0.1:9", out))
    assert "secret" not in message


def test_another_file_under_a_name_is_left_alone(published: Published, out: Path) -> None:
    (out / NAMES[2]).write_bytes(b"mine")
    assert "expected no file, or the one with the SHA-256" in refused(*arguments(published.job, published.address, out))
    assert contents(out)[NAMES[2]] == b"mine"
    assert not {ENTRY, NAMES[1]} & set(contents(out))


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_what_is_no_file_under_a_name_is_left_alone(published: Published, out: Path, kind: str) -> None:
    if kind == "folder":
        (out / ENTRY).mkdir()
    else:
        (out / ENTRY).symlink_to("elsewhere")
    refused(*arguments(published.job, published.address, out))
    assert [path.name for path in out.iterdir()] == [ENTRY]


def test_a_link_in_place_of_a_partial_file_is_not_followed(published: Published, out: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"mine")
    published.partial(out, ENTRY).symlink_to(victim)
    refused(*arguments(published.job, published.address, out))
    assert victim.read_bytes() == b"mine"


def test_two_downloads_into_one_folder_do_not_mix(published: Published, out: Path) -> None:
    with opened_partial(published.partial(out, NAMES[1])):
        assert "another one at it" in refused(*arguments(published.job, published.address, out))
    succeeded(*arguments(published.job, published.address, out))
    assert contents(out) == published.files


def test_a_disk_too_small_is_told_before_anything_comes(
    published: Published, between: Intermediary, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = sum(map(len, published.files.values()))
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(needed, 1, needed - 1))
    message = refused(*arguments(published.job, between.address, out))
    assert f"expected room for {needed} bytes, found {needed - 1} bytes free" in message
    assert between.paths() == ["manifest"]


def test_only_what_is_missing_needs_room(published: Published, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published.partial(out, ENTRY).write_bytes(published.files[ENTRY][:50_000])
    needed = sum(map(len, published.files.values())) - 50_000
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(needed, 0, needed))
    succeeded(*arguments(published.job, published.address, out))


def test_a_disk_that_fills_up_is_told_and_what_came_stays(
    published: Published, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append = PartialFile.append

    def fill_up(self: PartialFile, data: bytes) -> None:
        monkeypatch.setattr(self, "_file", _FullDisk(self._file, room=12_345))
        append(self, data)

    with monkeypatch.context() as patch:
        patch.setattr(PartialFile, "append", fill_up)
        message = refused(*arguments(published.job, published.address, out))
    assert "No space left on device" in message
    assert str(published.partial(out, ENTRY)) in message
    assert contents(out)[published.partial(out, ENTRY).name] == published.files[ENTRY][:12_345]
    succeeded(*arguments(published.job, published.address, out))
    assert contents(out) == published.files


class _FullDisk:
    """A file on a disk that has room for so many bytes."""

    def __init__(self, file: Any, room: int) -> None:
        self._file, self._room = file, room

    def write(self, data: memoryview) -> int:
        if not self._room:
            raise OSError(errno.ENOSPC, "No space left on device")
        written: int = self._file.write(data[: self._room])
        self._room -= written
        return written


def test_a_partial_file_counts_and_digests_what_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "x.partial"
    with opened_partial(path) as partial:
        partial.append(b"one")
    with opened_partial(path) as partial:
        assert (partial.size, partial.sha256) == (3, sha256(b"one").hexdigest())
        partial.append(b"two")
        assert (partial.size, partial.sha256) == (6, sha256(b"onetwo").hexdigest())
        partial.restart()
        partial.append(b"3")
        assert (partial.size, partial.sha256) == (1, sha256(b"3").hexdigest())
    assert path.read_bytes() == b"3"


def test_a_partial_file_in_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="No such file"), opened_partial(tmp_path / "none" / "x.partial"):
        pass


def test_a_folder_that_is_not_there_is_refused(published: Published, tmp_path: Path) -> None:
    message = refused(*arguments(published.job, published.address, tmp_path / "none"))
    assert "expected a folder that exists" in message


@pytest.mark.parametrize("url", ["elsewhere", "ftp://host", "http://", "http://host:port"])
def test_what_is_no_address_is_a_wrong_command_line(out: Path, url: str) -> None:
    unknown = "01890a5d-ac96-774b-bcce-b302099a8057"
    assert "expected the address of a service" in refused(*arguments(unknown, url, out), code=2)


def test_what_is_no_job_is_a_wrong_command_line(out: Path) -> None:
    assert ninforge(*arguments("17", "http://127.0.0.1:9", out)).exit_code == 2
