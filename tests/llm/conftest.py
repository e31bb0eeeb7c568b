"""Tests of this folder are collected only where they are asked for (make test-llm): neither fast nor slow runs them."""

import os

collect_ignore_glob = [] if os.environ.get("OPENCLAWBENCH_TEST_LLM") else ["test_*.py"]
