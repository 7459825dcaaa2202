"""Every field of XLA's own messages has its line in the field table, with the right type.

A field that the table does not know is never a wrong hit, but it costs hits: this test fails when a new JAX brings one.
"""

import collections
import subprocess

from cluster import BUILD

import xla_descriptors

ROOT, ROOT_MESSAGE = ".xla.HloModuleProto", 0


def field_table() -> tuple[dict[int, dict[int, tuple[str, str, int]]], dict[int, set[int]], int]:
    """By message and number: type, presence, message within; and the inert numbers; and what stands for no message."""
    lines = subprocess.run([BUILD / "tests" / "graph_schema_dump"], check=True, capture_output=True, text=True).stdout
    table, inert = collections.defaultdict(dict), collections.defaultdict(set)
    for line in lines.splitlines():
        message, number, *rest = line.split()
        if rest == ["inert"]:
            inert[int(message)].add(int(number))
        else:
            table[int(message)][int(number)] = (rest[0], rest[1], int(rest[3]))
    return table, inert, max(table) + 1


def test_every_field_of_xla_has_its_line_in_the_table():
    messages = xla_descriptors.load("xla/service/hlo.proto", "xla/xla_data.proto")
    table, inert, no_message = field_table()
    wrong, seen, compared = [], set(), 0
    waiting = [(ROOT, ROOT_MESSAGE)]
    while waiting:
        name, message = waiting.pop()
        if (name, message) in seen:
            continue
        seen.add((name, message))
        for field in messages[name]:
            compared += 1
            known = table[message].get(field.number)
            where = f"{name}.{field.name} = {field.number}"
            if known is None:
                if field.number not in inert[message]:
                    wrong.append(f"{where} is not in the table")
                continue
            kind, presence, within = known
            if kind != field.type:
                wrong.append(f"{where} is {field.type}, in the table {kind}")
            if (presence == "repeated") != field.repeated:
                wrong.append(f"{where} is {'' if field.repeated else 'not '}repeated, in the table {presence}")
            if field.type != "message" and not field.repeated and (presence == "explicit") != field.in_oneof:
                wrong.append(f"{where}: in the table {presence}")
            if field.type == "message" and within != no_message:
                waiting.append((field.type_name, within))
    assert not wrong, "\n".join(wrong)
    # It did look: HloInstructionProto alone has more than 80.
    assert compared > 250 and len(seen) > 45, (compared, len(seen))
