#!/usr/bin/env bash
# Instruction counts of a sweep of every shape on pinned kernels, compared with those stored in instruction-counts.csv.
# Time on a shared machine is noise; instructions are not. Fails if a count rose by more than 2 %. --bless stores the new counts.
set -euo pipefail
cd "$(dirname "$0")"

bless=false
[ "${1:-}" = "--bless" ] && bless=true
stored=instruction-counts.csv
command -v valgrind > /dev/null || { echo "counts.sh: valgrind is missing (apt install valgrind)" >&2; exit 2; }

binary=$(cargo bench --locked -p dirigent --bench counts --no-run --message-format=json 2> /dev/null |
    sed -n 's/.*"name":"counts".*"executable":"\([^"]*\)".*/\1/p' | tail -n 1)
[ -n "$binary" ] || { echo "counts.sh: the benchmark does not build (cargo bench -p dirigent --bench counts --no-run)" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "shape,kernel,instructions" > "$work/new.csv"
"$binary" > "$work/shapes"
failed=false
printf '%-28s%-10s%14s%14s%8s\n' shape kernel stored now ratio
while read -r shape; do
    for kernel in portable avx2; do
        if [ "$kernel" = avx2 ] && ! grep -q avx2 /proc/cpuinfo; then
            echo "counts.sh: this machine has no AVX2, skipped" >&2
            continue
        fi
        DIRIGENT_KERNEL=$kernel valgrind --tool=callgrind --callgrind-out-file=/dev/null \
            --toggle-collect='*counted_sweep*' "$binary" "$shape" > /dev/null 2> "$work/log"
        now=$(sed -n 's/.*Collected : \([0-9]*\).*/\1/p' "$work/log")
        [ -n "$now" ] || { cat "$work/log" >&2; exit 2; }
        echo "$shape,$kernel,$now" >> "$work/new.csv"
        before=$(sed -n "s/^$shape,$kernel,//p" "$stored" 2> /dev/null || true)
        ratio=$(awk -v now="$now" -v before="${before:-0}" 'BEGIN { if (before > 0) printf "%.3f", now / before; else printf "new" }')
        printf '%-28s%-10s%14s%14s%8s\n' "$shape" "$kernel" "${before:--}" "$now" "$ratio"
        if awk -v now="$now" -v before="${before:-0}" 'BEGIN { exit !(before > 0 && now > 1.02 * before) }'; then
            failed=true
        fi
    done
done < "$work/shapes"

if $bless; then
    cp "$work/new.csv" "$stored"
    echo "stored in $(pwd)/$stored"
elif $failed; then
    echo "counts.sh: a count rose by more than 2 %; if it must, run it again with --bless" >&2
    exit 1
fi
