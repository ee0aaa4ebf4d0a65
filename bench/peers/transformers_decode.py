# SPDX-License-Identifier: Apache-2.0
"""Times greedy decoding of an exported model (`evenkeel export`) with transformers, batch 1.

    python transformers_decode.py MODEL DTYPE [TOKENS]

MODEL is the exported folder, DTYPE float32 or bfloat16. Needs torch and transformers. Prints milliseconds a token,
the least of three runs on two threads. docs/performance/intel-xeon-amx.md has the command of the other side.
"""

import sys
import time

import torch
from transformers import AutoModelForCausalLM


def main():
    folder, dtype = sys.argv[1:3]
    tokens = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    torch.set_num_threads(2)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype)).eval()
    prompt = torch.randint(0, model.config.vocab_size, (1, 3))

    def decode(count):
        model.generate(prompt, max_new_tokens=count, min_new_tokens=count, do_sample=False)

    with torch.inference_mode():
        decode(5)
        seconds = []
        for _ in range(3):
            started = time.perf_counter()
            decode(tokens)
            seconds.append(time.perf_counter() - started)
    print(f"{1000 * min(seconds) / tokens:.1f} ms a token, {dtype}")


if __name__ == "__main__":
    main()
