"""How the package speaks: numbers, names, what parts say of themselves, what a page computes with.

The lowest layer: it imports nothing of the package, and takes policies and parts as they come. So
every part can use it to describe itself, and whoever shows something to a person says it the same
way: ``describe.numbers``, ``describe.names``, ``describe.text``, ``describe.parts``,
``describe.page_form``.
"""
