"""What files of framings 1 and 2 are changed with."""

from __future__ import annotations

from tests.container.mutations import TOKENS, VALUES, Vocabulary
from tests.container.samples import OBJECTS_TEXT, TEXT_1, TEXT_2, file_bytes

_NVFP4_TEXT = (
    '{"identity":{"model_id":"m","weights_id":"w"},"objects":['
    '{"name":"a","kind":"tensor","shape":[128,64],"format":"NVFP4","layout":"blockscale-k16-m128x4-v1",'
    '"offset":0,"bytes":4612},'
    '{"name":"b","kind":"tensor","shape":[3,5],"format":"FP8_E4M3FN_ROW_BF16S","layout":"row-scale-v1",'
    '"offset":4864,"bytes":262},'
    '{"name":"c","kind":"resource","encoding":"raw-bytes-v1","offset":5126,"bytes":1}]}'
)

SINGLE_FILE = Vocabulary(
    header=16,
    front=700,
    bases=(
        file_bytes(TEXT_1, magic=b"NINFER\0\x01"),
        file_bytes(TEXT_2),
        file_bytes(_NVFP4_TEXT, bytes(5127)),
        file_bytes('{"model_id":"m","objects":' + OBJECTS_TEXT + " }", magic=b"NINFER\0\x01"),
    ),
    tokens=(*TOKENS, b'"name":"a",'),
    values=(*VALUES, "bias", "BF16", "I32", "Q4G64_F16S", "row-split-k128-v1", "raw-bytes-v1", {"name": "a"}),
    names=(
        *("name", "kind", "shape", "format", "layout", "encoding", "offset", "bytes"),
        *("model_id", "objects", "", "identity"),
    ),
)
