"""Serves an index of packages for tests in other languages.

The first line of standard input is a list of `{"name", "version"?, "files"?, "requires"?}`. The first line of standard
output is the address of the index. It ends when standard input ends.
"""

import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

from support.package_index import PackageIndex
from support.wheels import wheel


def main() -> None:
    given = json.loads(sys.stdin.readline())
    wheels = [
        wheel(
            each["name"],
            each.get("version", "1.0"),
            each.get("files"),
            requires=tuple(each.get("requires", ())),
        )
        for each in given
    ]
    with PackageIndex(*wheels).serving() as index:
        sys.stdout.write(f"{index.url}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
