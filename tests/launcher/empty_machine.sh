#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# From an empty Debian 12 to the first result: makes one with debootstrap, copies a clean clone of this repository in and
# runs, with times, the commands a newcomer would.
#
# usage: empty_machine.sh [--work-tree] DIRECTORY [COMMAND...]
#
#   --work-tree   the files as they are now instead of the last commit
#   DIRECTORY     where the machine is made; one that is there already is used again, so the second run is not "empty"
#   COMMAND       run in the clone; without any, the `./azulejo` lines of README.md's first code block that has one
#
# Needs root, debootstrap and git; downloads from the mirror that this machine's apt uses.
set -euo pipefail

work_tree=0
if [[ ${1:-} == --work-tree ]]; then
  work_tree=1
  shift
fi
if (($# < 1)); then
  sed -n '3,/^$/s/^# \{0,1\}//p' "$0" | sed '/^set /d' >&2
  exit 2
fi
if [[ $(id -u) != 0 ]]; then
  echo "debootstrap and chroot need root" >&2
  exit 2
fi
repository=$(cd -- "$(dirname -- "$(readlink -f -- "$0")")/../.." && pwd)
mkdir -p "$1"
machine=$(readlink -f -- "$1")
shift

commands=("$@")
if ((${#commands[@]} == 0)); then
  mapfile -t commands < <(awk '/^```/ { if (inside && found) exit; inside = !inside; next }
                               inside && /^(\$ )?\.\/azulejo / { found = 1; sub(/^\$ /, ""); print }' "$repository/README.md")
fi
if ((${#commands[@]} == 0)); then
  echo "README.md has no code block with a line that begins with ./azulejo" >&2
  exit 2
fi

if [[ ! -e $machine/etc/debian_version ]]; then
  # shellcheck disable=SC2016  # apt's own placeholders
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' | head -n 1)
  debootstrap --variant=minbase bookworm "$machine" "${mirror:?no source of bookworm in the configuration of apt}"
fi

# The network as this machine has it: names, apt's sources and its proxy.
cp -L /etc/resolv.conf /etc/hosts "$machine/etc/"
rm -rf "$machine/etc/apt/sources.list" "$machine/etc/apt/sources.list.d"
if [[ -e /etc/apt/sources.list ]]; then cp /etc/apt/sources.list "$machine/etc/apt/"; fi
if [[ -e /etc/apt/sources.list.d ]]; then cp -r /etc/apt/sources.list.d "$machine/etc/apt/"; fi
apt-config dump | grep -E '^Acquire::https?::' >"$machine/etc/apt/apt.conf.d/99host" || true

clone=$machine/root/azulejo
rm -rf "$clone"
if ((work_tree)); then
  mkdir -p "$clone"
  (cd "$repository" && git ls-files -z --cached --others --exclude-standard | tar --null -T - -cf -) | tar -xf - -C "$clone"
else
  git clone --quiet --no-hardlinks "$repository" "$clone"
fi

echo "empty machine: $(cat "$machine/etc/debian_version"), $(chroot "$machine" dpkg-query -W | wc -l) packages, $(nproc) processors"
begin=$SECONDS
for command in "${commands[@]}"; do
  echo "+ $command"
  start=$SECONDS
  status=0
  # A name space of its own, so that the mounts are gone afterwards whatever happens.
  # shellcheck disable=SC2016
  unshare --mount bash -c '
    mount -t proc proc "$1/proc"
    exec chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin bash -c "cd /root/azulejo && $2" </dev/null
  ' - "$machine" "$command" || status=$?
  echo "= status $status after $((SECONDS - start)) s: $command"
  if ((status)); then exit "$status"; fi
done
echo "= $((SECONDS - begin)) s from the empty machine to the end"
