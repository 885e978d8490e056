// fa/hbm.h: every byte through an hbm<T> is counted once, and nothing outside a buffer is touched.

#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "fa/hbm.h"
#include "fa/testing.h"

namespace {

using Catch::Matchers::ContainsSubstring;
using Reader = fa::hbm<const float>;
using Writer = fa::hbm<float>;

static_assert(std::is_convertible_v<Writer, Reader> && !std::is_convertible_v<Reader, Writer>);
static_assert(std::is_same_v<decltype(std::declval<Reader>()[0]), float>);  // a value: nothing can be assigned to it
static_assert(std::is_assignable_v<decltype(std::declval<Writer>()[0]), float>);
static_assert(!std::is_copy_constructible_v<fa::TrafficMeter> && !std::is_move_constructible_v<fa::TrafficMeter>);
static_assert(!std::is_copy_assignable_v<fa::TrafficMeter> && !std::is_move_assignable_v<fa::TrafficMeter>);

// Two buffers of different sizes and a meter.
struct Fixture {
  std::vector<float> q_values{1, 2, 3, 4, 5};
  std::vector<float> out_values{10, 20, 30};
  fa::TrafficMeter meter;
  Reader q = meter.buffer("q", std::as_const(q_values));
  Writer out = meter.buffer("out", out_values);

  void check(const char* name, fa::Index read_bytes, fa::Index written_bytes) const {
    INFO("buffer " << name);
    CHECK(meter.of(name).read_bytes == read_bytes);
    CHECK(meter.of(name).written_bytes == written_bytes);
  }
};

}  // namespace

// ---- Counting

TEST_CASE("attaching memory counts nothing, and neither does moving a pointer") {
  Fixture f;
  const Reader moved = f.q + 3;
  CHECK(moved.size() == 2);
  CHECK(f.meter.total() == fa::Traffic{0, 0});
}

TEST_CASE("a read is counted by its buffer, and gives the value") {
  Fixture f;
  CHECK(f.q[1] == 2.0f);
  CHECK((f.q + 2)[2] == 5.0f);
  CHECK((f.q + 2)[-1] == 2.0f);
  f.check("q", 12, 0);
  f.check("out", 0, 0);
}

TEST_CASE("a write is counted by its buffer, is no read, and reaches the caller's memory") {
  Fixture f;
  f.out[2] = 7.0f;
  (f.out + 1)[-1] = 8.0f;
  CHECK(f.out_values == std::vector<float>{8, 20, 7});
  f.check("q", 0, 0);
  f.check("out", 0, 8);
}

TEST_CASE("an update is a read and a write") {
  Fixture f;
  f.out[0] += 1.0f;
  f.out[1] -= 2.0f;
  f.out[2] *= 3.0f;
  CHECK(f.out_values == std::vector<float>{11, 18, 90});
  f.check("out", 12, 12);
  f.out[2] /= 4.0f;
  CHECK(f.out_values[2] == 22.5f);
  f.check("out", 16, 16);
}

TEST_CASE("p[i] = p[j] copies the value: a read of one and a write of the other") {
  Fixture f;
  f.out[0] = f.out[2];
  CHECK(f.out_values == std::vector<float>{30, 20, 30});
  f.check("out", 4, 4);
  f.out[1] = f.q[4];
  CHECK(f.out_values[1] == 5.0f);
  f.check("q", 4, 0);
  f.check("out", 4, 8);
}

TEST_CASE("an element is read as often as its value is used") {
  Fixture f;
  const float sum = f.out[0] + f.out[0] * f.q[0];
  CHECK(sum == 20.0f);
  f.check("out", 8, 0);
  f.check("q", 4, 0);
  const float once = f.out[1];
  CHECK(once + once == 40.0f);
  f.check("out", 12, 0);
}

TEST_CASE("bytes are those of the element's type") {
  std::vector<double> doubles{1, 2};
  std::array<std::int16_t, 3> shorts{7, 8, 9};
  fa::TrafficMeter meter;
  const fa::hbm<double> d = meter.buffer("doubles", std::span(doubles));
  const fa::hbm<const std::int16_t> s = meter.buffer<const std::int16_t>("shorts", shorts);
  d[1] = d[0];
  CHECK(s[1] == 8);
  CHECK(meter.of("doubles") == fa::Traffic{8, 8});
  CHECK(meter.of("shorts") == fa::Traffic{2, 0});
  CHECK(meter.total() == fa::Traffic{10, 8});
}

TEST_CASE("the total is the sum over the buffers, which are listed in the order of attachment") {
  Fixture f;
  f.out[0] = f.q[0] + f.q[1];
  f.out[1] += 1.0f;
  CHECK(f.meter.total() == fa::Traffic{12, 8});
  CHECK(f.meter.total().total() == 20);
  const std::vector<std::pair<std::string, fa::Traffic>> expected{{"q", {8, 0}}, {"out", {4, 8}}};
  CHECK(f.meter.by_buffer() == expected);
}

