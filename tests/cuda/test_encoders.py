"""What surrounds the kernels: memory of a device, copies, refusals and wrong words. The device is the emulation."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from schemas.errors import DeviceError
from tests.cuda.emulated_stream import EmulatedStream, emulated_encoders
from tests.native import planes
from tests.native.planes import CODE_BITS, DTYPES, Planes, Words, as_bytes, blank_grouped, float_words, place
from workers import _native
from workers.cuda.encoders import DeviceEncoders
from workers.cuda.launches import Launch


def encode_grouped(
    encoders: DeviceEncoders, words: Words, dtype: str, code_bits: int
) -> tuple[Planes, _native.Fault | None]:
    made = blank_grouped(code_bits, *words.shape)
    source, k = as_bytes(words), words.shape[1]
    fault = encoders.encode_grouped(source, dtype, code_bits, k, made.codes, made.high, made.scales)
    return made, fault


def encode_fp8(encoders: DeviceEncoders, words: Words, dtype: str) -> tuple[Planes, _native.Fault | None]:
    rows, k = words.shape
    codes, scales = np.full(rows * k, 0xA5, np.uint8), np.full(2 * rows, 0xA5, np.uint8)
    fault = encoders.encode_fp8_row(as_bytes(words), dtype, k, codes, scales)
    return Planes(codes, np.empty(0, np.uint8), scales), fault


def weights(dtype: str, shape: tuple[int, int], seed: int = 1) -> Words:
    exponents = {"BF16": (112, 124), "F16": (5, 15), "F32": (112, 124)}[dtype]
    return float_words(np.random.default_rng(seed), dtype, shape, exponents)


def same(made: Planes, expected: Planes) -> bool:
    pairs = ((made.codes, expected.codes), (made.high, expected.high), (made.scales, expected.scales))
    return all(np.array_equal(one, other) for one, other in pairs)


@pytest.mark.parametrize("dtype", DTYPES)
def test_blocks_of_all_sizes_one_after_another(dtype: str) -> None:
    encoders = emulated_encoders()
    for shape in ((3, 200), (40, 256), (1, 7), (9, 1000)):
        words = weights(dtype, shape)
        for code_bits in CODE_BITS:
            made, fault = encode_grouped(encoders, words, dtype, code_bits)
            assert fault is None
            assert same(made, planes.encode_grouped(words, dtype, code_bits))
        made, fault = encode_fp8(encoders, words, dtype)
        assert fault is None
        assert same(made, planes.encode_fp8(words, dtype))


def test_every_block_is_compared_on_the_device() -> None:
    streams: list[EmulatedStream] = []

    def open_stream() -> EmulatedStream:
        streams.append(EmulatedStream())
        return streams[-1]

    encoders = emulated_encoders(open_stream)
    encode_grouped(encoders, weights("BF16", (2, 64)), "BF16", 4)
    encode_fp8(encoders, weights("F32", (2, 64)), "F32")
    expected = ["encode_grouped_4_bf16", "compare_grouped_4_bf16", "encode_fp8_row_f32", "compare_fp8_row_f32"]
    assert [stream.launches for stream in streams] == [expected]


@pytest.mark.parametrize("code_bits", CODE_BITS)
def test_refusals_name_the_word_as_on_the_cpu(code_bits: int) -> None:
    encoders = emulated_encoders()
    words = weights("F32", (4, 200))
    words[2, 150] = 0x7F800000
    words[3, 0] = 0x7FC00001
    expected = planes.try_grouped(words, "F32", code_bits)[1]
    assert expected is not None
    assert place(encode_grouped(encoders, words, "F32", code_bits)[1]) == place(expected)
    words[1, 199] = 0x7F000000  # too large for any scale
    assert place(encode_grouped(encoders, words, "F32", code_bits)[1]) == ("scale-overflow", 1, 199, 0x7F000000)
    fine = weights("F32", (4, 200))
    assert encode_grouped(encoders, fine, "F32", code_bits)[1] is None


@pytest.mark.parametrize(("word", "kind"), [(0x7F80, "non-finite"), (0x0001, "row-too-small")])
def test_refused_rows(word: int, kind: str) -> None:
    words = weights("BF16", (4, 40))
    words[2] = 0
    words[2, 39] = word
    fault = encode_fp8(emulated_encoders(), words, "BF16")[1]
    assert fault is not None
    assert place(fault) == place(planes.try_fp8(words, "BF16")[1])
    assert fault.kind == kind


@pytest.mark.parametrize(("rows", "k"), [(128, 64), (256, 192)])
def test_swizzle(rows: int, k: int) -> None:
    natural = np.random.default_rng(k).integers(0, 256, rows * k // 16, np.uint8)
    expected, made = np.empty_like(natural), np.empty_like(natural)
    _native.swizzle_scales(natural, k, expected)
    emulated_encoders().swizzle_scales(natural, k, made)
    assert np.array_equal(made, expected)


def test_threads_have_streams_of_their_own() -> None:
    streams: list[EmulatedStream] = []

    def open_stream() -> EmulatedStream:
        streams.append(EmulatedStream())
        return streams[-1]

    encoders = emulated_encoders(open_stream)

    def work(seed: int) -> bool:
        words = weights("BF16", (2, 130), seed)
        made, fault = encode_grouped(encoders, words, "BF16", 5)
        return fault is None and same(made, planes.encode_grouped(words, "BF16", 5))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(40)))
    assert 1 <= len(streams) <= 4


class FaultyStream(EmulatedStream):
    """A device that changes a bit of the first scale after encoding."""

    def run(self, launch: Launch) -> None:
        super().run(launch)
        if launch.kernel.startswith("encode_grouped"):
            ctypes.c_uint8.from_address(launch.arguments[5].value or 0).value ^= 1


class RefusingStream(EmulatedStream):
    """A device that finds something wrong with every first group."""

    def run(self, launch: Launch) -> None:
        super().run(launch)
        if launch.kernel.startswith("encode"):
            ctypes.c_uint64.from_address(launch.arguments[-1].value or 0).value = 1


def test_a_device_that_changes_a_word_is_found_out() -> None:
    with pytest.raises(DeviceError, match=r"an emulated device: expected .* found a wrong scale in group or row 0"):
        encode_grouped(emulated_encoders(FaultyStream), weights("BF16", (2, 64)), "BF16", 4)


@pytest.mark.parametrize("code_bits", [8, None], ids=["grouped", "rows"])
def test_a_device_that_refuses_what_the_cpu_takes_is_found_out(code_bits: int | None) -> None:
    encoders, words = emulated_encoders(RefusingStream), weights("BF16", (2, 64))
    with pytest.raises(DeviceError, match="it refused, though nothing is wrong"):
        if code_bits is None:
            encode_fp8(encoders, words, "BF16")
        else:
            encode_grouped(encoders, words, "BF16", code_bits)
