# shellcheck shell=bash
# Sourced by the other scripts and .ci/run: packages, configuration, build.
# Nothing here writes to stdout; that belongs to the program. memtool and test also run where bash is 3.2
# (macOS): no mapfile, no tables by name, no empty array where "set -u" sees it.

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd -P)

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# package_manager: the column of packages.txt for this machine; nothing where none is for it.
package_manager() {
  local release=${MEMTOOL_OS_RELEASE:-/etc/os-release} ids='' id name tool
  # What the system says that it is, then what it is like: others' package managers may be installed too.
  [[ ! -r $release ]] || ids=$(sed -n 's/^ID=//p; s/^ID_LIKE=//p' "$release" | tr -d "\"'")
  [[ $(uname -s) != Darwin ]] || ids=macos
  for id in $ids any; do
    for name in apt dnf pacman zypper apk brew; do
      case $name:$id in
        apt:debian | dnf:fedora | dnf:rhel | pacman:arch | zypper:*suse* | apk:alpine | brew:macos | *:any) ;;
        *) continue ;;
      esac
      tool=$name
      [[ $name != apt ]] || tool=dpkg-query
      if command -v "$tool" > /dev/null; then
        printf '%s\n' "$name"
        return
      fi
    done
  done
}

# packages_of MANAGER SECTION...: the names that packages.txt lists there, "- NAME: WORDS" where there is
# no package, "! SECTION" where the section is for Debian alone.
packages_of() {
  awk -v manager="$1" -v sections=" ${*:2} " '
    NF == 0 || /^#/ { next }
    !column { for (n = 1; n <= NF; ++n) if ($n == manager) column = n; next }
    /^\[/ { section = substr($1, 2, length($1) - 2); next }
    !index(sections, " " section " ") || $column == "." || $column in seen { next }
    $column == "" || $column == "#" { print "! " section; exit }
    $column == "-" { words = $0; sub(/^[^#]*# */, "", words); print "- " $1 ": " words; next }
    { seen[$column]; print $column }
  ' "$root/scripts/packages.txt"
}

# missing_of MANAGER PACKAGE...: those that are not installed, under that name or as what another provides.
missing_of() {
  local manager=$1 installed='' name
  shift
  case $manager in
    apt)
      # shellcheck disable=SC2016  # dpkg-query fills these in
      installed=$(dpkg-query -W -f '${Package} ${Status}\n' "$@" 2> /dev/null | sed -n 's/ .* installed$//p')
      ;;
    pacman)
      pacman -T "$@" || true
      return
      ;;
    brew) installed=$(brew list --formula -1 2> /dev/null) || true ;;
  esac
  installed=${installed//$'\n'/ }
  for name in "$@"; do
    case $manager in
      dnf | zypper) rpm -q --whatprovides "$name" ;;
      apk) apk info -e "$name" ;;
      *) [[ " $installed " == *" $name "* ]] ;;
    esac > /dev/null 2>&1 || printf '%s\n' "$name"
  done
}

# need_packages SECTION...: on Debian, installs what is missing, or says how to and exits 125. Elsewhere
# `configure` says what is missing, as far as the package manager knows it; CMake has the last word.
need_packages() {
  local missing
  manager=$(package_manager)
  if [[ $manager != apt ]]; then
    sections=("$@")
    only_on_debian
    return
  fi
  # shellcheck disable=SC2046
  missing=$(missing_of apt $(packages_of apt "$@"))
  # shellcheck disable=SC2086
  [[ -z $missing ]] || install_packages $missing
}
manager='' sections=()

only_on_debian() {
  local wanted
  [[ -n $manager ]] || return 0
  wanted=$(packages_of "$manager" "${sections[@]}")
  if [[ $wanted == *'! '* ]]; then
    say "works on Debian and its relatives alone: packages.txt has no other names for [${wanted##*! }]"
    exit 125
  fi
}

install_packages() {
  local install=(env DEBIAN_FRONTEND=noninteractive) finish update
  if ((EUID != 0)); then
    sudo -n true 2> /dev/null || cannot_install "$@"
    install=(sudo -n "${install[@]}")
  fi
  say "installing $*"
  finish=("${install[@]}" dpkg --configure -a)
  update=("${install[@]}" apt-get -qq update)
  install=("${install[@]}" apt-get -qq -y -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0
    --no-install-recommends install "$@")
  # The package lists are fetched only when they are missing or out of date. An installation that
  # was cut off before is ended first: until then apt refuses every other.
  if ! "${install[@]}" < /dev/null > /dev/null 2>&1; then
    say "fetching the package lists first"
    "${finish[@]}" < /dev/null > /dev/null 2>&1 || true
    "${update[@]}" < /dev/null >&2 || true
    quietly "${install[@]}" || cannot_install "$@"
  fi
}

