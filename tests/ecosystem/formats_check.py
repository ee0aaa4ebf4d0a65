#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares our readers and writers of files with numpy, pyarrow, zstandard and torch.

Usage: tests/ecosystem/formats_check.py BUILD [--megabytes 300]

BUILD is a build folder with the targets formats_driver and evenkeel_parquet (-DEVENKEEL_PYARROW=FOLDER).
The packages are those of tools/test_requirements.txt, tools/parquet_requirements.txt and
tools/ecosystem_formats_requirements.txt, and torch. Prints one line per case; the exit code is 1 if a case fails.
"""
import argparse
import gzip
import json
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

import numpy
import pyarrow
import pyarrow.parquet
import torch
import xxhash
import zstandard

import formats_cases as cases

SEED = 20240520


class Check:
    """Runs the driver, and counts what fails."""

    def __init__(self, build, folder):
        self.driver, self.folder, self.failed = build / "formats_driver", folder, 0

    def run(self, *words, stdin=b""):
        done = subprocess.run([self.driver, *map(str, words)], input=stdin, capture_output=True, check=False)
        if done.returncode < 0:
            self.say(f"signal {-done.returncode} of {words}", False)
        return done

    def bytes_of(self, *words, stdin=b""):
        done = self.run(*words, stdin=stdin)
        if done.returncode != 0:
            raise RuntimeError(f"{words}: {done.returncode}: {done.stderr.decode(errors='replace')}")
        return done.stdout

    def ids(self, path, vocabulary, *more):
        return numpy.frombuffer(self.bytes_of("ids", path, vocabulary, *more), numpy.int64)

    def texts(self, *inputs, key="text", verb="texts"):
        out = self.bytes_of(verb, key, *inputs)
        found, at = [], 0
        while at < len(out):
            (size,) = struct.unpack_from("<Q", out, at)
            found.append(out[at + 8:at + 8 + size].decode())
            at += 8 + size
        return found

    def say(self, case, good):
        print(f"{'same' if good else 'DIFFERENT'}: {case}", flush=True)
        self.failed += not good


def megatron_ids(bin_path):
    """The documents of a Megatron file by the rules of IndexedDataset: header, lengths, pointers, documents."""
    index = bin_path.with_suffix(".idx").read_bytes()
    assert index[:9] == b"MMIDIDX\x00\x00"
    version, code, sequences, documents = struct.unpack_from("<QBQQ", index, 9)
    assert version == 1
    kind = {8: numpy.uint16, 4: numpy.int32}[code]
    lengths = numpy.frombuffer(index, numpy.int32, sequences, 34)
    pointers = numpy.frombuffer(index, numpy.int64, sequences, 34 + lengths.nbytes)
    starts = numpy.frombuffer(index, numpy.int64, documents, 34 + lengths.nbytes + pointers.nbytes)
    assert 34 + lengths.nbytes + pointers.nbytes + starts.nbytes == len(index)
    assert starts.tolist() == list(range(sequences + 1))
    data = numpy.memmap(bin_path, mode="r", dtype=kind)
    return [data[p // kind().itemsize:][:n].tolist() for p, n in zip(pointers, lengths)]


def llm_c_ids(path):
    """The tokens of a shard as modded-nanogpt reads it."""
    header = torch.from_file(str(path), False, 256, dtype=torch.int32)
    kind = {(20240520, 1): torch.uint16, (20240801, 7): torch.uint32}[int(header[0]), int(header[1])]
    count = int(header[2])
    tokens = torch.empty(count, dtype=kind)
    with path.open("rb", buffering=0) as file:
        file.seek(256 * 4)
        assert file.readinto(tokens.numpy()) == tokens.nbytes
        assert file.read() == b""
    return tokens.numpy()


def check_token_readers(check):
    rng = numpy.random.Generator(numpy.random.PCG64(SEED))
    for name, path, vocabulary, ids, more in cases.token_files(check.folder, rng):
        check.say(f"read {name}, {len(ids)} ids", numpy.array_equal(check.ids(path, vocabulary, *more), ids))


def documents_of(rng, vocabulary, end, count):
    return [rng.integers(end + 1, vocabulary, n, dtype=numpy.uint32).tolist() for n in rng.integers(1, 900, count)]


def shard_documents(format_name, path, end, kind):
    """The documents of a shard, read by the rules of the format's own program."""
    if format_name == "megatron":
        return megatron_ids(path)
    if format_name == "llm_c":
        ids = llm_c_ids(path)
    elif format_name == "nanogpt":
        ids = torch.from_file(str(path), False, path.stat().st_size // 2, dtype=torch.uint16).numpy()
    else:
        ids = numpy.memmap(path, mode="r", dtype=kind)
        lines = gzip.decompress(path.with_suffix(".csv.gz").read_bytes()).decode().split()
        return [ids[int(a):int(b)].tolist() for a, b in (line.split(",") for line in lines)]
    ends = numpy.flatnonzero(ids == end) + 1
    assert ends[-1] == len(ids)
    return [part.tolist() for part in numpy.split(ids, ends[:-1])]


def check_writers(check):
    rng = numpy.random.Generator(numpy.random.PCG64(SEED + 1))
    for format_name, vocabulary, kind in [
            ("olmo", 50280, numpy.uint16), ("olmo", 100278, numpy.uint32), ("llm_c", 50257, None), ("llm_c", 128256, None),
            ("megatron", 50257, None), ("megatron", 100278, None), ("nanogpt", 50257, None)]:
        documents = documents_of(rng, vocabulary, 7, 2000)
        packed = b"".join(struct.pack("<Q", len(d)) + numpy.array(d, numpy.uint32).tobytes() for d in documents)
        folder = check.folder / f"{format_name}-{vocabulary}"
        check.bytes_of("write", format_name, folder, vocabulary, 7, 100_000, stdin=packed)
        shards = sorted([*folder.glob("*.npy"), *folder.glob("*.bin")])
        found = [d for path in shards for d in shard_documents(format_name, path, 7, kind)]
        check.say(f"write {format_name}, {vocabulary} ids, {len(shards)} shards", found == [[*d, 7] for d in documents])
        manifest = json.loads((folder / "manifest.json").read_text())
        parts = [part for shard in manifest["shards"] for part in [shard, shard.get("sidecar")] if part]
        good = all(xxhash.xxh3_128(path.read_bytes()).hexdigest() == part["xxh3"] and path.stat().st_size == part["bytes"]
                   for part in parts for path in [folder / part["file"]])
        check.say(f"manifest of {format_name}, {len(parts)} digests", good and manifest["documents"] == len(documents))
        check.say(f"check_shards of {format_name}", int(check.bytes_of("check", folder)) == sum(map(len, documents)) + 2000)


def check_texts(check):
    texts = cases.texts(random.Random(SEED), 3000)
    for name, path, wanted in cases.text_files(check.folder, texts):
        check.say(f"read {name}, {len(wanted)} documents", check.texts(path) == wanted)
    large = check.folder / "large.txt"
    large.write_text("".join(f"line {i} é\n" for i in range(6_000_000)))
    pieces = check.texts(large, verb="pieces")
    check.say(f"read large.txt in {len(pieces)} pieces", len(pieces) > 1 and "".join(pieces) == large.read_text())
    large.unlink()


def check_parquet(check):
    texts = cases.texts(random.Random(SEED + 2), 5000)
    for name, table, options, wanted in cases.parquet_tables(texts):
        path = check.folder / "a.parquet"
        pyarrow.parquet.write_table(table, path, **options)
        check.say(f"read parquet {name}, {len(wanted)} documents", check.texts(path) == wanted)
    for name, path, message in cases.bad_parquet(check.folder):
        done = check.run("texts", "text", path)
        found = done.stderr.decode().strip()
        check.say(f"refuse parquet {name}: {found}", done.returncode == 65 and found == f"{path}: {message}")
    check_damaged_parquet(check, texts)


def check_damaged_parquet(check, texts):
    """Random bytes change: the reader says so or does not notice, but never crashes."""
    path = check.folder / "damaged.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": texts[:200]}), path, compression="snappy")
    good, codes = path.read_bytes(), []
    chance = random.Random(SEED + 3)
    for _ in range(100):
        data = bytearray(good)
        first = chance.choice([0, len(data) - 600])  # the pages, or the footer
        for _ in range(chance.randint(1, 8)):
            data[chance.randrange(first, len(data))] = chance.randrange(256)
        path.write_bytes(data[:chance.randrange(len(data))] if chance.random() < 0.1 else data)
        codes.append(check.run("texts", "text", path).returncode)
    check.say(f"damaged parquet: {codes.count(0)} read, {codes.count(65)} refused of {len(codes)}", set(codes) <= {0, 65})


