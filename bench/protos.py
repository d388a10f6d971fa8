"""Writes testdata/proto/NAME.hlo as testdata/proto/NAME.pb, an HloModuleProto, with XLA.

    python bench/protos.py [NAME...]     needs jaxlib
"""
import pathlib
import sys

from jaxlib import _hlo

FOLDER = pathlib.Path(__file__).parent.parent / "testdata" / "proto"


def main(names):
    for path in sorted(FOLDER.glob("*.hlo")):
        text = path.read_text()
        if f"{path.stem}.pb\n" not in text or (names and path.stem not in names):
            continue
        module = _hlo.hlo_module_from_text(text)
        path.with_suffix(".pb").write_bytes(module.as_serialized_hlo_module_proto())
        print(path.with_suffix(".pb"))


main(sys.argv[1:])
