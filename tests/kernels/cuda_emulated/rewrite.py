#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rewrites CUDA sources into C++ that g++ compiles against the headers of this folder. Lines keep their numbers.

  k<<<grid, block>>>(x)               launch(k, Configuration(grid, block))(x)
  __shared__ float row[8];            a reference to memory of the block, which is poisoned when a block starts
  extern __shared__ float row[];      a pointer to the dynamic shared memory of the launch
  __global__ ... kernel(...) {        registers the kernel, and checks its __launch_bounds__
  asm("mma.sync ..." : "+f"(x) ...)   a call of the function of ptx.h that has the name of the instruction
  TORCH_LIBRARY_IMPL(evenkeel, CUDA   registers with the emulator (adapters.h)

Usage: rewrite.py SOURCE_ROOT OUTPUT_ROOT DEPFILE STAMP FILE...
  FILE  relative to SOURCE_ROOT; a .cu file becomes .cu.cpp. All .cuh files in the folders of .cu files follow.
"""
import hashlib
import pathlib
import re
import sys

EMULATED = "::evenkeel::emulated::"
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
OPENING, CLOSING = "([{", ")]}"
ALIGN = r"(?:__align__|alignas)\s*\(\s*(?P<align>[^()]*(?:\([^()]*\))?)\s*\)\s*"
DYNAMIC = re.compile(rf"\bextern\s+__shared__\s+(?:{ALIGN})?(?P<type>[\w:<>, ]+?)\s+(?P<name>\w+)\s*\[\s*\]\s*;")
STATIC = re.compile(rf"(?<!extern )\b__shared__\s+(?:{ALIGN})?(?P<declaration>[^;=]+);")
DECLARATOR = re.compile(r"^(?P<type>.*[\s*>])?(?P<name>\w+)\s*(?P<array>(?:\[.*\])?)\s*$", re.DOTALL)
ASM = re.compile(r"\basm\s+(?:volatile\s*)?\(|\basm\s*\(")
KERNEL = re.compile(r"\b__global__\b")
BOUNDS = re.compile(r"\b__launch_bounds__\s*\(")
ADAPTER = re.compile(r"\bTORCH_LIBRARY_IMPL\(\s*evenkeel\s*,\s*CUDA\s*,\s*(\w+)\s*\)")


class Unclear(Exception):
    """A place that this script does not understand."""


def masked(text):
    """The text with blanks in place of comments, strings and characters."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])
    return COMMENT_OR_TEXT.sub(blank, text)


def end_of_group(code, start):
    """The index of the bracket that closes the one at `start`."""
    depth = 0
    for index in range(start, len(code)):
        depth += (code[index] in OPENING) - (code[index] in CLOSING)
        if depth == 0:
            return index
    raise Unclear("a bracket is never closed")


def start_of_kernel(code, end):
    """The index where the name of the kernel begins that ends before `end`: ns::name<A, f(B)> or (expression)."""
    index = end
    while code[index - 1].isspace():
        index -= 1
    depth = 0
    while index > 0:
        before = code[index - 1]
        if before == ">" or before in CLOSING:
            depth += 1
        elif depth and (before == "<" or before in OPENING):
            depth -= 1
        elif depth == 0 and not (before.isalnum() or before in "_:"):
            break
        index -= 1
    return index


def launch_edits(code, text):
    """<<<...>>>, which ends at the first >>> outside of brackets."""
    for found in re.finditer("<<<", code):
        depth, end = 0, found.end()
        while depth or code[end:end + 3] != ">>>":
            depth += (code[end] in OPENING) - (code[end] in CLOSING)
            end += 1
        begin = start_of_kernel(code, found.start())
        kernel, configuration = text[begin:found.start()], text[found.end():end]
        yield begin, end + 3, f"{EMULATED}launch({kernel}, {EMULATED}Configuration({configuration}))"


def asm_edits(code, text):
    """Inline PTX, of one instruction each."""
    for found in ASM.finditer(code):
        end = end_of_group(code, found.end() - 1)
        template = re.match(r'\s*((?:"(?:\\.|[^"\\])*"\s*)+)', text[found.end():end])
        words = re.sub(r'"\s*"|[";]', " ", template[1]).split()
        if not words:
            continue  # only hides values from the compiler
        operands = re.split(r":", masked_colons(code[found.end() + template.end():end]))
        position, arguments = found.end() + template.end(), []
        for section in operands[:3]:  # nothing, outputs, inputs; then what is clobbered
            for part in split_at_commas(section):
                opening = part.find("(")
                if opening >= 0:
                    begin = position + opening + 1
                    arguments.append(text[begin:position + part.rindex(")")])
                position += len(part) + 1
        name = re.sub(r"\W", "_", words[0])
        lines = "\n" * (text[found.start():end + 1].count("\n") - sum(each.count("\n") for each in arguments))
        yield found.start(), end + 1, f"{EMULATED}ptx_{name}({', '.join(arguments)}){lines}"


def masked_colons(code):
    """The code with letters in place of the colons in brackets."""
    depth, result = 0, ""
    for letter in code:
        depth += (letter in OPENING) - (letter in CLOSING)
        result += "c" if depth and letter == ":" else letter
    return result


def split_at_commas(text):
    """The parts between commas outside of brackets, angle brackets included."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in OPENING + "<") - (letter in CLOSING + ">")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def shared_variables(declaration, align):
    """C++ for the variables of one declaration after __shared__."""
    kind, code = None, ""
    for part in split_at_commas(declaration):
        found = DECLARATOR.match(part)
        if not found or not (kind or found["type"]):
            raise Unclear(f"__shared__ {declaration.strip()};")
        kind = kind or found["type"]
        name = found["name"]
        code += (f"typedef {kind} ek_{name}_type{found['array']}; static {EMULATED}SharedVariable ek_{name}"
                 f'{{"{name}"}}; ek_{name}_type& {name} = *static_cast<ek_{name}_type*>('
                 f"ek_{name}.here(sizeof(ek_{name}_type), {align or f'alignof(ek_{name}_type)'})); ")
    return code.rstrip()


def shared_edits(code, text):
    """Dynamic and static shared memory."""
    for found in DYNAMIC.finditer(code):
        kind = found["type"].strip()
        yield (*found.span(), f"{kind}* const {found['name']} = {EMULATED}dynamic_shared<{kind}>();"
               + "\n" * found[0].count("\n"))
    for found in STATIC.finditer(code):
        if re.search(r"\bextern\s*$", code[:found.start()]):
            continue
        begin, end = found.span("declaration")
        variables = shared_variables(text[begin:end].replace("\n", " "), found["align"])
        yield (*found.span(), variables + "\n" * found[0].count("\n"))


def kernels(code):
    """(name, index after the opening brace, launch bounds or None) of the kernels that are defined here."""
    for found in KERNEL.finditer(code):
        bounds = None
        position = found.end()
        while True:
            opening = code.index("(", position)
            end = end_of_group(code, opening)
            name = re.search(r"(\w+)\s*$", code[position:opening])[1]
            if name != "__launch_bounds__":
                break
            bounds = split_at_commas(code[opening + 1:end])[0].strip()
            position = end + 1
        after = re.compile(r"\s*\{").match(code, end + 1)
        if after:
            yield name, after.end(), bounds


def rewritten(root, name, text, digest):
    """The C++ of a source of this name in the folder `root`.

    The digest of all headers makes a .cu file change with them: the build does not know the rewritten headers.
    """
    code = masked(text)
    edits = [*launch_edits(code, text), *shared_edits(code, text), *asm_edits(code, text)]
    edits += [(*found.span(), f"EK_EMULATED_ADAPTER({found[1]})") for found in ADAPTER.finditer(code)]
    file = pathlib.PurePath(name).name
    own = list(kernels(code))
    for kernel, brace, bounds in own:
        edits.append((brace, brace, f' {EMULATED}enter_kernel("{file}", "{kernel}", {bounds or 0});'))
    for begin, end, replacement in sorted(edits, reverse=True):
        text = text[:begin] + replacement + text[end:]
    extra = ""
    if own:
        pairs = ", ".join(f'{{"{file}", "{kernel}"}}' for kernel in dict.fromkeys(each[0] for each in own))
        extra = f"\ninline const {EMULATED}KernelNames ek_names_{re.sub('[^a-z0-9]', '_', file)}{{{pairs}}};\n"
    extra += f"// headers: {digest}\n" if name.endswith(".cu") else ""
    head = '#include "kernels/cuda_emulated/adapters.h"\n' if name.endswith(".cpp") else ""
    return f'{head}#line 1 "{root}/{name}"\n{text}{extra}'


def write_if_changed(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main(arguments):
    source, output, depfile, stamp = map(pathlib.Path, arguments[:4])
    names = dict.fromkeys(arguments[4:])
    for folder in {(source / name).parent for name in names if name.endswith(".cu")}:
        names.update(dict.fromkeys(path.relative_to(source).as_posix() for path in sorted(folder.rglob("*.cuh"))))
    headers = "".join((source / name).read_text() for name in names if name.endswith(".cuh"))
    digest = hashlib.sha256(headers.encode()).hexdigest()
    for name in names:
        target = output / (name + ".cpp" if name.endswith(".cu") else name)
        try:
            write_if_changed(target, rewritten(source.name, name, (source / name).read_text(), digest))
        except (Unclear, IndexError, ValueError) as error:
            sys.exit(f"rewrite.py: {source / name}: {error or type(error).__name__}")
    inputs = " ".join(str(source / name).replace(" ", "\\ ") for name in names)
    depfile.write_text(f"{stamp}: {inputs}\n")
    stamp.write_text("")


if __name__ == "__main__":
    main(sys.argv[1:])