def measure(check, megabytes):
    """Prints the speed of each kind of text, and the peak memory."""
    texts = cases.texts(random.Random(SEED + 4), 20000)
    lines = "".join(json.dumps({"id": i, "text": t}, ensure_ascii=False) + "\n" for i, t in enumerate(texts)).encode()
    path = check.folder / "speed.jsonl"
    with path.open("wb") as file:
        for _ in range(max(1, megabytes * 1_000_000 // len(lines))):
            file.write(lines)
    zstd, packed = path.with_suffix(".jsonl.zst"), path.with_suffix(".jsonl.gz")
    with path.open("rb") as source, zstd.open("wb") as out:
        zstandard.ZstdCompressor(level=3).copy_stream(source, out)
    with path.open("rb") as source, gzip.open(packed, "wb", compresslevel=1) as out:
        shutil.copyfileobj(source, out)
    size = path.stat().st_size
    table = pyarrow.table({"text": texts})
    parquet = check.folder / "speed.parquet"
    with pyarrow.parquet.ParquetWriter(parquet, table.schema, compression="zstd") as writer:
        for _ in range(max(1, size // len(lines))):
            writer.write_table(table)
    for each in (path, zstd, packed, parquet):
        check.run("measure", "text", each)  # into the page cache
        documents, text_bytes, seconds, peak = check.bytes_of("measure", "text", each).decode().split()
        shown = int(text_bytes) if each is parquet else size
        print(f"speed: {each.suffix}: {documents} documents, {shown / 1e6:.0f} MB in {seconds} CPU s, "
              f"{shown / 1e6 / float(seconds):.0f} MB per CPU second; peak memory {int(peak) / 1024:.1f} MiB", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--megabytes", type=int, default=300)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        check = Check(arguments.build.resolve(), pathlib.Path(folder))
        check_token_readers(check)
        check_writers(check)
        check_texts(check)
        check_parquet(check)
        measure(check, arguments.megabytes)
    print(f"{check.failed} cases differ" if check.failed else "every case is the same")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
