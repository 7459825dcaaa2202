#!/usr/bin/env python3
"""Traces the example's graphs and writes each as a serialized HloModuleProto: DIR/<devices>/<name>.hlo_module.pb.

Graphs for more than one device stand in a folder of their own, because they are compiled with another flag.
"""

import argparse
import pathlib

import graphs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", required=True, type=pathlib.Path, metavar="DIR")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these graphs")
    flags = parser.parse_args()
    graphs.use_host_devices()
    known = graphs.all_graphs()
    for name in flags.names:
        if name not in known:
            parser.error(f"no graph {name}; there are {', '.join(known)}")
    for name in flags.names or known:
        graph = known[name]
        path = flags.out / f"{graph.devices}-device" / f"{name}.hlo_module.pb"
        path.parent.mkdir(parents=True, exist_ok=True)
        module = graph.module()
        path.write_bytes(module)
        print(f"{len(module):>9}  {path}")


if __name__ == "__main__":
    main()
