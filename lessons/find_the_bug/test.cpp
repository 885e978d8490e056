// The properties of the lab's kernels. For each of them first what one would try first, then what one should try.

#include <stdexcept>

#include "fa/testing.h"
#include "kernels.h"
#include "test_support.h"

using namespace support;

TEST_CASE("delta is right for 64 rows", "[bug01]") { check_output_delta(64, 32); }

TEST_CASE("delta is right for any number of rows and columns", "[bug01]") {
  check_output_delta(63, 33);
  for (const fa::Index rows : {0, 1, 5}) check_output_delta(rows, 7);
}

TEST_CASE("the scores of one tile are right", "[bug02]") { check_scores(lesson::scores_whole_rows, 32, 32, 64); }

TEST_CASE("the scores are right for any Nq, Nk and D", "[bug02]") {
  check_scores(lesson::scores_whole_rows, 33, 65, 63);
  check_scores(lesson::scores_whole_rows, 3, 40, 1);
}

TEST_CASE("l is right for 4 rows of 256", "[bug03]") { check_normalizer(4, 256); }

TEST_CASE("l is right for any number of columns", "[bug03]") {
  for (const fa::Index columns : {1, 17, 127, 129, 515}) check_normalizer(3, columns);
}

TEST_CASE("m is right for 8 rows of 64", "[bug04]") { check_row_maximum(8, 64); }

TEST_CASE("m is right for any number of rows and columns", "[bug04]") {
  for (const fa::Index columns : {65, 33, 20, 1, 0}) check_row_maximum(5, columns);
}

TEST_CASE("dv is right for 32 queries", "[bug05]") { check_value_gradient(32, 64, 64); }

TEST_CASE("dv is right for any number of queries", "[bug05]") {
  check_value_gradient(65, 33, 20);
  check_value_gradient(7, 40, 33);
}

TEST_CASE("out is right for 64 queries and keys", "[bug06]") { check_output(64, 64, 64); }

TEST_CASE("out is right for any number of queries and keys", "[bug06]") {
  for (const fa::Index Nk : {20, 65, 1, 0}) check_output(33, Nk, 40);
}

TEST_CASE("the scores are right for D = 32", "[bug07]") { check_scores(lesson::scores_in_slices, 64, 64, 32); }

TEST_CASE("the scores are right for any D", "[bug07]") {
  for (const fa::Index D : {64, 33, 1, 0}) check_scores(lesson::scores_in_slices, 40, 33, D);
}

TEST_CASE("k_t is right for any number of keys and columns", "[bug08]") {
  for (const fa::Index Nk : {64, 33, 1, 0}) {
    for (const fa::Index D : {64, 40}) check_key_transpose(Nk, D);
  }
}

TEST_CASE("k is read, and k_t written, in whole sectors of 32 bytes", "[bug08]") {
  require_counts();
  fa::DeviceMeter meter;
  check_key_transpose(64, 64);
  const fa::Index sectors = 64 * 64 * 4 / 32;
  check_count("sectors of k that were read", sectors, meter.read_sectors());
  check_count("sectors of k_t that were written", sectors, meter.written_sectors());
}

TEST_CASE("m and l are right for any number of rows and columns", "[bug09]") {
  for (const fa::Index rows : {64, 33, 1}) {
    for (const fa::Index columns : {64, 65, 20, 1}) check_row_state(rows, columns);
  }
}

TEST_CASE("s is read once, in whole sectors, and no lane waits for a bank", "[bug09]") {
  require_counts();
  fa::DeviceMeter meter(fa::Count::banks);
  check_row_state(64, 64);
  check_count("sectors of s that were read", 64 * 64 * 4 / 32, meter.read_sectors());
  check_count("bank conflicts when s_tile is written", 0, meter.shared_of("s_tile").stores.conflicts);
  check_count("bank conflicts when s_tile is read", 0, meter.shared_of("s_tile").loads.conflicts);
}

TEST_CASE("out is right for 2 heads of 64 keys", "[bug10]") { check_weighted_values(2, 64); }

TEST_CASE("out is right for any number of keys", "[bug10]") {
  for (const fa::Index Nk : {47, 16, 5, 1, 0}) check_weighted_values(3, Nk);
}
