"""What a host says of a file's size is believed only as far as a file system could hold it."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import httpx2
import pytest

from schemas.errors import OutputError, SourceError
from workers.remote.download import ContentDigest, DigestKind, RemoteFile
from workers.remote.headers import fetch_header, web_size
from workers.remote.places import WebPlace

PLACE = WebPlace("https://host/file", "0" * 64)


def client(size: str) -> httpx2.Client:
    """One that is answered with a byte of a file of this size."""
    headers = {"Content-Range": f"bytes 0-0/{size}"}
    return httpx2.Client(transport=httpx2.MockTransport(lambda _: httpx2.Response(206, headers=headers, content=b"x")))


@pytest.mark.parametrize(("size", "found"), [("0", 0), ("0" * 5000 + "17", 17), (str(2**63 - 1), 2**63 - 1)])
def test_a_size_that_can_be(size: str, found: int) -> None:
    with client(size) as asked:
        assert web_size(asked, PLACE, "source base") == found


@pytest.mark.parametrize("size", [str(2**63), "9" * 5000])
def test_a_size_that_cannot_be(size: str) -> None:
    with client(size) as asked, pytest.raises(SourceError) as refused:
        web_size(asked, PLACE, "source base")
    assert str(refused.value) == f"source base: expected a file of at most {2**63 - 1} bytes, found {size[:100]}"


@pytest.mark.parametrize("size", ["*", "-1", "1.5", "x" * 5000])
def test_what_is_no_size(size: str) -> None:
    with client(size) as asked, pytest.raises(SourceError, match="expected a host that tells the file's size"):
        web_size(asked, PLACE, "source base")


def test_a_file_that_the_file_system_does_not_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def truncate(*_: Any) -> None:
        raise OSError(errno.EFBIG, "File too large")

    monkeypatch.setattr(os, "truncate", truncate)
    file = RemoteFile("source base", PLACE.url, 2**62, ContentDigest(DigestKind.SHA256, PLACE.sha256))
    content = b"\0" * (1 << 20)
    transport = httpx2.MockTransport(
        lambda _: httpx2.Response(
            206, headers={"Content-Range": f"bytes 0-{len(content) - 1}/{2**62}"}, content=content
        )
    )
    with httpx2.Client(transport=transport) as asked, pytest.raises(OutputError, match="found File too large") as told:
        fetch_header(asked, file, tmp_path / "made" / "file", lambda _: None)
    assert str(2**62) in str(told.value)
