# SPDX-License-Identifier: Apache-2.0
"""Times decoding of given tokens with a GGUF file (`evenkeel export --as gguf`) with llama.cpp, batch 1.

    python llama_cpp_decode.py MODEL.gguf [PROMPT [TOKENS]]

Needs llama-cpp-python. Prints milliseconds per token, the median of TOKENS (100) after a prompt of PROMPT (128)
tokens, on two threads. `evenkeel bench decode` times Evenkeel.
"""

import statistics
import sys
import time

import llama_cpp


def main():
    prompt, tokens = ([int(word) for word in sys.argv[2:4]] + [128, 100][len(sys.argv[2:4]):])
    model = llama_cpp.Llama(sys.argv[1], n_ctx=prompt + tokens, n_threads=2, n_threads_batch=2, n_gpu_layers=0,
                            verbose=False)
    model.eval([1 + i % 200 for i in range(prompt)])
    seconds = []
    for i in range(tokens):
        started = time.perf_counter()
        model.eval([1 + i % 200])
        seconds.append(time.perf_counter() - started)
    print(f"{1000 * statistics.median(seconds):.2f} ms a token")


if __name__ == "__main__":
    main()
