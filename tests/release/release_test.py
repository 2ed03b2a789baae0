#!/usr/bin/env python3
"""What scripts/release made: the sums are those of the files, and the SPDX document is one, names every file of every
package with its checksum, and knows the libraries that are inside.

usage: release_test.py FOLDER
Skipped (77) without SHA256SUMS there.
"""
import hashlib
import json
import re
import sys
import tarfile
from pathlib import Path

SKIPPED = 77
# Inside a static program, with a part of what their licence is called: the C library and the compiler's (whose
# copyright files are for people), an archive, one that is compiled here, headers, and the page's.
INSIDE = {"libc6-dev": "NOASSERTION", "libstdc++-12-dev": "NOASSERTION", "libzstd-dev": "BSD-3-Clause",
          "graphviz": "EPL-1.0", "libexpected-dev": "CC0-1.0", "emscripten": "MIT", "lzma1": "MIT"}
MEMBERS = {
    "document": {"spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo"},
    "packages": {"SPDXID", "name", "downloadLocation", "licenseDeclared"},
    "files": {"SPDXID", "fileName", "checksums"},
    "relationships": {"spdxElementId", "relationshipType", "relatedSpdxElement"},
    "hasExtractedLicensingInfos": {"licenseId", "extractedText"},
}


def check_sums(folder):
    wrong, listed = [], {}
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        listed[name] = digest
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
            wrong.append(f"{name} has another sum")
    for pattern in ("memtool-*-linux-x86_64.tar.xz", "memtool-*-linux-aarch64.tar.xz", "memtool-profile_*.deb",
                    "memtool_profile-*.whl", "memtool-*.spdx.json", "install.sh"):
        if not [name for name in listed if Path(name).match(pattern)]:
            wrong.append(f"no {pattern}")
    return wrong, listed


def check_shape(document):
    """What every document of SPDX 2.3 has, and that it speaks of nothing that it does not say."""
    wrong = []
    for kind, members in MEMBERS.items():
        for entry in [document] if kind == "document" else document[kind]:
            if members - set(entry):
                wrong.append(f"{kind}: {entry.get('SPDXID')} has no {members - set(entry)}")
    names = [entry["SPDXID"] for kind in ("packages", "files") for entry in document[kind]] + ["SPDXRef-DOCUMENT"]
    if len(names) != len(set(names)) or not all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", name) for name in names):
        wrong.append("identifiers are not unique, or have other characters")
    relations = [tuple(sorted(relation.items())) for relation in document["relationships"]]
    if len(relations) != len(set(relations)):
        wrong.append("a relationship is said twice")
    for relation in document["relationships"]:
        if not {relation["spdxElementId"], relation["relatedSpdxElement"]} <= set(names):
            wrong.append(f"nobody is {relation}")
    texts = {entry["licenseId"] for entry in document["hasExtractedLicensingInfos"]}
    used = {name for package in document["packages"]
            for name in re.findall(r"LicenseRef-[A-Za-z0-9.-]+", package["licenseDeclared"])}
    if used != texts:
        wrong.append(f"licences without a text, or texts without a licence: {used ^ texts}")
    return wrong


def check_archive(document, path, listed):
    wrong = []
    package, = [entry for entry in document["packages"] if entry["name"] == path.name]
    if [entry["checksumValue"] for entry in package["checksums"]] != [listed[path.name]]:
        wrong.append(f"{path.name} has another sum in the document")
    held = [relation["relatedSpdxElement"] for relation in document["relationships"]
            if relation["spdxElementId"] == package["SPDXID"] and relation["relationshipType"] == "CONTAINS"]
    files = {entry["fileName"]: entry["checksums"][-1]["checksumValue"] for entry in document["files"]
             if entry["SPDXID"] in held}
    with tarfile.open(path) as tar:
        there = {f"./{member.name}": hashlib.sha256(tar.extractfile(member).read()).hexdigest()
                 for member in tar if member.isfile()}
    if files != there:
        wrong.append(f"{path.name} has other files: {sorted(set(files) ^ set(there))[:5]}")
    parts = {entry["name"]: entry for entry in document["packages"] if entry["SPDXID"] in held}
    for name, licence in INSIDE.items():
        if name not in parts or licence not in parts[name]["licenseDeclared"]:
            wrong.append(f"{path.name}: {name} is {parts.get(name)}")
    return wrong


def main():
    folder = Path(sys.argv[1])
    if not (folder / "SHA256SUMS").exists():
        print(f"skipped: no packages in {folder}; scripts/release makes them")
        return SKIPPED
    wrong, listed = check_sums(folder)
    if not wrong:
        document = json.loads(next(folder.glob("memtool-*.spdx.json")).read_text())
        wrong += check_shape(document)
        for path in folder.glob("*.tar.xz"):
            wrong += check_archive(document, path, listed)
    print("\n".join(wrong) or f"{len(listed)} files are as SHA256SUMS and the SPDX document say")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
