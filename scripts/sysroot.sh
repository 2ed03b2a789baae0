# shellcheck shell=bash
# Sourced by portable, after sources.sh: Debian's packages for another machine, in a folder of their own, so that
# the system stays as it is.

# apt_for MACHINE FOLDER COMMAND...: apt-get for that machine, as if nothing were installed.
apt_for() {
  apt apt-get "$2" -o APT::Architecture="$1" -o APT::Architectures="$1" -o APT::Install-Recommends=false \
    -o Dir::State::status="$2/status" -y "${@:3}"
}

# enter_package FILE ROOT: unpacks it, and writes down what dpkg-query tells.
enter_package() {
  local control name database=$2/var/lib/dpkg
  control=$(dpkg-deb -f "$1")
  name=$(sed -n 's/^Package: //p' <<< "$control")
  if [[ $control == *$'\nMulti-Arch: same'* ]]; then
    name+=:$(sed -n 's/^Architecture: //p' <<< "$control")
  fi
  # Names as dpkg has them: "/." for the root, no slash at the end.
  dpkg-deb --fsys-tarfile "$1" | tar -C "$2" -xpvf - |
    sed -e 's/^\.//' -e 's/^\/$/\/./' -e 's/\/$//' > "$database/info/$name.list"
  printf '%s\nStatus: install ok installed\n\n' "$control" >> "$database/status"
}

# make_sysroot MACHINE ROOT PACKAGE...: these packages, and what they depend on, unpacked into ROOT with a database
# for dpkg-query; whole or not at all, and anew when the packages are others.
make_sysroot() {
  local machine=$1 folder=$2 file wanted
  shift 2
  wanted="$machine $*"
  [[ ! -e $folder/wanted || $(< "$folder/wanted") != "$wanted" ]] || return 0
  say "fetching libraries for $machine"
  rm -rf -- "$folder"
  mkdir -p "${folder%/*}"
  fetched=$(mktemp -d "${folder%/*}/fetch.XXXXXX")
  archive_lists "$fetched" deb
  : > "$fetched/status"
  quietly apt_for "$machine" "$fetched" update
  quietly apt_for "$machine" "$fetched" --download-only install "$@"
  mkdir -p "$fetched/root/var/lib/dpkg/info"
  echo 1 > "$fetched/root/var/lib/dpkg/info/format"  # names of lists have architectures
  for file in "$fetched"/cache/archives/*.deb; do
    enter_package "$file" "$fetched/root"
  done
  printf '%s\n' "$wanted" > "$fetched/root/wanted"
  mv -T -- "$fetched/root" "$folder"
  forget_fetched
}
