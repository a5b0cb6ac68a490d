"""All ways to place N queens, and what a JSON and a regular expression make of them."""
import json
import re
import sys


def place(n, row, columns, up, down):
    if row == n:
        yield ()
        return
    for column in range(n):
        if column in columns or row + column in up or row - column in down:
            continue
        for rest in place(n, row + 1, columns | {column}, up | {row + column}, down | {row - column}):
            yield (column, *rest)


class Board:
    def __init__(self, columns):
        self.columns = columns

    @property
    def text(self):
        return "/".join("." * c + "Q" + "." * (len(self.columns) - 1 - c) for c in self.columns)


def main():
    n = int(sys.argv[1])
    boards = [Board(columns).text for columns in place(n, 0, frozenset(), frozenset(), frozenset())]
    copies = json.loads(json.dumps(boards * 20))
    diagonals = sum(len(re.findall(r"Q\.*/\.*Q", board)) for board in copies)
    print(n, len(boards), len(copies), diagonals, sorted(boards)[0])


main()
