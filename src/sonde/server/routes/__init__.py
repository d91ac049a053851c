"""One file for each group of routes; each has a function that makes a router of its parts."""
