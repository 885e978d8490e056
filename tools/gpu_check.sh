#!/usr/bin/env bash
# What CI cannot do without a GPU: builds the preset cuda for the GPU of this machine, runs all tests on it, and the CUDA
# lessons under each tool of compute-sanitizer.
#
#   tools/gpu_check.sh [--only PART[,PART]...] [--filter SPEC]
#
#   --only     of these parts, the ones named: build test memcheck racecheck synccheck initcheck
#   --filter   Catch2's words for which tests the sanitizers see (default: ~[large], since they slow a kernel down by far)
#
# Needs nvcc, CMake, Ninja, Catch2, Google Benchmark and compute-sanitizer; neither Boost nor Eigen nor Python nor a network.
# Prints a line for each check; what the tools said is kept in build/cuda/gpu_check. Exit code 0: all passed; 1: one failed;
# 2: wrong arguments.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

parts=(build test memcheck racecheck synccheck initcheck)
only="${parts[*]}"
filter='~[large]'

usage() {
  echo "tools/gpu_check.sh: $1" >&2
  echo "usage: tools/gpu_check.sh [--only PART[,PART]...] [--filter SPEC]     parts: ${parts[*]}" >&2
  exit 2
}

while (($#)); do
  (($# > 1)) || usage "$1 needs a value, or is unknown"
  case "$1" in
    --only) only="${2//,/ }" ;;
    --filter) filter="$2" ;;
    *) usage "$1 is unknown" ;;
  esac
  shift 2
done
for part in $only; do
  [[ " ${parts[*]} " == *" $part "* ]] || usage "$part is no part"
done
[[ -n "$only" ]] || usage "--only names no part"

build=build/cuda
logs=$build/gpu_check
mkdir -p "$logs"
PATH=$PATH:${CUDA_PATH:-/usr/local/cuda}/bin
passed=0
failed=0

wanted() { [[ " $only " == *" $1 "* ]]; }

# check NAME COMMAND...: runs it, keeps its output, prints one line. A failure shows the end of the output too.
check() {
  local name=$1 log="$logs/${1// /_}.log" start=$SECONDS
  shift
  if "$@" >"$log" 2>&1; then
    passed=$((passed + 1))
    echo "ok      $name ($((SECONDS - start)) s)"
  else
    failed=$((failed + 1))
    echo "FAILED  $name ($((SECONDS - start)) s): $log"
    tail -n 25 "$log" | sed 's/^/        /'
    return 1
  fi
}

# A tool of compute-sanitizer over a program. Besides the exit code its own summary must say that it found nothing: without
# a GPU there is none. Calls that fail are not reported as such, since tests make some fail on purpose; the course checks
# each of them.
sanitized() {
  local tool=$1 program=$2 said
  shift 2
  said=$(mktemp)
  FA_RANDOM_CASES=20 compute-sanitizer --tool "$tool" --report-api-errors no --error-exitcode 99 "$build/bin/$program" "$@" 2>&1 | tee "$said"
  local code=${PIPESTATUS[0]}
  grep -qE "(ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards displayed)" "$said" || code=98
  rm -f "$said"
  return "$code"
}

if wanted build; then
  check configure cmake --preset cuda -DCMAKE_CUDA_ARCHITECTURES=native &&
    check build cmake --build --preset cuda &&
    check "the lab's faulty kernels compile" cmake --build --preset cuda --target exercises_find_the_bug || exit 1
fi

if wanted test; then
  # Without a GPU this one is skipped with exit code 4. With one, only tests that say why are skipped: what the emulator
  # alone can count.
  check "there is a GPU" "$build/bin/test_device" "the device says what it is"
  check tests ctest --preset cuda
  grep '(Skipped)$' "$logs/tests.log" | sed 's/^[[:space:]]*/        skipped: /'
fi

for tool in memcheck racecheck synccheck initcheck; do
  wanted "$tool" || continue
  for program in test_device test_solution_05 test_solution_06 test_solution_07 test_given_07 test_solution_10 test_solution_11 \
    test_solution_find_the_bug; do
    check "$tool $program" sanitized "$tool" "$program" "$filter"
  done
  # Tests fill memory with poison, which counts as written. These do not, so here initcheck sees what a kernel reads too early.
  for program in profile_05 profile_06 profile_07 "profile_07 --mma" profile_10 "profile_10 --standard" profile_11; do
    read -ra command <<<"$program"
    columns=40
    [[ $program == profile_07* ]] && columns=64  # it takes 64 or 128
    check "$tool $program" sanitized "$tool" "${command[@]}" --heads 3 --n 200 --d "$columns"
    check "$tool $program causal" sanitized "$tool" "${command[@]}" --heads 3 --n 200 --d "$columns" --causal
  done
done

echo "$passed passed, $failed failed"
((failed == 0))
