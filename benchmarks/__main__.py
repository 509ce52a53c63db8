"""Run the benchmarks that take minutes, one after another, each in a process of its own."""

import subprocess
import sys

for name in (
    "deciding",
    "cold_start",
    "row_counts",
    "hot_loop",
    "speed",
    "peers",
    "scale",
    "quality",
    "restaurant",
    "transport",
    "recourse",
    "certified",
    "interpretation",
):
    print(f"\n=== {name} ===", flush=True)
    subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)
