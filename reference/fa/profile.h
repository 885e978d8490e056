// What the profile.cpp of the .cu lessons share: one run of a lesson, for a profiler to watch.
//
//   profile_06 [--heads H] [--n N] [--d D] [--br Br] [--bc Bc] [--causal]
//
// runs the lesson once on random data, checks some rows of the result, and prints one line of JSON:
//
//   shape     {"B": 1, "H": 4, "Nq": 512, "Nk": 512, "D": 64, "Br": 32, "Bc": 32, "causal": false}
//   format    of the operands: "fp32"
//   kernels   the names of the lesson's kernels, in the order of their launches
//   formula   {"read_bytes": ..., "written_bytes": ...}
//   count     the same and "read_sectors", "written_sectors", as the emulator counts, and for each launch an entry of
//             "kernels" with its "name" and, if the shape is not too large, "shared": for each array in shared memory
//             its loads and stores with the passes through the banks; null in a CUDA build, where a profiler counts
//   checked_rows   rows of the output that were compared with the oracle
//
// Exit code 2 with a word on stderr: an argument is wrong. 1: the lesson is, or there is no device.

#pragma once

#include <charconv>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "fa/byte_counts.h"
#include "fa/device.h"
#include "fa/inputs.h"
#include "fa/row_check.h"
#include "fa/shape.h"

namespace fa {

struct ProfileRun {
  Shape shape{.B = 1, .H = 1, .Nq = 512, .Nk = 512, .D = 64};
  Options options = {};
  Tiles tiles;
};

struct ProfiledLesson {
  std::vector<std::string> kernels;  // that one run launches, in this order; without arguments of templates
  std::string format = "fp32";
  Tiles tiles{.Br = 32, .Bc = 32};                                 // unless --br and --bc say otherwise
  std::function<void(const ProfileRun&)> validate = [](auto&) {};  // throws std::invalid_argument
  std::function<Traffic(const ProfileRun&)> formula;
  // One of these two. A forward pass:
  std::function<void(const ProfileRun&, const DeviceBuffer<float>& q, const DeviceBuffer<float>& k,
                     const DeviceBuffer<float>& v, DeviceBuffer<float>& out)>
      forward = {};
  // Or more than that: makes its operands, runs, compares with the oracle, returns how many rows it looked at.
  std::function<int(const ProfileRun&)> run = {};
};

namespace detail {

// Throws std::invalid_argument for a flag that is unknown, lacks its value, or has one that is no whole number.
inline ProfileRun profile_run(std::span<char*> arguments, const Tiles& tiles) {
  ProfileRun run{.tiles = tiles};
  const std::map<std::string_view, Index*> numbers{{"--heads", &run.shape.H},
                                                   {"--n", &run.shape.Nq},
                                                   {"--d", &run.shape.D},
                                                   {"--br", &run.tiles.Br},
                                                   {"--bc", &run.tiles.Bc}};
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    const std::string flag = arguments[at];
    if (flag == "--causal") {
      run.options.causal = true;
      continue;
    }
    const auto found = numbers.find(flag);
    if (found == numbers.end()) {
      throw std::invalid_argument(flag + ": must be one of --heads, --n, --d, --br, --bc, --causal");
    }
    if (++at == arguments.size()) throw std::invalid_argument(flag + " needs a number after it");
    const std::string_view text = arguments[at];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *found->second);
    if (error == std::errc{} && end == text.data() + text.size() && *found->second >= 1) continue;
    throw std::invalid_argument(flag + " = '" + std::string(text) + "': must be a whole number, at least 1");
  }
  run.shape.Nk = run.shape.Nq;
  validate(run.shape, run.options);
  validate(run.tiles);
  return run;
}

inline void print_bytes(std::ostream& json, const Traffic& traffic) {
  json << "\"read_bytes\": " << traffic.read_bytes << ", \"written_bytes\": " << traffic.written_bytes;
}

inline void print_sectors(std::ostream& json, Index read, Index written) {
  json << ", \"read_sectors\": " << read << ", \"written_sectors\": " << written;
}

inline void print_banks(std::ostream& json, const BankCount& count) {
  json << "{\"requests\": " << count.requests << ", \"passes\": " << count.passes
       << ", \"conflicts\": " << count.conflicts << "}";
}

