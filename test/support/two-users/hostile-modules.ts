/** The tools of the hostile user. Each uses much of one resource that other users also need. */
export const HOSTILE = `import os
import time


def sleep() -> str:
    time.sleep(25)
    return ""


def burn(seconds: float) -> str:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    return ""


def fill() -> str:
    block = bytearray(150 << 20)
    block[::4096] = b"x" * len(block[::4096])
    time.sleep(5)
    return ""


def flood() -> str:
    while True:
        os.write(1, b"x" * 65536)


def values() -> list:
    return [0] * 490_000


def text() -> str:
    return "x" * 9_000_000


def taken() -> list:
    print("x" * 65_000)
    return [0] * 131_000


def log() -> str:
    print("x" * 65_000)
    return ""


TOOL_SPECS = [
    {"name": f"hostile:{each.__name__}", "description": "Is hostile.", "handler": each}
    for each in (sleep, burn, fill, flood, values, text, taken, log)
]
`

/** Fills the kernel's memory for sockets: 8 buffers of the largest size that the system allows, in each waiting child. */
export const SOCKETS = `import socket

kept = []
try:
    for _ in range(8):
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
        kept.append((ours, theirs))
        try:
            while True:
                ours.send(b"x" * 65536)
        except OSError:
            pass
except OSError:
    pass


def hold() -> str:
    return str(len(kept))


TOOL_SPECS = [{"name": "sockets:hold", "description": "Holds sockets.", "handler": hold}]
`

/** A module whose check hangs in its import. */
export const HANGING = `import time


def hang() -> str:
    return ""


TOOL_SPECS = [{"name": "hanging:hang", "description": "Hangs.", "handler": hang}]
time.sleep(60)
`

/** A module of 50 tools and of nearly the largest allowed size. Its source differs for each `number`. */
export function hugeModule(name: string, number: number): string {
  const tools = Array.from({ length: 50 }, (_, index) => `t${index}`)
  const functions = tools.map(
    (each) => `def ${each}(text: str) -> str:\n    """Gives it back."""\n    return text\n`,
  )
  const specs = tools.map((each) => `    {"name": "${name}:${each}", "handler": ${each}},\n`)
  const source = `# ${number}\n${functions.join('\n')}\nTOOL_SPECS = [\n${specs.join('')}]\n`
  return source + '# filler\n'.repeat(Math.floor((250_000 - source.length) / 9))
}
