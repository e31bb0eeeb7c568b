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
    common_params = xllamacpp.CommonParams()
    common_params.model.path = model
    common_params.hostnames = ["127.0.0.1"]
    common_params.port = port
    common_params.n_ctx, common_params.n_parallel = CONTEXT, 1
    common_params.n_batch = common_params.n_ubatch = BATCH
    common_params.n_predict = LONGEST_ANSWER
    common_params.cpuparams.n_threads = common_params.cpuparams_batch.n_threads = threads
    common_params.n_gpu_layers = 0
    common_params.offline = True
    common_params.use_jinja = True
    common_params.ctx_shift = False
    common_params.sampling.seed, common_params.sampling.temp = 1, 0.0
    return common_params


if __name__ == "__main__":
    server = xllamacpp.Server(parameters(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
    sys.stdin.read()
    del server
