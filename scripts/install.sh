#!/bin/sh
# Installs memtool on Linux, or removes it.
# usage: install.sh [FROM]
#        install.sh --uninstall
# FROM is the folder or the address (http, https) that holds SHA256SUMS and the tarballs. Without it: MEMTOOL_FROM
# of the environment, else the folder of this file. Files go to PREFIX of the environment, else ~/.local. The sums
# find what was damaged on the way; whoever can change the tarballs there can change them too.
set -eu

prefix=${PREFIX:-${HOME:+$HOME/.local}}
list=share/memtool/installed # below the prefix: what was put there; names of folders end with a slash
umask 022

say() { printf 'install.sh: %s\n' "$*" >&2; }
fail() {
  say "$@"
  exit 1
}

work=''
stage=''
clean() {
  [ -z "$work" ] || rm -rf -- "$work"
  [ -z "$stage" ] || rm -rf -- "$stage"
}
trap clean EXIT
trap 'exit 1' HUP INT TERM

# fetch NAME: into the working folder.
fetch() {
  case $from in
    http://* | https://*)
      if command -v curl > /dev/null; then
        curl -fsSL -o "$work/$1" -- "${from%/}/$1"
      elif command -v wget > /dev/null; then
        wget -q -O "$work/$1" -- "${from%/}/$1"
      else
        fail "neither curl nor wget is here"
      fi
      ;;
    *) cp -- "$from/$1" "$work/$1" ;;
  esac || fail "$1 cannot be had from $from"
}

sum_of() {
  if command -v sha256sum > /dev/null; then
    sha256sum < "$1"
  elif command -v shasum > /dev/null; then
    shasum -a 256 < "$1"
  else
    fail "neither sha256sum nor shasum is here"
  fi
}

# remove LIST: what it names, and those of its folders that are empty then.
remove() {
  while IFS= read -r name; do
    case /$name in
      */) ;;
      */../*) fail "$1 names $name" ;;
      *) rm -f -- "$prefix/$name" ;;
    esac
  done < "$1"
  # The inner folders first.
  grep '/$' "$1" | sort -r | while IFS= read -r name; do
    rmdir -- "$prefix/$name" 2> /dev/null || :
  done
}

uninstall() {
  [ -f "$prefix/$list" ] || fail "nothing was installed in $prefix by install.sh"
  work=$(mktemp -d)
  cp -- "$prefix/$list" "$work/list"
  remove "$work/list"
  say "memtool is no longer in $prefix"
}

# new_folders: those of the stage that the prefix has not, or that an earlier installation has made.
new_folders() {
  (cd -- "$stage" && find . -type d ! -name .) | sed 's/^\.\///; s/$/\//' | sort | while IFS= read -r name; do
    if [ ! -d "$prefix/$name" ] || grep -qxF -- "$name" "$work/before"; then
      printf '%s\n' "$name"
    fi
  done
}

install() {
  case $(uname -s) in
    Linux) ;;
    *) fail "there is no memtool for $(uname -s)" ;;
  esac
  work=$(mktemp -d)
  fetch SHA256SUMS
  # "SUM  memtool-VERSION-linux-MACHINE.tar.xz"
  line=$(grep -E "^[0-9a-f]{64} [ *]memtool-[0-9][^ /]*-linux-$(uname -m)\.tar\.xz\$" "$work/SHA256SUMS" | tail -n 1)
  [ -n "$line" ] || fail "there is no memtool for $(uname -m) in $from"
  archive=${line#*memtool-}
  archive=memtool-$archive
  fetch "$archive"
  sum=$(sum_of "$work/$archive")
  [ "${sum%% *}" = "${line%% *}" ] ||
    fail "$archive is damaged: its SHA-256 is not that of SHA256SUMS. Nothing was installed"

  mkdir "$work/unpacked"
  tar -C "$work/unpacked" -xJf "$work/$archive" || fail "$archive cannot be unpacked (GNU tar needs xz)"
  top=$work/unpacked/${archive%.tar.xz}
  mkdir -p "$top/share/doc/memtool" "$top/${list%/*}"
  mv -- "$top/LICENSE" "$top/README.md" "$top/CHANGELOG.md" "$top/share/doc/memtool"
  : > "$top/$list"
  # On the file system of the prefix, where a file takes another's place at once.
  mkdir -p -- "$prefix"
  stage=$(mktemp -d "$prefix/.memtool.XXXXXX")
  cp -R -- "$top/." "$stage"

  : > "$work/before"
  [ ! -f "$prefix/$list" ] || cp -- "$prefix/$list" "$work/before"
  new_folders > "$work/after"
  (cd -- "$stage" && find . ! -type d) | sed 's/^\.\///' | sort > "$work/files"
  cat "$work/files" >> "$work/after"
  # The list comes first: what is cut off can be removed by it.
  (cd -- "$stage" && find . -type d ! -name .) | while IFS= read -r name; do
    mkdir -p -- "$prefix/$name"
  done
  sort -u "$work/before" "$work/after" > "$stage/$list"
  mv -f -- "$stage/$list" "$prefix/$list"
  while IFS= read -r name; do
    [ "$name" = "$list" ] || mv -f -- "$stage/$name" "$prefix/$name"
  done < "$work/files"
  # What an earlier version had and this one has not.
  grep -vxF -f "$work/after" "$work/before" > "$work/gone" || :
  remove "$work/gone"
  cp -- "$work/after" "$prefix/$list"

  version=$("$prefix/bin/memtool" -V) ||
    fail "what is in $prefix now does not run here; install.sh --uninstall removes it"
  say "$version is in $prefix/bin"
  case :${PATH:-}: in
    *":$prefix/bin:"*) ;;
    *)
      say "this folder is not in PATH; a line for ~/.profile:"
      # shellcheck disable=SC2016  # for the shell that reads it
      printf '  export PATH="%s/bin:$PATH"\n' "$prefix" >&2
      ;;
  esac
}

case $prefix in
  /?*) ;;
  *) fail "neither PREFIX nor HOME names a folder" ;;
esac
case ${1:-} in
  --uninstall) uninstall ;;
  -*)
    say 'usage: install.sh [FROM], or install.sh --uninstall'
    exit 2
    ;;
  *)
    from=${1:-${MEMTOOL_FROM:-}}
    if [ -z "$from" ]; then
      case $0 in
        *install.sh) from=$(dirname -- "$0") ;;
        *) fail 'from where? install.sh FROM, or MEMTOOL_FROM=FROM: a folder or an address with SHA256SUMS' ;;
      esac
    fi
    install
    ;;
esac
