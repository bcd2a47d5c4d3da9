#!/bin/bash
# deps.sh [--must] GROUP... installs the Debian packages of the groups (test,
# race, apps) that are missing. Without root, or on another system, it says
# what is missing and goes on: the tests in question are skipped. With --must
# that is an error.
set -euo pipefail

must=0
if [ "${1:-}" = --must ]; then must=1; shift; fi

# A line: the group, a file that shows the package is there (a command, or a
# path), the package.
table='
test  ip           iproute2
test  nsenter      util-linux
test  fusermount3  fuse3
test  mpirun       openmpi-bin
test  lmp          lammps
apps  gmx_mpi      gromacs
apps  /usr/lib/python3/dist-packages/torch  python3-torch
race  gcc          gcc
race  /usr/include/stdlib.h  libc6-dev
'

there() { case $1 in /*) [ -e "$1" ] ;; *) command -v "$1" >/dev/null ;; esac }
export PATH=$PATH:/usr/sbin:/sbin

missing() {
	local group sign package
	while read -r group sign package; do
		case " $* " in *" $group "*) there "$sign" || echo "$package" ;; esac
	done < <(sed '/^$/d' <<<"$table")
}

mapfile -t packages < <(missing "$@")
[ ${#packages[@]} -gt 0 ] || exit 0

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	echo "installing: ${packages[*]}"
	export DEBIAN_FRONTEND=noninteractive
	log=$(mktemp)
	trap 'rm -f "$log"' EXIT
	if ! { apt-get update && apt-get install -y --no-install-recommends "${packages[@]}"; } >"$log" 2>&1; then
		tail -20 "$log" >&2
	fi
	mapfile -t packages < <(missing "$@")
	[ ${#packages[@]} -gt 0 ] || exit 0
	echo "deps: could not be installed: ${packages[*]}" >&2
else
	echo "deps: missing, and only root on Debian installs them here: ${packages[*]}" >&2
	echo "deps: hint: run 'sudo apt-get install ${packages[*]}'" >&2
fi
[ "$must" = 0 ] || exit 1
echo "deps: going on; tests that need them are skipped" >&2
