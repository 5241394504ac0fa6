"""An encoder that is wrong in one way must be caught by verification, which names the object, each time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from schemas.errors import VerificationError
from schemas.registry import FORMATS, Format, GroupedGeometry
from tests.engine.conversions import converted, one_object
from workers import _native
from workers.engine.scratch import Bytes

FORMAT = {4: Format.Q4G64_F16S, 5: Format.Q5G64_F16S, 6: Format.Q6G64_F16S, 8: Format.W8G32_F16S}
Floats = npt.NDArray[np.float32]
Codes = npt.NDArray[np.int64]
Rule = Callable[[Floats, np.float32], Codes]
ScaleRule = Callable[[np.float32, int], np.float32]

encode_grouped = _native.encode_grouped


def divided(amax: np.float32, qmax: int) -> np.float32:
    return np.float32(amax / np.float32(qmax))


def reciprocal_scale(amax: np.float32, qmax: int) -> np.float32:
    """The mistake of multiplying by 1 / qmax."""
    return np.float32(amax * (np.float32(1) / np.float32(qmax)))


def canonical(x: Floats, scale: np.float32) -> Codes:
    codes: Codes = np.rint(x * (np.float32(1) / scale)).astype(np.int64)
    return codes


def division(x: Floats, scale: np.float32) -> Codes:
    """The mistake of dividing by the scale."""
    codes: Codes = np.rint(x / scale).astype(np.int64)
    return codes


def ties_away(x: Floats, scale: np.float32) -> Codes:
    """The mistake of rounding halves away from zero."""
    y = x * (np.float32(1) / scale)
    codes: Codes = (np.sign(y) * np.floor(np.abs(y) + np.float32(0.5))).astype(np.int64)
    return codes


def written(
    words: npt.NDArray[np.float32],
    bits: int,
    codes: Bytes,
    high: Bytes,
    scales: Bytes,
    rule: Rule,
    scale_rule: ScaleRule,
) -> None:
    """Encodes rows of whole groups by plain numpy, with the given rules, into the planes of row-split-k128-v1."""
    geometry = FORMATS[FORMAT[bits]].geometry
    assert isinstance(geometry, GroupedGeometry)
    for g, x in enumerate(words.reshape(-1, geometry.group)):
        if not x.any():
            continue  # scale and codes stay zero
        scale = np.float16(scale_rule(np.max(np.abs(x)), geometry.qmax))
        q = np.clip(rule(x, np.float32(scale)), geometry.qmin, geometry.qmax) % (1 << bits)
        scales[2 * g : 2 * g + 2] = np.frombuffer(scale.tobytes(), np.uint8)
        if bits == 8:
            codes[32 * g : 32 * g + 32] = q
            continue
        nibbles = q & 15
        codes[32 * g : 32 * g + 32] = nibbles[0::2] | nibbles[1::2] << 4
        planes = ((q[:, None] >> np.arange(4, bits)) & 1).reshape(-1)
        width = geometry.high_bytes
        high[width * g : width * g + width] = np.packbits(planes.astype(np.uint8), bitorder="little")[:width]


def arithmetic(rule: Rule, scale_rule: ScaleRule) -> Callable[..., None]:
    def encode(source: Bytes, dtype: str, bits: int, k: int, codes: Bytes, high: Bytes, scales: Bytes) -> None:
        assert dtype == "F32"
        assert k % 128 == 0
        for plane in (codes, high, scales):
            plane[:] = 0
        written(source.view(np.float32), bits, codes, high, scales, rule, scale_rule)

    return encode


def hard_weights(bits: int) -> npt.NDArray[np.float32]:
    """[64, 128] weights among which every wrong rule shows in every format."""
    geometry = FORMATS[FORMAT[bits]].geometry
    assert isinstance(geometry, GroupedGeometry)
    random = np.random.default_rng(bits)
    x = random.standard_normal((64, 128), dtype=np.float32) * np.float32(0.02)
    # Ties: a maximum of qmax makes the scale 1, and halves of odd numbers lie between two codes.
    x[:32] = random.integers(-2 * geometry.qmax + 1, 2 * geometry.qmax, (32, 128)).astype(np.float32) / np.float32(2)
    x[:32, :: geometry.group] = geometry.qmax
    # Near ties, at a scale where multiplying by the rounded reciprocal and dividing give different codes.
    scale, between = near_ties(random, geometry.qmax)
    x[32:48] = random.choice(between, (16, 128))
    x[32:48, :: geometry.group] = scale * np.float32(geometry.qmax)
    return x


def near_ties(random: np.random.Generator, qmax: int) -> tuple[np.float32, npt.NDArray[np.float32]]:
    """A binary16 scale, and values that the two ways to divide by it round to different codes."""
    halves = np.arange(-qmax + 1, qmax, dtype=np.float32) + np.float32(0.5)
    while True:
        scale = np.float32(np.float16(random.uniform(0.001, 0.1)))
        x = (halves * scale)[:, None].view(np.uint32) + np.arange(-2, 3, dtype=np.int32).view(np.uint32)
        values = x.view(np.float32).reshape(-1)
        differing = values[canonical(values, scale) != division(values, scale)]
        if differing.size:
            return scale, differing


@pytest.mark.parametrize("bits", FORMAT)
def test_the_plain_encoder_of_these_tests_is_right_where_its_rules_are(
    bits: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_native, "encode_grouped", arithmetic(canonical, divided))
    convert_weights(bits, tmp_path)


@pytest.mark.parametrize("bits", FORMAT)
@pytest.mark.parametrize(("rule", "scale_rule"), [(division, divided), (ties_away, divided)], ids=["division", "ties"])
def test_a_wrong_rule_for_codes_is_caught(
    bits: int, rule: Rule, scale_rule: ScaleRule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_native, "encode_grouped", arithmetic(rule, scale_rule))
    with pytest.raises(
        VerificationError, match=r"object weight, source tensor base:source\[\d+, \d+\], plane (codes|high)"
    ):
        convert_weights(bits, tmp_path)
    assert not (tmp_path / "out.ninfer").exists()


@pytest.mark.parametrize(("bits", "word"), [(4, 0x36360000), (5, 0x36160000), (6, 0x3F7EE701)])
def test_a_wrong_rule_for_scales_is_caught(
    bits: int, word: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_native, "encode_grouped", arithmetic(canonical, reciprocal_scale))
    weights = np.zeros((1, 128), np.float32)
    weights[0, 0] = np.uint32(word).view(np.float32)
    with pytest.raises(VerificationError, match=r"object weight, source tensor base:source\[0, 0\], plane scales"):
        convert(FORMAT[bits], weights, tmp_path)


def swapped_nibbles(*args: object) -> _native.Fault | None:
    fault = encode_grouped(*args)  # type: ignore[arg-type]
    codes = args[4]
    assert isinstance(codes, np.ndarray)
    codes[:] = codes >> 4 | codes << 4
    return fault


def nonzero_padding(*args: object) -> _native.Fault | None:
    fault = encode_grouped(*args)  # type: ignore[arg-type]
    codes = args[4]
    assert isinstance(codes, np.ndarray)
    codes[-1] = 1
    return fault


@pytest.mark.parametrize("bits", [4, 5, 6])
def test_a_swapped_nibble_is_caught(bits: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "encode_grouped", swapped_nibbles)
    with pytest.raises(VerificationError, match=r"object weight, source tensor base:source\[0, \d+\], plane codes"):
        convert_weights(bits, tmp_path)


@pytest.mark.parametrize("bits", FORMAT)
def test_a_wrong_pad_byte_is_caught(bits: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "encode_grouped", nonzero_padding)
    with pytest.raises(VerificationError, match=r"object weight.*plane codes"):
        convert(FORMAT[bits], hard_weights(bits)[:, :100], tmp_path)


def convert_weights(bits: int, folder: Path) -> None:
    convert(FORMAT[bits], hard_weights(bits), folder)


def convert(format: Format, weights: npt.NDArray[np.float32], folder: Path) -> None:
    tensors = {"source": ("F32", weights.shape, weights.tobytes())}
    converted(folder, tensors, [one_object(format, weights.shape, "MAXABS_F16_RECIP_RNE_V1", {"tensor": "source"})])
