"""Download of an artifact: whole, in ranges, conditionally, and never before it is verified."""

from __future__ import annotations

from base64 import b64decode
from hashlib import sha256
from pathlib import Path

import pytest

from tests.running_service import RunningService, assert_problem
from tests.service.download import Download


def test_the_whole_file_comes_with_what_identifies_it(download: Download) -> None:
    answer = download.get()
    assert answer.status_code == 200
    assert sha256(answer.content).hexdigest() == download.sha256
    assert answer.headers["etag"] == download.etag
    scheme, _, encoded = answer.headers["repr-digest"].partition("=")
    assert scheme == "sha-256"
    assert b64decode(encoded.strip(":")) == sha256(answer.content).digest()
    assert answer.headers["content-disposition"] == 'attachment; filename="small.mixed.v2.ninfer"'
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["accept-ranges"] == "bytes"
    assert int(answer.headers["content-length"]) == len(download.content) == download.job["artifact"]["bytes"]


def test_head_has_the_headers_and_no_body(download: Download) -> None:
    answer = download.service.client.head(download.url)
    assert (answer.status_code, answer.content) == (200, b"")
    whole = download.get()
    for name in ("etag", "repr-digest", "content-disposition", "content-length", "accept-ranges"):
        assert answer.headers[name] == whole.headers[name]


@pytest.mark.parametrize(
    ("asked", "start", "stop"),
    [
        ("bytes=0-0", 0, 1),
        ("bytes=0-15", 0, 16),
        ("bytes=4096-", 4096, None),
        ("bytes=-1", -1, None),
        ("bytes=100-99999999999999999999", 100, None),
        ("bytes=-99999999999999999999", 0, None),
        ("BYTES=7-8", 7, 9),
    ],
)
def test_a_range_is_those_bytes(download: Download, asked: str, start: int, stop: int | None) -> None:
    answer = download.get(Range=asked)
    expected = download.content[start:stop]
    assert (answer.status_code, answer.content) == (206, expected)
    first = len(download.content) + start if start < 0 else start
    assert answer.headers["content-range"] == f"bytes {first}-{first + len(expected) - 1}/{len(download.content)}"
    assert answer.headers["etag"] == download.etag


def test_a_download_that_broke_off_is_taken_up_again(download: Download) -> None:
    half = len(download.content) // 2
    rest = download.get(Range=f"bytes={half}-", If_Range=download.etag)
    assert rest.status_code == 206
    assert sha256(download.content[:half] + rest.content).hexdigest() == download.sha256


@pytest.mark.parametrize("validator", ['"another"', 'W/"{sha256}"', "Sun, 06 Nov 1994 08:49:37 GMT"])
def test_the_whole_file_comes_if_it_is_another_than_before(download: Download, validator: str) -> None:
    answer = download.get(Range="bytes=5-", If_Range=validator.format(sha256=download.sha256))
    assert (answer.status_code, answer.content) == (200, download.content)


@pytest.mark.parametrize("beyond", [0, 1, 10**18])
def test_a_range_beyond_the_end_cannot_be_served(download: Download, beyond: int) -> None:
    answer = download.get(Range=f"bytes={len(download.content) + beyond}-")
    assert_problem(answer, 416, "range-not-satisfiable")
    assert answer.headers["content-range"] == f"bytes */{len(download.content)}"


@pytest.mark.parametrize("asked", ["lines=0-5", "seconds=1-2"])
def test_a_unit_that_is_not_known_is_ignored(download: Download, asked: str) -> None:
    answer = download.get(Range=asked)
    assert (answer.status_code, answer.content) == (200, download.content)


@pytest.mark.parametrize("asked", ["bytes=", "bytes=9-5", "bytes=a-b"])
def test_a_range_that_is_none_is_refused(download: Download, asked: str) -> None:
    assert_problem(download.get(Range=asked), 400, "bad-request")


def test_ranges_are_for_get_only(download: Download) -> None:
    answer = download.service.client.head(download.url, headers={"Range": "bytes=0-5"})
    assert (answer.status_code, answer.headers["content-length"]) == (200, str(len(download.content)))


@pytest.mark.parametrize("tags", ["{etag}", "W/{etag}", '"other", {etag}', "*"])
def test_what_the_caller_has_is_not_sent_again(download: Download, tags: str) -> None:
    answer = download.get(If_None_Match=tags.format(etag=download.etag))
    assert (answer.status_code, answer.content) == (304, b"")
    assert answer.headers["etag"] == download.etag


def test_what_the_caller_has_not_is_sent(download: Download) -> None:
    assert download.get(If_None_Match='"other"').status_code == 200


def test_equal_jobs_share_one_file_in_the_store(download: Download) -> None:
    service = download.service
    again = service.work(service.submit())
    assert again["artifact"]["sha256"] == download.sha256
    assert service.client.get(f"/v1/jobs/{again['id']}/artifact").content == download.content
    assert [path.stem for path in (service.settings.data / "artifacts").iterdir()] == [download.sha256]


def test_an_artifact_that_was_removed_is_gone(service: RunningService) -> None:
    job = service.work(service.submit())
    stored: Path = service.settings.data / "artifacts" / f"{job['artifact']['sha256']}.ninfer"
    stored.unlink()
    assert_problem(service.client.get(f"/v1/jobs/{job['id']}/artifact"), 410, "gone")


def test_an_artifact_that_is_being_removed_is_gone(service: RunningService, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks whether it is there, and then opens it, is too late."""
    job = service.work(service.submit())
    (service.settings.data / "artifacts" / f"{job['artifact']['sha256']}.ninfer").unlink()
    monkeypatch.setattr(Path, "is_file", lambda _: True)
    assert_problem(service.client.get(f"/v1/jobs/{job['id']}/artifact"), 410, "gone")
