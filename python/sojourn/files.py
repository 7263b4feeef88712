"""Write single files completely or not at all."""

from pathlib import Path

from sojourn import folder


def write(file: Path, content: str | bytes) -> Path:
    """Write a file by way of a hidden folder beside it; replace the file if it exists.

    A failure leaves neither a partial file nor the hidden folder. The `OSError` names `file`,
    because the system calls that fail on a full disk report no name.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        with folder.hidden(file) as place:
            part = place / "file"
            part.write_bytes(data)
            part.replace(file)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(file)) from error
    return file
