"""What framing 3 must know of a model beyond its bytes: one package an architecture, which `registered` finds.

An architecture derives components, bindings and uses from named objects and a checkpoint's config, and checks those of
a file that was read. All of it is pure: no payload is read here.
"""
