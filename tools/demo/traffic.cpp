// `./course demo`: bytes through HBM, working memory and FLOPs of the forward pass by algorithm, at one shape. Prints
// JSON for tools/course/demo_traffic.py:
//
//   demo_traffic --B 64 --H 16 --Nq 1024 --Nk 1024 --D 64 --causal 0 --sram 232448 --element-bytes 2 --count 1
//
// "formula" is for the whole shape. With --count 1, one head is run on metered memory too: "counted" is what the meters
// showed for it, "formula_one_head" what the formula says for it.
// The run is in float. With 2-byte elements its matrices are counted at 2 bytes an element, in HBM and in SRAM; the
// statistics m, l and lse in HBM stay float.

#include "fa/traffic.h"

#include <cstdio>
#include <exception>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "attention_forward.h"  // of lesson 04
#include "comparison.h"
#include "fa/inputs.h"

// Lesson 03's function has the same name. It is compiled in its own namespace for this comparison: see
// cmake/Lesson.cmake.
namespace lesson_03 {
void attention_forward(fa::hbm<const float> q, fa::hbm<const float> k, fa::hbm<const float> v, fa::hbm<float> out,
                       fa::hbm<float> lse, const fa::Shape& shape, const fa::Options& options, const fa::Tiles& tiles,
                       fa::Scratch& sram);
}

namespace {

struct Request {
  fa::Shape shape;
  fa::Options options;
  fa::Index sram_bytes = 0;
  fa::Index element_bytes = 4;
  bool count = false;
};

// One head on metered memory.
struct Head {
  explicit Head(const fa::Shape& all_heads)
      : shape{.B = 1, .H = 1, .Nq = all_heads.Nq, .Nk = all_heads.Nk, .D = all_heads.D} {}

  const fa::Shape shape;
  const fa::Inputs inputs = fa::make_inputs(shape);
  std::vector<float> out = std::vector<float>(inputs.q.size());
  fa::TrafficMeter meter;
  fa::hbm<const float> q = meter.buffer("q", inputs.q), k = meter.buffer("k", inputs.k),
                       v = meter.buffer("v", inputs.v);
  fa::hbm<float> out_in_hbm = meter.buffer("out", out);
  fa::Scratch scratch{"HBM"}, sram{"SRAM"};

