# shellcheck shell=bash
# Sourced by portable, wheel and deb: what of other projects is inside a program or a library, by Debian's packages. Who
# sources it sets `system`, the root of the system whose libraries it was linked with.
# shellcheck disable=SC2154  # of these

# Headers that leave code in the program.
headers=(libboost-program-options1.74-dev libexpected-dev libfmt-dev rapidjson-dev)
# What the page is made of, besides the sources that scripts/page compiles and what npm installs.
in_page=("${headers[@]}" emscripten)
page_sources=$root/build/wasm/sources

# archives_in PRESET MAP: the archives that the linker took something of, as its map in build/PRESET says; that of GNU ld
# begins lines with them, mold's has the addresses before.
archives_in() {
  (
    cd -- "$root/build/$1"
    sed -n -e '/^\(Discarded\|Memory\|Merging\)/q' -e 's/^\([ 0-9a-fx]* \)\?\([^ (][^(]*\.a\)(.*/\2/p' "$2" | sort -u |
      xargs -r realpath -- | sort -u
  )
}

# of_archives PRESET MAP: the packages that these archives are from, without those compiled here. Fails when one is from
# no package.
of_archives() {
  archives_in "$@" | sed -e "s|^${system:-/none}/|/|" -e t -e "\\|^$root/build/|d" |
    xargs -- dpkg-query --admindir="$system/var/lib/dpkg" -S | sed 's/[:,].*//' | sort -u
}

# installed ROOT PACKAGE...: a line for each, with tabs: name, version, source package, its version, licence (-: what
# the copyright file says), copyright file.
installed() {
  local fields="\${Package}\t\${Version}\t\${source:Package}\t\${source:Version}"
  dpkg-query --admindir="$1/var/lib/dpkg" -W -f "$fields\t-\t$1/usr/share/doc/\${Package}/copyright\n" "${@:2}"
}

# compiled FOLDER: the same for Debian's sources there. Boost's are a part, without Debian's files; its headers are
# the same package.
compiled() {
  local folder name version
  for folder in "$1"/*; do
    [[ -e $folder/debian/changelog ]] || continue
    name=$(dpkg-parsechangelog -l "$folder/debian/changelog" -S Source)
    version=$(dpkg-parsechangelog -l "$folder/debian/changelog" -S Version)
    printf '%s\t%s\t%s\t%s\t-\t%s\n' "$name" "$version" "$name" "$version" "$folder/debian/copyright"
  done
}

# of_npm: the same for the page's packages of npm.
of_npm() {
  (cd -- "$root/viewer" && npm query ':root > .prod' < /dev/null) | python3 -c '
import json, sys
for package in json.load(sys.stdin):
    print(package["name"], package["version"], "npm", package["version"], package["license"],
          package["path"] + "/LICENSE", sep="\t")'
}

# page_of PRESET: the page inside what build/PRESET makes, if any.
page_of() { sed -n 's/^MEMTOOL_PAGE:FILEPATH=//p' "$root/build/$1/CMakeCache.txt"; }

# collect_licences FOLDER PRESET MAP [PACKAGE...]: the copyright files of what is inside the program or library of that
# map and its page, those of these packages too, and INSIDE, which has the same lines without the file.
collect_licences() {
  local folder=$1 preset=$2 map=$3 names found line
  shift 3
  mkdir -p "$folder"
  names=$(of_archives "$preset" "$map") || { say "it is not known what is inside build/$preset"; return 1; }
  mapfile -t found <<< "$names"
  [[ -z $(page_of "$preset") || -d $page_sources ]] ||
    { say "what the page is made of is not here: remove $page"; return 1; }
  {
    installed "$system" "${found[@]}" "${headers[@]}" "$@"
    compiled "$root/build/$preset/sources"
    if [[ -n $(page_of "$preset") ]]; then
      installed '' "${in_page[@]}"
      compiled "$page_sources"
      of_npm
    fi
  } | sort -u > "$folder/lines"
  while IFS= read -r line; do
    cp -L -- "${line##*$'\t'}" "$folder/${line%%$'\t'*}.txt"
    printf '%s\n' "${line%$'\t'*}"
  done < "$folder/lines" | sort -u > "$folder/INSIDE"
  rm -- "$folder/lines"
  # What these files refer to.
  cp -L -- /usr/share/common-licenses/{Apache-2.0,GPL-2,GPL-3,LGPL-2,LGPL-2.1,LGPL-3,MPL-1.1} "$folder"
}

# relinking FILE LIBRARY-OR-PROGRAM COMMAND: the licences of glibc, elfutils and Cairo let users exchange these libraries.
relinking() {
  local archives="the compiler's search path"
  [[ -z $system ]] || archives=${system#"$root/"}/usr/lib/$arch-linux-gnu
  cat > "$1" << EOF
$2 is linked statically with the libraries whose licences are in this folder. To link it with others,
take memtool's source of the same version on Debian 12, put the archives that you want into $archives,
or the sources into build/$preset/sources, and run $3, which compiles and links
everything anew. The libraries' own sources are Debian's source packages, which the file INSIDE names.
EOF
}
