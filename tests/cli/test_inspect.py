"""`ninforge inspect`: any artifact's structure, whoever made it."""

from __future__ import annotations

import json

from tests.cli.commands import WEIGHT, Model, answered, installed, refused, succeeded
from tests.container.samples import OBJECTS_TEXT, TEXT_1, TEXT_2, document, file_bytes


def test_json(model: Model) -> None:
    out = model.convert("out")
    planned = answered("plan", *model.given)
    assert answered("inspect", out) == {
        "framing": 2,
        "minimum_reader": planned["minimum_reader"],
        "model_id": "test-model",
        "weights_id": "test-weights",
        "file_bytes": planned["file_bytes"],
        "parts": [{"name": None, "bytes": planned["file_bytes"]}],
        "payload_offset": planned["payload_offset"],
        "directory_sha256": planned["directory_sha256"],
        "objects": [
            {"name": "vocab", "kind": "resource", "encoding": "raw-bytes-v1", "offset": 0, "bytes": 8},
            *planned["objects"][1:],
        ],
        "strays": [],
    }


def test_an_artifact_that_others_made(model: Model) -> None:
    path = model.folder / "theirs"
    path.write_bytes(file_bytes(TEXT_1, magic=b"NINFER\0\x01"))
    assert succeeded("inspect", path).splitlines() == [
        "tiny, framing 1",
        "4 objects, 5380 bytes (5.4 kB) in 1 file, payload at byte 4096",
        "opens in an older engine that reads framing 1; current ones, which read framing 3 alone, refuse it",
        "object           shape     format        offset  bytes  size",
        "frontend/é.json            raw-bytes-v1       0      5  5 bytes",
        "bias             [3]       BF16             256      6  6 bytes",
        "weight           [2, 130]  Q5G64_F16S       512    528  528 bytes",
        "scalar           []        FP32            1280      4  4 bytes",
    ]
    assert answered("inspect", path)["objects"] == json.loads(OBJECTS_TEXT)


def test_strays_are_reported_here_and_refused_by_verify(model: Model) -> None:
    content = bytearray(model.convert("out").read_bytes())
    content[4096 + 200] = 7
    content += b"more"
    path = model.folder / "stray"
    path.write_bytes(content)
    strays = answered("inspect", path)["strays"]
    assert len(strays) == 2
    assert "byte 4296, in the gap before" in strays[0]
    assert "expected the end of the file, found 4 more bytes" in strays[1]
    shown = succeeded("inspect", path).splitlines()
    assert [line for line in shown if line.startswith("stray: ")] == [f"stray: {stray}" for stray in strays]
    for form in ([], ["--recipe", *model.given]):
        assert "byte 4296, in the gap before" in refused("verify", path, *form)


def test_names_stand_as_they_are(model: Model) -> None:
    assert f"\n{WEIGHT}  [32, 256]  " in succeeded("inspect", model.convert("out"))


def test_names_cannot_speak_to_the_terminal(model: Model) -> None:
    value = document()
    value["objects"][1]["name"] = "\x1b]0;owned\x07\u202e\nbias"
    value["identity"]["model_id"] = "\x1b[2J"
    path = model.folder / "hostile"
    path.write_bytes(file_bytes(json.dumps(value)))
    shown = succeeded("inspect", path)
    assert shown.startswith("\\x1b[2J / mixed")
    assert "\n\\x1b]0;owned\\x07\\u202e\\nbias  [3]  " in shown
    assert answered("inspect", path)["objects"][1]["name"] == value["objects"][1]["name"]


def test_what_goes_into_a_pipe_is_whole(model: Model) -> None:
    name = "long/" * 60 + "名"
    objects = [{**model.document["objects"][0], "name": name}, model.document["objects"][1]]
    out = model.with_recipe(objects=objects).convert("out")
    environment = {"COLUMNS": "40", "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    done = installed("inspect", out, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"\x1b" not in done.stdout
    row = next(line for line in done.stdout.decode().splitlines() if line.startswith("long/"))
    assert row.split() == [name, "[32,", "256]", "Q4G64_F16S", "256", "4352", "4.4", "kB"]


def test_a_truncated_artifact_names_the_object_that_it_cuts(model: Model) -> None:
    path = model.folder / "cut"
    path.write_bytes(file_bytes(TEXT_2)[: 4096 + 600])
    for command in ("inspect", "verify"):
        assert "objects[2] 'weight': expected a file that holds it up to byte 5136" in refused(command, path)
