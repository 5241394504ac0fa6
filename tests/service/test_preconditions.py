"""What RFC 9110 says of conditions, several ranges, refused methods and requests that are none."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from email.parser import BytesParser
from email.policy import HTTP
from pathlib import Path
from typing import Any

import pytest
from httpx import URL

from tests.running_service import assert_problem
from tests.service.download import Download
from tests.service_processes import service as process_of


@pytest.mark.parametrize("tags", ["{etag}", '"other", {etag}', "*"])
def test_the_file_that_is_wanted_is_sent(download: Download, tags: str) -> None:
    answer = download.get(If_Match=tags.format(etag=download.etag))
    assert (answer.status_code, answer.content) == (200, download.content)


@pytest.mark.parametrize("tags", ['"other"', "W/{etag}", ""])
def test_another_file_than_the_wanted_one_is_not_sent(download: Download, tags: str) -> None:
    for headers in ({}, {"Range": "bytes=0-1"}, {"If_None_Match": download.etag}):
        answer = download.get(If_Match=tags.format(etag=download.etag), **headers)
        assert_problem(answer, 412, "precondition-failed")
    assert download.service.client.head(download.url, headers={"If-Match": '"other"'}).status_code == 412


SIZE = 10**12


@pytest.mark.parametrize(
    ("asked", "start", "stop"),
    [
        (f"bytes=0-9,{SIZE}-", 0, 10),
        (f"bytes={SIZE}-{SIZE + 1}, 5-6", 5, 7),
        ("bytes=-0,-3", -3, None),
        (f"bytes={SIZE}-,7-7,{'9' * 900}-", 7, 8),
    ],
)
def test_of_several_ranges_those_within_the_file_are_sent(
    download: Download, asked: str, start: int, stop: int | None
) -> None:
    answer = download.get(Range=asked)
    assert (answer.status_code, answer.content) == (206, download.content[start:stop])


def test_several_ranges_come_as_parts(download: Download) -> None:
    answer = download.get(Range=f"bytes=0-9,{SIZE}-,100-149")
    assert answer.status_code == 206
    head = f"Content-Type: {answer.headers['content-type']}\r\n\r\n".encode()
    message = BytesParser(policy=HTTP).parsebytes(head + answer.content)
    ranges = [part["content-range"] for part in message.iter_parts()]
    assert ranges == [f"bytes {first}-{last}/{len(download.content)}" for first, last in ((0, 9), (100, 149))]
    for first, last in ((0, 9), (100, 149)):
        assert download.content[first : last + 1] in answer.content


@pytest.mark.parametrize(
    "asked", [f"bytes={SIZE}-", f"bytes={SIZE}-,{SIZE + 5}-{SIZE + 6}", "bytes=-0", "bytes=-0,-00"]
)
def test_ranges_none_of_which_is_within_the_file_are_refused(download: Download, asked: str) -> None:
    answer = download.get(Range=asked)
    assert_problem(answer, 416, "range-not-satisfiable")
    assert answer.headers["content-range"] == f"bytes */{len(download.content)}"


@pytest.mark.parametrize("asked", [f"bytes={'9' * 5000}-", "bytes=1-0,2-3"])
def test_a_range_that_is_none_spoils_all(download: Download, asked: str) -> None:
    assert_problem(download.get(Range=asked), 400, "bad-request")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/v1/jobs", "GET, POST"),
        ("PUT", "/healthz", "GET"),
        ("GET", "/v1/plans", "POST"),
        ("POST", "/v1/jobs/0/artifact", "GET, HEAD"),
        ("PATCH", "/sign-in", "GET, POST"),
    ],
)
def test_a_refused_method_is_answered_with_all_that_are_not(
    download: Download, method: str, path: str, allowed: str
) -> None:
    answer = download.service.client.request(method, path)
    assert_problem(answer, 405, "method-not-allowed")
    assert answer.headers["allow"] == allowed


@pytest.mark.parametrize(
    "sent", [b"\0\1\2\r\n\r\n", b"GET / HTTP/1.1\r\nbroken\r\n\r\n", b"GET /\xff HTTP/1.1\r\n\r\n"]
)
def test_what_is_no_request_is_answered_with_a_problem(address: URL, sent: bytes) -> None:
    with socket.create_connection((address.host, address.port or 80), timeout=60) as connection:
        connection.sendall(sent)
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert re.search(rb"(?i)content-type: application/problem\+json", head)
    problem: dict[str, Any] = json.loads(body)
    assert (problem["type"], problem["status"]) == ("urn:ninforge:problem:bad-request", 400)


@pytest.mark.parametrize("piece", [b"a" * 65536, b"X-Long: 1\r\n" * 4096, b"X-Long: " + b"a" * 65536])
def test_a_head_that_does_not_end_is_refused(address: URL, piece: bytes) -> None:
    with socket.create_connection((address.host, address.port or 80), timeout=60) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
        with suppress(ConnectionError):
            for _ in range(64):
                connection.sendall(piece)
        # What was sent after the answer may have the other side reset the connection.
        with suppress(ConnectionError):
            assert connection.recv(4096).startswith(b"HTTP/1.1 400 Bad Request\r\n")
        with suppress(ConnectionError):
            while connection.recv(65536):
                pass


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[URL]:
    data: Path = tmp_path_factory.mktemp("process")
    with process_of("serve", {"NINFORGE_DATA": str(data)}) as running:
        yield running.client.base_url
