"""The native module's answers in the oracle's terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from tests.conformance.blocks import FP8_ROW, SCHEMES, Block, Planes, Refusal
from tests.oracle.faults import Reason
from workers import _native

Bytes = npt.NDArray[np.uint8]

REASONS = {
    "non-finite": Reason.NONFINITE_SOURCE,
    "scale-overflow": Reason.SCALE_OVERFLOW,
    "row-too-small": Reason.ROW_TOO_SMALL,
    "not-exact": Reason.NOT_EXACT,
    "overflow": Reason.OVERFLOW,
    "out-of-range": Reason.OUT_OF_RANGE,
    "fractional": Reason.FRACTIONAL,
}

UNWRITTEN = 0xA5
"""What output buffers hold before an encoder fills them."""


def array(data: bytes) -> Bytes:
    """A buffer of these bytes."""
    return np.frombuffer(data, np.uint8)


def refusal(fault: _native.Fault | None) -> Refusal | None:
    """A fault of source words, if there is one, in the oracle's terms."""
    return None if fault is None else Refusal(REASONS[fault.kind], fault.row, fault.column, fault.word)


def encode(block: Block, *, offset: int = 0) -> Planes | Refusal:
    """What the encoder makes of a block. Every buffer starts `offset` bytes past an aligned address."""
    source = _shifted(array(block.source), offset)
    unwritten = (np.full(size, UNWRITTEN, np.uint8) for size in block.plane_bytes)
    codes, high, scales = (_shifted(plane, offset) for plane in unwritten)
    if block.format == FP8_ROW:
        fault = _native.encode_fp8_row(source, block.dtype, block.k, codes, scales)
    else:
        bits = SCHEMES[block.format].code_bits
        fault = _native.encode_grouped(source, block.dtype, bits, block.k, codes, high, scales)
    return refusal(fault) or Planes(codes.tobytes(), high.tobytes(), scales.tobytes())


def derive(block: Block, planes: Planes, *, statistics: bool = False) -> _native.Derivation:
    """What the verifier says of planes that are said to come from the block."""
    source, codes, high, scales = (array(data) for data in (block.source, planes.codes, planes.high, planes.scales))
    if block.format == FP8_ROW:
        return _native.derive_fp8_row(source, block.dtype, block.k, codes, scales, statistics)
    bits = SCHEMES[block.format].code_bits
    return _native.derive_grouped(source, block.dtype, bits, block.k, codes, high, scales, statistics)


def legal(block: Block, planes: Planes) -> _native.Fault | None:
    """The first illegal word of planes of the block's format and width."""
    codes, high, scales = (array(data) for data in (planes.codes, planes.high, planes.scales))
    if block.format == FP8_ROW:
        return _native.legal_fp8_row(block.k, codes, scales)
    return _native.legal_grouped(SCHEMES[block.format].code_bits, block.k, codes, high, scales)


def faults_alone(format: str, dtype: str, words: Iterable[int]) -> Iterator[tuple[int, Refusal | None, Refusal | None]]:
    """Each 16-bit word, and why the encoder and the verifier refuse it as a group or row of its own."""
    block = Block("alone", format, dtype, 1, (0,))
    source, (codes, high, scales) = np.zeros(2, np.uint8), (np.zeros(size, np.uint8) for size in block.plane_bytes)
    for word in words:
        source[:] = (word & 0xFF, word >> 8)
        if format == FP8_ROW:
            fault = _native.encode_fp8_row(source, dtype, 1, codes, scales)
            derived = _native.derive_fp8_row(source, dtype, 1, codes, scales, False).fault
        else:
            bits = SCHEMES[format].code_bits
            fault = _native.encode_grouped(source, dtype, bits, 1, codes, high, scales)
            derived = _native.derive_grouped(source, dtype, bits, 1, codes, high, scales, False).fault
        yield word, refusal(fault), refusal(derived)


def _shifted(data: Bytes, offset: int) -> Bytes:
    """A copy that starts `offset` bytes past where numpy puts arrays."""
    buffer = np.zeros(len(data) + offset, np.uint8)[offset:]
    buffer[:] = data
    return buffer
