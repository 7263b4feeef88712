"""Figures as people read them."""


def ms_text(seconds: float) -> str:
    """A time in milliseconds, or in seconds from ten on."""
    # Four digits, but never as a power of ten.
    return f"{1000 * seconds:.4g} ms" if seconds < 9.9995 else f"{seconds:.5g} s"
