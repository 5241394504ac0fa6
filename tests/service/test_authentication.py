"""Who may do what where tokens are configured, by token and by a browser's session; and what other sites may not."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping

import pytest
from httpx import Client, Response

from service import sessions
from tests.running_service import RunningService, assert_problem, running_service
from tests.small_job import job_body
from workers.tokens import parse_tokens

READ = "r" * 40
SUBMIT = "s" * 40
OLD = "o" * 40
HTML = {"Accept": "text/html,application/xhtml+xml;q=0.9"}
TOKENS = parse_tokens([f"grafana:read:{READ}", f"ci:submit:{SUBMIT}", f"old-ci:submit:{OLD}"])


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service that asks for a token, for requests that change nothing."""
    with running_service(tmp_path_factory.mktemp("service") / "data", tokens=TOKENS) as service:
        yield service


@pytest.fixture
def browser(guarded: RunningService) -> Iterator[Client]:
    """A client that keeps cookies, and says where its requests come from as browsers do."""
    address = str(guarded.client.base_url)
    with Client(base_url=address, headers={"Origin": address}, timeout=60) as client:
        yield client


def sign_in(browser: Client, secret: str) -> Response:
    return browser.post("/sign-in", data={"token": secret})


PATHS = ["/v1/jobs", "/v1/recipes", "/v1/registry", "/v1/jobs/x/artifact", "/metrics", "/openapi.json", "/none", "/"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        bearer("x" * 40),
        bearer(READ[:-1]),
        bearer(READ + "r"),
        bearer(READ.upper()),
        bearer("é" * 40),
        bearer(TOKENS[0].sha256),
        {"Authorization": f"Basic {READ}"},
        {"Authorization": READ},
        {"Cookie": f"{sessions.COOKIE}={READ}"},
    ],
)
def test_nothing_is_shown_without_a_token(guarded: RunningService, path: str, headers: Mapping[str, str]) -> None:
    answer = guarded.client.get(path, headers=[(name.encode(), value.encode()) for name, value in headers.items()])
    problem = assert_problem(answer, 401, "unauthenticated")
    assert answer.headers["www-authenticate"].startswith('Bearer realm="ninforge"')
    assert READ not in answer.text
    assert "token" in problem["detail"]


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/plans", "/v1/upgrades", "/v1/none"])
def test_a_body_is_not_looked_at_without_a_token(guarded: RunningService, path: str) -> None:
    assert_problem(guarded.client.post(path, content=b"{"), 401, "unauthenticated")
    assert_problem(guarded.client.post(path, content=b"x" * (9 << 20)), 401, "unauthenticated")


@pytest.mark.parametrize("secret", [READ, SUBMIT, OLD])
def test_every_token_shows_what_there_is(guarded: RunningService, secret: str) -> None:
    assert guarded.client.get("/v1/jobs", headers=bearer(secret)).status_code == 200
    assert guarded.client.get("/v1/jobs", headers={"authorization": f"bearer {secret}"}).status_code == 200


@pytest.mark.parametrize("secret", [SUBMIT, OLD])
def test_a_token_for_submitting_submits(guarded: RunningService, secret: str) -> None:
    assert guarded.client.post("/v1/plans", json=job_body(), headers=bearer(secret)).status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/v1/jobs"), ("POST", "/v1/plans"), ("POST", "/v1/upgrades"), ("DELETE", "/v1/jobs/x")],
)
def test_a_token_for_reading_changes_nothing(guarded: RunningService, method: str, path: str) -> None:
    answer = guarded.client.request(method, path, json=job_body(), headers=bearer(READ))
    problem = assert_problem(answer, 403, "forbidden")
    assert "grafana" in problem["detail"]
    assert 'error="insufficient_scope", scope="submit"' in answer.headers["www-authenticate"]
    assert guarded.client.get("/v1/jobs", headers=bearer(READ)).json()["items"] == []


def test_health_is_told_to_everybody(guarded: RunningService) -> None:
    assert guarded.client.get("/healthz").json() == {"status": "ok"}


def test_the_description_tells_what_is_asked_for(guarded: RunningService) -> None:
    description = guarded.client.get("/openapi.json", headers=bearer(READ)).json()
    assert set(description["components"]["securitySchemes"]) == {"token", "session"}
    assert description["paths"]["/v1/jobs"]["post"]["security"] == [{"token": []}, {"session": []}]
    assert "security" not in description["paths"]["/healthz"]["get"]


def test_without_tokens_nobody_is_asked(service: RunningService) -> None:
    assert service.client.get("/v1/jobs", headers=bearer("anything")).status_code == 200
    assert "securitySchemes" not in service.client.get("/openapi.json").json()["components"]


def test_a_browser_is_led_to_the_sign_in_page(guarded: RunningService) -> None:
    answer = guarded.client.get("/v1/jobs", headers=HTML)
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    page = guarded.client.get("/sign-in")
    assert page.status_code == 200
    assert '<form method="post" action="/sign-in">' in page.text


