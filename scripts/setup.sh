# shellcheck shell=bash
# Sourced by memtool, test and .ci/run: packages, configuration, build.
# Nothing here writes to stdout; that belongs to the program.

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd -P)

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# packages_of SECTION...: the names that packages.txt lists there.
packages_of() {
  local line section=''
  while read -r line; do
    case $line in
      '' | '#'*) ;;
      '['*) section=${line:1:-1} ;;
      *) [[ " $* " != *" $section "* ]] || printf '%s\n' "$line" ;;
    esac
  done < "$root/scripts/packages.txt"
}

# missing_of PACKAGE...: those that are not installed.
missing_of() {
  local name status
  local -A installed=()
  while read -r name status; do
    [[ $status != *' installed' ]] || installed[$name]=1
  done < <(dpkg-query -W -f '${Package} ${Status}\n' "$@" 2>/dev/null)
  for name in "$@"; do
    [[ -n ${installed[$name]:-} ]] || printf '%s\n' "$name"
  done
}

# need_packages SECTION...: installs what is missing, or says how to and exits 125.
need_packages() {
  local missing sudo=()
  if ! command -v dpkg-query > /dev/null; then
    return 0  # not Debian: the configure step reports what it cannot find
  fi
  # shellcheck disable=SC2046
  mapfile -t missing < <(missing_of $(packages_of "$@"))
  if ((${#missing[@]} == 0)); then
    return 0
  fi
  if ((EUID != 0)); then
    sudo=(sudo)
    if ! sudo -n true 2> /dev/null; then
      cannot_install "${missing[@]}"
    fi
    sudo=(sudo -n)
  fi
  say "installing ${missing[*]}"
  local install=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y
    -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 --no-install-recommends install "${missing[@]}")
  # The package lists are fetched only when they are missing or out of date. An installation that
  # was cut off before is ended first: until then apt refuses every other.
  if ! "${install[@]}" < /dev/null > /dev/null 2>&1; then
    say "fetching the package lists first"
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive dpkg --configure -a < /dev/null > /dev/null 2>&1 ||
      true
    "${sudo[@]}" apt-get -qq update < /dev/null >&2 || true
    quietly "${install[@]}" || cannot_install "${missing[@]}"
  fi
}

cannot_install() {
  local command="apt-get install --no-install-recommends $*"
  ((EUID == 0)) || command="sudo $command"
  say "packages are missing and cannot be installed from here; run"
  printf '  %s\n' "$command" >&2
  exit 125
}

# hold_build_lock: one build of this checkout at a time; released by release_build_lock or at exit.
hold_build_lock() {
  mkdir -p "$root/build"
  exec 9> "$root/build/.lock"
  if ! flock -n 9; then
    say "waiting for another build of this checkout"
    flock 9
  fi
}
release_build_lock() { exec 9>&-; }

# configure PRESET [CMAKE-ARGUMENT...]: into build/PRESET, from scratch when that belongs elsewhere.
configure() {
  local preset=$1 cache=$root/build/$1/CMakeCache.txt fresh=()
  if [[ -e $cache ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache"; then
    fresh=(--fresh)
  fi
  (cd -- "$root" && quietly cmake "${fresh[@]}" --preset "$preset" "${@:2}")
}

# need_page: builds the page of `memtool report` when it is not there. Takes the lock of builds for that time.
page=$root/build/page/memtool.html
need_page() {
  [[ -e $page ]] || "$root/scripts/page" || exit 125
}

# configure_with_page PRESET [CMAKE-ARGUMENT...]: unless build/PRESET can be built as it is, with the page inside.
configure_with_page() {
  if ! is_configured "$1" || ! grep -qxF "MEMTOOL_PAGE:FILEPATH=$page" "$root/build/$1/CMakeCache.txt"; then
    say "configuring build/$1"
    configure "$@" "-DMEMTOOL_PAGE:FILEPATH=$page" || exit 125
  fi
}

# date_of_source: sets SOURCE_DATE_EPOCH, the one time that packages carry, to that of the commit, so that the same
# sources make the same bytes.
date_of_source() {
  export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(
    git -C "$root" -c safe.directory="$root" log -1 --format=%ct 2> /dev/null || stat -c %Y "$root/CHANGELOG.md"
  )}
}

# is_configured PRESET: whether build/PRESET can be built as it is. Ninja itself looks after
# changed CMake files, but not after changed presets or a moved checkout.
is_configured() {
  local folder=$root/build/$1
  [[ -e $folder/build.ninja && ! $root/CMakePresets.json -nt $folder/build.ninja ]] &&
    grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt"
}

# build PRESET [TARGET]: silent when everything is up to date; else shows its progress, in place on
# a terminal, elsewhere in a line every ten seconds. Passes on what compilers print.
build() {
  ninja -C "$root/build/$1" "${@:2}" < /dev/null 2>&1 | show_build "build/$1"
}

show_build() {
  local line count begun='' clear='' next=0
  [[ ! -t 2 ]] || clear=$'\r\e[K'
  while IFS= read -r line; do
    case $line in
      'ninja: no work to do.' | 'ninja: Entering '* | '[0/'* | '-- '*) ;;
      '['[1-9]*/*']'*)
        if [[ -z $begun ]]; then
          say "building $1"
          begun=1 next=$((SECONDS + 10))
        fi
        if [[ -n $clear ]]; then
          printf '%s%.79s' "$clear" "$line" >&2
        elif ((SECONDS >= next)); then
          count=${line%%]*} count=${count:1}
          say "building $1: ${count%/*} of ${count#*/}"
          next=$((SECONDS + 10))
        fi
        ;;
      *) printf '%s%s\n' "$clear" "$line" >&2 ;;
    esac
  done
  [[ -z $begun ]] || printf '%s' "$clear" >&2
}

# quietly COMMAND...: its output, on stderr, only when it fails.
quietly() {
  local output
  if ! output=$("$@" < /dev/null 2>&1); then
    printf '%s\n' "$output" >&2
    return 1
  fi
}
