"""python -m plimsoll add-snapshot PAGE.html SNAPSHOT: a memory snapshot of PyTorch in a page of `plimsoll trace export`."""

import sys

from . import Error, add_snapshot, format_bytes


def main(arguments: list[str]) -> int:
    if len(arguments) != 3 or arguments[0] != "add-snapshot":
        print("usage: python -m plimsoll add-snapshot PAGE.html SNAPSHOT", file=sys.stderr)
        return 2
    try:
        found = add_snapshot(*arguments[1:])
    except (OSError, Error) as failure:
        print(failure, file=sys.stderr)
        return 3
    print(f"{arguments[1]}: {found['events']} events, at most {format_bytes(found['bytes'])}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
