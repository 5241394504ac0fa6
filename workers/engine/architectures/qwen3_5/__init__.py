"""Architecture `qwen3_5`: dense and mixture-of-experts text models, with vision, MTP and two draft models beside them.

`config_rules` is the closed set of members, `parameters` the table of logical parameters, `object_names` that of
inventory names. `describe` goes from objects to a description, `validation` and `execution` judge one that was read.
"""
