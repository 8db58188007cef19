#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: elf_corpus.sh FOLDER
# Makes the small ELF files of test/fuzz/corpus/elf: with .symtab and versions, stripped, with
# compressed debug sections, with mini-debuginfo. Run by hand; the results are checked in.
set -eu
out=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat > a.c <<'END'
int counter;
int twice_now(int x) { return 2 * x + counter; }
int twice_old(int x) { return 3 * x; }
static int __attribute__((noinline)) hidden(int x) { return x * x; }
int square(int x) { return hidden(x); }
__asm__(".globl bare\nbare: ret\n.symver twice_now,twice@@V_2\n.symver twice_old,twice@V_1\n");
END
printf 'V_1 { };\nV_2 { square; bare; counter; } V_1;\n' > a.map
make_so() {
	gcc -Os -fPIC -shared -nostdlib -Wl,--version-script=a.map -Wl,--build-id=sha1 \
		-Wl,-z,noseparate-code -Wl,-z,max-page-size=16 -fno-asynchronous-unwind-tables \
		"$@" a.c
}
make_so -o symtab.so
make_so -g -Wl,--compress-debug-sections=zlib -o zdebug.so
strip -o stripped.so symtab.so
objcopy -S --remove-section .comment --keep-symbol=hidden symtab.so mini
xz mini
objcopy --add-section .gnu_debugdata=mini.xz stripped.so mini.so
# With stubs, .eh_frame_hdr, .gnu_debuglink and .gnu_debugaltlink.
cat > c.c <<'END'
int other(int x);
int calls(int x) { return other(x) + other(x + 1); }
END
gcc -Os -fPIC -shared -nostdlib -Wl,-z,lazy -Wl,-z,noseparate-code -Wl,-z,max-page-size=16 \
	-Wl,--eh-frame-hdr c.c -o stubs.so
objcopy --only-keep-debug symtab.so symtab.debug
printf '/usr/lib/debug/.dwz/x\0\001\002\003' > alt
objcopy -S -R .comment --add-gnu-debuglink=symtab.debug --add-section .gnu_debugaltlink=alt stubs.so
cp symtab.so stripped.so zdebug.so mini.so stubs.so "$out"

# For test/fuzz/corpus/debug_info: inlined functions, as both compilers write them.
cat > b.c <<'END'
static inline int leaf(int x) { return x * x + 1; }
static inline int middle(int x) { return x > 3 ? leaf(x) : leaf(x + 1) * 2; }
int outer(int x, int y) { return middle(x) + middle(y); }
END
mkdir -p "$out/../debug_info"
for compiler in gcc clang-14; do
	for version in 4 5; do
		$compiler -O2 -gdwarf-$version -fPIC -shared -nostdlib -Wl,-z,noseparate-code \
			-Wl,-z,max-page-size=16 -fno-asynchronous-unwind-tables b.c -o b.so
		cp b.so "$out/../debug_info/$compiler-v$version.so"
	done
done
cp zdebug.so "$out/../debug_info"
