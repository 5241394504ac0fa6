"""A finished job's artifact, and requests for it."""

from __future__ import annotations

from httpx import Response

from tests.running_service import RunningService


class Download:
    """A finished job, its artifact's content, and requests for it."""

    def __init__(self, service: RunningService) -> None:
        self.service = service
        self.job = service.work(service.submit())
        self.url = f"/v1/jobs/{self.job['id']}/artifact"
        self.sha256: str = self.job["artifact"]["sha256"]
        self.etag = f'"{self.sha256}"'
        self.content = service.client.get(self.url).content

    def get(self, **headers: str) -> Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.service.client.get(self.url, headers=named)
