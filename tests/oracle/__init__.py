"""Bit-level oracle of the numeric formats: the documents' rules on integers and exact fractions, for reading beside
them.

words           what a word means                       numeric-formats.md 3.1, 3.3, 6
rounding        from an exact value to a word           numeric-formats.md 7, "round-to-nearest, ties-to-even"
grouped         the four grouped signed-integer schemes numeric-formats.md 4 to 7
fp8_row         the row-scaled FP8 format and profile   numeric-formats.md 3.4, targets.md
nvfp4           the block-scaled format                 numeric-formats.md 3.3
casts           casts and reciprocals of values         recipe.md
faults          why a word is refused
storage_layouts words to payload bytes and back         storage-layouts.md

No floating-point arithmetic, and nothing of the software that it judges.
"""
