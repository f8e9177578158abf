"""Compiles the files of an environment. Runs as a script of its own process, because the files are texts of strangers.

Its arguments are the folder, and the path that the folder has in a child. Standard input has the paths in the
folder, one in each line. The number of a file is written to standard error before the file is compiled. So if the process
dies, the reader knows at which file.
"""

import os
import py_compile
import sys

#: A file that is larger is not compiled. Compiling takes about 100 times its size of memory.
SOURCE_BYTES_MAX = 4 << 20


def main(folder: str, shown: str) -> None:
    for number, line in enumerate(sys.stdin):
        path = line.rstrip("\n")
        os.write(2, b"%d\n" % number)
        try:
            if os.path.getsize(f"{folder}/{path}") <= SOURCE_BYTES_MAX:
                py_compile.compile(
                    f"{folder}/{path}",
                    dfile=f"{shown}/{path}",
                    doraise=True,
                    # The files never change, so Python need not compare them with their sources.
                    invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
                )
        except OSError as error:
            if error.errno is not None:
                sys.exit(error.errno)
        except (py_compile.PyCompileError, ValueError, RecursionError, MemoryError):
            # Packages also have templates, and files for other versions of Python. The import of such a file fails later.
            continue


if __name__ == "__main__":
    main(*sys.argv[1:3])
