"""Jobs made by the form of a page, without a browser."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from httpx import Response

from service.dashboard import new_job
from service.dashboard.gpu_memory import GPUS, gpu_fits
from service.dashboard.job_form import MAX_FIELDS, request_of
from tests.dashboard.seeded import SeededService
from tests.running_service import RunningService, running_service
from tests.small_job import job_body, recipe_document, write_checkpoint
from workers.engine.recipe.registered import registered_ids

HTML = {"Accept": "text/html"}


@pytest.fixture
def forms(seeded: SeededService) -> RunningService:
    return seeded.service


def fields(**values: str) -> dict[str, str]:
    """The form of a job of the stored recipe, filled in; `source_base` is the field `source.base`, and so on."""
    usual = {"recipe": "small.mixed", "source_base": "small", "action": "submit", "key": uuid4().hex}
    return {re.sub("^(source|let|resource)_", r"\1.", name): value for name, value in (usual | values).items()}


def send(service: RunningService, form: Mapping[str, Any]) -> Response:
    parts = [(name, (None, value)) for name, value in form.items()]
    return service.client.post("/jobs/new", files=parts, headers=HTML)


def words(answer: Response) -> str:
    """What a page says, its white space taken together."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.text)).split())


def fault_at(answer: Response, field: str) -> str:
    found = re.search(f'<p class="fault" id="fault-{re.escape(field)}">(.*?)</p>', answer.text, re.DOTALL)
    assert found is not None, words(answer)
    return unescape(found[1])


def grouped(count: int) -> str:
    return f"{count:,}".replace(",", " ")


def yaml_text(**members: Any) -> str:
    """The small recipe as a text to paste; JSON is YAML."""
    return json.dumps({**recipe_document(), **members}, indent=2)


def test_registered_and_stored_recipes_are_offered(forms: RunningService) -> None:
    page = forms.client.get("/jobs/new").text
    for recipe_id in (*registered_ids(), "small.mixed"):
        assert f'<option value="{recipe_id}"' in page


def test_the_chosen_recipe_has_its_fields(forms: RunningService) -> None:
    page = forms.client.get("/jobs/new", params={"recipe": "qwen3.8-27b.nvfp4"}).text
    named = set(re.findall(r' name="([^"]+)"', page))
    assert {"source.base", "source.quantized", "source.ranking"} <= named
    assert {"let.vocab", "let.layers", "resource.frontend/tokenizer.json"} <= named
    assert "let.full" not in named  # a set of integers
    assert "hf:Qwen/Qwen3.8-27B" in page


def test_an_unknown_recipe_is_told(forms: RunningService) -> None:
    answer = forms.client.get("/jobs/new", params={"recipe": "none"}, headers=HTML)
    assert answer.status_code == 404
    assert "found 'none'" in words(answer)
    assert '<select id="recipe"' in answer.text


def test_faults_of_a_pasted_recipe_are_at_their_lines(forms: RunningService) -> None:
    text = "recipe: 1\nid: a\nrevision: <b>two</b>\nobjects:\n  - {name: x, shape: [1]}\n"
    answer = send(forms, fields(text=text, action="use", recipe=""))
    assert answer.status_code == 422
    said = words(answer)
    assert "Line 3, column 1 ( /revision ): expected an integer" in said
    assert "Line 5, column 5 ( /objects/0 ): an object needs the member 'format'" in said
    assert "a recipe needs the member 'sources'" in said
    assert {'id="line-3"', 'id="line-5"'} <= set(re.findall(r'id="line-\d+"', answer.text))
    kept = re.search(r"<textarea[^>]*>\n(.*?)</textarea>", answer.text, re.DOTALL)
    assert kept is not None
    assert unescape(kept[1]) == text


@pytest.mark.parametrize(
    ("text", "told"),
    [("a: [1", "Line 1, column "), ("{\n  x\n}", "Line 2, column "), ("- 1\n- 2", "a recipe is an object")],
)
def test_a_text_that_is_no_recipe_is_told(forms: RunningService, text: str, told: str) -> None:
    answer = send(forms, fields(text=text, action="use", recipe=""))
    assert answer.status_code == 422
    assert told in words(answer)


def test_a_pasted_recipe_is_taken_up(forms: RunningService) -> None:
    answer = send(forms, fields(text=yaml_text().replace("\n", "\r\n"), action="use", recipe="", source_base=""))
    assert answer.status_code == 200
    assert 'name="source.base"' in answer.text
    assert "Pasted recipe small.mixed" in words(answer)


