"""What main and a zygote agree on before they speak."""

from os.path import dirname

#: The folder with `__main__.py`.
ROOT = dirname(dirname(dirname(__file__)))  # pathlib takes longer to import than a zygote to start
#: The descriptor that main hands the zygote its end of their line on.
LINE_DESCRIPTOR = 3
