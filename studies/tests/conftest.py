"""What the studies' tests share with the library's: kept programs, reproducible examples."""

import tests.conftest  # noqa: F401
