# SPDX-License-Identifier: Apache-2.0
"""Rules for sources that are compiled together in one unit (ek_unity in cmake/Floor.cmake), and for includes.

1. A function in an anonymous namespace has a name that no other source of its floor defines or calls (sources
   for CUDA, X_cuda.cpp, count as a floor of their own): in one unit it would be an overload of the other, or be
   called in its place without a word.
2. A type in an anonymous namespace has a name that no other source or header of its floor gives to another type.
3. A chain of includes of our own headers has at most MAX_CHAIN files.
"""
import collections
import re

MAX_CHAIN = 10
ALONE = {"base", "kernels"}  # floors whose sources are compiled one by one

ANONYMOUS = re.compile(r"^namespace \{\n(.*?)^\}  // namespace\n", re.MULTILINE | re.DOTALL)
FUNCTION = re.compile(
    r"^(?!using|struct|class|enum|return|template|//|constexpr|namespace|\s)[\w:<>,&* \[\]]+?[ &*](\w+)"
    r"\((?=[^;{}]*?\)[^;{}]*?\{)", re.MULTILINE | re.DOTALL)
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"')
CALL = re.compile(r"(?<![\w.:>~])(\w+)\(")
TYPE = re.compile(r"^(?:template <[^>]*>\n)?(?:(?:struct|class|enum class|enum) (\w+)(?=[^;]*?\{)|(using (\w+) = [^;]+;))",
                  re.MULTILINE)
OUR_INCLUDE = re.compile(r'^\s*#\s*include\s+"(evenkeel/[^"]+)"', re.MULTILINE)


def hidden_functions(text):
    """Names of the functions that a source defines in anonymous namespaces."""
    return {function[1] for block in ANONYMOUS.finditer(text) for function in FUNCTION.finditer(block[1])}


def calls(text):
    """Names of the functions that code calls which are no members and not qualified."""
    return set(CALL.findall(text))


def types(text):
    """Definitions by name: of an alias its text, of another type None."""
    return {found[1] or found[3]: found[2] for found in TYPE.finditer(text)}


def type_complaints(sources, headers):
    """Rule 2. sources, headers: text by name, of one unit."""
    hidden = {name: types("\n".join(block[1] for block in ANONYMOUS.finditer(text))) for name, text in sources.items()}
    public = {name: types(text) for name, text in headers.items()}
    for name, own in hidden.items():
        for kind, definition in sorted(own.items()):
            for other, of_other in [*hidden.items(), *public.items()]:
                if other != name and kind in of_other and (definition is None or of_other[kind] != definition):
                    yield f"{name}: {kind} in an anonymous namespace: {other} gives the name to another type"
                    break


def unit_complaints(floor, sources, headers):
    """Rules 1 and 2. sources, headers: text by name, of one floor. Its sources for CUDA are units of their own."""
    if floor in ALONE:
        return
    for is_cuda in (False, True):
        unit = {name: text for name, text in sources.items() if name.endswith("_cuda.cpp") == is_cuda}
        yield from type_complaints(unit, headers)
        yield from function_complaints(unit)


def function_complaints(sources):
    """Rule 1. sources: text by name, of one unit."""
    code = {name: COMMENT_OR_TEXT.sub('""', text) for name, text in sources.items()}
    hidden = {name: hidden_functions(sources[name]) for name in code}
    called = {name: calls(text) for name, text in code.items()}
    for name, functions in hidden.items():
        for function in sorted(functions):
            for other in code:
                if other != name and function in hidden[other] | called[other]:
                    yield f"{name}: {function}() in an anonymous namespace: {other} uses the name, too; both are in one unit"
                    break


def chain_complaints(texts):
    """Rule 3. texts: by path as it is included (evenkeel/...)."""
    includes = {name: OUR_INCLUDE.findall(text) for name, text in texts.items()}
    longest = {}

    def chain(name):
        if name not in longest:
            longest[name] = [name]  # also ends a circle
            longest[name] = [name] + max((chain(each) for each in includes.get(name, [])), key=len, default=[])
        return longest[name]

    chains = [chain(name) for name in sorted(includes)]
    worst = max(chains, key=len, default=[])
    if len(worst) > MAX_CHAIN:
        yield f"{worst[0]}: a chain of {len(worst)} includes ({MAX_CHAIN} at most): {', '.join(worst)}"


def by_floor(texts, suffix):
    """Sources or headers by floor, of texts by name as in src/evenkeel/FLOOR/..."""
    floors = collections.defaultdict(dict)
    for name, text in texts.items():
        parts = name.split("/")
        if name.startswith("src/evenkeel/") and name.endswith(suffix):
            floors[parts[2]][name] = text
    return floors
