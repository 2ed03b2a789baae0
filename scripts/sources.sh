# shellcheck shell=bash
# Sourced by page and portable: sources of libraries, from Debian's source packages. Who sources it
# sets `sources`, the folder for them, and `package_of`, source packages by the name of their folder
# there, and defines unpack_source NAME FOLDER TARGET. Of the packages in `upstream_alone` it takes what Debian has
# not changed.
# shellcheck disable=SC2154  # of these

# archive_lists FOLDER TYPE: the system's Debian archives, for packages of that type (deb, deb-src). The system's
# own lists stay as they are.
archive_lists() {
  local file
  mkdir -p "$1/parts" "$1/lists/partial" "$1/cache/archives/partial"
  for file in /etc/apt/sources.list.d/*.sources; do
    [[ -e $file ]] && grep -q '^URIs:.*/debian' "$file" || continue
    sed "s/^Types:.*/Types: $2/" "$file" > "$1/parts/${file##*/}"
  done
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [[ -e $file ]] || continue
    sed -n "/\\/debian/s/^deb /$2 /p" "$file"
  done > "$1/parts/lines.list"
}

# apt TOOL FOLDER COMMAND...: apt-get or apt-cache, with the lists in FOLDER.
apt() {
  "$1" -qq -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$2/parts" \
    -o Dir::State::lists="$2/lists" -o Dir::Cache="$2/cache" -o APT::Sandbox::User="$(id -un)" "${@:3}" < /dev/null
}

# download FOLDER PACKAGE: the newest version that the archive really has; lists may be ahead of it.
download() {
  local version only=--only-source
  [[ " ${upstream_alone:-} " != *" $2 "* ]] || only=--tar-only
  while read -r version; do
    if (cd -- "$1" && apt apt-get "$1" source --download-only "$only" "$2=$version") > "$1/log" 2>&1; then
      return
    fi
    rm -f -- "$1/$2"_*
  done < <(apt apt-cache "$1" showsrc --only-source "$2" 2> /dev/null | sed -n 's/^Version: //p' | sort -ruV)
  say "no version of $2's source can be fetched"
  cat "$1/log" >&2
  return 1
}

# fetch_sources: each of package_of into $sources/NAME, which is there whole or not at all.
fetch_sources() {
  local name missing=()
  for name in "${!package_of[@]}"; do
    [[ -d $sources/$name ]] || missing+=("$name")
  done
  ((${#missing[@]} > 0)) || return 0
  say "fetching the sources of ${missing[*]}"
  mkdir -p "$sources"
  # Beside where they go, so that moving is renaming.
  fetched=$(mktemp -d "${sources%/*}/fetch.XXXXXX")
  archive_lists "$fetched" deb-src
  quietly apt apt-get "$fetched" update
  for name in "${missing[@]}"; do
    download "$fetched" "${package_of[$name]}"
    unpack_source "$name" "$fetched" "$fetched/unpacked-$name"
    mv -T -- "$fetched/unpacked-$name" "$sources/$name"
  done
  forget_fetched
}

# forget_fetched: removes what an interrupted fetch_sources has left; for traps.
fetched=''
forget_fetched() {
  [[ -z $fetched ]] || rm -rf -- "$fetched"
  fetched=''
}
