"""The draft head's ids: selection from counts, forced ids, ties, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.errors import PlanError, SourceError, WordError
from schemas.recipe.expanded import DraftIds
from tests.engine.conversions import SILENT, recipe, write_checkpoint
from tests.oracle.draft_ids import by_the_page
from workers.engine.convert import convert
from workers.engine.draft_head import check_ranking_size, ranking_counts, select_draft_ids, special_ids
from workers.engine.plan import Plan, plan_conversion
from workers.engine.sources.roots import ANYWHERE
from workers.engine.verify import Coverage

OP = DraftIds(counts="ranking", width=12, domain=10, take=6, special="tokenizer_config.json")


@settings(max_examples=300)
@given(st.data())
def test_selection_follows_the_page(data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=30))
    take = data.draw(st.integers(1, len(counts)))
    forced = data.draw(st.lists(st.sampled_from(range(len(counts))), unique=True, max_size=take))
    chosen = select_draft_ids(np.array(counts, dtype=np.int64), tuple(sorted(forced)), take)
    assert chosen.dtype == np.int32
    assert chosen.tolist() == by_the_page(counts, forced, take)
    assert len(set(chosen.tolist())) == take


def test_a_domain_with_too_few_ids_is_refused() -> None:
    with pytest.raises(WordError, match="expected 4 ids, found a domain of 3"):
        select_draft_ids(np.zeros(3, np.int64), (), 4)


@pytest.mark.parametrize("size", [0, 8, 95, 97, 8 * 12 * 6 + 1])
def test_a_ranking_file_of_another_size_is_refused(size: int) -> None:
    with pytest.raises(
        SourceError, match=rf"source ranking: expected a positive multiple of 96 bytes.*found {size} bytes"
    ):
        check_ranking_size(size, OP, where="source ranking")


@pytest.mark.parametrize(
    ("at", "count", "message"),
    [(3, -1, "counts that are not negative, found -1 for id 3"), (10, 5, "zero for ids from 10 on, found 5 for id 10")],
)
def test_counts_that_cannot_be_are_refused(at: int, count: int, message: str) -> None:
    row = np.zeros(12, "<i8")
    row[at] = count
    with pytest.raises(WordError, match=message):
        ranking_counts(row.tobytes(), OP, where="source ranking")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "resource tokenizer_config.json: expected"),
        ("[]", "resource tokenizer_config.json: expected"),
        ("{}", "expected a member added_tokens_decoder"),
        ('{"added_tokens_decoder": []}', r"expected a member added_tokens_decoder with token entries, found \[\]"),
        ('{"added_tokens_decoder": {"3": []}}', "expected entries whose `special` is true or false"),
        ('{"added_tokens_decoder": {"3": {"special": 1}}}', "expected entries whose `special` is true or false"),
        ('{"added_tokens_decoder": {"4": {"special": true}, "4": {"special": false}}}', "every name once"),
        (json.dumps({"added_tokens_decoder": {"9" * 5000: {"special": True}}}), "ids from 0 to 9, found entry '9999"),
        ('{"added_tokens_decoder": {"10": {"special": true}}}', "expected ids from 0 to 9, found entry '10'"),
        ('{"added_tokens_decoder": {"-1": {"special": true}}}', "expected ids from 0 to 9, found entry '-1'"),
        ('{"added_tokens_decoder": {"x": {"special": true}}}', "expected ids from 0 to 9, found entry 'x'"),
        ('{"added_tokens_decoder": {"01": {"special": true}}}', "expected ids without leading zeros"),
        (json.dumps({"added_tokens_decoder": {str(i): {"special": True} for i in range(7)}}), "at most 6 special ids"),
    ],
)
def test_a_tokenizer_config_without_usable_special_tokens_is_refused(text: str, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        special_ids(text.encode(), OP, where="resource tokenizer_config.json")


def test_special_ids_are_those_that_say_so() -> None:
    decoder = {"7": {"special": True}, "2": {"special": False}, "0": {"special": True, "content": "<s>"}, "1": {}}
    text = json.dumps({"added_tokens_decoder": decoder})
    assert special_ids(text.encode(), OP, where="resource") == (0, 7)


def planned(folder: Path, counts: list[int], decoder: dict[str, Any]) -> Plan:
    """A conversion of a head of 10 rows, gathered by the selection."""
    head = np.arange(10 * 64, dtype="<u2").reshape(10, 64)
    place = write_checkpoint(folder / "model.safetensors", {"head": ("BF16", (10, 64), head.tobytes())})
    (folder / "ranking").write_bytes(np.array([*counts, 0, 0, *range(12)], "<i8").tobytes())
    (folder / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": decoder}))
    draft = {"counts": "ranking", "width": 12, "domain": 10, "take": 6, "special": "tokenizer_config.json"}
    made = recipe(
        [
            {
                "name": "draft_head",
                "shape": [6, 64],
                "format": "BF16",
                "value": {"gather": {"tensor": "head", "source": "base"}, "rows": "ids"},
            },
            {"name": "ids", "shape": [6], "format": "I32", "value": {"draft_ids": draft}},
        ],
        sources={"base": {"kind": "checkpoint"}, "ranking": {"kind": "file"}},
        resources=[{"name": "tokenizer_config.json", "source": "base", "file": "tokenizer_config.json"}],
    )
    return plan_conversion(made, {"base": place, "ranking": folder / "ranking"}, roots=ANYWHERE)


def test_ids_and_gathered_head_are_converted_and_verified(tmp_path: Path) -> None:
    counts = [5, 0, 7, 7, 1, 0, 0, 2, 9, 0]
    plan = planned(tmp_path, counts, {"9": {"special": True}, "1": {"special": True}, "8": {"special": False}})
    out = tmp_path / "out.ninfer"
    convert(plan, out, coverage=Coverage.FULL, threads=2, observers=SILENT)
    data, start = out.read_bytes(), plan.arrangement.payload_offset
    chosen = by_the_page(counts, [1, 9], 6)
    ids, head = plan.objects[2], plan.objects[1]
    assert np.frombuffer(data[start + ids.offset :][: ids.bytes], "<i4").tolist() == chosen == [8, 2, 3, 0, 1, 9]
    rows = np.frombuffer(data[start + head.offset :][: head.bytes], "<u2").reshape(6, 64)
    assert rows[:, 0].tolist() == [64 * i for i in chosen]


def test_files_that_give_no_ids_fail_the_plan_together(tmp_path: Path) -> None:
    with pytest.raises(PlanError) as raised:
        planned(tmp_path, [1] * 9, {"10": {"special": True}})
    ranking, tokens = raised.value.faults
    assert {ranking.at, tokens.at} == {"/objects/1"}
    size = "expected a positive multiple of 96 bytes (12 counts), found 184 bytes"
    assert ranking.message == f"source ranking, file {tmp_path}/ranking: {size}"
    where = f"resource tokenizer_config.json, file {tmp_path}/tokenizer_config.json"
    assert tokens.message == f"{where}: expected ids from 0 to 9, found entry '10'"


def test_a_count_that_cannot_be_fails_the_plan(tmp_path: Path) -> None:
    with pytest.raises(PlanError) as raised:
        planned(tmp_path, [1] * 9 + [-4], {})
    [fault] = raised.value.faults
    found = "expected counts that are not negative, found -4 for id 9"
    assert str(fault) == f"/objects/1: source ranking, file {tmp_path}/ranking: {found}"
