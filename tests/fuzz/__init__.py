"""Inputs made by mutation, seeded. HEDGEROW_FUZZ multiplies their number; `make fuzz` sets it."""

import os

FACTOR = int(os.environ.get("HEDGEROW_FUZZ", "1"))
