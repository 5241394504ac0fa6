"""What is said where there is no GPU to use."""

from __future__ import annotations

import builtins
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import DeviceError
from workers.cuda.backend import device_encoders
from workers.cuda.device import Device, capable, find_device

ROOT = Path(__file__).parents[2]
EXPECTED = "device cuda: expected torch with CUDA, a driver and an NVIDIA GPU, found "


@pytest.mark.parametrize("missing", ["torch", "cuda"])
def test_without_the_extra(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    importing = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return importing(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(DeviceError, match=rf"^{EXPECTED}no {missing}.*: install ninforge\[cuda\]$"):
        find_device()


def test_torch_without_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.version, "cuda", None)
    with pytest.raises(DeviceError, match=rf"^{EXPECTED}torch .*, which was built without CUDA$"):
        find_device()
    with pytest.raises(DeviceError, match="built without CUDA"):
        device_encoders()


def test_torch_with_cuda_but_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceError, match=rf"^{EXPECTED}torch .*, which finds no driver or no GPU$"):
        find_device()


def test_the_gpu_that_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")

    class Properties:
        name, major, minor = "NVIDIA Something", 9, 0

    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _index: Properties)
    assert find_device() == Device(0, "NVIDIA Something", "sm_90")
    Properties.major, Properties.minor = 7, 5
    with pytest.raises(DeviceError, match=r"capability 8\.0 or newer, found NVIDIA Something, sm_75"):
        find_device()


def test_the_oldest_gpu() -> None:
    device = Device(0, "NVIDIA A100", "sm_80")
    assert capable(device, 8) is device


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    loaded = "any(name in sys.modules for name in ('torch', 'cuda.bindings'))"
    code = f"import sys, workers.cuda.backend, service.cli.application, workers.process; sys.exit({loaded})"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
