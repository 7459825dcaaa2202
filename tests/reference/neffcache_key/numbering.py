"""The two numberings of keys.md: as written, and by structure."""

from __future__ import annotations

import collections.abc
import dataclasses
import hashlib
from typing import TypeVar

from .encoding import Written, counted
from .module import Computation, Instruction, Module, post_order
from .wire import leb128

NO_POSITION = leb128((1 << 32) - 1)

# Writes the fields of an instruction, its references (36, 37, 38) as given.
WriteInstruction = collections.abc.Callable[[Instruction, Written], bytes]
# The digest of a computation's content, once all that it calls is numbered.
ContentDigest = collections.abc.Callable[[Computation], bytes]
# Writes a computation, its instructions in this order and its callees as content digests.
Describe = collections.abc.Callable[[Computation, list[Instruction], dict[Computation, bytes]], bytes]
_Item = TypeVar("_Item")


@dataclasses.dataclass
class TieBreak:
    """What is done with equal structural digests: keys.md names the means, not the rule, so that `met` tells of them."""

    reverse: bool = False
    met: bool = False

    def sort(self, items: list[_Item], digest: collections.abc.Callable[[_Item], bytes]) -> list[_Item]:
        """By digest; then as written, or the other way round."""
        keyed = [(digest(item), item) for item in items]
        self.met = self.met or len({key for key, _ in keyed}) < len(keyed)
        return [item for _, item in sorted(reversed(keyed) if self.reverse else keyed, key=lambda pair: pair[0])]


class InstructionOrder:
    """Canonical order of one computation's instructions."""

    def __init__(self, computation: Computation, write: WriteInstruction, content: ContentDigest, ties: TieBreak):
        self._computation = computation
        self._write = write
        self._content = content
        self._ties = ties
        self._digests: dict[Instruction, bytes] = {}
        self._position: dict[Instruction, int] = {}
        self._order_all()

    @property
    def instructions(self) -> list[Instruction]:
        return sorted(self._position, key=self._position.__getitem__)

    def _order_all(self) -> None:
        instructions = self._computation.instructions
        parameters = [instruction for instruction in instructions if instruction.msg.f2 == b"parameter"]
        for parameter in sorted(parameters, key=lambda instruction: instruction.msg.f9):
            self._visit(parameter)
        self._visit(self._computation.root)
        used = {before for instruction in instructions for before in instruction.before}
        sinks = [instruction for instruction in instructions
                 if instruction not in used and instruction not in self._position]
        for sink in self._by_digest(sinks):
            self._visit(sink)

    def _visit(self, start: Instruction) -> None:
        """Depth first, with a stack of its own: graphs are deeper than Python's."""
        stack = [(start, self._before(start))]
        while stack:
            instruction, pending = stack[-1]
            child = next((child for child in pending if child not in self._position), None)
            if child is None:
                self._position.setdefault(instruction, len(self._position))
                stack.pop()
            else:
                stack.append((child, self._before(child)))

    def _before(self, instruction: Instruction) -> collections.abc.Iterator[Instruction]:
        yield from instruction.operands
        # By now some of the control predecessors may have been reached through the operands.
        yield from self._by_digest([control for control in instruction.controls if control not in self._position])

    def _by_digest(self, instructions: list[Instruction]) -> list[Instruction]:
        if len(instructions) < 2:
            return instructions
        if not self._digests:
            self._make_digests()
        return self._ties.sort(instructions, self._digests.__getitem__)

    def _make_digests(self) -> None:
        """Of all that have no position by now."""
        missing = [instruction for instruction in self._computation.instructions if instruction not in self._position]
        for instruction in post_order(missing, self._before_unplaced):
            self._digests[instruction] = self._digest(instruction)

    def _before_unplaced(self, instruction: Instruction) -> list[Instruction]:
        return [before for before in instruction.before if before not in self._position]

    def _digest(self, instruction: Instruction) -> bytes:
        references: Written = {}
        if instruction.operands:
            references[36] = b"H" + leb128(len(instruction.operands))
        if instruction.controls:
            references[37] = b"H"
        if instruction.callees:
            references[38] = b"H" + leb128(len(instruction.callees))
        parts = [self._write(instruction, references), b"\0"]
        parts += [self._reference(operand) for operand in instruction.operands]
        parts += sorted({self._reference(control) for control in instruction.controls})
        parts += [self._content(callee) for callee in instruction.callees]
        return hashlib.sha256(b"".join(parts)).digest()

    def _reference(self, instruction: Instruction) -> bytes:
        if instruction in self._position:
            return leb128(self._position[instruction])
        return NO_POSITION + self._digests[instruction]


@dataclasses.dataclass
class Numbering:
    """Computations in order, and the instructions of each."""

    computations: list[Computation]
    instructions: dict[Computation, list[Instruction]]

    def position_of(self, computation: Computation) -> int:
        return self.computations.index(computation)


def as_written(module: Module) -> Numbering:
    return Numbering(module.computations, {each: each.instructions for each in module.computations})


def by_structure(module: Module, write: WriteInstruction, describe: Describe, ties: TieBreak) -> Numbering:
    digests: dict[Computation, bytes] = {}
    orders: dict[Computation, list[Instruction]] = {}
    for computation in post_order(module.computations, lambda each: each.callees):  # Callees first.
        orders[computation] = InstructionOrder(computation, write, digests.__getitem__, ties).instructions
        description = describe(computation, orders[computation], digests)
        digests[computation] = hashlib.sha256(description).digest()

    def callees(computation: Computation) -> list[Computation]:
        return [callee for instruction in orders[computation] for callee in instruction.callees]

    called = {callee for computation in module.computations for callee in computation.callees}
    uncalled = [each for each in module.computations if each not in called and each is not module.entry]
    starts = [module.entry]
    reached = set(post_order(starts, callees))
    starts += ties.sort([each for each in uncalled if each not in reached], digests.__getitem__)
    return Numbering(post_order(starts, callees), orders)


def hashed_callees(callees: list[Computation], digests: dict[Computation, bytes]) -> bytes:
    """Kind H of field 38 in a content digest."""
    return b"H" + counted([digests[callee] for callee in callees])
