// `./course demo`: the kernels of lesson 05 (standard attention) and lesson 06 (FlashAttention, V1), run once each on
// random data. Prints JSON for tools/course/demo_kernels.py:
//
//   demo_kernels --B 1 --H 1 --N 512 --D 64
//
// On the emulator, with all of its checks, each run has "counted": bytes and sectors through HBM, by buffer. On a GPU
// it has "seconds" instead, the median of some more runs. A run that does not fit says in "skipped" into which memory.
//
// Exit codes: 2, an argument is wrong; 4, built for a GPU, and there is none; 1, anything else that went wrong, such as
// an output that is not attention.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <future>
#include <stdexcept>
#include <string>
#include <vector>

#include "arguments.h"
#include "fa/device.h"
#include "fa/inputs.h"
#include "fa/row_check.h"
#include "fa/traffic.h"

// The solutions, each in its own namespace: see cmake/Lesson.cmake.
namespace lesson_05 {
void attention_forward(const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k,
                       const fa::DeviceBuffer<float>& v, fa::DeviceBuffer<float>& out, const fa::Shape& shape,
                       const fa::Options& options, fa::DeviceScratch& scratch);
fa::Traffic forward_traffic(const fa::Shape& shape);
}  // namespace lesson_05
namespace lesson_06 {
void attention_forward(const fa::DeviceBuffer<float>& q, const fa::DeviceBuffer<float>& k,
                       const fa::DeviceBuffer<float>& v, fa::DeviceBuffer<float>& out, fa::DeviceBuffer<float>& m,
                       fa::DeviceBuffer<float>& l, const fa::Shape& shape, const fa::Options& options,
                       const fa::Tiles& tiles);
fa::Index shared_memory_bytes(const fa::Tiles& tiles, fa::Index D);
}  // namespace lesson_06

