"""What every test shares: compiled programs kept between runs, and reproducible examples."""

from pathlib import Path

import jax
from hypothesis import settings

# Ignored by git and removed by `make clean`; a second run of the tests compiles next to nothing.
jax.config.update(
    "jax_compilation_cache_dir", str(Path(__file__).parents[1] / ".pytest_cache" / "jax")
)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)

settings.register_profile("hedgerow", deadline=None, max_examples=30, derandomize=True)
settings.load_profile("hedgerow")
