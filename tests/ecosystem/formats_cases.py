# SPDX-License-Identifier: Apache-2.0
"""Files of tokens and of text, written by the libraries that tests/ecosystem/formats_check.py compares with."""
import gzip
import json
import struct

import numpy
import pyarrow
import pyarrow.parquet
import zstandard


def raw(path, ids, kind):
    ids.astype(kind).tofile(path)
    return path


def llm_c(path, ids, magic, version, kind):
    header = numpy.zeros(256, numpy.int32)
    header[:3] = magic, version, len(ids)
    path.write_bytes(header.tobytes() + ids.astype(kind).tobytes())
    return path


def megatron(path, ids, kind, code):
    """As IndexedDatasetBuilder writes it: documents of 10 sequences."""
    lengths = numpy.full(len(ids) // 100, 100, numpy.int32)
    ids = ids[:lengths.sum()].astype(kind)
    ids.tofile(path)
    pointers = numpy.concatenate([[0], numpy.cumsum(lengths)[:-1]]).astype(numpy.int64) * kind().itemsize
    documents = numpy.arange(0, len(lengths) + 1, 10, dtype=numpy.int64)
    path.with_suffix(".idx").write_bytes(
        b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, code, len(lengths), len(documents)) + lengths.tobytes() +
        pointers.tobytes() + documents.tobytes())
    return path


def npy(path, ids, kind, version):
    with path.open("wb") as file:
        numpy.lib.format.write_array(file, ids.astype(kind), version=version, allow_pickle=False)
    return path


def token_files(folder, rng):
    """(name, path, vocabulary, ids, more arguments of the driver)"""
    small, large = rng.integers(0, 50257, 200_000), rng.integers(0, 128_000, 200_000)
    yield "nanoGPT", raw(folder / "nano.bin", small, numpy.uint16), 50257, small, []
    yield "OLMo uint16", raw(folder / "olmo16.npy", small, numpy.uint16), 50280, small, []
    yield "OLMo uint32", raw(folder / "olmo32.npy", large, numpy.uint32), 128_256, large, []
    yield "raw uint32 .bin", raw(folder / "raw32.bin", large, numpy.uint32), 128_256, large, ["uint32"]
    yield "llm.c, modded-nanogpt", llm_c(folder / "gpt2.bin", small, 20240520, 1, numpy.uint16), 50257, small, []
    yield "llm.c of Llama-3", llm_c(folder / "llama.bin", large, 20240801, 7, numpy.uint32), 128_256, large, []
    yield "Megatron uint16", megatron(folder / "mega16.bin", small, numpy.uint16, 8), 50257, small, []
    yield "Megatron int32", megatron(folder / "mega32.bin", large, numpy.int32, 4), 128_256, large, []
    for version in [(1, 0), (2, 0), (3, 0)]:
        for kind in [numpy.uint16, numpy.int32, numpy.uint32, numpy.int64, numpy.uint64]:
            ids = small if kind is numpy.uint16 else large
            path = npy(folder / f"v{version[0]}-{kind.__name__}.npy", ids, kind, version)
            yield f".npy version {version[0]}, {kind.__name__}", path, 128_256, ids, []


def texts(chance, count):
    """Strings of all lengths and planes of Unicode, none empty, without surrogates."""
    pools = ["the old baker sold bread to a boy. \n", "äöüß éèê ñ ", "漢字仮名交じり文。", "😀🎉🧵",
             "\\\"/\b\f\n\r\t\u0000\u001f\u2028", "{}[],:\"text\""]
    return ["".join(chance.choice(pools)[:chance.randint(1, 40)] for _ in range(chance.choice([1, 3, 30, 300])))
            for _ in range(count)]


def text_files(folder, documents):
    """(name, path, documents)"""
    compressors = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.ZstdCompressor(write_checksum=True).compress}
    contents = {
        "a.jsonl": "".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in enumerate(documents)),
        "b.jsonl": "".join(json.dumps({"text": t, "m": [1.5, None]}, ensure_ascii=False) + "\r\n" for t in documents),
        "strings.json": json.dumps(documents, indent=1),
        "objects.json": json.dumps([{"text": t} for t in documents], ensure_ascii=False),
    }
    for name, content in contents.items():
        for ending, compress in compressors.items():
            path = folder / (name + ending)
            path.write_bytes(compress(content.encode()))
            yield path.name, path, documents
    whole = "".join(documents)
    for ending, compress in compressors.items():
        path = folder / ("whole.txt" + ending)
        path.write_bytes(compress(b"\xef\xbb\xbf" + whole.encode()))
        yield path.name, path, [whole]
    path = folder / "stream.txt.zst"
    with path.open("wb") as out, zstandard.ZstdCompressor(level=19, threads=2).stream_writer(out) as writer:
        for each in documents:
            writer.write(each.encode())
            writer.flush(zstandard.FLUSH_FRAME)
    yield "stream.txt.zst with a frame per document", path, [whole]


def parquet_tables(documents):
    """(name, table, options of write_table, documents)"""
    plain = pyarrow.table({"id": list(range(len(documents))), "text": documents})
    for codec in ["zstd", "snappy", "gzip", "none"]:
        yield codec, plain, {"compression": codec, "row_group_size": 700}, documents
    yield "without dictionary, version 1.0", plain, {"use_dictionary": False, "version": "1.0"}, documents
    yield "data page 2.0", plain, {"data_page_version": "2.0", "compression": "zstd"}, documents
    large = pyarrow.table({"text": pyarrow.array(documents, pyarrow.large_string())})
    yield "large_string", large, {"compression": "zstd"}, documents
    nested = pyarrow.table({"meta": [{"a": 1, "b": ["x"]}] * len(documents), "text": documents})
    yield "after a nested column", nested, {}, documents
    gaps = [None if i % 3 == 0 else t for i, t in enumerate(documents)]
    yield "with nulls", pyarrow.table({"text": gaps}), {}, [t for t in gaps if t]


def bad_parquet(folder):
    """(name, path, message)"""
    path = folder / "column.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"texts": ["a"], "title": ["b"]}), path)
    yield "without the column", path, 'no column "text"; did you mean "texts"? known: texts, title; set data.text_key'
    path = folder / "nested.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": [["a"]]}), path)
    yield "with a nested column", path, ('the column "text" must hold strings, but is of type list<element: string>; '
                                         "set data.text_key")
    path = folder / "numbers.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": [1]}), path)
    yield "with a column of numbers", path, ('the column "text" must hold strings, but is of type int64; '
                                             "set data.text_key")
    path = folder / "cut.parquet"
    path.write_bytes((folder / "column.parquet").read_bytes()[:100])
    yield "cut off", path, ("must be parquet, but is not: Parquet magic bytes not found in footer. Either the file is "
                            "corrupted or this is not a parquet file.")
