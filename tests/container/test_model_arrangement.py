from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from schemas.errors import ArtifactError
from schemas.registry import Format
from tests.container.model_samples import (
    ARTIFACT_ID,
    OBJECTS,
    PAYLOAD,
    PAYLOADS,
    TEXT,
    continuation_bytes,
    entry_bytes,
    inscription,
)
from workers.engine.container.arrangement import Arrangement
from workers.engine.container.directory import Framing
from workers.engine.container.model_arrangement import Inscription, arrange_model, arrange_placed
from workers.engine.container.model_description import (
    ActivationPolicy,
    Component,
    ElementRange,
    JoinedRanges,
    ModelDescription,
    Proposal,
    Use,
    WholeTensor,
)
from workers.engine.container.placement import UnplacedObject, UnplacedResource, UnplacedTensor
from workers.engine.container.reader import ArtifactReader
from workers.engine.container.slices import DEFAULT_PART_BYTES, Slice, split
from workers.engine.container.writer import ArtifactFiles

GOLDEN_A = (
    '{"components":{"text":{"config":{"architectures":["Example"]},"resources":{"chat_template.jinja":"t"}}},'
    '"objects":[{"id":"m","kind":"tensor","shape":[3,2],"format":"bf16","layout":"contiguous_le_v1","offset":0,'
    '"bytes":12},{"id":"s","kind":"tensor","shape":[],"format":"fp32","layout":"contiguous_le_v1","offset":256,'
    '"bytes":4},{"id":"t","kind":"resource","encoding":"raw_bytes_v1","offset":260,"bytes":14}],"bindings":{"text/a":'
    '{"object":"m"},"text/b":{"parts":[{"object":"m","range":[4,6]},{"object":"m","range":[0,2]}]}},"uses":'
    '[{"parameter":"text/a","input":"text/x","activation_policy":"AllowA4","auxiliaries":{"activation_input_divisor":'
    '{"object":"s"}}}],"metadata":{"name":"tiny"},"provenance":{},"files":[{"path":null,"payload_bytes":274}]}'
)
GOLDEN_A_SHA256 = "2612f9e9bb4975a43f8dab44b128fc515a10ba2991fe94452fa0ab6ac65274ca"
GOLDEN_B_SHA256 = (
    "599198b90db94324ee3c9dc7516308b41ef0cf0df05713d18e0c557271985cf9",
    "29d51ab803617276bdb95861869c5747d9b93e70b198d1665ca9a95d77ef2a44",
    "71edcd2414662ac955ce68080457e8e72dea6358f0594574028a0127de2c5caa",
)


BARE = ModelDescription({"text": Component({})}, {}, ())
"""What says least."""


def golden_a() -> tuple[Arrangement, list[bytes]]:
    """The first golden file's arrangement and its payloads."""
    description = ModelDescription(
        {"text": Component({"architectures": ["Example"]}, resources={"chat_template.jinja": "t"})},
        {
            "text/a": WholeTensor("m"),
            "text/b": JoinedRanges((ElementRange("m", 4, 6), ElementRange("m", 0, 2))),
        },
        (Use("text/a", "text/x", ActivationPolicy.ALLOW_A4, {"activation_input_divisor": WholeTensor("s")}),),
    )
    tensors = UnplacedTensor("m", (3, 2), Format.BF16), UnplacedTensor("s", (), Format.FP32)
    said = inscription(description, provenance={}, entry_name="tiny.ninfer")
    words = bytes.fromhex("803f 0040 4040 8040 a040 c040")
    payloads = [words, bytes.fromhex("0000003f"), b"{{ messages }}"]
    return arrange_model(said, [*tensors, UnplacedResource("t", 14)]), payloads


def golden_b() -> tuple[Arrangement, list[bytes]]:
    """The second golden file's arrangement and its payload."""
    said = inscription(
        BARE,
        metadata={},
        provenance={},
        entry_name="s.ninfer",
        part_bytes=12288,
    )
    return arrange_model(said, [UnplacedResource("r", 20000)]), [bytes((7 * i + 3) % 256 for i in range(20000))]