def test_the_preview_is_the_plan(forms: RunningService) -> None:
    recipe = recipe_document(layers=3)
    plan = forms.client.post("/v1/plans", json=job_body() | {"recipe": recipe}).json()
    answer = send(forms, fields(text=json.dumps(recipe), recipe="", action="preview"))
    assert answer.status_code == 200
    said = words(answer)
    assert f"Exactly {grouped(plan['file_bytes'])} bytes" in said
    assert f"Objects {len(plan['objects'])} " in said
    assert f"Bits per weight {plan['bits_per_weight']:.3f}" in said
    for format, size in plan["bytes_by_format"].items():
        assert re.search(f"{format} \\d+ {grouped(size)} ", said)
    assert f"{len(plan['unused'])} tensors of base unused" in said
    assert plan["unused"]
    assert all(one["tensor"] in said for one in plan["unused"])
    weights = sum(one["bytes"] for one in plan["objects"] if one["kind"] == "tensor")
    assert f"The weights take {weights / 1000:.3g} kB" in said
    assert '<svg xmlns="http://www.w3.org/2000/svg"' in answer.text


def test_weights_go_into_what_has_room_for_them() -> None:
    assert [one.memory_bytes for one in GPUS] == sorted(one.memory_bytes for one in GPUS)
    fits = gpu_fits(20 * 10**9)
    assert {one.gpu.memory_bytes // 10**9: one.left_bytes > 0 for one in fits}[24]
    assert not {one.gpu.memory_bytes // 10**9: one.left_bytes > 0 for one in fits}[16]
    assert all(one.left_bytes == one.gpu.memory_bytes - 20 * 10**9 for one in fits)


def test_each_config_member_that_differs_is_shown(forms: RunningService) -> None:
    folder = write_checkpoint(forms.settings.data / "sources" / "configured")
    (folder / "config.json").write_text('{"layers": 9, "sizes": {"hidden": 5, "heads": 2}}')
    config = {"layers": 8, "sizes": {"hidden": 5, "heads": [1]}, "gone": "x"}
    recipe = recipe_document()
    recipe["sources"]["base"]["config"] = config
    answer = send(forms, fields(text=json.dumps(recipe), recipe="", source_base="configured", action="preview"))
    assert answer.status_code == 422
    said = words(answer)
    for row in (
        "base /layers expected 8, found 9",
        "base /sizes/heads expected [1], found 2",
        'base /gone expected "x", found no such member',
    ):
        assert row in said
    assert "/sizes/hidden" not in said
    assert "What to do next. Bind other sources" in said


def test_every_field_is_told_what_is_wrong_with_it(forms: RunningService) -> None:
    recipe = recipe_document()
    recipe["let"] = {"rows": 96}
    wrong = {"source_base": "", "let_rows": "many", "part_size": "4 foo", "action": "preview"}
    answer = send(forms, fields(text=json.dumps(recipe), recipe="", **wrong))
    assert answer.status_code == 422
    assert "expected a place, found none" in fault_at(answer, "source.base")
    assert "found 'many'" in fault_at(answer, "let.rows")
    assert "as in 4 GB" in fault_at(answer, "part_size")
    assert 'value="4 foo"' in answer.text


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("source.base", "../../etc", "expected"),
        ("source.base", "nowhere", "found nothing there"),
        ("part_size", "1 GB", "framing 2, which has no place for it"),
        ("device", "cuda", "NINFORGE_DEVICE=cpu"),
        ("framing", "4", "found '4'"),
        ("name", "x\x07", "found 'x\\x07'"),
        ("resource.frontend/tokenizer.json", "nowhere", "found nothing there"),
    ],
)
def test_a_fault_is_told_at_its_field(forms: RunningService, field: str, value: str, told: str) -> None:
    answer = send(forms, fields(action="preview") | {field: value})
    assert answer.status_code == 422
    assert told in words(answer)
    if not field.startswith("resource"):
        assert told in fault_at(answer, field)
    assert str(forms.settings.data) not in answer.text


