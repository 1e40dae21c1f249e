#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The settings of the machine that limit sampling: each limit is said with the
# command that lifts it, and that command does lift it. Changes sysctls and takes
# a CPU away for moments; restores all of it.

. "${top_srcdir:-.}/tests/lib.sh"
. "$top_srcdir/tests/live_lib.sh"
need jq setpriv
[ "$(id -u)" = 0 ] || skip 'needs root'
need_sampling

settings='kernel.perf_event_paranoid kernel.kptr_restrict kernel.perf_event_max_sample_rate
	kernel.perf_event_mlock_kb'
path_of() { echo "/proc/sys/${1//.//}"; }
for setting in $settings; do
	saved=$(cat "$(path_of "$setting")") || skip "no $setting"
	[ -w "$(path_of "$setting")" ] || skip "$setting cannot be changed"
	eval "saved_${setting#kernel.}=$saved"
done
cpu=$(sed 's/.*[-,]//' /sys/devices/system/cpu/online)
cpu_file=/sys/devices/system/cpu/cpu$cpu/online

restore()
{
	local setting name
	[ ! -w "$cpu_file" ] || echo 1 >"$cpu_file"
	for setting in $settings; do
		name=saved_${setting#kernel.}
		echo "${!name}" >"$(path_of "$setting")"
	done 2>/dev/null
}
trap 'restore; live_cleanup' EXIT
trap 'exit 130' HUP INT TERM
set_to() { echo "$2" >"$(path_of "kernel.$1")" || fail "cannot set $1"; }

uid=$((60000 + $$ % 5000))
user=(setpriv --reuid="$uid" --regid="$uid" --clear-groups)
cp "$STACKTOP" "$tmp/stacktop"
cat >"$tmp/spin.c" <<-'EOF'
	#include <unistd.h>
	__attribute__((noinline)) void hot(void) { for (volatile unsigned n = 0; n < 1000000; n++) getppid(); }
	int main(void) { for (;;) hot(); }
EOF
"$CC" -O1 -o "$tmp/spin" "$tmp/spin.c" || skip 'no compiler'
start "${user[@]}" "$tmp/spin"
own=$last_pid

by_user() { "${user[@]}" timeout 20 "$tmp/stacktop" -b --format=json -n 2 -d 0.7 "$@" >"$tmp/json" 2>"$tmp/err"; }
by_root() { timeout 20 "$STACKTOP" -b --format=json -n 2 -d 0.7 "$@" >"$tmp/json" 2>"$tmp/err"; }
says() { tail -n 1 "$tmp/json" | jq -e "$1" >/dev/null || fail "$2: $(tail -n 1 "$tmp/json" | jq -c '[.notice, .freq_asked, .cpus, .health.samples, .functions[:4]]') $(cat "$tmp/err")"; }
own_code='[.functions[] | select(.name == "hot" and .self > 0)] | length == 1'
kernel_code='[.functions[] | select(.kernel and .self > 0)] | length > 0'
kernel_names='[.functions[] | select(.kernel and .name != "[kernel]" and .self > 0)] | length > 0'

# --- perf_event_paranoid: each level takes something away, and is named with what gives it back

set_to kptr_restrict 0
for level in -1 0 1 2; do
	set_to perf_event_paranoid $level
	by_user || fail "paranoid $level: $(cat "$tmp/err")"
	says "$own_code" "paranoid $level: nothing of this user's"
	if [ $level -le 0 ]; then
		says '.notice | contains("only this user") | not' "paranoid $level: all CPUs are allowed"
	else
		says '.notice | startswith("only this user'"'"'s processes: use sudo for all")' "paranoid $level"
	fi
	if [ $level -le 1 ]; then
		says "$kernel_names" "paranoid $level: the kernel is allowed"
		says '.notice | contains("user code only") | not' "paranoid $level"
	else
		says "$kernel_code | not" "paranoid $level: kernel code"
		says '.notice | contains("user code only: sudo sysctl kernel.perf_event_paranoid=1 (is 2) for the kernel")' \
			"paranoid $level"
	fi
	by_root || fail "root, paranoid $level: $(cat "$tmp/err")"
	says "$kernel_names" "root, paranoid $level: kernel names"
	says '.notice | contains("paranoid") | not' "root, paranoid $level: is not limited"
done
for level in 3 4; do # where a kernel knows them
	echo $level >"$(path_of kernel.perf_event_paranoid)" 2>/dev/null || continue
	by_user || grep -q 'kernel.perf_event_paranoid=.*setcap cap_sys_admin,cap_perfmon,' "$tmp/err" ||
		fail "paranoid $level: $(cat "$tmp/err")"
	by_root || fail "root, paranoid $level: $(cat "$tmp/err")"
	says "$kernel_names" "root, paranoid $level: kernel names"
done
pass 'perf_event_paranoid'

# --- kptr_restrict: names of the kernel

set_to perf_event_paranoid 1
hidden='.notice | contains("kernel names are hidden: sudo sysctl kernel.kptr_restrict=0")'
for level in 0 1 2; do
	set_to kptr_restrict $level
	by_root || fail "root, kptr_restrict $level: $(cat "$tmp/err")"
	if [ $level = 2 ]; then # hidden from everybody
		says "$hidden" 'root, kptr_restrict 2'
		says "$kernel_code" 'root, kptr_restrict 2: no kernel at all'
		says "$kernel_names | not" 'root, kptr_restrict 2: names'
	else
		says "$kernel_names" "root, kptr_restrict $level"
		says "$hidden | not" "root, kptr_restrict $level"
	fi
	by_user -p "$own" || fail "kptr_restrict $level: $(cat "$tmp/err")"
	if [ $level = 0 ]; then
		says "$kernel_names" 'kptr_restrict 0'
		says "$hidden | not" 'kptr_restrict 0'
	else
		says "$hidden" "kptr_restrict $level"
		says "$kernel_names | not" "kptr_restrict $level: names"
	fi
	says "$own_code" "kptr_restrict $level: own names"
done
set_to kptr_restrict 0
pass 'kptr_restrict'

# --- the rate

set_to perf_event_max_sample_rate 500
by_root -p "$own" || fail "rate: $(cat "$tmp/err")"
says '.freq_asked == 500' 'the rate in force'
says '.notice | contains("500 Hz is the kernel'"'"'s limit: sudo sysctl kernel.perf_event_max_sample_rate=999")' 'rate'
says '.health.samples > 20' 'samples at a lower rate'
set_to perf_event_max_sample_rate 999
by_root -p "$own"
says '(.freq_asked == 999) and (.notice | contains("limit") | not)' 'the rate that was named'
set_to perf_event_max_sample_rate "$saved_perf_event_max_sample_rate"
pass 'perf_event_max_sample_rate'

# --- locked memory of an ordinary user: what the notice names is enough

set_to perf_event_paranoid 2
set_to perf_event_mlock_kb 516
by_user -p "$own"
wanted=$(tail -n 1 "$tmp/json" | jq -r .notice | sed -n 's/.*rings smaller than wanted: sudo sysctl kernel.perf_event_mlock_kb=\([0-9]*\).*/\1/p')
[ -n "$wanted" ] || fail "small rings are not told: $(jq -c .notice "$tmp/json")"
set_to perf_event_mlock_kb "${wanted:-516}"
by_user -p "$own"
says '.notice | contains("rings") | not' "kernel.perf_event_mlock_kb=$wanted does not help"
says "$own_code" 'with large rings'
pass 'perf_event_mlock_kb'

# --- a CPU that leaves and comes back

if [ -w "$cpu_file" ] && [ "$(nproc)" -gt 1 ]; then
	document_says() { tail -n 2 "$tmp/json" | grep '}$' | tail -n 1 | sed 's/,"tree":{.*/}/' | jq -e "$1" >/dev/null 2>&1; }
	start taskset -c "$cpu" "$tmp/spin"
	start "$STACKTOP" -b --format=json -d 0.3 --window 1 >"$tmp/json" 2>"$tmp/err"
	main=$last_pid
	nr=$(nproc)
	wait_for 20 document_says ".cpus == $nr" || fail "cpus at first: $(cat "$tmp/err")"
	echo 0 >"$cpu_file"
	wait_for 20 document_says ".cpus == $((nr - 1))" || fail 'a CPU that left is not noticed'
	echo 1 >"$cpu_file"
	wait_for 20 document_says ".cpus == $nr" || fail 'a CPU that came back is not noticed'
	start taskset -c "$cpu" "$tmp/spin"
	wait_for 20 document_says '.freq_achieved > 900' || fail 'no samples of a CPU that came back'
	document_says '.health.lost == .health.lost_read' || fail 'the two counts of losses differ'
	kill -TERM "$main"
	wait_for 10 all_gone "$main" || fail 'does not end'
	pass 'CPUs'
else
	echo "not tested: cpu$cpu cannot be taken offline"
fi
finish