@pytest.mark.parametrize(
    ("golden", "names", "sizes", "digests"),
    [
        (golden_a, ["tiny.ninfer"], [4370], [GOLDEN_A_SHA256]),
        (
            golden_b,
            ["s.ninfer", "s.ninfer.part-0001", "s.ninfer.part-0002"],
            [12288, 12288, 7712],
            [*GOLDEN_B_SHA256],
        ),
    ],
)
def test_the_golden_files_come_out_byte_for_byte_and_are_read_back(
    tmp_path: Path,
    golden: Callable[[], tuple[Arrangement, list[bytes]]],
    names: list[str],
    sizes: list[int],
    digests: list[str],
) -> None:
    arrangement, payloads = golden()
    with ArtifactFiles.create(tmp_path / names[0], arrangement) as files:
        for stored, data in zip(arrangement.objects, payloads, strict=True):
            files.write_at(stored, 0, data)
        assert [path.name for path in files.paths] == names
    written = [(tmp_path / name).read_bytes() for name in names]
    assert [len(one) for one in written] == sizes
    assert [hashlib.sha256(one).hexdigest() for one in written] == digests
    with ArtifactReader(tmp_path / names[0]) as reader:
        assert reader.artifact.description == arrangement.description
        assert reader.artifact.objects == arrangement.objects
        assert reader.artifact.slices == arrangement.slices
        assert reader.artifact.prefix.artifact_id == ARTIFACT_ID
        for stored, expected in zip(arrangement.objects, payloads, strict=True):
            found = bytearray(stored.bytes)
            reader.read_at(stored, 0, found)
            assert found == expected


def test_the_first_golden_directory_is_the_contracts_text_and_blanks() -> None:
    arrangement, _ = golden_a()
    assert len(GOLDEN_A.encode()) == 747
    assert arrangement.directory == GOLDEN_A.encode().ljust(4064)
    assert arrangement.directory_sha256 == hashlib.sha256(arrangement.directory).hexdigest()


def test_everything_that_can_be_said_is_written_as_the_contract_spells_it(tmp_path: Path) -> None:
    arrangement = arrange_model(inscription(), OBJECTS)
    assert arrangement.framing is Framing.THREE
    assert arrangement.directory == TEXT.encode().ljust(4064)
    with ArtifactFiles.create(tmp_path / "m.ninfer", arrangement) as files:
        for stored in reversed(arrangement.objects):
            files.write_at(stored, 0, PAYLOADS[stored.name])
    assert (tmp_path / "m.ninfer").read_bytes() == entry_bytes(TEXT)
    assert len(PAYLOAD) == arrangement.payload_bytes


def test_a_proposal_over_the_whole_vocabulary_has_no_rows() -> None:
    description = ModelDescription({"text": Component({}, proposal=Proposal(None))}, {}, ())
    assert b'{"domain":"full"}' in arrange_model(inscription(description), OBJECTS).directory


def test_an_entry_is_its_header_and_directory_and_a_continuation_its_header() -> None:
    arrangement, _ = golden_b()
    directory = arrangement.directory
    assert arrangement.front() == b"NINFER\0\x03" + (4064).to_bytes(8, "little") + ARTIFACT_ID + directory
    assert arrangement.front(2) == continuation_bytes(2, b"")[:32]


def test_zeros_stand_for_an_id_that_is_not_known_yet() -> None:
    arrangement = arrange_model(inscription(artifact_id=None), OBJECTS)
    assert arrangement.front()[16:32] == bytes(16)
    assert arrangement.directory == arrange_model(inscription(), OBJECTS).directory


def sizes(slices: tuple[Slice, ...]) -> list[int]:
    return [one.stop - one.start for one in slices]


def test_the_contracts_check_numbers_of_parts_come_out() -> None:
    slices = split(65_536, 140_246_016, 64_000_000, "m.ninfer")
    assert sizes(slices) == [63_934_464, 63_995_904, 12_315_648]
    assert [one.file_bytes for one in slices] == [64_000_000, 64_000_000, 12_319_744]
    assert [one.name for one in slices] == [None, "m.ninfer.part-0001", "m.ninfer.part-0002"]
    assert sizes(split(65_536, 10**11, DEFAULT_PART_BYTES, "m"))[0] == 31_999_934_464


def test_parts_have_at_least_four_digits() -> None:
    names = [one.name for one in split(4096, 4096 * 10_001, 8192, "m")]
    assert (names[1], names[9_999], names[10_000]) == ("m.part-0001", "m.part-9999", "m.part-10000")


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (4096 + 10_000, [10_000]),
        (4096 + 9_999, [8192, 1808]),
        (12_288, [8192, 1808]),
        (12_287, [4096, 4096, 1808]),
        (8192, [4096, 4096, 1808]),
    ],
)
def test_a_file_is_split_where_it_would_be_one_byte_too_long(limit: int, expected: list[int]) -> None:
    assert sizes(split(4096, 10_000, limit, "m")) == expected


