#!/bin/bash
# leftovers.sh lists what a run of scrfs or of its tests might leave on this
# machine: mounts, name spaces of the network, processes, memory and temporary
# files. Compare its output before and after. A line has no process id or
# number in it that would differ between runs for no reason.
set -euo pipefail
export PATH=$PATH:/usr/sbin:/sbin

awk '$3 ~ /^fuse($|\.|blk)/ || $2 ~ /scrfs/ { print "mount " $2 " " $3 }' /proc/self/mounts
if command -v ip >/dev/null; then ip netns list 2>/dev/null | sed 's/^/netns /'; fi
for p in /proc/[0-9]*; do
	{ mapfile -d '' -t args <"$p/cmdline"; } 2>/dev/null || continue
	name=${args[0]:-}
	case ${name##*/} in
	scrfs | scrfs-test* | scr-postrun | lmp | mpirun* | orted | *.test) echo "process ${p#/proc/} ${args[*]}" ;;
	esac
done
find /dev/shm /tmp -maxdepth 1 \( -name 'scr*' -o -name 'ompi.*' -o -name 'vader_*' \) 2>/dev/null | sed 's/^/file /' | sort
