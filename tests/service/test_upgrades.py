"""POST /v1/upgrades: on a miniature, whose sizes are then taken for those of its registered target."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.engine.upgrades import miniature_model, payload_of
from tests.running_service import RunningService, assert_problem, running_service
from workers import upgrade_submission
from workers.engine.container.front import Artifact
from workers.engine.container.reader import read_artifact
from workers.engine.miniature import Miniature, write_miniature
from workers.engine.recipe.document_text import read_text_document
from workers.engine.upgrade.expected import UpgradableModel, registered_model
from workers.engine.upgrade.plan import TEMPLATE

TARGET = "qwen3.6-27b.groupwise-int"


@dataclass(frozen=True)
class Site:
    """A service with a miniature and its converted file of framing 2 below its roots, and the job that made it."""

    service: RunningService
    miniature: Miniature
    old: Path
    converted: str

    def submit(self, **body: Any) -> dict[str, Any]:
        """Submits an upgrade that must be accepted; the job."""
        answer = self.service.client.post("/v1/upgrades", json=body)
        assert answer.status_code == 202, answer.text
        job: dict[str, Any] = answer.json()
        assert answer.headers["location"] == f"/v1/jobs/{job['id']}"
        return job

    def refused(self, **body: Any) -> dict[str, Any]:
        """The problem of an upgrade that must be refused."""
        return assert_problem(self.service.client.post("/v1/upgrades", json=body), 422, "upgrade")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    data = tmp_path_factory.mktemp("service") / "data"
    with running_service(data) as service:
        sources = data / "sources"
        miniature = write_miniature(TARGET, sources / "miniature")
        places = {name: str(place.relative_to(sources)) for name, place in miniature.places.items()}
        document = read_text_document(miniature.recipe.read_bytes(), where="miniature").data
        body = {"recipe": document, "sources": places, "framing": 2}
        answer = service.client.post("/v1/jobs", json=body)
        converted = service.work(answer.json()["id"])
        assert converted["state"] == "ready", converted
        old = sources / "old.ninfer"
        old.write_bytes(service.client.get(f"/v1/jobs/{converted['id']}/artifact").content)
        (sources / "template.jinja").write_text("{{ messages }}{# new #}")
        yield Site(service, miniature, old, converted["id"])


@pytest.fixture
def site(shared: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """That service, to which the miniature is the registered model."""
    model = miniature_model(shared.miniature)

    def registered(artifact: Artifact, *, where: str) -> UpgradableModel:
        return model if artifact.identity else registered_model(artifact, where=where)

    monkeypatch.setattr(upgrade_submission, "registered_model", registered)
    return shared


@pytest.mark.parametrize("by", ["place", "job"])
def test_an_upgrade_is_a_job_like_any_other(site: Site, by: str) -> None:
    given = "old.ninfer" if by == "place" else site.converted
    job = site.submit(artifact=given)
    assert (job["state"], job["recipe"], job["framing"]) == ("queued", None, 3)
    assert job["upgrade"] == {"artifact": given, "chat_template": None}
    assert job["name"] == "qwen3.6-27b.groupwise-int"
    done = site.service.work(job["id"])
    assert done["state"] == "ready", done["error"]
    assert done["progress"]["objects_done"] == done["progress"]["objects_total"]
    assert done["progress"]["bytes_done"] == done["progress"]["bytes_total"]
    assert done["artifact"]["minimum_reader"].startswith("a current engine, one that reads framing 3;")
    [part] = done["artifact"]["parts"]
    assert part["name"] == "qwen3.6-27b.groupwise-int.v3.ninfer"
    new = site.old.with_name(f"{by}.ninfer")
    new.write_bytes(site.service.client.get(f"/v1/jobs/{job['id']}/artifact").content)
    assert sha256(new.read_bytes()).hexdigest() == part["sha256"]
    assert payload_of(new) == payload_of(site.old)


def test_an_upgrade_counts_among_the_jobs_that_are_not_finished(site: Site) -> None:
    first = site.submit(artifact="old.ninfer")
    state = site.service.application.state
    usual = state.service
    limited = usual.settings.model_copy(update={"max_active_jobs_per_token": 1})
    state.service = type(usual).of(limited, usual.database, usual.storage, usual.queue)
    try:
        answer = site.service.client.post("/v1/upgrades", json={"artifact": "old.ninfer"})
        assert_problem(answer, 429, "too-many-jobs")
    finally:
        state.service = usual
    assert site.service.work(first["id"])["state"] == "ready"


def test_the_report_says_of_what_it_was_made(site: Site) -> None:
    job = site.submit(artifact="old.ninfer", chat_template="template.jinja")
    done = site.service.work(job["id"])
    report = site.service.client.get(f"/v1/jobs/{job['id']}/report").json()
    assert report["job"] == done
    content = site.old.read_bytes()
    assert report["upgraded_from"] == {
        "framing": 2,
        "model_id": "qwen3.6-27b",
        "weights_id": "groupwise-int",
        "bytes": len(content),
        "sha256": sha256(content).hexdigest(),
    }
    template = (site.old.parent / "template.jinja").read_bytes()
    assert report["chat_template"] == {"bytes": len(template), "sha256": sha256(template).hexdigest()}
    objects = {one["name"]: one for one in report["objects"]}
    assert objects.keys() == payload_of(site.old).keys()
    assert {one["state"] for one in objects.values()} == {"verified"}
    assert objects[TEMPLATE]["checks"][0]["name"] == "bytes equal the new template's"
    assert objects["text/final_norm"]["checks"] == [{"name": "bytes equal the old file's", "rows": 1, "passed": True}]
    manifest = site.service.client.get(f"/v1/jobs/{job['id']}/artifact/manifest").json()
    assert manifest["artifact_id"] == report["artifact"]["artifact_id"]


def test_batches_of_workers_make_the_same_file(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    first = site.service.work(site.submit(artifact="old.ninfer")["id"])
    monkeypatch.setattr("workers.claims.MAX_OBJECTS", 7)
    job = site.submit(artifact="old.ninfer")["id"]
    workers = [threading.Thread(target=site.service.work, args=[job]) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    second = site.service.work(job)
    assert second["state"] == "ready"
    assert second["artifact"] == first["artifact"]


@pytest.mark.parametrize(
    ("body", "at", "message"),
    [
        ({"artifact": str(uuid4())}, "/artifact", "the id of none"),
        ({"artifact": "/etc/hostname"}, "/artifact", "a place below the source roots"),
        ({"artifact": "../ninforge.sqlite3"}, "/artifact", "a place below the source roots"),
        ({"artifact": "nothing.ninfer"}, "/artifact", "nothing there"),
        ({"artifact": "hf:someone/something"}, "/artifact", "found the URI"),
        ({"artifact": "old.ninfer", "chat_template": "/etc/hostname"}, "/chat_template", "below the source roots"),
        ({"artifact": "old.ninfer", "chat_template": "nothing"}, "/chat_template", "nothing there"),
    ],
)
def test_what_cannot_be_read_is_told_at_once(site: Site, body: dict[str, str], at: str, message: str) -> None:
    [fault] = site.refused(**body)["errors"]
    assert fault["at"] == at
    assert message in fault["message"]


def test_a_file_that_is_no_artifact_is_told_at_once(site: Site) -> None:
    answer = site.service.client.post("/v1/upgrades", json={"artifact": "template.jinja"})
    assert "this is no .ninfer file" in assert_problem(answer, 422, "artifact")["detail"]


def test_a_job_that_is_not_ready_has_no_file_yet(site: Site) -> None:
    waiting = site.submit(artifact="old.ninfer")
    [fault] = site.refused(artifact=waiting["id"])["errors"]
    assert fault["message"].endswith("found one that is queued")
    site.service.work(waiting["id"])
    [fault] = site.refused(artifact=waiting["id"])["errors"]
    assert "framing 3 is what current engines read" in fault["message"]


def test_a_file_of_framing_3_is_current_already(site: Site) -> None:
    job = site.service.work(site.submit(artifact="old.ninfer")["id"])
    current = site.old.with_name("current.ninfer")
    current.write_bytes(site.service.client.get(f"/v1/jobs/{job['id']}/artifact").content)
    [fault] = site.refused(artifact="current.ninfer")["errors"]
    assert "framing 3 is what current engines read" in fault["message"]


def test_without_that_sizes_are_those_of_the_target(shared: Site) -> None:
    problem = shared.refused(artifact="old.ninfer")
    assert problem["detail"].startswith("old.ninfer: expected the objects of qwen3.6-27b/groupwise-int")
    assert len(problem["errors"]) == 1001


def test_a_file_that_changes_after_planning_fails_the_job(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    changing = site.old.with_name("changing.ninfer")
    changing.write_bytes(site.old.read_bytes())
    job = site.submit(artifact="changing.ninfer")
    monkeypatch.setattr("workers.conversion.Conversion._encode_objects", lambda *_: None)
    assert site.service.work(job["id"])["state"] == "converting"
    monkeypatch.undo()
    changing.touch()
    monkeypatch.setattr(upgrade_submission, "registered_model", lambda *_, **__: miniature_model(site.miniature))
    done = site.service.work(job["id"])
    assert done["state"] == "failed"
    assert "changed" in json.dumps(done["error"])


def test_a_word_that_an_engine_refuses_fails_the_job(site: Site) -> None:
    wrong = site.old.with_name("wrong.ninfer")
    content = bytearray(site.old.read_bytes())
    front = read_artifact(site.old)
    ids = front.payload_offset + front.object("text/draft_head_token_ids").offset
    content[ids : ids + 4] = content[ids + 4 : ids + 8]
    wrong.write_bytes(content)
    done = site.service.work(site.submit(artifact="wrong.ninfer")["id"])
    assert done["state"] == "failed"
    assert "expected distinct ids" in done["error"]["detail"]
