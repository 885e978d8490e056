// `./course demo`: the kernels of algorithms.h, run once each on random data. Prints JSON for
// tools/course/demo_kernels.py:
//
//   demo_kernels --B 1 --H 1 --N 512 --D 64 --steps 1
//
// On the emulator, with all of its checks, each run has "counted": bytes and sectors through HBM, by buffer. On a GPU
// it has "seconds" instead, the median of some more runs. A run that does not fit says in "skipped" into which memory.
//
// --steps 1, for one head on the emulator: runs in steps. First a line of JSON says what is to come, then there is one
// for each step, with all that the meter has counted by then. What is printed without --steps is the last line.
//
// Exit codes: 2, an argument is wrong; 4, built for a GPU, and there is none; 1, anything else that went wrong, such as
// an output that is not attention.

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "algorithms.h"
#include "arguments.h"
#include "fa/device.h"
#include "fa/row_check.h"
#include "fa/traffic.h"

namespace {

using demo::Algorithm;
using demo::Problem;

// How much of a GPU's memory is free, only its driver knows: so this asks for it.
bool fits_into_hbm(fa::Index bytes) {
  if (fa::device().emulated) return true;
  fa::set_synchronous_launches(false);  // or the memory would be filled
  bool fits = true;
  try {
    const fa::DeviceBuffer<char> probe("scratch", bytes);
  } catch (const fa::DeviceError&) {
    fits = false;
  }
  fa::set_synchronous_launches(true);
  return fits;
}

std::string number(const char* name, fa::Index value) {
  return std::string("\"") + name + "\": " + std::to_string(value);
}

std::string bytes(const fa::Traffic& traffic) {
  return number("read_bytes", traffic.read_bytes) + ", " + number("written_bytes", traffic.written_bytes);
}

std::string bytes_and_sectors(const fa::Traffic& traffic, fa::Index read, fa::Index written) {
  return bytes(traffic) + ", " + number("read_sectors", read) + ", " + number("written_sectors", written);
}

std::string counted(const fa::DeviceMeter& meter) {
  std::string buffers;
  for (const fa::BufferTraffic& row : meter.by_buffer()) {
    buffers += (buffers.empty() ? "\"" : ", \"") + row.buffer + "\": {" +
               bytes_and_sectors(row.traffic, row.read_sectors, row.written_sectors) + "}";
  }
  return "{" + bytes_and_sectors(meter.total(), meter.read_sectors(), meter.written_sectors()) + ", \"buffers\": {" +
         buffers + "}}";
}

// Of 3 to 5 runs: no more than 3 once they have taken a second. Memory is warm, and launches do not wait.
double median_seconds(const std::function<void()>& run) {
  fa::set_synchronous_launches(false);
  fa::DeviceTimer timer;
  std::vector<double> seconds;
  double sum = 0.0;
  while (seconds.size() < 3 || (seconds.size() < 5 && sum < 1.0)) {
    timer.start();
    run();
    seconds.push_back(timer.stop());
    sum += seconds.back();
  }
  fa::set_synchronous_launches(true);
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

// What is known before a run, without the closing brace.
std::string description(const Algorithm& algorithm) {
  return std::string("{\"name\": \"") + algorithm.name + "\", " + number("Br", algorithm.tiles.Br) + ", " +
         number("Bc", algorithm.tiles.Bc) + ", " + number("shared_bytes", algorithm.shared_bytes) + ", " +
         number("scratch_bytes", algorithm.scratch_bytes) + ", \"formula\": {" + bytes(algorithm.formula) + "}";
}

std::string run(const Algorithm& algorithm, const Problem& problem, bool in_steps) {
  const std::string known = description(algorithm);
  const bool fits_into_sram = algorithm.shared_bytes <= fa::device().shared_bytes_per_block;
  if (!fits_into_sram || !fits_into_hbm(algorithm.scratch_bytes)) {
    return known + ", \"skipped\": \"" + (fits_into_sram ? "HBM" : "SRAM") + "\"}";
  }

  fa::DeviceBuffer<float> out("out", fa::query_elements(problem.shape));
  fa::DeviceScratch scratch;
  fa::DeviceMeter meter;
  demo::Done done;
  if (in_steps) {
    done = [&](const std::string& step) {
      std::printf("{\"step\": \"%s\", \"counted\": %s}\n", step.c_str(), counted(meter).c_str());
      std::fflush(stdout);
    };
  }
  algorithm.run(problem, out, scratch, done);
  const int rows =
      fa::check_rows(algorithm.name, problem.q_values, problem.k_values, problem.v_values, out, problem.shape, {});
  if (scratch.peak_bytes() != algorithm.scratch_bytes) {
    throw std::logic_error(std::string(algorithm.name) + ": scratch is not what its formula says");
  }
  std::string result = known + ", " + number("checked_rows", rows);
  if (fa::counts_bytes) result += ", \"counted\": " + counted(meter);
  if (!fa::device().emulated) {
    result += ", \"seconds\": " + demo::json(median_seconds([&] { algorithm.run(problem, out, scratch, {}); }));
  }
  return result + "}";
}

// A list in JSON: `text` of each algorithm.
std::string each(const std::vector<Algorithm>& all, const std::function<std::string(const Algorithm&)>& text) {
  std::string list;
  for (const Algorithm& algorithm : all) list += (list.empty() ? "" : ", ") + text(algorithm);
  return "[" + list + "]";
}

}  // namespace

int main(int argc, char** argv) try {
  const demo::Arguments arguments(argc, argv, {"--B", "--H", "--N", "--D", "--steps"});
  const fa::Index N = arguments.integer("--N", 512);
  const fa::Shape shape{.B = arguments.integer("--B", 1),
                        .H = arguments.integer("--H", 1),
                        .Nq = N,
                        .Nk = N,
                        .D = arguments.integer("--D", 64)};
  fa::validate(shape, {});
  const bool in_steps = arguments.integer("--steps", 0) != 0;
  if (in_steps && !(fa::counts_bytes && fa::heads(shape) == 1)) {
    throw std::invalid_argument("--steps is for one head, on the emulator");
  }
  if (std::string reason; !fa::device_available(&reason)) {
    std::fprintf(stderr, "demo_kernels: no CUDA device: %s\n", reason.c_str());
    return 4;
  }
#ifndef FA_CUDA
  fa::simt::settings() = {.checks = true, .workers = fa::simt::settings().workers};  // the screen tells of the checks
#endif
  const Problem problem = demo::random_problem(shape);
  const std::vector<Algorithm> all = demo::algorithms(shape);
  if (in_steps) {
    const std::string plan = each(all, [](const Algorithm& algorithm) {
      return description(algorithm) + ", " + number("steps", algorithm.steps) + "}";
    });
    std::printf("{\"plan\": %s}\n", plan.c_str());
    std::fflush(stdout);
  }
  const std::string runs = each(all, [&](const Algorithm& algorithm) { return run(algorithm, problem, in_steps); });
  std::printf("{\"device\": \"%s\", \"runs\": %s}\n", fa::device().name.c_str(), runs.c_str());
  return 0;
} catch (const std::invalid_argument& error) {
  std::fprintf(stderr, "demo_kernels: %s\n", error.what());
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "demo_kernels: %s\n", error.what());
  return 1;
}