  fa::hbm<float> attach(const char* name, fa::Scratch::Array<float>& memory) {
    return meter.buffer(name, memory.span());
  }
};

constexpr fa::Tiles no_tiles{.Br = 0, .Bc = 0};

struct Algorithm {
  const char* name;
  fa::Tiles tiles;
  fa::Traffic traffic;
  fa::Traffic traffic_one_head;
  fa::Index scratch_bytes;
  fa::Index kept_element_bytes;  // of what scratch_bytes counts: S and P are matrices; m, l, lse are statistics
  fa::Index flops;
  std::function<void(Head&)> run;  // empty: nothing to run
};

std::vector<Algorithm> algorithms(const Request& request) {
  const fa::Shape& shape = request.shape;
  const fa::Options& options = request.options;
  const fa::Shape one_head{.B = 1, .H = 1, .Nq = shape.Nq, .Nk = shape.Nk, .D = shape.D};
  const fa::Index bytes = request.element_bytes;
  const fa::Index sram_as_float = request.sram_bytes / bytes * fa::Index{sizeof(float)};
  const fa::Tiles v1_tiles = lesson::choose_tiles(sram_as_float, shape.D);
  const fa::Tiles v2_tiles = lesson::choose_v2_tiles(sram_as_float, shape.D);
  const fa::Index flops = fa::forward_flops(shape, options);
  const fa::Options no_mask{.causal = false, .scale = options.scale};  // standard attention computes hidden scores too

  const auto run_standard = [options](Head& head) {
    lesson::standard_attention(head.q, head.k, head.v, head.out_in_hbm, head.shape, options, head.meter, head.scratch);
  };
  const auto run_v1 = [options, v1_tiles](Head& head) {
    auto m = head.scratch.allocate<float>("m", head.shape.Nq), l = head.scratch.allocate<float>("l", head.shape.Nq);
    const fa::hbm<float> m_in_hbm = head.attach("m", m), l_in_hbm = head.attach("l", l);
    lesson::attention_forward(head.q, head.k, head.v, head.out_in_hbm, m_in_hbm, l_in_hbm, head.shape, options,
                              v1_tiles, head.sram);
  };
  const auto run_v2 = [options, v2_tiles](Head& head) {
    auto lse = head.scratch.allocate<float>("lse", head.shape.Nq);
    lesson_03::attention_forward(head.q, head.k, head.v, head.out_in_hbm, head.attach("lse", lse), head.shape, options,
                                 v2_tiles, head.sram);
  };
  return {
      {.name = "standard",
       .tiles = no_tiles,
       .traffic = fa::standard_forward_traffic(shape, bytes),
       .traffic_one_head = fa::standard_forward_traffic(one_head, bytes),
       .scratch_bytes = fa::standard_forward_scratch(shape, bytes),
       .kept_element_bytes = bytes,
       .flops = fa::forward_flops(shape, no_mask),
       .run = run_standard},
      {.name = "V1",
       .tiles = v1_tiles,
       .traffic = fa::v1_forward_traffic(shape, options, v1_tiles, bytes),
       .traffic_one_head = fa::v1_forward_traffic(one_head, options, v1_tiles, bytes),
       .scratch_bytes = fa::v1_forward_scratch(shape),
       .kept_element_bytes = fa::statistic_bytes,
       .flops = flops,
       .run = run_v1},
      {.name = "V2",
       .tiles = v2_tiles,
       .traffic = fa::v2_forward_traffic(shape, options, v2_tiles, bytes),
       .traffic_one_head = fa::v2_forward_traffic(one_head, options, v2_tiles, bytes),
       .scratch_bytes = fa::v2_forward_scratch(shape),
       .kept_element_bytes = fa::statistic_bytes,
       .flops = flops,
       .run = run_v2},
      {.name = "least possible",
       .tiles = no_tiles,
       .traffic = fa::least_forward_traffic(shape, bytes),
       .traffic_one_head = fa::least_forward_traffic(one_head, bytes),
       .scratch_bytes = fa::v2_forward_scratch(shape),
       .kept_element_bytes = fa::statistic_bytes,
       .flops = flops,
       .run = {}},
  };
}

void print_traffic(const char* name, const fa::Traffic& traffic) {
  std::printf("\"%s\": {\"read_bytes\": %lld, \"written_bytes\": %lld}", name, (long long)traffic.read_bytes,
              (long long)traffic.written_bytes);
}

bool is_statistic(const std::string& buffer) { return buffer == "m" || buffer == "l" || buffer == "lse"; }

void print_counted(const Algorithm& algorithm, const Request& request) {
  if (!algorithm.run || !request.count) {
    std::printf("\"counted\": null");
    return;
  }
  Head head(request.shape);
  algorithm.run(head);
  const auto in_elements_of = [](fa::Index float_bytes, fa::Index bytes) {
    return float_bytes / fa::Index{sizeof(float)} * bytes;
  };

  std::printf("\"counted\": {\"buffers\": {");
  fa::Traffic total;
  const char* separator = "";
  for (const auto& [name, traffic] : head.meter.by_buffer()) {
    const fa::Index bytes = is_statistic(name) ? fa::statistic_bytes : request.element_bytes;
    const fa::Traffic scaled{in_elements_of(traffic.read_bytes, bytes), in_elements_of(traffic.written_bytes, bytes)};
    std::printf("%s", separator);
    print_traffic(name.c_str(), scaled);
    total = total + scaled;
    separator = ", ";
  }
  std::printf("}, \"read_bytes\": %lld, \"written_bytes\": %lld, \"scratch_bytes\": %lld, \"sram_bytes\": %lld}",
              (long long)total.read_bytes, (long long)total.written_bytes,
              (long long)in_elements_of(head.scratch.peak_bytes(), algorithm.kept_element_bytes),
              (long long)in_elements_of(head.sram.peak_bytes(), request.element_bytes));
}

void print_algorithm(const Algorithm& algorithm, const Request& request) {
  std::printf("{\"name\": \"%s\", \"Br\": %lld, \"Bc\": %lld, ", algorithm.name, (long long)algorithm.tiles.Br,
              (long long)algorithm.tiles.Bc);
  print_traffic("formula", algorithm.traffic);
  std::printf(", ");
  print_traffic("formula_one_head", algorithm.traffic_one_head);
  std::printf(", \"scratch_bytes\": %lld, \"flops\": %lld, ", (long long)algorithm.scratch_bytes,
              (long long)algorithm.flops);
  print_counted(algorithm, request);
  std::printf("}");
}

}  // namespace

int main(int argc, char** argv) try {
  const demo::Arguments arguments(
      argc, argv, {"--B", "--H", "--Nq", "--Nk", "--D", "--causal", "--sram", "--element-bytes", "--count"});
  const Request request{.shape = {.B = arguments.integer("--B", 1),
                                  .H = arguments.integer("--H", 1),
                                  .Nq = arguments.integer("--Nq", 1024),
                                  .Nk = arguments.integer("--Nk", 1024),
                                  .D = arguments.integer("--D", 64)},
                        .options = {.causal = arguments.integer("--causal", 0) != 0},
                        .sram_bytes = arguments.integer("--sram", 232448),
                        .element_bytes = arguments.integer("--element-bytes", 4),
                        .count = arguments.integer("--count", 0) != 0};
  fa::validate(request.shape, request.options);
  if (request.element_bytes != 2 && request.element_bytes != 4) {
    throw std::invalid_argument("--element-bytes = " + std::to_string(request.element_bytes) + ": must be 2 or 4");
  }
  const std::vector<Algorithm> rows = algorithms(request);
  std::printf("{\"algorithms\": [");
  for (std::size_t at = 0; at < rows.size(); ++at) {
    std::printf("%s", at == 0 ? "" : ", ");
    print_algorithm(rows[at], request);
  }
  std::printf("]}\n");
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "demo_traffic: %s\n", error.what());
  return 2;
}