TEST_CASE("a reset sets all counts to zero, and pointers go on counting") {
  Fixture f;
  f.out[0] = f.q[0];
  f.meter.reset();
  CHECK(f.meter.total() == fa::Traffic{0, 0});
  CHECK(f.meter.by_buffer().size() == 2);
  f.out[1] = f.q[1];
  f.check("q", 4, 0);
  f.check("out", 0, 4);
}

TEST_CASE("pointers stay valid while more buffers are attached") {
  Fixture f;
  for (int count = 0; count < 1000; ++count) f.meter.buffer("extra " + std::to_string(count), f.q_values);
  CHECK(f.q[0] == 1.0f);
  f.check("q", 4, 0);
}

TEST_CASE("traffics add up") {
  CHECK(fa::Traffic{1, 20} + fa::Traffic{300, 4000} == fa::Traffic{301, 4020});
  CHECK(fa::Traffic{1, 20}.total() == 21);
}

// ---- Pointers

TEST_CASE("an hbm<float> is an hbm<const float> at the same place of the same buffer") {
  Fixture f;
  const Reader reader = f.out + 1;
  CHECK(reader.size() == 2);
  CHECK(reader[1] == 30.0f);
  f.check("out", 4, 0);
}

TEST_CASE("a pointer reaches the memory that is left of its buffer, and moves add up") {
  Fixture f;
  CHECK(f.q.size() == 5);
  CHECK((f.q + 2 + 1).size() == 2);
  CHECK((f.q + 4 + -3)[0] == 2.0f);
  CHECK((f.q + 5).size() == 0);
}

// ---- Out of bounds

TEST_CASE("an index outside of the buffer is an error that names buffer, access and element") {
  Fixture f;
  CHECK_THROWS_AS(f.q[5], std::out_of_range);
  CHECK_THROWS_WITH(f.q[5], ContainsSubstring("HBM buffer 'q' of 5 elements: read of element 5"));
  CHECK_THROWS_WITH(f.q[-1], ContainsSubstring("'q' of 5 elements: read of element -1"));
  CHECK_THROWS_WITH(f.out[3] = 1.0f, ContainsSubstring("HBM buffer 'out' of 3 elements: write of element 3"));
  CHECK_THROWS_WITH(f.out[-2] = 1.0f, ContainsSubstring("write of element -2"));
  CHECK_THROWS_WITH(f.out[3] += 1.0f, ContainsSubstring("read of element 3"));
}

TEST_CASE("the element that is named counts from the start of the buffer, not from the pointer") {
  Fixture f;
  CHECK_THROWS_WITH((f.q + 3)[2], ContainsSubstring("read of element 5"));
  CHECK_THROWS_WITH((f.q + 3)[-4], ContainsSubstring("read of element -1"));
  CHECK_THROWS_WITH((f.out + -2)[1] = 1.0f, ContainsSubstring("write of element -1"));
  CHECK_THROWS_WITH(Reader(f.out + 2)[1], ContainsSubstring("'out' of 3 elements: read of element 3"));
}

TEST_CASE("an access that fails counts nothing and writes nothing") {
  std::vector<float> memory{1, 2, 3, 4};
  fa::TrafficMeter meter;
  const Writer middle = meter.buffer("middle", std::span(memory).subspan(1, 2));
  CHECK_THROWS_AS(middle[2] = 9.0f, std::out_of_range);
  CHECK_THROWS_AS(middle[-1] = 9.0f, std::out_of_range);
  CHECK_THROWS_AS((middle + 2)[0] *= 9.0f, std::out_of_range);
  CHECK(memory == std::vector<float>{1, 2, 3, 4});
  CHECK(meter.total() == fa::Traffic{0, 0});
}

TEST_CASE("a null pointer has no elements, and says so when it is used") {
  const Writer null;
  CHECK(null.size() == 0);
  CHECK_THROWS_AS(null[0] = 1.0f, std::out_of_range);
  CHECK_THROWS_WITH(Reader(null)[0], ContainsSubstring("null pointer"));
  CHECK_THROWS_WITH(Reader(null + 4)[2], ContainsSubstring("null pointer' of 0 elements: read of element 6"));
}

TEST_CASE("an empty buffer may be attached, and has no element 0") {
  std::vector<float> nothing;
  fa::TrafficMeter meter;
  const Writer empty = meter.buffer("k", nothing);
  CHECK(empty.size() == 0);
  CHECK_THROWS_WITH(empty[0] = 1.0f, ContainsSubstring("'k' of 0 elements"));
}

// ---- Names

TEST_CASE("a name that is taken is rejected, and the buffer that has it keeps its counts") {
  Fixture f;
  f.out[0] = 1.0f;
  CHECK_THROWS_AS(f.meter.buffer("out", f.q_values), std::invalid_argument);
  CHECK_THROWS_WITH(f.meter.buffer("out", f.q_values), ContainsSubstring("name = 'out'"));
  CHECK(f.meter.by_buffer().size() == 2);
  f.check("out", 0, 4);
}

TEST_CASE("a name that nobody attached is rejected") {
  const Fixture f;
  CHECK_THROWS_AS(f.meter.of("k"), std::invalid_argument);
  CHECK_THROWS_WITH(f.meter.of("k"), ContainsSubstring("name = 'k': no such buffer is attached"));
}
