# SPDX-License-Identifier: Apache-2.0
"""Kernels of Debian's releases, in qemu: our programs load, and tests of recording hold there as they do here.

    kernel_test.py SUITE ENGINE TEST..."""
import json
import os
import sys
import tempfile

import machine

sys.path.insert(1, os.path.join(os.environ['SOURCE_DIR'], 'test'))
import full  # noqa: E402

KEPT = ('ACCEL_PROF', 'SOURCE_DIR', 'WORKLOAD_DIR', 'SANITIZED')
CLI = os.path.join(os.environ['SOURCE_DIR'], 'test/cli')

# What is there, how large our programs are to this kernel's verifier, then the tests; all in one boot.
SCRIPT = '''
{variables}
export EMULATED=1
cd {cli}
$ACCEL_PROF check --json >/tmp/share/check.json
echo "kernel $(uname -r)"
$ACCEL_PROF check -v 2>&1 | sed -n 's/^accel-prof: program //p' | sort -u
exec /usr/bin/python3 -B -m unittest -v {tests}
'''


def main(suite, engine, tests):
    if not full.is_full():
        print('other kernels: with scripts/test --full only')
        return 77
    if os.geteuid() != 0:
        print('not root: not all files of this machine can be shown to another')
        return 77
    kernel = full.kernel(suite)
    with tempfile.TemporaryDirectory() as share:
        with open(os.path.join(share, 'script'), 'w', encoding='utf-8') as file:
            file.write(SCRIPT.format(variables='\n'.join(
                f"export {name}='{os.environ[name]}'" for name in KEPT), cli=CLI,
                tests=' '.join(tests)))
        output, status = machine.boot(kernel, share, 'chroot /mnt sh /tmp/share/script')
        print(output)
        with open(os.path.join(share, 'check.json'), encoding='utf-8') as file:
            found = {check['name']: check for check in json.load(file)['checks']}
    # Otherwise it would be the other engine that has been tested.
    for name in 'kernel', 'BPF programs':
        if (found[name]['state'] == 'yes') != (engine == 'bpf'):
            print(name, found[name])
            return 1
    if status == 0 and 'skipped' in output:
        print('a test was skipped')
        return 1
    return status


if __name__ == '__main__':
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
