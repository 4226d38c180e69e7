# shellcheck shell=bash disable=SC2034 # the packages are for the scripts that read this
# Shared by the scripts in this folder: say what happens, install what is missing.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*" >&2; }
die() { say "$*"; exit 5; }

# misused WORD...: a sentence on how the command line is wrong; status 2.
misused() { say "tools/$(basename "$0"): $*; see tools/$(basename "$0") --help"; exit 2; }

# answer_help "$@": with -h or --help among the words, print the comment at the head of the script, and end.
answer_help() {
  local word
  for word in "$@"; do
    case $word in -h | --help) sed -n '2,/^[^#]/{/^# shellcheck/d; s/^# \{0,1\}//p}' "$0"; exit 0 ;; esac
  done
}

# refuse_options "$@": for a script that has no options but --help.
refuse_options() {
  local word
  for word in "$@"; do
    case $word in -*) misused "there is no option '$word'" ;; esac
  done
}

# need PACKAGE...: install the Debian packages that are missing, saying which; nothing at all when none is.
need() {
  local missing=()
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  command -v apt-get >/dev/null || die "missing packages: ${missing[*]}; this machine has no apt-get to install them"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "missing packages: ${missing[*]}; run as root, or install sudo"
    as_root=(sudo)
  fi
  say "Installing: ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { "${as_root[@]}" apt-get -q update &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install "${missing[@]}"; } \
    >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    die "could not install: ${missing[*]}"
  fi
  rm -f "$log"
}

build_packages=(gcc libc6-dev make cmake pkg-config zlib1g-dev libjansson-dev libdnnl-dev libjemalloc-dev libncurses-dev)
data_packages=(dataset-fashion-mnist)
# coinor-libcbc-dev brings the library that the exact planners open; its own name differs between releases.
test_packages=(g++ libcriterion-dev coinor-libcbc-dev python3)

# build FOLDER [CMAKE OPTION...]: configure and build, quiet unless it fails. Keeps compiling with every CPU. The array
# build_targets, when it is set, names what to build; all of it otherwise.
build() {
  local folder=$1
  shift
  local log
  log=$(mktemp)
  say "Building in ${folder#"$root"/}"
  if ! { cmake -S "$root" -B "$folder" "$@" && cmake --build "$folder" -j "$(nproc)" ${build_targets:+--target "${build_targets[@]}"}; } >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    rm -f "$log"
    die "the build failed"
  fi
  rm -f "$log"
}

# count_tests LOG: "PASSED FAILED SKIPPED" from ctest's log. A Criterion program counts as the tests in it, another
# program (or one that died before its summary) as one.
count_tests() {
  awk '
    /^\[SKIP\]/ { skipped++ }
    /Synthesis: Tested: / { split($0, n, /[^0-9]+/); tested = n[2]; passing = n[3]; summary = 1 }
    /^Test (Passed|Failed)/ {
      if (summary) { passed += passing; failed += tested - passing } else if (/Passed/) passed++; else failed++
      summary = 0
    }
    END { print passed + 0, failed + 0, skipped + 0 }' "$1"
}

# slowest_tests FOLDER: the 20 test programs that took longest, slowest first. All lines are read: sort would be ended by
# SIGPIPE, and the script with it, where head has closed the pipe before.
slowest_tests() {
  awk '$0 == "---" { exit } $2 > 0 { printf "%7.1f s  %s\n", $3, $1 }' "$1/Testing/Temporary/CTestCostData.txt" | sort -rn |
    awk 'NR <= 20'
}

# unknown_skips LOG: skipped tests in ctest's log whose reason is not in tests/skips.
unknown_skips() { grep '^\[SKIP\]' "$1" | grep -vEf <(grep -v '^#' "$root/tests/skips"); }

# run_tests FOLDER [CTEST OPTION...]: run the tests built there, end with a line of counts; returns ctest's status. Any
# sanitizer report fails the run, because neither Criterion nor a forked child does that by itself; so does a skip for a
# reason that tests/skips does not have. The counts are also added to the file named by PLIM_COUNTS, if any.
run_tests() {
  local folder=$1 status=0 passed failed skipped
  rm -rf "$folder/sanitizer"
  mkdir -p "$folder/sanitizer"
  ASAN_OPTIONS="log_path=$folder/sanitizer/log:${ASAN_OPTIONS:-}" \
    UBSAN_OPTIONS="log_path=$folder/sanitizer/log:print_stacktrace=1:${UBSAN_OPTIONS:-}" \
    TSAN_OPTIONS="log_path=$folder/sanitizer/log:${TSAN_OPTIONS:-}" \
    ctest --test-dir "$folder" --output-on-failure --timeout 2400 -j "$(nproc)" "${@:2}" || status=$?
  if [ -n "$(ls -A "$folder/sanitizer")" ]; then
    head -n 60 "$folder"/sanitizer/* >&2
    say "A sanitizer reported the above."
    status=1
  fi
  if unknown_skips "$folder/Testing/Temporary/LastTest.log" >&2; then
    say "tests/skips does not allow to skip the above."
    status=1
  fi
  say "The slowest test programs:"
  slowest_tests "$folder" >&2
  read -r passed failed skipped < <(count_tests "$folder/Testing/Temporary/LastTest.log")
  [ -z "${PLIM_COUNTS:-}" ] || echo "$passed $failed $skipped" >>"$PLIM_COUNTS"
  echo "$passed passed, $failed failed, $skipped skipped"
  return $status
}
