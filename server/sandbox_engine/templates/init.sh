#!/bin/busybox sh
# First program of every guest: finds the two disks, builds the root the agent expects, and
# becomes the agent.  Whatever goes wrong ends up on the console, which the engine shows.
b=/bin/busybox

die() {
    echo "sandbox init: $*"
    $b reboot -f
}

$b mount -t proc proc /proc
$b mount -t sysfs sysfs /sys
$b mount -t devtmpfs dev /dev

read -r parameters </proc/cmdline
case " $parameters " in
    *" sandbox.probe "*) # asked only whether a kernel boots here at all
        echo sandbox-probe-ok
        $b reboot -f
        ;;
esac

while read -r module; do
    $b insmod "/modules/$module" || die "cannot load $module"
done </modules/order

# The disks are there as soon as their driver is; only a slow host needs a second look.
tries=0
while ! [ -b /dev/vda ] || ! [ -b /dev/vdb ]; do
    tries=$((tries + 1))
    [ $tries -lt 1000 ] || die "no root disk or no agent disk"
    $b usleep 2000
done

$b mount -t ext4 -o noatime /dev/vda /root || die "cannot mount the root disk"
# A tree of nothing but busybox has none of these.
$b mkdir -p /root/proc /root/sys /root/dev /root/run || die "cannot write to the root disk"
$b mount -t tmpfs -o mode=0755,nosuid,nodev run /root/run
$b mkdir /root/run/agent
$b mount -t ext4 -o ro,noatime,nosuid,nodev /dev/vdb /root/run/agent || die "cannot mount the agent disk"
for folder in proc sys dev; do $b mount --move /$folder /root/$folder; done

agent=/run/agent
libraries=$agent/usr/lib/x86_64-linux-gnu
exec $b switch_root /root $libraries/ld-linux-x86-64.so.2 --library-path $libraries \
    $agent/usr/bin/python3.11 -I -S -B $agent/agent/main.py
