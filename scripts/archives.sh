# shellcheck shell=bash
# Sourced by portable and wheel: the libraries that Debian has no archives of, from its source packages; and those of
# whose archives a few members cannot be in a library (cmake/Portable.cmake).
# shellcheck source=scripts/sources.sh
source "$root/scripts/sources.sh"

# fetch_archives PRESET MACHINE: into build/PRESET/sources; MACHINE: that it is compiled for, where it is another one.
fetch_archives() {
  sources=$root/build/$1/sources across=()
  upstream_alone='elfutils pixman protobuf re2'
  declare -gA package_of=([isal]=libisal [graphviz]=graphviz)
  if [[ -n $2 ]]; then
    across=(host_cpu="$2" CC="$2-linux-gnu-gcc" AR="$2-linux-gnu-ar")
  else
    package_of+=([elfutils]=elfutils [pixman]=pixman [protobuf]=protobuf [re2]=re2)
  fi
  fetch_sources
}

unpack_source() {
  if [[ " $upstream_alone " == *" ${package_of[$1]} "* ]]; then
    mkdir -p "$3"
    tar -xf "$2/${package_of[$1]}"_*.orig.tar.* -C "$3" --strip-components=1
    return
  fi
  quietly dpkg-source --no-check -x "$2/${package_of[$1]}"_*.dsc "$3"
  if [[ $1 == isal ]]; then
    quietly make -C "$3" -f Makefile.unx "${across[@]}" units='igzip crc' lib
  fi
}
