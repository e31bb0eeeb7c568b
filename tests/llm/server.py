"""llama.cpp's HTTP server on 127.0.0.1, until stdin ends: `server.py MODEL PORT THREADS`."""

import os
import sys

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # threads that wait leave the cores to whoever works
os.environ.setdefault("GOMP_SPINCOUNT", "0")

import xllamacpp

CONTEXT = 12288  # tokens: the longest prompt, a short session and an answer
BATCH = 256  # a request that nobody waits for any more is dropped between two batches
LONGEST_ANSWER = 512


def parameters(model: str, port: int, threads: int) -> xllamacpp.CommonParams:
    """One slot, temperature 0, no shifting of the context."""
    found = xllamacpp.CommonParams()
    found.model.path = model
    found.hostnames = ["127.0.0.1"]
    found.port = port
    found.n_ctx, found.n_parallel = CONTEXT, 1
    found.n_batch = found.n_ubatch = BATCH
    found.n_predict = LONGEST_ANSWER
    found.cpuparams.n_threads = found.cpuparams_batch.n_threads = threads
    found.n_gpu_layers = 0
    found.offline = True
    found.use_jinja = True
    found.ctx_shift = False
    found.sampling.seed, found.sampling.temp = 1, 0.0
    return found


if __name__ == "__main__":
    server = xllamacpp.Server(parameters(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
    sys.stdin.read()
    del server
