"""The `.ninfer` container (container.md, container-v3.md), framings 1 to 3: an arranger and a writer, and a reader of
its own.

`directory`, `model_description`, `slices` and `spellings` hold what both sides speak of, `limits` what neither exceeds.
The reading side (`strict_json`, `front`, the `..._records`, `continuation`, `reader`, `gaps`) uses nothing of the
writing side (`placement`, `arrangement`, `model_arrangement`, `writer` and its `output_file`), so that it can judge
what was written.
"""
