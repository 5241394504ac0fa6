"""`ninforge convert --device cuda`: on a device, and where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from schemas.errors import DeviceError
from tests.cli.commands import Model, answered, refused, small_model
from tests.cuda.emulated_stream import emulated_encoders
from workers.cuda import backend
from workers.cuda.encoders import DeviceEncoders


@pytest.fixture
def model(tmp_path: Path) -> Model:
    return small_model(tmp_path)


def test_the_device_is_used_and_named(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "device_encoders", emulated_encoders)
    expected = model.convert("cpu").read_bytes()
    out = model.folder / "cuda"
    made = answered("convert", *model.given, "--out", out, "--device", "cuda")
    assert out.read_bytes() == expected
    assert [one["backend"] for one in made["objects"]] == ["cpu", "cuda (an emulated device)", "cpu"]


def test_no_device_is_a_fault_before_any_work(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing() -> DeviceEncoders:
        raise DeviceError("device cuda", expected="a GPU", found="none")

    monkeypatch.setattr(backend, "device_encoders", nothing)
    before = model.files()
    message = refused("convert", *model.given, "--out", model.folder / "out", "--device", "cuda")
    assert message.strip().endswith("device cuda: expected a GPU, found none")
    assert model.files() == before


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_no_device_is_looked_for(device: str, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    def looked_for() -> DeviceEncoders:
        raise AssertionError

    monkeypatch.setattr(backend, "device_encoders", looked_for)
    made = answered("convert", *model.given, "--out", model.folder / "out", "--device", device)
    assert {one["backend"] for one in made["objects"]} == {"cpu"}