def test_a_browser_that_signed_in_has_what_its_token_has(browser: Client) -> None:
    answer = sign_in(browser, SUBMIT)
    assert (answer.status_code, answer.headers["location"]) == (303, "/jobs")
    cookie = answer.headers["set-cookie"]
    assert {part.strip() for part in cookie.lower().split(";")} >= {"httponly", "samesite=strict", "path=/"}
    assert SUBMIT not in cookie
    assert "secure" not in cookie.lower()
    assert browser.get("/v1/jobs").status_code == 200
    assert browser.post("/v1/plans", json=job_body()).status_code == 200


def test_a_session_of_a_token_for_reading_changes_nothing(browser: Client) -> None:
    sign_in(browser, READ)
    assert browser.get("/v1/jobs").status_code == 200
    assert_problem(browser.post("/v1/plans", json=job_body()), 403, "forbidden")


@pytest.mark.parametrize("secret", [READ, SUBMIT])
def test_signing_out_ends_the_session(browser: Client, secret: str) -> None:
    sign_in(browser, secret)
    answer = browser.post("/sign-out")
    assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
    assert not browser.cookies
    assert browser.get("/v1/jobs").status_code == 401


@pytest.mark.parametrize("secret", ["", "wrong", READ[:-1], "%ff"])
def test_another_token_does_not_sign_in(browser: Client, secret: str) -> None:
    answer = sign_in(browser, secret)
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    assert "not one of the service" in answer.text
    assert not secret or secret not in answer.text


def test_a_session_over_tls_is_sent_over_tls_only(browser: Client) -> None:
    """As a proxy on this machine says that ends TLS."""
    answer = browser.post("/sign-in", data={"token": READ}, headers={"X-Forwarded-Proto": "https"})
    assert "secure" in {part.strip() for part in answer.headers["set-cookie"].lower().split(";")}


def test_a_session_ends_with_time(browser: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    sign_in(browser, READ)
    assert browser.get("/v1/jobs").status_code == 200
    later = time.time() + sessions.SECONDS + 2
    monkeypatch.setattr("itsdangerous.timed.time.time", lambda: later)
    assert browser.get("/v1/jobs").status_code == 401


@pytest.mark.parametrize("change", [lambda cookie: cookie[:-1], lambda cookie: cookie.replace("grafana", "ci")])
def test_a_session_that_was_changed_is_none(browser: Client, change: object) -> None:
    assert callable(change)
    sign_in(browser, READ)
    cookie = browser.cookies[sessions.COOKIE]
    browser.cookies.clear()
    answer = browser.get("/v1/jobs", headers={"Cookie": f"{sessions.COOKIE}={change(cookie)}"})
    assert_problem(answer, 401, "unauthenticated")


def test_a_session_ends_with_its_token_and_outlives_the_others(
    browser: Client, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cookies = {}
    for secret in (OLD, SUBMIT):
        sign_in(browser, secret)
        cookies[secret] = {"Cookie": f"{sessions.COOKIE}={browser.cookies[sessions.COOKIE]}"}
    rotated = parse_tokens([f"ci:submit:{SUBMIT}", f"new-ci:submit:{'n' * 40}"])
    with running_service(tmp_path_factory.mktemp("rotated") / "data", tokens=rotated) as after:
        assert after.client.get("/v1/jobs", headers=cookies[SUBMIT]).status_code == 200
        assert after.client.get("/v1/jobs", headers=cookies[OLD]).status_code == 401
        assert after.client.get("/v1/jobs", headers=bearer(OLD)).status_code == 401
    same_name = parse_tokens([f"ci:submit:{'t' * 40}"])
    with running_service(tmp_path_factory.mktemp("renewed") / "data", tokens=same_name) as after:
        assert after.client.get("/v1/jobs", headers=cookies[SUBMIT]).status_code == 401


FOREIGN: list[dict[str, str]] = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": ""},
    {"Origin": "http://127.0.0.1"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "http://[::1"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
]


@pytest.mark.parametrize("headers", FOREIGN)
def test_pages_of_other_sites_change_nothing(guarded: RunningService, headers: dict[str, str]) -> None:
    for path in ("/v1/plans", "/v1/jobs", "/sign-in", "/sign-out"):
        answer = guarded.client.post(path, json=job_body(), headers={**headers, **bearer(SUBMIT)})
        assert_problem(answer, 403, "forbidden")


@pytest.mark.parametrize("headers", FOREIGN)
def test_pages_of_other_sites_change_nothing_where_nobody_is_asked(
    service: RunningService, headers: dict[str, str]
) -> None:
    assert_problem(service.client.post("/v1/jobs", json=job_body(), headers=headers), 403, "forbidden")
    assert service.client.get("/v1/jobs", headers=headers).json()["items"] == []


def test_a_session_without_an_origin_changes_nothing(browser: Client) -> None:
    sign_in(browser, SUBMIT)
    del browser.headers["Origin"]
    assert browser.get("/v1/jobs").status_code == 200
    assert_problem(browser.post("/v1/plans", json=job_body()), 403, "forbidden")


SAFE = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@pytest.mark.parametrize("path", ["/sign-in", "/v1/jobs", "/none", "/healthz"])
def test_every_answer_has_safe_headers(guarded: RunningService, path: str) -> None:
    headers = guarded.client.get(path).headers
    assert {name: headers.get(name) for name in SAFE} == SAFE
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == "'self'"
