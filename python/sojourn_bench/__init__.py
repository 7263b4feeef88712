"""The measurements of `sojourn bench`.

Speed is reported as a ratio to the bare loop (`benches/bare-loop`), whose program runs before and
after each measurement. Machines are noisy, but a disturbance slows both. Each measurement runs in
its own process (`worker`), so that its memory is separate.
"""
