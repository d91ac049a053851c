"""Sonde."""
