"""What the studies' tests share with the library's: kept programs, reproducible examples."""

from tests.conftest import compiled_programs_do_not_pile_up

__all__ = ["compiled_programs_do_not_pile_up"]
