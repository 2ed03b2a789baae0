"""Writes an SPDX 2.3 document (JSON) of the packages in a folder: their files with checksums, and what of other
projects is inside them, as the list INSIDE of each package says (scripts/linked.sh). Called by scripts/release.

usage: sbom.py VERSION FOLDER       the time is that of SOURCE_DATE_EPOCH
"""
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import time
import urllib.parse
import uuid
import zipfile
from pathlib import Path

# Licences of Debian's copyright files under SPDX's names; a case is no difference.
SPDX_NAMES = {name.lower(): name for name in (
    "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "EPL-1.0", "FTL", "ISC", "MIT", "MPL-1.1", "MPL-2.0",
    "Unlicense", "X11", "Zlib")}
SPDX_NAMES |= {"expat": "MIT", "boost-1.0": "BSL-1.0", "apache-2.0-with-llvm-exception": "Apache-2.0 WITH LLVM-exception"}
for family, versions in {"GPL": "1 2 3", "LGPL": "2 2.1 3"}.items():
    for number in versions.split():
        full = f"{family}-{number}" if "." in number else f"{family}-{number}.0"
        SPDX_NAMES |= {f"{family}-{number}".lower(): f"{full}-only", f"{family}-{number}+".lower(): f"{full}-or-later"}
NOTHING = "NOASSERTION"


def files_of(package):
    """-> {path: bytes} of a tarball, a Debian package or a wheel."""
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist() if not name.endswith("/")}
    data = package.read_bytes()
    if package.suffix == ".deb":
        data = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {member.name.removeprefix("./"): tar.extractfile(member).read() for member in tar if member.isfile()}


def inside(files):
    """-> [(name, version, source, source version, licence, copyright file)] of what other projects made"""
    found = []
    for path in files:
        if path.endswith("/INSIDE"):
            for line in files[path].decode().splitlines():
                name, *rest = line.split("\t")
                found.append((name, *rest, files[f"{path.removesuffix('INSIDE')}{name}.txt"].decode()))
    return found


def stanzas(copyright_file):
    """Those of a machine-readable copyright file, as {field: text}."""
    for block in re.split(r"\n\s*\n", copyright_file):
        yield dict(re.findall(r"^([A-Za-z-]+):[ \t]*(.*(?:\n[ \t].*)*)", block, re.M))


class Licences:
    """Names of licences as SPDX wants them, and the texts of those that it does not have."""

    def __init__(self):
        self.texts = {}

    def of(self, source, copyright_file):
        if not copyright_file.startswith("Format: http"):
            return NOTHING
        blocks = list(stanzas(copyright_file))
        texts = {block["License"].split("\n")[0].strip(): block["License"] for block in blocks
                 if "License" in block and "\n" in block["License"]}
        names = [block["License"].split("\n")[0].strip() for block in blocks
                 if "License" in block and block.get("Files", "debian/*").strip() != "debian/*"]
        terms = {self.term(source, name, texts) for name in names if name}
        return " AND ".join(sorted(terms)) or NOTHING

    def term(self, source, expression, texts):
        """"GPL-2+ or Expat" -> "(GPL-2.0-or-later OR MIT)" """
        words = re.split(r",?\s+(or|and)\s+", expression)
        for place in range(0, len(words), 2):
            words[place] = self.name(source, words[place].strip(" ,()"), texts, expression)
        text = " ".join(word.upper() if word in ("or", "and") else word for word in words)
        return f"({text})" if len(words) > 1 else text

    def name(self, source, name, texts, expression):
        if name.lower() in SPDX_NAMES:
            return SPDX_NAMES[name.lower()]
        known = "LicenseRef-" + re.sub(r"[^A-Za-z0-9.-]+", "-", f"{source}-{name}").strip("-")
        self.texts.setdefault(known, texts.get(name) or texts.get(expression) or name)
        return known


def sums(data, *kinds):
    return [{"algorithm": kind.upper(), "checksumValue": hashlib.new(kind, data).hexdigest()} for kind in kinds]


class Document:
    def __init__(self):
        self.packages, self.files, self.relationships, self.parts, self.licences = [], [], [], {}, Licences()

    def relate(self, one, kind, other):
        self.relationships.append({"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other})

    def part(self, name, version, source, source_version, licence, copyright_file):
        """-> the identifier of what is inside; the same in two packages is one."""
        key = (name, version)
        if key not in self.parts:
            self.parts[key] = f"SPDXRef-Part-{len(self.parts) + 1}"
            purl = (f"pkg:npm/{name}@{version}" if source == "npm" else
                    f"pkg:deb/debian/{source}@{urllib.parse.quote(source_version, safe='.~')}?arch=source")
            self.packages.append({
                "SPDXID": self.parts[key], "name": name, "versionInfo": version, "downloadLocation": NOTHING,
                "filesAnalyzed": False, "licenseConcluded": NOTHING, "copyrightText": NOTHING,
                "licenseDeclared": self.licences.of(source, copyright_file) if licence == "-" else licence,
                "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                  "referenceLocator": purl}]})
        return self.parts[key]

    def add(self, package, version):
        number = len([one for one in self.packages if "packageFileName" in one]) + 1
        identifier, files = f"SPDXRef-Package-{number}", files_of(package)
        self.relate("SPDXRef-DOCUMENT", "DESCRIBES", identifier)
        sha1 = sorted(hashlib.sha1(data).hexdigest() for data in files.values())
        self.packages.append({
            "SPDXID": identifier, "name": package.name, "versionInfo": version, "packageFileName": package.name,
            "downloadLocation": NOTHING, "filesAnalyzed": True, "checksums": sums(package.read_bytes(), "sha256"),
            "packageVerificationCode": {"packageVerificationCodeValue": hashlib.sha1("".join(sha1).encode()).hexdigest()},
            "licenseConcluded": NOTHING, "licenseDeclared": "Apache-2.0", "licenseInfoFromFiles": [NOTHING],
            "copyrightText": NOTHING})
        for place, (path, data) in enumerate(sorted(files.items()), 1):
            self.files.append({
                "SPDXID": f"SPDXRef-File-{number}-{place}", "fileName": f"./{path}", "licenseConcluded": NOTHING,
                "licenseInfoInFiles": [NOTHING], "copyrightText": NOTHING, "checksums": sums(data, "sha1", "sha256")})
            self.relate(identifier, "CONTAINS", self.files[-1]["SPDXID"])
        for part in inside(files):
            self.relate(identifier, "CONTAINS", self.part(*part))

    def written(self, version):
        seconds = int(os.environ["SOURCE_DATE_EPOCH"])
        contents = json.dumps([self.packages, self.files])
        return {
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"memtool-{version}", "documentNamespace": uuid.uuid5(uuid.NAMESPACE_OID, contents).urn,
            "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)),
                             "creators": ["Tool: memtool-scripts-release"]},
            "packages": self.packages, "files": self.files, "relationships": self.relationships,
            "hasExtractedLicensingInfos": [{"licenseId": name, "extractedText": text, "name": name}
                                           for name, text in sorted(self.licences.texts.items())]}


def main():
    version, folder = sys.argv[1], Path(sys.argv[2])
    document = Document()
    for package in sorted(folder.iterdir()):
        if package.suffix in (".xz", ".deb", ".whl"):
            document.add(package, version)
    json.dump(document.written(version), sys.stdout, indent=1, sort_keys=True)
    print()


if __name__ == "__main__":
    main()
