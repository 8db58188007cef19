#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Compares the unwind tables of real libraries with binutils' reading of their call frame information,
row by row over every function.

	oracle.py ROWS FILE...

ROWS is the program made from rows.c. For each row that `readelf -wF` prints, our table has to say
the same at the row's first and at its last byte; what a table cannot say must be "unsupported"
there and is listed. Our table may change only where readelf's does, at the end of a function that
is followed by a gap, and at the program's entry.

readelf says "exp" for all expressions; what they are is asked of llvm-dwarfdump, whose own rows are
of no use (version 14 keeps the CFA when a state is restored).
"""
import bisect
import collections
import re
import shutil
import subprocess
import sys

REGS = {n: i for i, n in enumerate(
    "RAX RDX RCX RBX RSI RDI RBP RSP R8 R9 R10 R11 R12 R13 R14 R15".split())}
GAP_BYTES_MAX = 15
SKIPPED = 77


def cfa_rule(cfa, expressions):
    """Our words for a CFA in readelf's, as a list of what is right; empty: a row cannot say it."""
    m = re.fullmatch(r"(r[a-z0-9]+)([+-]\d+)", cfa)
    if m:
        off = int(m[2])
        if off < 0 or off % 8:
            return []
        if m[1] in ("rsp", "rbp"):
            return [f"{m[1][1:]}+{off}".replace("bp", "fp")] if off <= 0x7fff8 else []
        return [f"r{REGS[m[1].upper()]}+{off}"] if off <= 0xfff * 8 else []
    rules = [expression_rule(e) for e in expressions]
    return [r for r in rules if r] if all(rules) else []


def expression_rule(text):
    m = re.fullmatch(r"DW_OP_breg7 RSP\+8, DW_OP_breg16 RIP\+0, DW_OP_lit15, DW_OP_and, "
                     r"DW_OP_lit(\d+), DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus", text)
    if m:
        return f"plt {m[1]}"
    m = re.fullmatch(r"DW_OP_breg[67] (RSP|RBP)([+-]\d+), DW_OP_deref"
                     r"(?:, DW_OP_plus_uconst 0x([0-9a-f]+))?", text)
    if m:
        off, extra = int(m[2]), int(m[3] or "0", 16)
        if off % 8 or extra % 8 or not -1024 <= off <= 1016 or extra > 2040:
            return None
        return f"*({'sp' if m[1] == 'RSP' else 'fp'}{off:+d})+{extra}"
    return None


def fp_rule(rule, expressions):
    if rule in ("u", "s"):
        return ["fp=same"]
    m = re.fullmatch(r"c([+-]\d+)", rule)
    if m and int(m[1]) % 8 == 0 and -1024 <= int(m[1]) <= 1016:
        return [f"fp=cfa{int(m[1]):+d}"]
    if rule == "exp":
        found = [re.fullmatch(r"DW_OP_breg6 RBP([+-]\d+)", e) for e in expressions]
        if found and all(m and -1024 <= int(m[1]) <= 1016 for m in found):
            return [f"fp=fp{int(m[1]):+d}" for m in found]
    return ["fp=unknown"]


def expected(row, is_signal, expressions):
    """(our words, any of which is right; why a row cannot say it or None) for a row of readelf's."""
    why = " ".join(f"{k}={v}" for k, v in row.items() if k in ("CFA", "rsp", "rbp", "ra"))
    if "exp" in why:
        why += " " + str(expressions)
    if is_signal:
        ok = expressions["CFA"] == {"DW_OP_breg7 RSP+160, DW_OP_deref"} and row["CFA"] == "exp"
        return (["signal fp=same"], None) if ok else (["unsupported fp=same"], why)
    ra = row.get("ra", "u")
    if ra == "u":
        return ["stop fp=same"], None
    if row.get("rsp", "u") not in ("u", "s"):
        return ["unsupported fp=same"], why
    cfas = cfa_rule(row["CFA"], expressions["CFA"])
    fps = fp_rule(row.get("rbp", "u"), expressions["RBP"])
    if ra.upper() in REGS and cfas and cfas[0].startswith("sp+"):
        cfas = [f"{cfas[0]} ra=r{REGS[ra.upper()]}"]
    elif ra != "c-8" or not cfas:
        return ["unsupported fp=same"], why
    return [f"{c} {f}" for c in cfas for f in fps], why if fps == ["fp=unknown"] else None


def expressions_of(path):
    """FDE offset -> register -> the expressions that its instructions have."""
    out = subprocess.Popen(["llvm-dwarfdump-14", "--eh-frame", path], stdout=subprocess.PIPE,
                           text=True, errors="replace")
    found, at, entry = {}, None, None
    for line in out.stdout:
        m = re.match(r"([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ (?:CIE|FDE)", line)
        if m:
            at, entry = int(m[1], 16), None
            continue
        m = re.match(r"  DW_CFA_(?:def_cfa_expression:|expression: (\w+)) (.*)", line)
        if m:
            entry = found.setdefault(at, collections.defaultdict(set))
            entry[m[1] or "CFA"].add(m[2])
    return found


