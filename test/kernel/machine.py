# SPDX-License-Identifier: Apache-2.0
"""Boots another kernel in qemu, without hardware support for it, over a folder of this machine as its root.

The root is read-only, with fresh /tmp, /run and /root/.cache. All that is needed to get there is in a
small archive made here: busybox and the modules that reach the folder."""
import glob
import io
import lzma
import os
import re
import subprocess

MODULES = ('virtio_pci', '9pnet_virtio', '9p')
QEMU = {
    'amd64': ['qemu-system-x86_64', '-machine', 'q35', '-cpu', 'max'],
    'arm64': ['qemu-system-aarch64', '-machine', 'virt', '-cpu', 'cortex-a72'],
}
CONSOLE = {'amd64': 'ttyS0', 'arm64': 'ttyAMA0'}

INIT = '''#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc none /proc
for module in /*.ko; do insmod $module; done
options=trans=virtio,version=9p2000.L,msize=262144
mount -t 9p -o $options,cache=loose,ro root /mnt
mount -t proc none /mnt/proc
mount -t sysfs none /mnt/sys
mount -t cgroup2 none /mnt/sys/fs/cgroup
mount -t tracefs none /mnt/sys/kernel/tracing
mount -t devtmpfs none /mnt/dev
for folder in dev/shm tmp run; do mkdir -p /mnt/$folder; mount -t tmpfs none /mnt/$folder; done
mount -t tmpfs none /mnt/root/.cache
mkdir /mnt/tmp/share
mount -t 9p -o $options,cache=none share /mnt/tmp/share
ip link set lo up
echo 2 >/proc/sys/kernel/perf_event_paranoid # Debian's own 3 is above what upstream has
export HOME=/root PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
%s >/mnt/tmp/share/output 2>&1
echo $? >/mnt/tmp/share/status
sync
poweroff -f
'''


def module_files(folder):
    """The modules in the order in which they load."""
    paths, order = {}, []
    for place, _, names in os.walk(folder):
        for name in names:
            stem, dot, _ = name.partition('.ko')
            if dot:
                paths[stem.replace('-', '_')] = os.path.join(place, name)

    def add(name):
        path = paths.get(name.replace('-', '_'))
        if not path or path in [known for known, _ in order]:  # built in, or loaded
            return
        with (lzma.open if path.endswith('.xz') else open)(path, 'rb') as file:
            data = file.read()
        for needed in re.search(rb'\0depends=([^\0]*)\0', data)[1].decode().split(','):
            add(needed)
        order.append((path, data))
    for name in MODULES:
        add(name)
    return [data for _, data in order]


def archive(entries):
    """[(name, mode, data)] as cpio's "newc", which kernels take for their first root."""
    out = io.BytesIO()
    for number, (name, mode, data) in enumerate([*entries, ('TRAILER!!!', 0, b'')], 1):
        path = name.encode() + b'\0'
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0)
        for part in b'070701' + b''.join(b'%08x' % field for field in fields) + path, data:
            out.write(part)
            out.write(b'\0' * (-out.tell() % 4))
    return out.getvalue()


def first_root(kernel, command):
    with open(glob.glob(f'{kernel}/**/bin/busybox', recursive=True)[0], 'rb') as file:
        shell = file.read()
    entries = [(name, 0o40755, b'') for name in ('bin', 'proc', 'sys', 'dev', 'mnt')]
    entries += [('bin/busybox', 0o100755, shell), ('init', 0o100755, (INIT % command).encode())]
    entries += [(f'{number:02}.ko', 0o100644, data)
                for number, data in enumerate(module_files(kernel))]
    return archive(entries)


def boot(kernel, share, command, root='/', processor='amd64', timeout=1800):
    """What @command, which busybox's shell runs with @root at /mnt, printed, and its exit status.
    The folder @share is /tmp/share in there."""
    initrd = os.path.join(share, 'initrd')
    with open(initrd, 'wb') as file:
        file.write(first_root(kernel, command))
    console = subprocess.run(
        [*QEMU[processor], '-accel', 'tcg', '-smp', '2', '-m', '2048', '-nographic', '-no-reboot',
         '-nic', 'none', '-kernel', glob.glob(os.path.join(kernel, 'boot/vmlinuz-*'))[0],
         '-initrd', initrd, '-append', f'console={CONSOLE[processor]} panic=-1 loglevel=4',
         '-virtfs', f'local,path={root},mount_tag=root,security_model=none,readonly=on,'
                    'multidevs=remap',
         '-virtfs', f'local,path={share},mount_tag=share,security_model=none'],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, errors='replace', timeout=timeout,
        check=False).stdout
    try:
        with open(os.path.join(share, 'status'), encoding='ascii') as file:
            status = int(file.read())
        with open(os.path.join(share, 'output'), encoding='utf-8', errors='replace') as file:
            return file.read(), status
    except OSError as error:
        raise AssertionError('it did not come to its end: ' + console[-2000:]) from error
