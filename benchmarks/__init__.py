"""Scripts behind every claim of speed or quality. `make bench` runs those that take minutes and
need no data of their own; each also runs alone: `python -m benchmarks.speed`."""
