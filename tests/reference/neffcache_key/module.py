"""A module with its references resolved: keys.md, "Numbering" and what makes a module malformed."""

from __future__ import annotations

import collections.abc
import dataclasses
from typing import Any, TypeVar

from .schema import SCHEMAS, message_class
from .wire import Malformed, normalize

_LOW_HALF = (1 << 32) - 1
_Node = TypeVar("_Node")


@dataclasses.dataclass(eq=False)
class Instruction:
    msg: Any
    operands: list[Instruction] = dataclasses.field(default_factory=list)
    controls: list[Instruction] = dataclasses.field(default_factory=list)  # Unique, as first written.
    callees: list[Computation] = dataclasses.field(default_factory=list)

    @property
    def before(self) -> list[Instruction]:
        """What it comes after in every order."""
        return self.operands + self.controls


@dataclasses.dataclass(eq=False)
class Computation:
    msg: Any
    instructions: list[Instruction]
    by_low_id: dict[int, Instruction]
    root: Instruction

    @property
    def callees(self) -> list[Computation]:
        return [callee for instruction in self.instructions for callee in instruction.callees]


@dataclasses.dataclass(eq=False)
class Module:
    msg: Any
    computations: list[Computation]
    entry: Computation
    schedule: dict[Computation, list[Instruction]] | None


def read_module(data: bytes) -> Module:
    """Parses and resolves; Malformed where keys.md asks for the raw tag."""
    msg = message_class("HloModule")()
    msg.ParseFromString(normalize(data, SCHEMAS["HloModule"]))
    by_id: dict[int, Computation] = {}
    computations = [_read_computation(computation) for computation in msg.f3]
    for computation in computations:
        if by_id.setdefault(computation.msg.f5, computation) is not computation:
            raise Malformed(f"two computations have the id {computation.msg.f5}")
    for computation in computations:
        for instruction in computation.instructions:
            instruction.callees = [_found(by_id, callee, "computation") for callee in instruction.msg.f38]
        post_order(computation.instructions, lambda instruction: instruction.before)  # Refuses cycles.
    post_order(computations, lambda computation: computation.callees)
    entry = _found(by_id, msg.f6, "computation")
    return Module(msg, computations, entry, _read_schedule(msg, by_id))


def _read_computation(msg: Any) -> Computation:
    instructions = [Instruction(instruction) for instruction in msg.f2]
    by_low_id: dict[int, Instruction] = {}
    for instruction in instructions:
        if not instruction.msg.f2:
            raise Malformed("an instruction has no opcode")
        low = instruction.msg.f35 & _LOW_HALF
        if by_low_id.setdefault(low, instruction) is not instruction:
            raise Malformed(f"two instructions have the id {low}")
    for instruction in instructions:
        instruction.operands = [_local(by_low_id, operand) for operand in instruction.msg.f36]
        controls = [_local(by_low_id, control) for control in instruction.msg.f37]
        instruction.controls = list(dict.fromkeys(controls))
    if not instructions:
        raise Malformed("a computation has no instructions")
    return Computation(msg, instructions, by_low_id, _local(by_low_id, msg.f6))


def _read_schedule(msg: Any, by_id: dict[int, Computation]) -> dict[Computation, list[Instruction]] | None:
    if not msg.HasField("f7"):
        return None
    by_key = {entry.f1: entry.f2.f1 for entry in msg.f7.f1}  # Of equal keys the last one counts, as in any map.
    schedule = {}
    for key, sequence in by_key.items():
        computation = _found(by_id, key, "computation")
        schedule[computation] = [_local(computation.by_low_id, item) for item in sequence]
    return schedule


def _local(by_low_id: dict[int, Instruction], full_id: int) -> Instruction:
    return _found(by_low_id, full_id & _LOW_HALF, "instruction")


def _found(table: dict[int, _Node], key: int, what: str) -> _Node:
    if key not in table:
        raise Malformed(f"no {what} has the id {key}")
    return table[key]


def post_order(starts: list[_Node], before: collections.abc.Callable[[_Node], list[_Node]]) -> list[_Node]:
    """Depth first from each start: every node after what `before` gives for it, in that order. No cycles, or Malformed."""
    done: dict[_Node, bool] = {}
    order: list[_Node] = []
    for start in starts:
        stack = [] if start in done else [(start, iter(before(start)))]
        if stack:
            done[start] = False
        while stack:
            node, pending = stack[-1]
            for child in pending:
                if child not in done:
                    done[child] = False
                    stack.append((child, iter(before(child))))
                    break
                if not done[child]:
                    raise Malformed("a cycle")
            else:
                done[node] = True
                order.append(node)
                stack.pop()
    return order
