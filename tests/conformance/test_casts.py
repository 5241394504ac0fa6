"""The native casts, and the verifier's own reading of them, agree with the oracle word by word."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conformance import native
from tests.conformance.blocks import Refusal
from tests.conformance.cast_cases import CAST_CASES, OUTSIDE, TARGET_BYTES, CastCase
from tests.oracle.casts import word_bits
from tests.oracle.faults import Reason
from workers import _native


def little_endian(words: list[int], width: int) -> native.Bytes:
    return native.array(b"".join(word.to_bytes(width, "little") for word in words))


def check_accepted(case: CastCase, words: list[int], results: list[int]) -> None:
    """All at once: no fault, and the oracle's words, from the encoder and from the verifier."""
    source = little_endian(words, word_bits(case.dtype) // 8)
    expected = little_endian(results, TARGET_BYTES[case.to])
    for cast in (_native.cast, _native.derive_cast):
        out = np.full(len(expected), native.UNWRITTEN, np.uint8)
        assert cast(source, case.dtype, case.to, case.by, out) is None
        width = TARGET_BYTES[case.to]
        wrong = [f"{words[i]:X}" for i in np.flatnonzero((out != expected).reshape(-1, width).any(axis=1))]
        assert not wrong, f"{case.name}: {wrong[:10]}"


def check_refused(case: CastCase, refused: dict[int, Reason]) -> None:
    """Each behind two zeros, so that the place shows."""
    width = word_bits(case.dtype) // 8
    source, out = np.zeros(3 * width, np.uint8), np.zeros(3 * TARGET_BYTES[case.to], np.uint8)
    for word, reason in refused.items():
        source[2 * width :] = list(word.to_bytes(width, "little"))
        for cast in (_native.cast, _native.derive_cast):
            fault = cast(source, case.dtype, case.to, case.by, out)
            assert native.refusal(fault) == Refusal(reason, 0, 2, word), f"{case.name}: {word:X}"


def check(case: CastCase, words: list[int]) -> None:
    verdicts = {word: case.result(word) for word in words}
    accepted = {word: verdict for word, verdict in verdicts.items() if not isinstance(verdict, Reason)}
    if accepted:
        check_accepted(case, list(accepted), list(accepted.values()))
    check_refused(case, {word: verdict for word, verdict in verdicts.items() if isinstance(verdict, Reason)})


@pytest.mark.parametrize("case", CAST_CASES, ids=lambda case: case.name)
def test_cast_and_oracle_agree(case: CastCase) -> None:
    check(case, case.words)


@pytest.mark.parametrize(
    "case", [case for case in CAST_CASES if word_bits(case.dtype) > 16], ids=lambda case: case.name
)
@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_cast_and_oracle_agree_on_any_words(case: CastCase, data: st.DataObject) -> None:
    check(case, data.draw(st.lists(st.integers(0, (1 << word_bits(case.dtype)) - 1), min_size=1, max_size=20)))


@pytest.mark.parametrize(("dtype", "to", "by"), OUTSIDE)
def test_no_other_cast_exists(dtype: str, to: str, by: str) -> None:
    source, out = np.zeros(8, np.uint8), np.zeros(8, np.uint8)
    with pytest.raises(ValueError, match=dtype):
        _native.cast(source, dtype, to, by, out)
    with pytest.raises(ValueError, match=dtype):
        _native.derive_cast(source, dtype, to, by, out)
