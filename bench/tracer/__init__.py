"""The parts of bench_tracer.py."""
