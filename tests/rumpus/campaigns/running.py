from pathlib import Path


def is_running(pid):
    """Whether a process runs, and is not only waiting for its parent to look at it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