@pytest.mark.parametrize(
    ("start", "limit", "least"), [(4096, 8191, 8192), (8192, 12_287, 12_288), (8192, 8192, 12_288), (4096, 1, 8192)]
)
def test_parts_that_could_hold_nothing_are_refused(start: int, limit: int, least: int) -> None:
    message = f"bytes a part: expected at least {least}, for directory and payload, found {limit}"
    with pytest.raises(ArtifactError) as caught:
        split(start, 10_000, limit, "m")
    assert str(caught.value) == message


def test_more_parts_than_a_directory_can_list_are_refused() -> None:
    assert len(split(4096, 4096 * 100_000, 8192, "m")) == 100_000
    with pytest.raises(ArtifactError, match=r"so many that there are at most 100000 files, found 8192$"):
        split(4096, 4096 * 100_000 + 1, 8192, "m")


def test_a_list_of_files_that_fills_the_directory_moves_the_payload() -> None:
    arrangement = arrange_model(inscription(BARE, part_bytes=16_384), [UnplacedResource("r", 1_000_000)])
    assert arrangement.payload_offset == 8192
    assert len(arrangement.directory) == 8192 - 32
    assert sizes(arrangement.slices)[:2] == [8192, 12_288]
    assert all(one.file_bytes <= 16_384 for one in arrangement.slices)


@pytest.mark.parametrize("extra", [0, 1])
def test_a_directory_that_just_fills_a_block_moves_the_payload_only_when_it_grows(extra: int) -> None:
    one = UnplacedResource("r", 1)
    base = len(arrange_model(inscription(BARE), [one]).directory.rstrip())
    said = inscription(BARE, provenance={"converter": "é" + "x" * (4064 - base + extra)})
    arrangement = arrange_model(said, [one])
    assert arrangement.payload_offset == 4096 * (1 + extra)
    assert len(arrangement.directory) == arrangement.payload_offset - 32


def test_objects_that_have_their_places_keep_them_in_a_longer_payload() -> None:
    placed = arrange_model(inscription(), OBJECTS).objects
    arrangement = arrange_placed(inscription(BARE), placed[1:], 2000)
    assert arrangement.objects == placed[1:]
    assert arrangement.payload_bytes == 2000
    assert arrangement.file_bytes == 6096


REFUSED: list[tuple[str, Inscription, list[UnplacedObject], str]] = [
    ("no objects", inscription(BARE), [], "arrangement: expected at least one object, found none"),
    (
        "no name of the entry",
        inscription(BARE, entry_name=""),
        [*OBJECTS],
        "name of the entry file: expected a non-empty string, found an empty one",
    ),
    (
        "short id",
        inscription(BARE, artifact_id=bytes(15)),
        [*OBJECTS],
        "artifact id: expected 16 bytes, found 15 bytes",
    ),
    (
        "NUL in an object's id",
        inscription(BARE),
        [UnplacedResource("a\0", 1)],
        "arrangement, objects[0] 'a\\x00', member 'id': expected an id without the character U+0000, found 'a\\x00'",
    ),
    (
        "folder in the name of the entry",
        inscription(BARE, entry_name="a/m.ninfer", part_bytes=8192),
        [UnplacedResource("r", 5000)],
        "arrangement, files[1], member 'path': expected the bare name of a file beside the entry, "
        "found 'a/m.ninfer.part-0001'",
    ),
    (
        "no text",
        inscription(ModelDescription({"mtp": Component({})}, {}, ())),
        [*OBJECTS],
        "arrangement, components: expected a component 'text', found none",
    ),
    (
        "binding to nothing",
        inscription(ModelDescription({"text": Component({})}, {"a": WholeTensor("b")}, ())),
        [*OBJECTS],
        "arrangement, bindings, 'a', member 'object': expected the id of a tensor object, found 'b'",
    ),
    (
        "sizes past 64 bits",
        inscription(BARE, part_bytes=2**65),
        [UnplacedResource("r", 2**64 - 1)],
        "arrangement: expected files of at most 18446744073709551615 bytes, found 18446744073709555711",
    ),
]


@pytest.mark.parametrize(
    ("said", "objects", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_what_no_directory_may_say_is_refused(
    said: Inscription, objects: list[UnplacedObject], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ArtifactError) as caught:
        ArtifactFiles.create(tmp_path / "a.ninfer", arrange_model(said, objects))
    assert str(caught.value) == message
    assert list(tmp_path.iterdir()) == []
