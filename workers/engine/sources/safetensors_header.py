"""The safetensors header: where each tensor's bytes lie, checked completely before any is read.

A file is an 8-byte little-endian header length, that many bytes of JSON, and the data. The tensors cover the data
without hole or overlap. All of that is checked for every tensor; a dtype that is not known is a fault only where it is
used (recipe.md, values).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from schemas.errors import SourceError
from schemas.source_dtypes import ELEMENT_BYTES, SourceDtype
from workers.engine.sources.json_object import parse_object
from workers.engine.sources.source_file import SourceFile, read_fully, refuse_lfs_pointer
from workers.engine.sources.wording import quoted, shown_json

LENGTH_BYTES = 8
MAX_HEADER_BYTES = 100_000_000
"""The limit that the safetensors library itself sets."""

_METADATA = "__metadata__"
_MEMBERS = frozenset({"dtype", "shape", "data_offsets"})
_LARGEST = 2**63 - 1
_KNOWN = {dtype.value: dtype for dtype in SourceDtype}
_OTHER_KINDS = {
    b"PK\x03\x04": "a zip archive, as torch.save writes it",
    b"\x80\x02": "a Python pickle, as torch.save writes it",
    b"\x80\x04": "a Python pickle",
    b"{": "a JSON text; an indexed checkpoint is given by its folder",
    b"GGUF": "a GGUF file",
    b"\x93NUMPY": "a NumPy file",
    b"\x89HDF\r\n": "an HDF5 file",
    b"NINFER\x00": "a .ninfer artifact",
}


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """One tensor of a shard: `bytes` bytes from `start`, an absolute offset in `file`, C order, little-endian."""

    name: str
    dtype_name: str
    shape: tuple[int, ...]
    file: SourceFile
    start: int
    bytes: int

    @property
    def where(self) -> str:
        return _tensor_words(self.file, self.name)

    @property
    def dtype(self) -> SourceDtype:
        """The dtype. SourceError if it is none that is known by size."""
        known = _KNOWN.get(self.dtype_name)
        if known is None:
            raise SourceError(
                self.where, expected=f"a dtype out of {', '.join(_KNOWN)}", found=shown_json(self.dtype_name)
            )
        return known

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


def _tensor_words(file: SourceFile, name: str) -> str:
    return f"{file.where}, tensor {quoted(name)}"


def read_header(descriptor: int, file: SourceFile) -> dict[str, TensorEntry]:
    """The tensors of the open file by name, in the header's order. Raises SourceError (see parse_header)."""
    if file.bytes == 0:
        raise SourceError(file.where, expected="a safetensors file", found="an empty file")
    head = bytearray(min(file.bytes, 32))
    read_fully(descriptor, memoryview(head), 0, file)
    header = bytearray(_header_bytes(bytes(head), file))
    read_fully(descriptor, memoryview(header), LENGTH_BYTES, file)
    return parse_header(bytes(header), file)


def _header_bytes(head: bytes, file: SourceFile) -> int:
    """The length of the header, from the first bytes of the file."""
    refuse_lfs_pointer(head, file.where)
    length = int.from_bytes(head[:LENGTH_BYTES], "little")
    if len(head) > LENGTH_BYTES and head[LENGTH_BYTES] == ord("{") and length <= MAX_HEADER_BYTES:
        if LENGTH_BYTES + length > file.bytes:
            raise SourceError(
                file.where,
                expected=f"a header of {length} bytes, as its first 8 bytes say",
                found=f"a truncated file of {file.bytes} bytes in all",
            )
        return length
    for magic, kind in _OTHER_KINDS.items():
        if head.startswith(magic):
            raise SourceError(file.where, expected="a safetensors file", found=kind)
    if len(head) <= LENGTH_BYTES:
        raise SourceError(
            file.where,
            expected="a header length of 8 bytes and a header",
            found=f"a truncated file of {len(head)} bytes",
        )
    if length > MAX_HEADER_BYTES:
        raise SourceError(file.where, expected=f"a header of at most {MAX_HEADER_BYTES} bytes", found=f"{length}")
    raise SourceError(
        file.where, expected="a header that begins with {", found=f"the byte 0x{head[LENGTH_BYTES]:02x} there"
    )


def parse_header(header: bytes, file: SourceFile) -> dict[str, TensorEntry]:
    """The tensors that `header` lists, by name and in its order; the data follows it up to the end of `file`.

    Raises SourceError, naming file and tensor, for a header that is not the JSON of the format, an extent or offset
    that is no integer from 0 to 2^63-1, a tensor whose offsets hold another number of bytes than dtype and shape say,
    and offsets that overlap, leave a hole or pass the end. Scalars and tensors without elements are legal.
    """
    members = parse_object(header, file.where)
    _check_metadata(members.pop(_METADATA, {}), file)
    data_start = LENGTH_BYTES + len(header)
    entries = {name: _entry(name, described, data_start, file) for name, described in members.items()}
    _check_coverage(entries, data_start, file)
    return entries


