"""What to say of a module whose process gave no report: the caller killed it, or it died."""

from toolrack_runner.module.fault import Fault, fault


def import_hung(module: str, line: int | None, seconds: float) -> Fault:
    """The import did not end in time; `line` is where it stood, as far as that is known."""
    sentence = f"importing the module did not end within {seconds:g} s. Move what waits or computes long into a handler."
    return fault("import_hung", module, line, sentence)


def import_crashed(module: str, line: int | None, how: str) -> Fault:
    """The process of the import ended by itself; `how` is such as `signal 11` or `exit status 0`."""
    sentence = f"importing the module ended its process ({how}). Remove what does (os._exit, a signal, a faulty extension)."
    return fault("import_crashed", module, line, sentence)


def import_too_large(module: str, how: str) -> Fault:
    """The import was ended for its memory; `how` says how much that was."""
    sentence = f"importing the module was ended: {how}. Load less, and inside a handler."
    return fault("import_memory", module, None, sentence)


def specs_too_large(module: str, bytes_max: int) -> Fault:
    """What the module declares, and what is told of it, is more than a report may have."""
    sentence = f"what is to be told of its specs takes more than {bytes_max} bytes. Declare less, or make it two modules."
    return fault("specs_too_many", module, None, sentence)
