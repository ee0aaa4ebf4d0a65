# SPDX-License-Identifier: Apache-2.0
"""What a power cut may leave of a folder, by the rules of POSIX; reads the log of shims/write_log.c.

The content of a file is durable after fsync of the file, its name after fsync of its folder. A change
that is not durable may be there or not, in any combination (POLICIES); a write may be torn at 512 bytes.
"""
import os
import pathlib
import shutil
import struct
from dataclasses import dataclass

HEAD = struct.Struct("<c3Iqq")
SECTOR = 512
POLICIES = ["durable changes only", "all changes", "a prefix of the changes of each file and folder",
            "each change by chance"]


@dataclass
class Call:
    """One logged call. \\param reported  bytes of standard error before it"""
    kind: str
    path: str
    second: str
    offset: int
    reported: int
    data: bytes


def read_log(file):
    """All calls of a log."""
    content, at, calls = pathlib.Path(file).read_bytes(), 0, []
    while at < len(content):
        kind, path, second, size, offset, reported = HEAD.unpack_from(content, at)
        at += HEAD.size
        parts = []
        for length in (path, second, size):
            parts.append(content[at:at + length])
            at += length
        calls.append(Call(kind.decode(), parts[0].decode(), parts[1].decode(), offset, reported, parts[2]))
    return calls


class File:
    """Bytes now, durable bytes, and the changes since."""

    def __init__(self, data=b""):
        self.data, self.durable, self.changes = bytearray(data), bytes(data), []

    def change(self, kind, offset, data=b""):
        applied(self.data, kind, offset, data)
        self.changes.append((kind, offset, data))

    def flush(self):
        self.durable, self.changes = bytes(self.data), []

    def after_cut(self, policy, chance):
        """The content that a power cut leaves."""
        if policy == 1:
            return bytes(self.data)
        content = bytearray(self.durable)
        for kind, offset, data in surviving(self.changes, policy, chance):
            if kind == "W" and chance.random() < 0.2:
                data = data[:chance.randrange(len(data) // SECTOR * SECTOR + 1)]
            applied(content, kind, offset, data)
        return bytes(content)


class Folder:
    """Names now, durable names, and the changes since."""

    def __init__(self):
        self.names, self.durable, self.changes = {}, {}, []

    def change(self, kind, name, node=None):
        renamed(self.names, kind, name, node)
        self.changes.append((kind, name, node))

    def flush(self):
        self.durable, self.changes = dict(self.names), []

    def after_cut(self, policy, chance):
        """The names that a power cut leaves."""
        if policy == 1:
            return dict(self.names)
        names = dict(self.durable)
        for kind, name, node in surviving(self.changes, policy, chance):
            renamed(names, kind, name, node)
        return names


def surviving(changes, policy, chance):
    """The changes that reached the disk before the power cut."""
    if policy == 0:
        return []
    if policy == 2:
        return changes[:chance.randrange(len(changes) + 1)]
    return [each for each in changes if chance.random() < 0.5]


def applied(content, kind, offset, data):
    """Applies a write (W) or a new length (L) to a bytearray."""
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    if kind == "W":
        content[offset:offset + len(data)] = data
    else:
        del content[offset:]


def renamed(names, kind, name, node):
    """Applies a new name (+), a lost one (-), a rename (R) or an exchange (X) inside a folder."""
    if kind == "+":
        names[name] = node
    elif kind == "-":
        names.pop(name, None)
    elif kind == "R":
        names.pop(name[0], None)
        names[name[1]] = node
    elif name[0] in names and name[1] in names:
        names[name[0]], names[name[1]] = names[name[1]], names[name[0]]


class Disk:
    """The folder `root` and everything below it, as it is while the calls of a log are replayed."""

    def __init__(self, root, content=None):
        self.root, self.top = str(root), Folder()
        if content:
            load(self.top, pathlib.Path(content))

    def node(self, path):
        """The file or folder with this path; None if there is none."""
        found = self.top
        relative = os.path.relpath(path, self.root)
        for name in [] if relative == "." else relative.split("/"):
            if not isinstance(found, Folder) or name not in found.names:
                return None
            found = found.names[name]
        return found

    def place(self, path):
        return self.node(os.path.dirname(path)), os.path.basename(path)

    def apply(self, call):
        """Replays one call; calls on files without a name change nothing that a cut could leave."""
        if call.kind in "CM":
            folder, name = self.place(call.path)
            folder.change("+", name, File() if call.kind == "C" else Folder())
        elif call.kind in "UB":
            folder, name = self.place(call.path)
            folder.change("-", name)
        elif call.kind in "RXH":
            self.move(call)
        else:
            node = self.node(call.path)
            if node is None:
                return
            if call.kind in "FD":
                node.flush()
            else:
                node.change(call.kind, call.offset, call.data)

    def move(self, call):
        """A rename, an exchange, or a second name."""
        folder, name = self.place(call.path)
        other, second = self.place(call.second)
        node = folder.names[name]
        if call.kind == "H":
            other.change("+", second, node)
        elif folder is other:
            folder.change(call.kind, (name, second), node)
        elif call.kind == "X":
            raise ValueError("an exchange between two folders is not modelled")
        else:
            folder.change("-", name)
            other.change("+", second, node)

    def write(self, folder, policy, chance):
        """Writes what a power cut leaves now."""
        shutil.rmtree(folder, ignore_errors=True)
        write_node(self.top, pathlib.Path(folder), policy, chance)


def load(node, path):
    """Fills a Folder with what lies in a folder; all of it is durable."""
    for each in sorted(path.iterdir()):
        child = Folder() if each.is_dir() else File(each.read_bytes())
        if each.is_dir():
            load(child, each)
        node.names[each.name] = child
    node.flush()


def write_node(node, path, policy, chance):
    """Writes a file or a folder as a power cut leaves it."""
    content = node.after_cut(policy, chance)
    if isinstance(node, File):
        path.write_bytes(content)
        return
    path.mkdir(parents=True)
    for name, child in content.items():
        write_node(child, path / name, policy, chance)


def same_as(node, path):
    """The first path where a folder on disk differs from the replayed one; '' if none does."""
    if isinstance(node, File):
        return "" if path.is_file() and path.read_bytes() == bytes(node.data) else str(path)
    if not path.is_dir() or {each.name for each in path.iterdir()} != set(node.names):
        return str(path)
    return next(filter(None, (same_as(child, path / name) for name, child in sorted(node.names.items()))), "")