def test_what_is_submitted_is_what_was_filled_in(forms: RunningService) -> None:
    recipe = recipe_document()
    recipe["let"] = {"rows": 95}
    recipe["objects"][0]["shape"] = ["=rows", 256]
    text = json.dumps(recipe)
    filled = {"let_rows": "96", "verify": "sample", "device": "cpu", "framing": "1", "name": "filled in"}
    answer = send(forms, fields(text=text, recipe="", allow_unexecutable="yes", **filled))
    assert answer.status_code == 303, words(answer)
    job = forms.client.get(f"/v1{answer.headers['location']}").json()
    assert (job["name"], job["verify"], job["device"], job["framing"]) == ("filled in", "sample", "cpu", 1)
    assert forms.work(job["id"])["state"] == "ready"


def test_one_form_is_one_job(forms: RunningService) -> None:
    form = fields(name="once")
    first, second = send(forms, form), send(forms, form)
    assert first.status_code == second.status_code == 303
    assert first.headers["location"] == second.headers["location"]
    changed = send(forms, form | {"name": "changed"})
    assert changed.status_code == 409
    assert "press the button again to make another one" in words(changed)
    key = re.search(r'name="key" value="([0-9a-f]{32})"', changed.text)
    assert key is not None
    assert key[1] != form["key"]
    again = send(forms, form | {"name": "changed", "key": key[1]})
    assert again.status_code == 303
    assert again.headers["location"] != first.headers["location"]


@pytest.mark.parametrize(
    "wrong",
    [{"stray": "1"}, {"unknown.x": "1"}, {"action": "delete"}, {"key": "short"}, {"action": ""}],
)
def test_what_no_form_of_ours_sends_is_refused(forms: RunningService, wrong: dict[str, str]) -> None:
    answer = send(forms, fields() | wrong)
    assert answer.status_code == 422
    assert "<h1>" in answer.text


def test_a_field_that_stands_twice_or_holds_a_file_is_refused(forms: RunningService) -> None:
    twice = [(name, (None, value)) for name, value in fields().items()]
    assert (
        forms.client.post("/jobs/new", files=[*twice, ("name", (None, "a")), ("name", (None, "b"))]).status_code == 422
    )
    assert forms.client.post("/jobs/new", files=[*twice, ("name", ("file", b"a"))]).status_code == 400


def test_a_recipe_of_very_many_integers_has_a_form(forms: RunningService) -> None:
    integers = {f"let.n{number}": "" for number in range(MAX_FIELDS - 10)}
    assert send(forms, fields(action="use") | integers).status_code == 200


@pytest.fixture(scope="module")
def with_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with running_service(tmp_path_factory.mktemp("hub"), source_hosts=("huggingface.co",)) as service:
        yield service


def test_a_source_that_is_fetched_needs_no_place(with_hub: RunningService, seeded: SeededService) -> None:
    path = "/jobs/new?recipe=qwen3.8-27b.groupwise-int"
    assert "fetched if this is left empty" in with_hub.client.get(path).text
    assert "fetched if this is left empty" not in seeded.service.client.get(path).text
    answer = send(with_hub, fields(recipe="qwen3.8-27b.groupwise-int", source_base="", source_ranking=""))
    assert answer.status_code == 422
    assert fault_at(answer, "source.ranking") == "expected a place, found none"
    assert "fault-source.base" not in answer.text


def test_a_long_text_is_taken_up_to_the_limit_of_recipes(forms: RunningService) -> None:
    padding = "\n".join(["#" * 999] * 4000)
    answer = send(forms, fields(text=f"{yaml_text()}\n{padding}", recipe="", action="use", source_base=""))
    assert answer.status_code == 200
    answer = send(forms, fields(text="x" * (5 << 20), recipe="", action="use"))
    assert (answer.status_code, "the limit is 4 MiB" in words(answer)) == (422, True)
    answer = send(forms, fields(text="x" * (9 << 20), recipe="", action="use"))
    assert answer.status_code == 413


def test_all_are_answered_of_more_that_are_refused_at_once_than_there_are_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has a thread while it waits for its job, so that what refuses it may not wait for one as well."""
    threads = 40
    barrier = threading.Barrier(threads, timeout=60)

    def meet_and_request(*arguments: Any) -> Any:
        barrier.wait()
        return request_of(*arguments)

    monkeypatch.setattr(new_job, "request_of", meet_and_request)
    with running_service(tmp_path / "data", max_active_jobs_per_token=1) as service:
        service.submit()
        form = fields(text=yaml_text(), recipe="")
        with ThreadPoolExecutor(threads) as pool:
            answers = list(pool.map(lambda _: send(service, {**form, "key": uuid4().hex}), range(threads)))
    assert [answer.status_code for answer in answers] == [429] * threads
