"""Modules as an attacker would upload them."""

#: What they have in common: the channel of the answer, found without being told of it, and words of their own on it.
PREAMBLE = """
import json, os, signal, stat, sys, threading, time


def channel():
    for descriptor in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                return descriptor
        except OSError:
            pass


def write(data):
    while data:
        data = data[os.write(channel(), data):]


def frame(message):
    payload = message if isinstance(message, bytes) else json.dumps(message).encode()
    return len(payload).to_bytes(4, "big") + payload


def say(message):
    write(frame(message))


def later(seconds, act):
    def wait_and_act():
        time.sleep(seconds)
        act()
    threading.Thread(target=wait_and_act, daemon=True).start()


def hello() -> str:
    return "hello"
"""


def upload(code: str, *tools: str) -> str:
    """The source of a module `hostile` with these tools, and one that only says hello."""
    specs = [
        f'{{"name": "hostile:{tool}", "description": "Does harm.", "handler": {tool}}}' for tool in tools
    ]
    hello = '{"name": "hostile:hello", "description": "Says hello.", "handler": hello}'
    return f"{PREAMBLE}\n{code}\n\nTOOL_SPECS = [{', '.join([hello, *specs])}]\n"


#: Does no harm.
HONEST = upload("")
