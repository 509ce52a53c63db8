"""What every test shares: programs kept between runs but not piled up, reproducible examples."""

from pathlib import Path

import jax
import pytest
from hypothesis import HealthCheck, settings

# Ignored by git and removed by `make clean`; a second run of the tests compiles next to nothing.
jax.config.update(
    "jax_compilation_cache_dir", str(Path(__file__).parents[1] / ".pytest_cache" / "jax")
)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)

# Neither deadlines nor a check of speed: a busy machine is no failure.
settings.register_profile(
    "hedgerow",
    deadline=None,
    max_examples=30,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("hedgerow")

MOST_MAPS = 15_000
"""Memory maps of a test process at which compiled programs are let go. Each brings a dozen, and a
process that reaches the kernel's limit (65,530 by default) dies."""


@pytest.fixture(autouse=True, scope="module")
def compiled_programs_do_not_pile_up():
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > MOST_MAPS:
        jax.clear_caches()
