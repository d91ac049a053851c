"""How tests ask a server on this machine."""

from typing import Any

LOCAL: dict[str, Any] = {"trust_env": False, "verify": False}
"""No proxy leads here, and nothing is encrypted: reading the certificates takes 17 ms a client."""
