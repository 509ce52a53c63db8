"""Policy files: one safetensors file with arrays and a JSON description; nothing is unpickled.

    file → arrays and description, unaltered  →  as declared?  →  parts  →  policy
           (``storage``)                         (``schema``)    (``parts``)  (``policies``)

The header's metadata has one key, ``hedgerow``, holding JSON: the format's version, a digest, and a
description built from plain values and parts, each named by its import path. Reading imports
nothing: a part is looked up among those of this package and those handed over
(``load(path, parts=[...])``). A function (``CustomLoss``) or an optimiser is never stored, only
noted.

Arrays: the rule's leaves, the units and the history. Description: the parts the policy was composed
of, the resolved model, names, status and the robust value, if it is known. The nominal distribution
stays behind.

Everything is checked before anything is built, and whatever is wrong ends in ``PolicyFileError``. A
policy that was read decides within its decision set, for that is taken from its loss, not from the
file's arrays. The digest tells of damage; a file that was forged can still decide badly.
"""

# ruff: noqa: F401 (the imports below tell type checkers what the names are)

from typing import TYPE_CHECKING

from hedgerow._lazy import lazy

if TYPE_CHECKING:
    from hedgerow.policy_file.errors import PolicyFileError, told_of
    from hedgerow.policy_file.parts import Known, describe, path_of
    from hedgerow.policy_file.policies import packed, unpacked, write_policy
    from hedgerow.policy_file.storage import FORMAT, digest

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "errors": "PolicyFileError told_of",
        "parts": "Known describe path_of",
        "policies": "packed unpacked write_policy",
        "storage": "FORMAT digest",
    },
)
