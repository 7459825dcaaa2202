"""The description of a module: keys.md, "Description"."""

from __future__ import annotations

import itertools
import re
from typing import Any

from . import kernel
from .encoding import Encoder, Written, counted, positions, string
from .module import Computation, Instruction, Module, read_module
from .numbering import Numbering, TieBreak, as_written, by_structure, hashed_callees
from .schema import SCHEMAS
from .wire import Malformed, leb128

_NAME_MARKERS = (b"shmap_body", b"xla.sdy.")


class Describer:
    """Writes one module; exact or canonical."""

    def __init__(self, module: Module, ties: TieBreak, read_file: kernel.ReadFile):
        self._module = module
        self._ties = ties
        self._read_file = read_file
        self._encoder = Encoder(module.msg.f22)
        if module.msg.HasField("f20") or len(module.msg.f24):
            raise Malformed("original values or debug attributes")
        self._check_metadata()

    def describe(self, exact: bool) -> bytes:
        numbering = as_written(self._module) if exact else self._by_structure()
        positions_of = {each: index for index, each in enumerate(numbering.computations)}
        parts = [leb128(len(positions_of))]
        for computation in numbering.computations:
            instructions = numbering.instructions[computation]
            callees = {each: b"R" + positions([positions_of[callee] for callee in each.callees])
                       for each in instructions if each.callees}
            parts.append(self._computation(computation, instructions, callees))
        parts += [self._module_fields(numbering), b"\0", leb128(positions_of[self._module.entry])]
        return b"".join(parts)

    def _by_structure(self) -> Numbering:
        def describe(computation: Computation, instructions: list[Instruction], digests: dict[Computation, bytes]) -> bytes:
            callees = {each: hashed_callees(each.callees, digests) for each in instructions if each.callees}
            return self._computation(computation, instructions, callees)

        return by_structure(self._module, self._instruction, describe, self._ties)

    def _computation(self, computation: Computation, instructions: list[Instruction],
                     callees: dict[Instruction, bytes]) -> bytes:
        special: Written = {}
        if any(marker in computation.msg.f1 for marker in _NAME_MARKERS):
            special[1] = b"s" + string(re.sub(rb"([._][0-9]+)+$", b"", computation.msg.f1))
        parts = [self._encoder.fields(computation.msg, SCHEMAS["HloComputation"], special), b"\0",
                 leb128(len(instructions))]
        position_of = {each: index for index, each in enumerate(instructions)}
        for instruction in instructions:
            references: Written = {}
            if instruction.operands:
                references[36] = b"R" + positions([position_of[each] for each in instruction.operands])
            if instruction.controls:
                references[37] = b"R" + positions(sorted(position_of[each] for each in instruction.controls))
            if instruction in callees:
                references[38] = callees[instruction]
            parts.append(self._instruction(instruction, references) + b"\0")
        parts.append(leb128(position_of[computation.root]))
        return b"".join(parts)

    def _instruction(self, instruction: Instruction, references: Written) -> bytes:
        special = dict(references)
        msg = instruction.msg
        config = bytes(msg.f43)
        if msg.HasField("f99"):
            payload = self._encoder.payload_content(msg.f99)
            if payload and not config:
                config = payload
            else:
                special[99] = self._encoder.payload(msg.f99)
        if config:
            special[43] = self._backend_config(msg, config)
        return self._encoder.fields(msg, SCHEMAS["HloInstruction"], special)

    def _backend_config(self, msg: Any, config: bytes) -> bytes:
        if kernel.is_native_kernel(msg):
            canonical = kernel.canonical_config(config, self._read_file)
            if canonical is not None:
                return b"k" + string(canonical)
        return b"s" + string(config)

    def _module_fields(self, numbering: Numbering) -> bytes:
        special: Written = {}
        if self._module.schedule is not None:
            special[7] = b"R" + self._schedule(self._module.schedule, numbering)
            self._check_schedule()
        text = self._encoder.fields(self._module.msg, SCHEMAS["HloModule"], special)
        rows = [(row, payload) for row, payload in enumerate(self._module.msg.f22)
                if row not in self._encoder.referred_payloads]
        if rows:
            text += leb128(22) + b"S" + counted([leb128(row) + string(payload) for row, payload in rows])
        return text

    def _schedule(self, schedule: dict[Computation, list[Instruction]], numbering: Numbering) -> bytes:
        sequences = []
        for computation in sorted(schedule, key=numbering.computations.index):
            position_of = {each: index for index, each in enumerate(numbering.instructions[computation])}
            sequence = positions([position_of[each] for each in schedule[computation]])
            sequences.append(leb128(numbering.computations.index(computation)) + sequence)
        return counted(sequences)

    def _check_schedule(self) -> None:
        """Its messages are guarded, and not written as messages."""
        schedule = self._module.msg.f7
        self._encoder.unknown(schedule, SCHEMAS["HloSchedule"])
        for entry in schedule.f1:
            self._encoder.unknown(entry, SCHEMAS["SequencesEntry"])
            self._encoder.unknown(entry.f2, SCHEMAS["InstructionSequence"])

    def _check_metadata(self) -> None:
        """Instruction metadata is dropped, but refers to payloads (keys.md, "Module 22")."""
        for computation in self._module.computations:
            for instruction in computation.instructions:
                if instruction.msg.f7.HasField("f20"):
                    self._encoder.payload_content(instruction.msg.f7.f20)


def kernels(data: bytes, read_file: kernel.ReadFile) -> list[bytes]:
    """The canonical configurations of a module's NKI calls as written, up to one that makes the compile uncacheable."""
    try:
        module = read_module(data)
    except Malformed:
        return []
    calls = [instruction.msg for computation in module.computations for instruction in computation.instructions
             if kernel.is_native_kernel(instruction.msg)]
    configs = [kernel.canonical_config(call.f43, read_file) for call in calls]
    return [config for config in itertools.takewhile(lambda config: config is not None, configs) if config is not None]


def describe(data: bytes, exact: bool, ties: TieBreak, read_file: kernel.ReadFile) -> bytes:
    """The description of a serialized HloModuleProto. Raises Malformed."""
    return Describer(read_module(data), ties, read_file).describe(exact)

