"""These tests are there only where vLLM is told to take its V2 runner, as `make test-vllm` does."""

import os

if os.environ.get("VLLM_USE_V2_MODEL_RUNNER") != "1":
    collect_ignore_glob = ["test_*"]
