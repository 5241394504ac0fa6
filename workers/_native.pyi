"""The native kernels: encoders, casts, and the verifier's own derivations and checks.

Buffers are one-dimensional, C-contiguous arrays of uint8, passed without conversion; words in them are little-endian.
A block of rows is `source` with as many rows of `k` elements as it has; the other buffers must have exactly the sizes
that those rows give, else ValueError names argument, rule and what was found. `code_bits` is 4, 5, 6 or 8 for
Q4G64_F16S, Q5G64_F16S, Q6G64_F16S and W8G32_F16S; `high` is empty at 4 and 8. Grouped planes lie as in
row-split-k128-v1, padding included, without the gaps between planes.

Every function releases the GIL and starts no threads. What is wrong with words is returned, not raised, and is always
the first fault in row-major order: a group's (or row's) scale counts as standing before its codes. After a fault the
contents of an output are undefined.
"""

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

_Bytes: TypeAlias = NDArray[np.uint8]

class Fault:
    """A word that breaks a rule.

    `row` counts from the first row of the block, `column` elements within the row: of the offending element, or of the
    first element of the group (or row) whose scale is at fault. `word` is the offending word's bits.

    non-finite             a source word that is infinite or NaN, or becomes so when the profile rounds it to BF16
    scale-overflow         a group whose scale is past binary16; the place and word of its first largest magnitude
    row-too-small          a row whose BF16 scale has no finite reciprocal; `word` is that scale
    negative-scale, negative-zero-scale, nan-scale, infinite-scale    an illegal scale word
    nan-code               an E4M3FN code that is NaN
    code-out-of-range      W8's -128
    code-under-zero-scale  a code that is not zero where the scale is
    nonzero-padding        a padding lane's code, or the scale of a group wholly past K, that is not zero
    not-exact              a value that the target format does not hold
    overflow               a value that rounds past the largest finite one
    fractional             no whole number
    out-of-range           a whole number outside I32
    not-positive           a finite number that is not above zero
    """

    @property
    def kind(
        self,
    ) -> Literal[
        "non-finite",
        "scale-overflow",
        "row-too-small",
        "negative-scale",
        "negative-zero-scale",
        "nan-scale",
        "infinite-scale",
        "code-under-zero-scale",
        "code-out-of-range",
        "nan-code",
        "nonzero-padding",
        "not-exact",
        "out-of-range",
        "fractional",
        "overflow",
        "not-positive",
    ]: ...
    @property
    def row(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def word(self) -> int: ...

class Mismatch:
    """A stored word that is not the one that the source gives.

    `column` counts elements. In plane `codes`, `expected` and `found` are the bits of the element's code in that plane
    (its low nibble at 4, 5 and 6 bits), in `high` the bits above the nibble, in `scales` and `words` whole words.
    """

    @property
    def plane(self) -> Literal["codes", "high", "scales", "words"]: ...
    @property
    def row(self) -> int: ...
    @property
    def column(self) -> int: ...
    @property
    def expected(self) -> int: ...
    @property
    def found(self) -> int: ...

class Derivation:
    """What a derivation from the source says of the stored planes of a block.

    At most one of `mismatch` and `fault` (a source that cannot be encoded) is there. Without either, and if statistics
    were asked for: `row_error` is the sum over each row of the squared difference between what the stored words decode
    to (a binary32 value) and the source, `row_signal` the sum of the squared source, float64, one a row, always added
    in the same order; `max_abs` is the largest absolute difference. Otherwise they are empty and zero.
    """

    @property
    def mismatch(self) -> Mismatch | None: ...
    @property
    def fault(self) -> Fault | None: ...
    @property
    def max_abs(self) -> float: ...
    @property
    def row_error(self) -> NDArray[np.float64]: ...
    @property
    def row_signal(self) -> NDArray[np.float64]: ...

class Histogram:
    """Exact counts of the words of quantized planes, uint64.

    `codes[w]` counts the elements whose code has the bits w: 2^code_bits of them, 16 for NVFP4, 256 for row FP8;
    padding is left out. A bin of scales is an eighth of a binade: the words that agree in all but their last 7
    (binary16, 256 bins), 4 (BF16, 2048) or 0 (E4M3FN, 128) bits. `scales[b]` counts those whose other bits are b, but
    for zero, which `zero_scales` counts.
    """

    @property
    def codes(self) -> NDArray[np.uint64]: ...
    @property
    def scales(self) -> NDArray[np.uint64]: ...
    @property
    def zero_scales(self) -> int: ...

def encode_grouped(
    source: _Bytes, dtype: str, code_bits: int, k: int, codes: _Bytes, high: _Bytes, scales: _Bytes
) -> Fault | None:
    """Encoder profile MAXABS_F16_RECIP_RNE_V1 (numeric-formats.md, section 7) from BF16, F16 or F32 words.

    Faults: non-finite, scale-overflow.
    """

def encode_fp8_row(source: _Bytes, dtype: str, k: int, codes: _Bytes, scales: _Bytes) -> Fault | None:
    """Encoder profile FP8_ROW_MAXABS_RECIP_RNE_V1 (targets.md) from BF16, F16 or F32 words.

    Faults: non-finite, row-too-small.
    """

def swizzle_scales(scales: _Bytes, k: int, out: _Bytes) -> None:
    """NVFP4 scale words from natural [N, K/16] order to that of blockscale-k16-m128x4-v1. N is a multiple of 128."""

def cast(source: _Bytes, from_dtype: str, to: str, rule: str, out: _Bytes) -> Fault | None:
    """A cast of recipe.md to format `to` by rule `exact`, `rne` or `checked`. Words are one row.

    Faults: not-exact; non-finite, overflow; non-finite, fractional, out-of-range.
    """

def check_finite(words: _Bytes, dtype: str, columns: int) -> Fault | None:
    """The first infinite or NaN word of BF16 or F32 rows. Fault: non-finite."""

def check_positive(words: _Bytes, dtype: str, columns: int) -> Fault | None:
    """The first word of F32 or I32 rows that is not finite and above zero. Faults: non-finite, not-positive."""

def legal_grouped(code_bits: int, k: int, codes: _Bytes, high: _Bytes, scales: _Bytes) -> Fault | None:
    """The first illegal word or padding of grouped planes (numeric-formats.md 5 and 6, storage-layouts.md)."""

def legal_fp8_row(k: int, codes: _Bytes, scales: _Bytes) -> Fault | None:
    """The first illegal word of row-scaled FP8 planes (numeric-formats.md 3.4)."""

def legal_nvfp4_scales(scales: _Bytes, k: int, swizzled: bool) -> Fault | None:
    """The first illegal NVFP4 scale word (numeric-formats.md 3.3), by natural coordinates in either order."""

def derive_grouped(
    source: _Bytes,
    dtype: str,
    code_bits: int,
    k: int,
    codes: _Bytes,
    high: _Bytes,
    scales: _Bytes,
    statistics: bool,
) -> Derivation:
    """Compares every scale, code, high bit and padding lane with what the source gives, by arithmetic of its own."""

def derive_fp8_row(source: _Bytes, dtype: str, k: int, codes: _Bytes, scales: _Bytes, statistics: bool) -> Derivation:
    """Compares every multiplier and code with what the source gives, by arithmetic of its own."""

def histogram_grouped(code_bits: int, k: int, codes: _Bytes, high: _Bytes, scales: _Bytes) -> Histogram:
    """The words of grouped planes that are legal, padding included."""

def histogram_fp8_row(k: int, codes: _Bytes, scales: _Bytes) -> Histogram:
    """The words of row-scaled FP8 planes that are legal."""

def histogram_nvfp4(k: int, codes: _Bytes, scales: _Bytes) -> Histogram:
    """The words of NVFP4 planes that are legal: codes two a byte, scales in natural order or swizzled."""

def derive_cast(source: _Bytes, from_dtype: str, to: str, rule: str, out: _Bytes) -> Fault | None:
    """Does what `cast` does, by arithmetic of its own."""

def compare_swizzled(natural_scales: _Bytes, k: int, stored: _Bytes) -> Mismatch | None:
    """The first NVFP4 scale word, in natural order, that is not where blockscale-k16-m128x4-v1 puts it."""

def compare_words(expected: _Bytes, found: _Bytes, word_bytes: int, columns: int) -> Mismatch | None:
    """The first word of 1, 2, 4 or 8 bytes that differs, in rows of `columns` words."""

def instruction_sets() -> dict[str, bool]:
    """What kernels were compiled for, and whether this processor has it."""

def instruction_set() -> str:
    """What kernels use: the widest that this processor has, or what was chosen. All give the same bits."""

def use_instruction_set(name: str) -> None:
    """Has kernels of the whole process use another one. Raises ValueError for one that does not run here."""

def build_flags() -> str:
    """The flags that the kernels were compiled with."""