inline void print_shared(std::ostream& json, const std::vector<SharedTraffic>& arrays) {
  json << ", \"shared\": [";
  for (std::size_t at = 0; at < arrays.size(); ++at) {
    json << (at == 0 ? "" : ", ") << "{\"array\": \"" << arrays[at].array << "\", \"loads\": ";
    print_banks(json, arrays[at].loads);
    json << ", \"stores\": ";
    print_banks(json, arrays[at].stores);
    json << "}";
  }
  json << "]";
}

inline void print_count(std::ostream& json, const DeviceMeter& meter, const std::vector<std::string>& expected) {
  std::vector<std::string> launched;
  Index read_sectors = 0, written_sectors = 0;
  std::ostringstream kernels;
  for (const auto& launch : meter.launches()) {
    kernels << (launched.empty() ? "" : ", ") << "{\"name\": \"" << launch.kernel << "\", ";
    print_bytes(kernels, launch.traffic);
    print_sectors(kernels, launch.read_sectors, launch.written_sectors);
    if (launch.banks_counted) print_shared(kernels, launch.by_array);
    kernels << "}";
    launched.push_back(launch.kernel.substr(0, launch.kernel.find('<')));
    read_sectors += launch.read_sectors;
    written_sectors += launch.written_sectors;
  }
  if (launched != expected) {
    std::string names;
    for (const std::string& name : launched) names += " " + name;
    throw std::runtime_error("launched, in this order:" + names + "; a profiler would look for others");
  }
  json << "{";
  print_bytes(json, meter.total());
  print_sectors(json, read_sectors, written_sectors);
  json << ", \"kernels\": [" << kernels.str() << "]}";
}

inline int run_forward(const ProfiledLesson& lesson, const ProfileRun& run) {
  const Inputs inputs = make_inputs(run.shape);
  const DeviceBuffer<float> q("q", inputs.q), k("k", inputs.k), v("v", inputs.v);
  DeviceBuffer<float> out("out", query_elements(run.shape));
  lesson.forward(run, q, k, v, out);
  return check_rows("the result", inputs.q, inputs.k, inputs.v, out, run.shape, run.options);
}

inline void run_profile(const ProfiledLesson& lesson, const ProfileRun& run) {
#ifndef FA_CUDA
  simt::settings().checks = false;  // the tests have looked; here only the bytes matter
#endif
  set_synchronous_launches(false);  // memory without poison: a tool can see that somebody reads what nobody wrote
  // Bank conflicts are the same tile by tile, and take much longer to count than bytes.
  const bool small = run.shape.B * run.shape.H * run.shape.Nq * run.shape.Nk * run.shape.D <= Index{1024} * 1024 * 64;
  DeviceMeter meter(small ? Count::banks : Count::bytes);
  const int checked_rows = lesson.run ? lesson.run(run) : run_forward(lesson, run);

  std::ostringstream json;
  const auto& [B, H, Nq, Nk, D] = run.shape;
  json << "{\"shape\": {\"B\": " << B << ", \"H\": " << H << ", \"Nq\": " << Nq << ", \"Nk\": " << Nk
       << ", \"D\": " << D << ", \"Br\": " << run.tiles.Br << ", \"Bc\": " << run.tiles.Bc
       << ", \"causal\": " << (run.options.causal ? "true" : "false") << "}, \"format\": \"" << lesson.format
       << "\", \"kernels\": [";
  for (std::size_t at = 0; at < lesson.kernels.size(); ++at) {
    json << (at == 0 ? "\"" : ", \"") << lesson.kernels[at] << "\"";
  }
  json << "], \"formula\": {";
  print_bytes(json, lesson.formula(run));
  json << "}, \"count\": ";
  if (counts_bytes) {
    print_count(json, meter, lesson.kernels);
  } else {
    json << "null";
  }
  json << ", \"checked_rows\": " << checked_rows << "}";
  std::cout << json.str() << std::endl;
}

}  // namespace detail

// The main function of a profile.cpp; returns the exit code.
inline int profile(int argc, char** argv, const ProfiledLesson& lesson) {
  const std::string program = argc > 0 ? std::string(argv[0]).substr(std::string(argv[0]).rfind('/') + 1) : "profile";
  const auto say = [&](const std::exception& error) { std::cerr << program << ": " << error.what() << std::endl; };
  try {
    ProfileRun run;
    try {
      run = detail::profile_run(std::span(argv, static_cast<std::size_t>(argc)).subspan(1), lesson.tiles);
      lesson.validate(run);
    } catch (const std::invalid_argument& error) {
      say(error);
      return 2;
    }
    detail::run_profile(lesson, run);
    return 0;
  } catch (const std::exception& error) {
    say(error);
    return 1;
  }
}

}  // namespace fa
