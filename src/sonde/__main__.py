"""`python -m sonde` is `sonde`."""

from sonde.cli.main import main

main()
