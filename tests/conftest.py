"""What every test shares: programs kept between runs, reproducible examples."""

from pathlib import Path

import jax
from hypothesis import HealthCheck, settings

from hedgerow import programs

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

# A test process has programs of some thousand shapes, each needed again by other tests.
programs.MOST_MAPS = 40_000
