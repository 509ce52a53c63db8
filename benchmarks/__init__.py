"""Scripts behind every claim of speed or quality. `make bench` runs them all; each also runs alone:
`python -m benchmarks.speed`."""
