"""`python -m millrace` is the command."""

from millrace._command import main

main()