namespace {

struct Problem {
  fa::Shape shape;
  fa::Options options;
  std::vector<float> q_values, k_values, v_values;
  fa::DeviceBuffer<float> q{"q", q_values}, k{"k", k_values}, v{"v", v_values};
};

// Random operands, made at the same time: at the sizes of real models they are many.
Problem random_problem(const fa::Shape& shape) {
  const auto sample = [](fa::Index count, std::uint64_t seed) {
    return std::async(std::launch::async, fa::normal_values, count, seed);
  };
  auto q = sample(fa::query_elements(shape), 1);
  auto k = sample(fa::key_elements(shape), 2);
  auto v = sample(fa::key_elements(shape), 3);
  return {.shape = shape, .options = {}, .q_values = q.get(), .k_values = k.get(), .v_values = v.get()};
}

struct Algorithm {
  const char* name;
  fa::Tiles tiles;
  fa::Index shared_bytes;   // of a block, as asked for at the launch
  fa::Index scratch_bytes;  // in HBM, beyond q, k, v and out
  fa::Traffic formula;
  std::function<void(const Problem&, fa::DeviceBuffer<float>& out, fa::DeviceScratch& scratch)> run;
};

Algorithm standard(const fa::Shape& shape) {
  return {.name = "standard",
          .tiles = {.Br = 32, .Bc = 32},
          .shared_bytes = 0,
          .scratch_bytes = fa::standard_forward_scratch(shape),
          .formula = lesson_05::forward_traffic(shape),
          .run = [](const Problem& of, fa::DeviceBuffer<float>& out, fa::DeviceScratch& scratch) {
            lesson_05::attention_forward(of.q, of.k, of.v, out, of.shape, of.options, scratch);
          }};
}

Algorithm v1(const fa::Shape& shape, const fa::Tiles& tiles) {
  return {.name = "V1",
          .tiles = tiles,
          .shared_bytes = lesson_06::shared_memory_bytes(tiles, shape.D),
          .scratch_bytes = fa::v1_forward_scratch(shape),
          .formula = fa::v1_forward_traffic(shape, {}, tiles),
          .run = [tiles](const Problem& of, fa::DeviceBuffer<float>& out, fa::DeviceScratch& scratch) {
            auto m = scratch.allocate<float>("m", fa::query_rows(of.shape));
            auto l = scratch.allocate<float>("l", fa::query_rows(of.shape));
            lesson_06::attention_forward(of.q, of.k, of.v, out, m, l, of.shape, of.options, tiles);
          }};
}

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

void print_bytes(const fa::Traffic& traffic) {
  std::printf("\"read_bytes\": %lld, \"written_bytes\": %lld", (long long)traffic.read_bytes,
              (long long)traffic.written_bytes);
}

void print_counted(const fa::DeviceMeter& meter) {
  const auto print_sectors = [](fa::Index read, fa::Index written) {
    std::printf(", \"read_sectors\": %lld, \"written_sectors\": %lld", (long long)read, (long long)written);
  };
  std::printf(", \"counted\": {");
  print_bytes(meter.total());
  print_sectors(meter.read_sectors(), meter.written_sectors());
  std::printf(", \"buffers\": {");
  const char* separator = "";
  for (const fa::BufferTraffic& row : meter.by_buffer()) {
    std::printf("%s\"%s\": {", separator, row.buffer.c_str());
    print_bytes(row.traffic);
    print_sectors(row.read_sectors, row.written_sectors);
    std::printf("}");
    separator = ", ";
  }
  std::printf("}}");
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

void print_run(const Algorithm& algorithm, const Problem& problem) {
  std::printf("{\"name\": \"%s\", \"Br\": %lld, \"Bc\": %lld, \"shared_bytes\": %lld, \"scratch_bytes\": %lld",
              algorithm.name, (long long)algorithm.tiles.Br, (long long)algorithm.tiles.Bc,
              (long long)algorithm.shared_bytes, (long long)algorithm.scratch_bytes);
  std::printf(", \"formula\": {");
  print_bytes(algorithm.formula);
  std::printf("}");
  const bool fits_into_sram = algorithm.shared_bytes <= fa::device().shared_bytes_per_block;
  if (!fits_into_sram || !fits_into_hbm(algorithm.scratch_bytes)) {
    std::printf(", \"skipped\": \"%s\"}", fits_into_sram ? "HBM" : "SRAM");
    return;
  }

  fa::DeviceBuffer<float> out("out", fa::query_elements(problem.shape));
  fa::DeviceScratch scratch;
  fa::DeviceMeter meter;
  algorithm.run(problem, out, scratch);
  const int rows = fa::check_rows(algorithm.name, problem.q_values, problem.k_values, problem.v_values, out,
                                  problem.shape, problem.options);
  if (scratch.peak_bytes() != algorithm.scratch_bytes) {
    throw std::logic_error(std::string(algorithm.name) + ": scratch is not what its formula says");
  }
  std::printf(", \"checked_rows\": %d", rows);
  if (fa::counts_bytes) print_counted(meter);
  if (!fa::device().emulated) {
    std::printf(", \"seconds\": %s", demo::json(median_seconds([&] { algorithm.run(problem, out, scratch); })).c_str());
  }
  std::printf("}");
}

}  // namespace

int main(int argc, char** argv) try {
  const demo::Arguments arguments(argc, argv, {"--B", "--H", "--N", "--D"});
  const fa::Index N = arguments.integer("--N", 512);
  const fa::Shape shape{.B = arguments.integer("--B", 1),
                        .H = arguments.integer("--H", 1),
                        .Nq = N,
                        .Nk = N,
                        .D = arguments.integer("--D", 64)};
  fa::validate(shape, {});
  if (std::string reason; !fa::device_available(&reason)) {
    std::fprintf(stderr, "demo_kernels: no CUDA device: %s\n", reason.c_str());
    return 4;
  }
#ifndef FA_CUDA
  fa::simt::settings() = {.checks = true, .workers = fa::simt::settings().workers};  // the screen tells of the checks
#endif
  const Problem problem = random_problem(shape);
  std::printf("{\"device\": \"%s\", \"runs\": [", fa::device().name.c_str());
  print_run(standard(shape), problem);
  for (const fa::Tiles& tiles : {fa::Tiles{.Br = 32, .Bc = 32}, fa::Tiles{.Br = 64, .Bc = 64}}) {
    std::printf(", ");
    print_run(v1(shape, tiles), problem);
  }
  std::printf("]}\n");
  return 0;
} catch (const std::invalid_argument& error) {
  std::fprintf(stderr, "demo_kernels: %s\n", error.what());
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "demo_kernels: %s\n", error.what());
  return 1;
}
