"""Requests to one service, and what its answers and refusals mean."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from schemas.errors import ServiceError
from schemas.interface import Answer
from schemas.problems import Problem

Answered = TypeVar("Answered", bound=Answer)

_TIMEOUT = httpx.Timeout(60, connect=10)
_PAUSES = (0.5, 1.0, 2.0, 4.0)
"""Seconds between the times that a request is sent which may be sent again."""

UNAVAILABLE = frozenset({httpx.codes.BAD_GATEWAY, httpx.codes.SERVICE_UNAVAILABLE, httpx.codes.GATEWAY_TIMEOUT})
"""What is answered of a service that is away for a while, by itself or by what stands before it."""


class RefusedError(ServiceError):
    """The service's answer that it does not do what was asked for, as `problem` says; None where it was no problem
    document."""

    def __init__(self, where: str, status: int, problem: Problem | None, reason: str) -> None:
        lines = [reason if problem is None else problem.detail]
        lines += [f"  {fault.at or '/'}: {fault.message}" for fault in (problem and problem.errors) or ()]
        super().__init__(where, expected="what was asked for", found=f"{status}: " + "\n".join(lines))
        self.status = status
        self.problem = problem


class Connection:
    """A client of the service at `url`, which shows a token if there is one. What is asked of one thread at a time."""

    def __init__(self, url: str, token: str | None) -> None:
        headers = {"Accept-Encoding": "identity"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        self._client = httpx.Client(base_url=url, timeout=_TIMEOUT, headers=headers, follow_redirects=False)

    def close(self) -> None:
        self._client.close()

    def where(self, path: str) -> str:
        """The whole address of a path, without a password that stands in it."""
        return str(self._client.base_url.copy_with(userinfo=b"").join(path))

    def ask(self, method: str, path: str, kind: type[Answered], body: BaseModel | None = None) -> Answered:
        """Sends a request once. Raises RefusedError, and ServiceError for no answer or another than expected."""
        where = self.where(path)
        with answering(where):
            answer = self._client.request(method, path, json=_json(body))
        return _parsed(where, answer, kind)

    def ask_until_answered(
        self, method: str, path: str, kind: type[Answered], body: BaseModel | None, headers: Mapping[str, str]
    ) -> Answered:
        """Sends a request that comes to the same however often it is sent: again, for some seconds, where the
        connection breaks or the service is away. Raises as `ask` does."""
        where, content = self.where(path), _json(body)
        for pause in _PAUSES:
            with suppress(httpx.TransportError):
                answer = self._client.request(method, path, json=content, headers=dict(headers))
                if answer.status_code not in UNAVAILABLE:
                    return _parsed(where, answer, kind)
            time.sleep(pause)
        with answering(where):
            answer = self._client.request(method, path, json=content, headers=dict(headers))
        return _parsed(where, answer, kind)

    @contextmanager
    def stream(
        self, path: str, headers: Mapping[str, str], timeout: httpx.Timeout = _TIMEOUT
    ) -> Iterator[httpx.Response]:
        """The answer to a GET, whose body is still to come. Raises httpx.TransportError where the connection fails."""
        with self._client.stream("GET", path, headers=dict(headers), timeout=timeout) as answer:
            yield answer


@contextmanager
def answering(where: str, advice: str = "") -> Iterator[None]:
    """Tells of a connection that fails as a ServiceError, with advice if there is some."""
    try:
        yield
    except httpx.HTTPError as error:
        raise unanswered(where, error, advice) from None


def refusal(where: str, answer: httpx.Response) -> RefusedError:
    """What an answer says that is not the one that was asked for; its body has been read."""
    try:
        problem = Problem.model_validate_json(answer.content, extra="ignore")
    except ValidationError:
        problem = None
    return RefusedError(where, answer.status_code, problem, answer.reason_phrase)


def parsed(where: str, content: str | bytes, kind: type[Answered]) -> Answered:
    """A document of the service. Members that are not known are passed over: a newer service may have more of them.

    Raises ServiceError for another document.
    """
    try:
        return kind.model_validate_json(content, extra="ignore")
    except ValidationError as error:
        first = error.errors()[0]
        at = "/".join(map(str, first["loc"]))
        found = f"another document, first at {at!r}: {first['msg']}"
        raise ServiceError(where, expected=f"what the interface calls {kind.__name__}", found=found) from None


def _parsed(where: str, answer: httpx.Response, kind: type[Answered]) -> Answered:
    if not answer.is_success:
        raise refusal(where, answer)
    return parsed(where, answer.content, kind)


def unanswered(where: str, error: httpx.HTTPError, advice: str = "") -> ServiceError:
    """What to tell of a connection that fails."""
    return ServiceError(
        where, expected="an answer, and all of it", found=f"{str(error) or type(error).__name__}{advice}"
    )


def _json(body: BaseModel | None) -> object:
    return None if body is None else body.model_dump(mode="json", exclude_none=True)
