"""Figures formatted for readers."""


def ms_text(seconds: float) -> str:
    """Format a time in milliseconds, or in seconds from ten seconds on."""
    # Four digits, but without exponent notation.
    return f"{1000 * seconds:.4g} ms" if seconds < 9.9995 else f"{seconds:.5g} s"
