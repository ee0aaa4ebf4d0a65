#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails where an ELF file lacks one of the protections of cmake/Hardening.cmake.

protection            what the file must have
PIE                   type ET_DYN; a program also has DF_1_PIE
no executable stack   PT_GNU_STACK without PF_X, and no segment that is both writable and executable
full RELRO            PT_GNU_RELRO, and the flag "bind now"
stack protector       an import of __stack_chk_fail
_FORTIFY_SOURCE       an import of a checked function, such as __memcpy_chk
_GLIBCXX_ASSERTIONS   an import of std::__glibcxx_assert_fail
-fcf-protection       nearly all global functions begin with endbr64 (hand-written assembly may not)
relative RUNPATH      every entry begins with $ORIGIN, or is FOLDER

Usage: tools/check_elf.py [--runpath FOLDER] FILE...
"""
import argparse
import pathlib
import struct
import sys

ET_DYN, EM_X86_64 = 3, 62
PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_GNU_STACK, PT_GNU_RELRO = 1, 2, 3, 0x6474e551, 0x6474e552
PF_X, PF_W = 1, 2
SHT_SYMTAB, SHT_DYNSYM = 2, 11
DT_NULL, DT_STRTAB, DT_RPATH, DT_BIND_NOW, DT_RUNPATH, DT_FLAGS, DT_FLAGS_1 = 0, 5, 15, 24, 29, 30, 0x6ffffffb
DF_BIND_NOW, DF_1_NOW, DF_1_PIE = 8, 1, 0x08000000
STB_LOCAL, STT_FUNC, SHN_UNDEF = 0, 2, 0
ENDBR64 = b"\xf3\x0f\x1e\xfa"
ENDBR64_SHARE = 0.95
ASSERT_FAIL = "_ZSt21__glibcxx_assert_failPKciS0_S0_"


class Elf:
    """The headers of a little-endian ELF64 file for x86-64; `ValueError` for another file."""

    def __init__(self, data):
        if data[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", data, 18)[0] != EM_X86_64:
            raise ValueError("wanted an ELF file for x86-64")
        self.data = data
        self.type = struct.unpack_from("<H", data, 16)[0]
        phoff, shoff = struct.unpack_from("<QQ", data, 32)
        phsize, phnum, shsize, shnum = struct.unpack_from("<HHHH", data, 54)
        # (type, flags, offset, address, size in the file)
        self.segments = [struct.unpack_from("<IIQQ8xQ", data, phoff + i * phsize) for i in range(phnum)]
        # (type, offset, size, linked section)
        self.sections = [struct.unpack_from("<4xI16xQQI", data, shoff + i * shsize) for i in range(shnum)]
        self.dynamic = list(self._dynamic())

    def segments_of(self, kind):
        return [each for each in self.segments if each[0] == kind]

    def offset(self, address):
        """Where in the file the byte of a virtual address is."""
        for _, _, offset, start, size in self.segments_of(PT_LOAD):
            if start <= address < start + size:
                return offset + address - start
        raise ValueError(f"no segment has address {address:#x}")

    def text(self, offset):
        return self.data[offset:self.data.index(b"\0", offset)].decode()

    def _dynamic(self):
        for _, _, offset, _, size in self.segments_of(PT_DYNAMIC):
            for tag, value in struct.iter_unpack("<qQ", self.data[offset:offset + size // 16 * 16]):
                if tag == DT_NULL:
                    return
                yield tag, value

    def flags(self, tag):
        return next((value for each, value in self.dynamic if each == tag), 0)

    def runpath(self):
        """Entries of RPATH and RUNPATH."""
        strings = self.offset(self.flags(DT_STRTAB)) if self.flags(DT_STRTAB) else 0
        for tag, value in self.dynamic:
            if tag in (DT_RPATH, DT_RUNPATH):
                yield from self.text(strings + value).split(":")

    def symbols(self):
        """(name, whether defined, whether a global function, address) of each symbol."""
        for kind, offset, size, link in self.sections:
            if kind in (SHT_SYMTAB, SHT_DYNSYM):
                strings = self.sections[link][1]
                for name, info, _, section, address, _ in struct.iter_unpack(
                        "<IBBHQQ", self.data[offset:offset + size]):
                    is_function = info & 15 == STT_FUNC and info >> 4 != STB_LOCAL
                    yield self.text(strings + name), section != SHN_UNDEF, is_function, address


def layout_complaints(elf):
    is_program = bool(elf.segments_of(PT_INTERP))
    if elf.type != ET_DYN or (is_program and not elf.flags(DT_FLAGS_1) & DF_1_PIE):
        yield "is not position independent (-fPIE -pie)"
    stack = elf.segments_of(PT_GNU_STACK)
    if not stack or any(flags & PF_X for _, flags, *_ in stack):
        yield "has an executable stack (-Wl,-z,noexecstack)"
    if any(flags & PF_X and flags & PF_W for _, flags, *_ in elf.segments_of(PT_LOAD)):
        yield "has a segment that is writable and executable"
    if not elf.segments_of(PT_GNU_RELRO):
        yield "has no read-only relocations (-Wl,-z,relro)"
    if not (elf.flags(DT_FLAGS) & DF_BIND_NOW or elf.flags(DT_FLAGS_1) & DF_1_NOW
            or any(tag == DT_BIND_NOW for tag, _ in elf.dynamic)):
        yield "binds symbols lazily (-Wl,-z,now)"


def compiler_complaints(elf):
    symbols = list(elf.symbols())
    imports = {name.split("@")[0] for name, defined, *_ in symbols if not defined}
    if "__stack_chk_fail" not in imports:
        yield "has no stack protector (-fstack-protector-strong)"
    if not any(name.startswith("__") and name.endswith("_chk") for name in imports):
        yield "has no checked function of the C library (-D_FORTIFY_SOURCE=3)"
    if ASSERT_FAIL not in imports:
        yield "has no assertion of the C++ library (-D_GLIBCXX_ASSERTIONS)"
    functions = {address for _, defined, is_function, address in symbols if defined and is_function}
    marked = sum(elf.data.startswith(ENDBR64, elf.offset(address)) for address in functions)
    if marked < ENDBR64_SHARE * len(functions) or not marked:
        yield f"has endbr64 in {marked} of {len(functions)} functions (-fcf-protection)"


def runpath_complaints(elf, allowed):
    for entry in elf.runpath():
        if entry.split("/")[0] != "$ORIGIN" and entry != allowed:
            yield f'looks for libraries in "{entry}", which is not relative to $ORIGIN'


def complaints(data, allowed=None):
    """Everything that the bytes of an ELF file lack; `ValueError` for a file of another kind."""
    elf = Elf(data)
    return [*layout_complaints(elf), *compiler_complaints(elf), *runpath_complaints(elf, allowed)]


def main():
    parser = argparse.ArgumentParser(description="Checks the protections of ELF files.")
    parser.add_argument("--runpath", metavar="FOLDER", help="a folder that RUNPATH may name, apart from $ORIGIN")
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args()
    found = []
    for path in options.files:
        try:
            found += [f"{path}: {each}" for each in complaints(path.read_bytes(), options.runpath)]
        except (ValueError, IndexError, struct.error) as error:
            found.append(f"{path}: {error}")
    print("\n".join(found) or f"{len(options.files)} ELF files have all protections")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
