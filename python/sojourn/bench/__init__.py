"""What `sojourn bench` measures, and how.

Speed is told as a ratio to the bare loop (`benches/bare-loop`), which runs before and after each
measurement in the same process: machines are noisy, and what slows one slows the other. Each
measurement is a process of its own (`worker`), so that its memory is its own too.
"""
