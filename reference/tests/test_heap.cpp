#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <vector>

#include "fa/heap.h"
#include "fa/scratch.h"

TEST_CASE("a heap meter counts what is taken while it exists, given back or not") {
  const auto before = std::make_unique<std::vector<float>>(100);
  const fa::HeapMeter heap;
  CHECK(heap.bytes() == 0);
  {
    const std::vector<float> values(25);
  }
  CHECK(heap.bytes() == 100);
  const std::vector<double> more(3);
  const fa::HeapMeter later;
  CHECK(heap.bytes() == 124);
  CHECK(later.bytes() == 0);
}

TEST_CASE("memory from scratch, and nothing else, is what both meters agree on") {
  fa::Scratch scratch;
  const fa::HeapMeter heap;
  {
    const auto array = scratch.allocate<float>("a name that is too long to be kept without memory of its own", 10);
  }
  const auto array = scratch.allocate<double>("sums", 4);
  CHECK(scratch.total_bytes() == 72);
  CHECK(heap.bytes() == scratch.heap_bytes());
  const std::vector<float> beside(5);
  CHECK(heap.bytes() == scratch.heap_bytes() + 20);
}
