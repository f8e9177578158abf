"""What main and a zygote agree on before they speak."""

from pathlib import Path
from typing import Final

#: The folder with `__main__.py`.
ROOT: Final = Path(__file__).parents[2]
#: The descriptor that main hands the zygote its end of their line on.
LINE_DESCRIPTOR: Final = 3