def functions(path):
    """[(start, end, is_signal, expressions, [(address, row)])] as readelf has them."""
    expressions = expressions_of(path)
    out = subprocess.Popen(["readelf", "-wF", path], stdout=subprocess.PIPE, text=True,
                           errors="replace", stderr=subprocess.DEVNULL)
    signal_cies, cies, current, columns, found, inside = set(), {}, None, [], [], False
    for line in out.stdout:
        if line.startswith("Contents of"):
            inside = ".eh_frame " in line
        if not inside:
            continue
        m = re.match(r"([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ (CIE|FDE) (.*)", line)
        if m:
            if m[2] == "CIE":
                if "S" in m[3].split('"')[1]:
                    signal_cies.add(int(m[1], 16))
                current = (0, 0, False, {}, cies.setdefault(int(m[1], 16), []))
            else:
                pc = re.search(r"cie=([0-9a-f]+) pc=([0-9a-f]+)\.\.([0-9a-f]+)", m[3])
                cie, start = int(pc[1], 16), int(pc[2], 16)
                none = collections.defaultdict(set)
                # A function without instructions has no rows of its own.
                rows = [(start, row) for _, row in cies[cie]]
                current = (start, int(pc[3], 16), cie in signal_cies,
                           expressions.get(int(m[1], 16), none), rows)
                found.append(current)
            continue
        words = re.sub(r"\br\d+ \((\w+)\)", r"\1", line).split() # "r1 (rdx)": a register
        if words and words[0] == "LOC":
            columns = words
            current[4].clear()
        elif current is not None and len(words) == len(columns) and len(words[0]) == 16:
            current[4].append((int(words[0], 16), dict(zip(columns[1:], words[1:]))))
    return sorted(found, key=lambda f: f[0])


def compare(rows_program, path):
    ours = []
    for line in subprocess.run([rows_program, path], stdout=subprocess.PIPE, text=True,
                               check=True).stdout.splitlines():
        address, _, rule = line.partition(" ")
        ours.append((int(address, 16), rule))
    starts = [a for a, _ in ours]

    def at(address):
        i = bisect.bisect_right(starts, address) - 1
        return ours[i][1] if i >= 0 else "nothing"

    wrong, checked, explained, allowed = [], 0, collections.Counter(), set()
    header = subprocess.run(["readelf", "-hW", path], stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    entry = int(re.search(r"Entry point address:\s+0x([0-9a-f]+)", header)[1], 16)
    allowed.add(entry)
    found = [f for f in functions(path) if f[0] < f[1]]
    for n, (start, end, is_signal, expressions, rows) in enumerate(found):
        if n and start == found[n - 1][0]:
            continue
        following = found[n + 1][0] if n + 1 < len(found) else None
        if following is not None and following < end:
            end = following
        for i, (address, row) in enumerate(rows):
            if not start <= address < end:
                continue
            last = min(end, rows[i + 1][0] if i + 1 < len(rows) else end) - 1
            want, why = expected(row, is_signal, expressions)
            if why:
                explained[why] += 1
            allowed.add(address - 1 if is_signal else address)
            for a in (address, last):
                checked += 1
                if last >= address and at(a) not in want:
                    wrong.append(f"{a:#x}: {at(a)} instead of {' or '.join(want)} ({row})")
        gap = (following if following is not None else end + GAP_BYTES_MAX + 1) - end
        if gap > GAP_BYTES_MAX and end != entry:
            allowed.add(end)
            checked += 1
            if not at(end).startswith("end"):
                wrong.append(f"{end:#x}: {at(end)} behind a function's end")
    for address, rule in ours:
        if address not in allowed:
            wrong.append(f"{address:#x}: {rule} begins where nothing does")
    print(f"{path}: {len(found)} functions, {len(ours)} rows, {checked} comparisons, "
          f"{len(wrong)} wrong")
    for why, count in explained.most_common():
        print(f"\tnot in the table: {count} x {why}")
    for line in wrong[:10]:
        print("\t" + line)
    return len(wrong), checked


def main():
    if not shutil.which("llvm-dwarfdump-14") or not shutil.which("readelf"):
        print("skipped: llvm-dwarfdump-14 (package llvm-14) or readelf is missing")
        return SKIPPED
    wrong = checked = 0
    for path in sys.argv[2:]:
        try:
            open(path, "rb").close()
        except OSError:
            print(f"{path}: not here")
            continue
        w, c = compare(sys.argv[1], path)
        wrong, checked = wrong + w, checked + c
    if not checked:
        print("skipped: none of the files is here")
        return SKIPPED
    return 1 if wrong else 0


sys.exit(main())