cannot_install() {
  say "packages are missing and cannot be installed from here; run"
  printf '  %s\n' "$(install_line apt) $*" >&2
  exit 125
}

# install_line MANAGER: what a person runs to install packages.
install_line() {
  local sudo=''
  ((EUID == 0)) || sudo='sudo '
  case $1 in
    apt) printf '%sapt-get install --no-install-recommends' "$sudo" ;;
    pacman) printf '%spacman -S --needed' "$sudo" ;;
    apk) printf '%sapk add' "$sudo" ;;
    brew) printf 'brew install' ;;
    *) printf '%s%s install' "$sudo" "$1" ;;
  esac
}

# say_missing: of what need_packages was asked for; where packages are not installed from here.
say_missing() {
  local name missing=() names=() without=()
  [[ -n $manager && $manager != apt ]] || return 0
  while read -r name; do
    case $name in
      '- '*) without[${#without[@]}]=${name#- } ;;
      *) names[${#names[@]}]=$name ;;
    esac
  done < <(packages_of "$manager" "${sections[@]}")
  while read -r name; do
    missing[${#missing[@]}]=$name
  done < <(missing_of "$manager" "${names[@]}")
  if ((${#missing[@]} > 0)); then
    say "packages seem to be missing; this installs them:"
    printf '  %s\n' "$(install_line "$manager") ${missing[*]}" >&2
  fi
  if ((${#without[@]} > 0)); then
    say "not packaged here, by the names of Debian:"
    printf '  %s\n' "${without[@]}" >&2
  fi
}

# hold_build_lock: one build of this checkout at a time; released by release_build_lock or at exit.
hold_build_lock() {
  mkdir -p "$root/build"
  if ! command -v flock > /dev/null; then
    hold_link "$root/build/.lock-owner"
    return
  fi
  exec 9> "$root/build/.lock"
  if ! flock -n 9; then
    say "waiting for another build of this checkout"
    flock 9
  fi
}
release_build_lock() {
  exec 9>&-
  [[ $(readlink "$root/build/.lock-owner") != "process $$" ]] || rm -f "$root/build/.lock-owner"
}

# hold_link LINK: a lock for systems without flock (macOS, busybox): a link that says whose it is, which is
# made and read in one step. Who finds the owner gone takes it away, one at a time.
hold_link() {
  local owner told=''
  until ln -s "process $$" "$1" 2> /dev/null; do
    [[ -w ${1%/*} ]] || { say "${1%/*} cannot be written"; exit 125; }
    owner=$(readlink "$1") || owner='process 0'  # gone since, or the disk is full
    if ! is_running "${owner#process }" && ln -s "process $$" "$1-gone" 2> /dev/null; then
      [[ $(readlink "$1") != "$owner" ]] || rm -f "$1"
      rm -f "$1-gone"
      continue
    fi
    [[ -n $told ]] || say "waiting for another build of this checkout ($owner holds $1)"
    told=1
    sleep 1
  done
}

# is_running PROCESS: also another user's, which must not be signalled.
is_running() { kill -0 "$1" 2> /dev/null || [[ -d /proc/$1 ]]; }

# cores: how many processors there are.
cores() { nproc 2> /dev/null || getconf _NPROCESSORS_ONLN; }

# configure PRESET [CMAKE-ARGUMENT...]: into build/PRESET, from scratch when that belongs elsewhere.
configure() {
  local cache=$root/build/$1/CMakeCache.txt fresh=''
  if [[ -e $cache ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache"; then
    fresh=--fresh
  fi
  [[ -e $root/build/$1/build.ninja ]] || say_missing
  (cd -- "$root" && quietly cmake ${fresh:+"$fresh"} --preset "$@")
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
# a terminal, elsewhere in a line every ten seconds. Passes on what compilers print. As many compilers as processors:
# with two more, as ninja has them, caches are shared by so many that all take a seventh longer.
build() {
  ninja -C "$root/build/$1" -j "$(cores)" "${@:2}" < /dev/null 2>&1 | show_build "build/$1"
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
