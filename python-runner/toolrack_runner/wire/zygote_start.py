"""Constants that the server process and a zygote both know before their first message.

This module imports little, so that the server process can start a zygote before anything else.
"""

from os.path import dirname

#: The folder with `__main__.py`.
ROOT = dirname(dirname(dirname(__file__)))  # Importing pathlib takes more time than starting a zygote.
#: The descriptor of the zygote's end of its channel to the server process.
CHANNEL_DESCRIPTOR = 3
