"""Configurations of NKI kernels, as the program and the second implementation write them.

The program reads no kernel files when it only prints fingerprints, so that calls that name one are not covered there; with
files, tests/graph/golden_test.cc compares.
"""

import base64
import random

import pytest

import programs
from neffcache_key.key import fingerprint
from neffcache_key.wire import BYTES, VARINT, write_field

TARGET = b"AwsNeuronCustomNativeKernel"
VALUES = ("null", "true", "false", "0", "-0", "-5", "18446744073709551615", "18446744073709551616", "-9223372036854775808",
          "-9223372036854775809", "1.50", "-0.0", "1E+5", '""', '"x"', '"\\u00e9\\n\\u0000"', '"\\ud83d\\ude00"', '"ü"', "[]", "{}",
          "[1,[2,{}]]", '{"b":1,"a":[null]}', '"' + "x" * 5000 + '"', '{"binary":3}', '"a/b"', '"C:\\\\x"')
BROKEN = ("", "{", '{"a":1} x', '{"a":NaN}', '{"a":"\\ud83d"}', '{"a":1,"a":2}', '{"a":"/x/y"}', '{"/x/y":1}', '{"a":"../y"}',
          '{"klir_binary":{"binary":"/no/such/file"}}', '{"a":{"klir_binary":{"binary":"/no/such/file"}}}', "hello")


def no_file(path: str) -> bytes:
    raise FileNotFoundError(path)


def encodings(text: str) -> list[bytes]:
    data = text.encode()
    return [data, b" " + data, base64.b64encode(data), base64.b64encode(data).rstrip(b"="), base64.encodebytes(data)]


def call(config: bytes, instruction_id: int = 0, field: int = 43, opcode: bytes = b"custom-call") -> bytes:
    value = config if field == 43 else write_field(1, BYTES, config)
    return write_field(2, BYTES, write_field(2, BYTES, opcode) + write_field(28, BYTES, TARGET) +
                       write_field(35, VARINT, instruction_id) + write_field(field, BYTES, value))


def module(*calls: bytes) -> bytes:
    return write_field(3, BYTES, b"".join(calls))


@pytest.fixture
def check(tmp_path):
    def compare(graphs: list[bytes]) -> None:
        files = [tmp_path / f"{index:04}.pb" for index in range(len(graphs))]
        for file, graph in zip(files, graphs):
            file.write_bytes(graph)
        said = programs.fingerprints(files, exact=False)
        for file, graph in zip(files, graphs):
            assert said[file] == str(fingerprint(graph, read_file=no_file)), graph

    return compare


def test_configurations(check):
    rng = random.Random(1)
    texts = [f'{{"n":{value}}}' for value in VALUES] + [value for value in VALUES if value[0] in '{["'] + list(BROKEN)
    for _ in range(100):
        names = rng.sample(["a", "B", "ü", "func_name", "z", "a0", ""], rng.randrange(1, 6))
        texts.append("{" + " , ".join(f'"{name}" : {rng.choice(VALUES)}' for name in names) + "}")
    check([module(call(config, field=field)) for text in texts for config in encodings(text) for field in (43, 99)])


def test_raw_graphs_list_the_kernels_that_they_call(check):
    configs = [encodings(text)[2] for text in ('{"a":1}', '{"b":2}', "hello", '{"c":"' + "x" * 5000 + '"}')]
    calls = [call(config, index) for index, config in enumerate(configs)]
    graphs = [module(*calls), module(*reversed(calls)), module(call(configs[0], opcode=b"add"))]
    unknown, recovery = write_field(150, VARINT, 1), write_field(20, BYTES, b"")
    no_entry = write_field(6, VARINT, 9)
    check([wrapped for graph in graphs for tail in (unknown, recovery, no_entry, b"\xff")
           for wrapped in (graph + tail, write_field(1, BYTES, graph + tail), b"ML\xefR" + graph)])
