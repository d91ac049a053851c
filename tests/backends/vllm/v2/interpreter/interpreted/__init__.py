"""A Triton backend called "cpu", so that vLLM takes its V2 model runner on a machine without a GPU.

vLLM looks whether Triton has a backend for the CPU, which no ordinary build of it has. With this
folder on PYTHONPATH and TRITON_INTERPRET=1 there is one in name, found by its entry point as any
backend is, in every process of an engine. It is never asked to compile: Triton interprets kernels.
"""
