"""`python -m toolhead`: the command line."""

from toolhead.cli import program

if __name__ == "__main__":
    program()
