"""The compiled loops, for float32 on the CPU; each row is summed by one thread in a fixed order, so bits are stable."""
