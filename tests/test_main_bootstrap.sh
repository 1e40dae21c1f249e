#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# bootstrap with made-up tools: what it installs, builds and starts, and what it says when it cannot.
set -u

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
mkdir "$dir/bin" "$dir/tree" "$dir/elsewhere"
cp "$top_srcdir/bootstrap" "$dir/tree/bootstrap"
for tool in sh cat chmod dirname env grep mkdir nproc rm printf test; do
	ln -s "$(command -v $tool)" "$dir/bin/$tool" 2>/dev/null
done
log=$dir/log
PATH_FAKE=$dir/bin

# fake NAME SCRIPT: a tool that notes its call
fake()
{
	printf '#!/bin/sh\necho "%s $*" >>"%s"\n%s\n' "$1" "$log" "$2" >"$dir/bin/$1"
	chmod +x "$dir/bin/$1"
}

# bootstrap ARGUMENT...: from another directory, output in out, calls in log
bootstrap()
{
	: >"$log"
	(cd "$dir/elsewhere" && PATH=$PATH_FAKE "$dir/tree/bootstrap" "$@" >"$dir/out" 2>&1 </dev/null)
	status=$?
}

check()
{
	what=$1
	shift
	if ! "$@"; then
		echo "FAILED: $what"
		sed 's/^/    /' "$dir/out" "$log"
		failures=$((failures + 1))
	fi
}

called() { grep -q -e "$1" "$log"; }
not_called() { ! called "$1"; }
said() { grep -q -e "$1" "$dir/out"; }

fake autoreconf "printf '#!/bin/sh\necho configure >>\"$log\"\necho all: >Makefile\n' >configure
	chmod +x configure; : >Makefile.in"
fake make 'case "$*" in *TESTS=) exit 0 ;; *check*) exit ${CHECK_STATUS:-0} ;; esac
printf "#!/bin/sh\nprintf \"%%s|\" stacktop \"\$@\"; exit 3\n" >"$3/stacktop"; chmod +x "$3/stacktop"'
fake dpkg-query 'case "$*" in *libdw-dev*) exit 1 ;; esac; echo "install ok installed"'
fake apt-get 'exit ${APT_STATUS:-0}'
fake sudo '[ "$1" = -n ] && exit 1; [ "$1" = -- ] && shift; "$@"'
be_user()
{
	printf '#!/bin/sh\necho %s\n' "$1" >"$dir/bin/id"
	chmod +x "$dir/bin/id"
}

be_user 0

bootstrap
check "no command is usage" [ "$status" -eq 2 ]
bootstrap run -n 1 'two words'
check "the program's status is handed on, not $status" [ "$status" -eq 3 ]
check "arguments arrive as they are" said '^stacktop|-n|1|two words|$'
check "the missing package is installed, and no other" called 'apt-get install -q -y --no-install-recommends libdw-dev$'
check "it configures" called '^configure'
bootstrap run
check "the second time nothing is configured" not_called '^configure'
check "nor autoreconf" not_called '^autoreconf'

fake dpkg-query 'echo "install ok installed"'
bootstrap run
check "nothing missing, nothing installed" not_called apt-get
bootstrap check
check "check asks for the tests" called '^make .* check$'
CHECK_STATUS=1
export CHECK_STATUS
bootstrap check
check "failing tests fail" [ "$status" -eq 1 ]
unset CHECK_STATUS

fake dpkg-query 'exit 1'
APT_STATUS=100
export APT_STATUS
bootstrap run
check "a failing installation fails" [ "$status" -eq 1 ]
check "and names the packages" said 'could not install: .*libelf-dev'
unset APT_STATUS

# An ordinary user, with and without sudo.
be_user 1000
rm -rf "$dir/tree/build"
bootstrap build
check "a user installs through sudo" called '^sudo -- apt-get update'
fake dpkg-query 'echo "install ok installed"'
bootstrap run
check "no password can be asked for: starts as the user" said '^stacktop|$'
check "and says so" said 'only your own processes'
fake sudo '[ "$1" = -n ] && exit 0; [ "$1" = -- ] && shift; "$@"'
bootstrap run -d 1
check "starts through sudo" called '^sudo -- .*/build/stacktop -d 1'
bootstrap run --version
check "a question needs no sudo" not_called '^sudo'
rm "$dir/bin/sudo"
fake dpkg-query 'exit 1'
bootstrap run
check "without sudo the packages are named" said 'could not install: .*libdw-dev'
rm "$dir/bin/apt-get" "$dir/bin/dpkg-query"
bootstrap run
check "without a package manager it goes on" said '^stacktop|$'
check "and says what to expect" said 'configure will name it'

fake dnf ''
fake rpm 'case "$*" in *elfutils-devel*) exit 1 ;; esac'
be_user 0
bootstrap build
check "dnf installs what rpm lacks" called 'dnf install -q -y elfutils-devel$'

: >"$dir/tree/config.status"
bootstrap build
check "a tree configured in place is refused with the way out" said 'make distclean'
[ "$failures" -eq 0 ]
