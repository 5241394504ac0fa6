"""Plans, recipes, the registry and the description of the interface itself."""

from __future__ import annotations

import pytest

from schemas.registry import EncoderProfile, Format, Layout, ResourceEncoding
from tests.running_service import RunningService, assert_problem
from tests.small_job import job_body
from workers.engine.recipe.registered import registered_ids


def test_a_plan_has_everything_that_is_known_before_a_weight_is_read(service: RunningService) -> None:
    plan = service.client.post("/v1/plans", json=job_body()).json()
    assert set(plan) == {
        "framing", "minimum_reader", "execution", "objects", "file_bytes", "parts", "payload_offset",
        "directory_sha256", "bits_per_weight", "bytes_by_format", "unused", "ignored", "warnings", "let_overridden",
    }  # fmt: skip
    assert plan["parts"] == [{"name": "small.mixed.v2.ninfer", "bytes": plan["file_bytes"]}]
    assert (plan["framing"], plan["execution"]["verdict"]) == (2, "not known")
    assert set(plan["objects"][0]) == {"name", "kind", "shape", "format", "layout", "offset", "bytes"}
    job = service.work(service.submit())
    assert plan["file_bytes"] == job["artifact"]["bytes"]
    objects = service.client.get(f"/v1/jobs/{job['id']}/objects").json()["items"]
    assert plan["objects"] == [{name: made[name] for name in plan["objects"][0]} for made in objects]


def test_planning_makes_no_job_and_no_file(service: RunningService) -> None:
    service.client.post("/v1/plans", json=job_body())
    assert service.client.get("/v1/jobs").json()["items"] == []
    assert list((service.settings.data / "work").iterdir()) == []


def test_planning_tells_what_is_wrong_with_the_sources(service: RunningService) -> None:
    body = job_body()
    body["recipe"]["objects"][0]["value"] = {"tensor": "layer.99"}
    problem = assert_problem(service.client.post("/v1/plans", json=body), 422, "plan")
    assert [fault["at"] for fault in problem["errors"]] == ["/objects/0"]


def test_registered_recipes_are_listed_and_shown(service: RunningService) -> None:
    listed = service.client.get("/v1/recipes").json()
    assert [recipe["id"] for recipe in listed["items"]] == list(registered_ids())
    assert listed["next"] is None
    for recipe in listed["items"]:
        shown = service.client.get(f"/v1/recipes/{recipe['id']}").json()
        assert {name: shown[name] for name in recipe} == recipe
        assert shown["document"]["id"] == recipe["id"]


def test_the_document_of_a_registered_recipe_is_the_recipe(service: RunningService) -> None:
    recipe_id = registered_ids()[0]
    shown = service.client.get(f"/v1/recipes/{recipe_id}").json()
    sources = dict.fromkeys(shown["document"]["sources"], "small")
    by_id = service.client.post("/v1/jobs", json={"recipe": recipe_id, "sources": sources}).json()
    by_document = service.client.post("/v1/jobs", json={"recipe": shown["document"], "sources": sources}).json()
    assert by_id["recipe"] == by_document["recipe"]
    assert by_id["recipe"]["sha256"] == shown["sha256"]


@pytest.mark.parametrize("recipe_id", ["no-such", "..", "%2e%2e%2fload"])
def test_a_recipe_that_is_not_registered_is_not_found(service: RunningService, recipe_id: str) -> None:
    assert_problem(service.client.get(f"/v1/recipes/{recipe_id}"), 404, "not-found")


def test_the_registry_is_shown_whole(service: RunningService) -> None:
    registry = service.client.get("/v1/registry").json()
    assert {entry["name"] for entry in registry["formats"]} == set(Format)
    assert {entry["name"] for entry in registry["layouts"]} == set(Layout)
    assert {entry["name"] for entry in registry["encodings"]} == set(ResourceEncoding)
    assert set(registry["encoder_profiles"]) == set(EncoderProfile)
    assert registry["architectures"] == ["qwen3_5"]
    nvfp4 = next(entry for entry in registry["formats"] if entry["name"] == "NVFP4")
    assert nvfp4 == {"name": "NVFP4", "layout": "blockscale-k16-m128x4-v1", "encodes": ["copy"]}


def test_the_interface_describes_itself(service: RunningService) -> None:
    description = service.client.get("/openapi.json").json()
    paths = description["paths"]
    assert "HTTPValidationError" not in description["components"]["schemas"], "problems are told in another form"
    assert {path: set(methods) for path, methods in paths.items()} == {
        "/v1/jobs": {"get", "post"},
        "/v1/jobs/{job_id}": {"get", "delete"},
        "/v1/jobs/{job_id}/cancel": {"post"},
        "/v1/jobs/{job_id}/retry": {"post"},
        "/v1/jobs/{job_id}/pin": {"put", "delete"},
        "/v1/jobs/{job_id}/events": {"get"},
        "/v1/jobs/{job_id}/objects": {"get"},
        "/v1/jobs/{job_id}/objects/{index}": {"get"},
        "/v1/jobs/{job_id}/report": {"get"},
        "/v1/jobs/{job_id}/artifact": {"get", "head"},
        "/v1/jobs/{job_id}/artifact/manifest": {"get"},
        "/v1/jobs/{job_id}/artifact/parts/{index}": {"get", "head"},
        "/v1/upgrades": {"post"},
        "/v1/plans": {"post"},
        "/v1/recipes": {"get", "post"},
        "/v1/recipes/{recipe_id}": {"get", "delete"},
        "/v1/inspections": {"post"},
        "/v1/registry": {"get"},
        "/v1/sources": {"get"},
        "/v1/workers": {"get"},
        "/healthz": {"get"},
        "/metrics": {"get"},
        "/readyz": {"get"},
    }


@pytest.mark.parametrize("path", ["/v1/jobs/{job_id}/artifact", "/v1/jobs/{job_id}/artifact/parts/{index}"])
def test_the_description_tells_of_files_as_bytes(service: RunningService, path: str) -> None:
    described = service.client.get("/openapi.json").json()["paths"][path]
    for method in ("get", "head"):
        answers = described[method]["responses"]
        assert set(answers) >= {"200", "206", "304", "404", "409", "410", "412", "416"}
        assert list(answers["200"]["content"]) == ["application/octet-stream"]
        assert list(answers["206"]["content"]) == ["application/octet-stream", "multipart/byteranges"]
        assert list(answers["416"]["content"]) == ["application/problem+json"]


def test_the_description_tells_of_the_manifest(service: RunningService) -> None:
    description = service.client.get("/openapi.json").json()
    answer = description["paths"]["/v1/jobs/{job_id}/artifact/manifest"]["get"]["responses"]["200"]
    assert answer["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/ArtifactManifest"}
    members = description["components"]["schemas"]["ArtifactManifest"]["required"]
    assert members == ["artifact_id", "framing", "minimum_reader", "bytes", "parts"]