def _check_metadata(metadata: object, file: SourceFile) -> None:
    expected = f"{_METADATA} as an object of texts"
    if not isinstance(metadata, Mapping):
        raise SourceError(file.where, expected=expected, found=shown_json(metadata))
    for name, value in metadata.items():
        if not isinstance(value, str):
            raise SourceError(file.where, expected=expected, found=f"{shown_json(value)} for {quoted(name)}")


def _entry(name: str, described: object, data_start: int, file: SourceFile) -> TensorEntry:
    try:
        dtype_name, shape, begin, end = _description(described, file.bytes - data_start)
    except _FaultError as fault:
        raise SourceError(_tensor_words(file, name), expected=fault.expected, found=fault.found) from None
    return TensorEntry(name, dtype_name, shape, file, data_start + begin, end - begin)


class _FaultError(Exception):
    """A fault of one tensor's description, before it is known where that stands."""

    def __init__(self, *, expected: str, found: str) -> None:
        super().__init__(expected, found)
        self.expected = expected
        self.found = found


def _description(described: object, data_bytes: int) -> tuple[str, tuple[int, ...], int, int]:
    """dtype name, shape, and the two offsets into the data, of which there are `data_bytes` bytes."""
    if not isinstance(described, dict):
        raise _FaultError(expected="an object with dtype, shape and data_offsets", found=shown_json(described))
    if described.keys() != _MEMBERS:
        raise _wrong_members(described)
    dtype_name = described["dtype"]
    if not isinstance(dtype_name, str):
        raise _FaultError(expected="a dtype name", found=shown_json(dtype_name))
    shape = _shape(described["shape"])
    begin, end = _offsets(described["data_offsets"], data_bytes)
    known = _KNOWN.get(dtype_name)
    if known is not None:
        size = _tensor_bytes(shape, ELEMENT_BYTES[known])
        if size != end - begin:
            raise _FaultError(
                expected=f"{size} bytes for {dtype_name} {list(shape)}", found=f"{end - begin} between its offsets"
            )
    return dtype_name, shape, begin, end


def _wrong_members(described: dict[str, object]) -> _FaultError:
    missing = sorted(_MEMBERS - described.keys())
    found = f"no {missing[0]}" if missing else f"also {quoted(min(described.keys() - _MEMBERS))}"
    return _FaultError(expected="the members dtype, shape and data_offsets", found=found)


def _shape(value: object) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise _FaultError(expected="a shape as a list of integers", found=shown_json(value))
    for extent in value:
        if type(extent) is not int or not 0 <= extent <= _LARGEST:
            raise _FaultError(expected="extents from 0 to 2^63-1 in its shape", found=shown_json(extent))
    return tuple(value)


def _offsets(value: object, data_bytes: int) -> tuple[int, int]:
    if not isinstance(value, list) or len(value) != 2:
        raise _FaultError(expected="data_offsets as a list of two integers", found=shown_json(value))
    begin, end = value
    if type(begin) is int and type(end) is int and 0 <= begin <= end <= data_bytes:
        return begin, end
    for offset in value:
        if type(offset) is not int or not 0 <= offset <= _LARGEST:
            raise _FaultError(expected="data_offsets from 0 to 2^63-1", found=shown_json(offset))
    if begin > end:
        raise _FaultError(expected="data_offsets in order", found=f"begin {begin} after end {end}")
    raise _FaultError(
        expected=f"data_offsets within the {data_bytes} bytes of data that the file has",
        found=f"an end at {end}: the file is truncated, or its header wrong",
    )


def _tensor_bytes(shape: tuple[int, ...], width: int) -> int:
    """Bytes of a tensor; the product of all extents but zeros must be a size that a file can have."""
    size = width
    for extent in shape:
        size *= extent or 1
        if size > _LARGEST:
            raise _FaultError(expected="a shape of at most 2^63-1 bytes", found="a product of extents past it")
    return 0 if 0 in shape else size


def _check_coverage(entries: Mapping[str, TensorEntry], data_start: int, file: SourceFile) -> None:
    """The tensors follow each other from the start of the data to the end of the file."""
    covered, last = data_start, None
    for entry in sorted(entries.values(), key=lambda entry: (entry.start, entry.bytes)):
        if entry.start != covered:
            raise _misplaced(entry, last, covered, data_start)
        covered, last = entry.start + entry.bytes, entry
    if covered != file.bytes:
        raise SourceError(
            file.where,
            expected=f"the tensors to cover all {file.bytes - data_start} bytes of data",
            found=f"{file.bytes - covered} bytes at the end that belong to none",
        )


def _misplaced(entry: TensorEntry, last: TensorEntry | None, covered: int, data_start: int) -> SourceError:
    begin, due = entry.start - data_start, covered - data_start
    before = "the data begins" if last is None else f"tensor {quoted(last.name)} ends"
    kind = f"a hole of {begin - due} bytes" if begin > due else f"an overlap of {due - begin} bytes"
    return SourceError(entry.where, expected=f"data from offset {due} on, where {before}", found=f"{begin}, {kind}")
