"""The parts of bench_memory.py."""
