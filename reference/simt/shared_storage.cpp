#include "simt/shared_storage.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fstream>
#include <map>
#include <utility>

#include "simt/block.h"
#include "simt/fault.h"

namespace fa::simt {
namespace {

// The names declared in a line such as `__shared__ fa::shared<float, 32, D + 1> k_tile, v_tile;  // padded`: what
// stands between the last '>' and the ';', split at commas. Empty if the line does not look like that.
std::vector<std::string> names_declared(const std::string& line) {
  std::vector<std::string> names;
  const std::size_t end = line.find(';');
  if (end == std::string::npos) return names;
  const std::size_t begin = line.rfind('>', end);
  if (begin == std::string::npos) return names;
  std::string name;
  for (std::size_t at = begin + 1; at <= end; ++at) {
    const char letter = line[at];
    if (std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_') {
      name += letter;
    } else if (letter == ',' || letter == ';') {
      if (!name.empty()) names.push_back(std::exchange(name, {}));
    }
  }
  return names;
}

// Between the copy into this element that `issuer` has issued, and the thread that touches it.
std::string what_is_missing(const Thread& issuer, const Thread& toucher, const SharedStorage& storage, Index at) {
  const auto holds = [&](const Thread::Copy& copy) {
    return copy.storage == &storage && copy.at <= at && at < copy.at + copy.elements;
  };
  const auto latest = std::find_if(issuer.copies.rbegin(), issuer.copies.rend(), holds);
  const bool committed = latest != issuer.copies.rend() && latest->batch < issuer.batches;
  const std::string batch =
      committed ? std::to_string(latest->batch + 1) + " of " + std::to_string(issuer.batches) : "";
  return "  thread " + text(issuer.idx) + " issued the copy" +
         (committed ? ", in batch " + batch + "; no __pipeline_wait_prior there has waited for it\n"
                    : "; no __pipeline_commit there has followed\n") +
         (&issuer == &toucher ? "" : "  others also need a barrier after that wait\n");
}

// Only for a message, so that reading the source file again costs nothing that matters.
std::string name_declared(const Place& declared, int ordinal) {
  std::ifstream source(declared.file);
  std::string line;
  for (int number = 0; number < declared.line; ++number) {
    if (!std::getline(source, line)) return {};
  }
  const std::vector<std::string> names = names_declared(line);
  return names.empty() ? "" : names[std::size_t(ordinal) % names.size()];
}

}  // namespace

std::string SharedStorage::name() const {
  if (!layout.name.empty()) return std::string(layout.name);
  const std::string declared = name_declared(layout.declared, ordinal);
  return declared.empty() ? "the shared array of " + to_string(layout.declared) : declared;
}

std::string SharedStorage::text_of_element(Index at) const {
  std::string indices;
  for (int dimension = layout.rank - 1; dimension >= 0; --dimension) {
    const Index extent = layout.extents[std::size_t(dimension)];
    indices = '[' + std::to_string(at % extent) + ']' + indices;
    at /= extent;
  }
  return name() + indices;
}

void stop_at_index(const SharedStorage* storage, int rank, Index index, int extent) {
  const std::string text = "shared memory: index " + std::to_string(index);
  if (storage == nullptr) stop(*running, text + " of an array that no memory was dealt out for");
  stop(*running, text + " in dimension " + std::to_string(storage->layout.rank - rank) + " of '" + storage->name() +
                     "', which has " + std::to_string(extent));
}

void stop_at_span(const SharedStorage& storage, Index at, int elements, Access access) {
  stop(*running, std::string("shared memory: ") + (access == Access::read ? "read of " : "write to ") +
                     std::to_string(elements) + " elements of '" + storage.name() + "', the first of them element " +
                     std::to_string(at) + ", past its end: it has " + std::to_string(storage.layout.elements()));
}

void check_shared(SharedStorage& storage, Index at, Access access) {
  const Thread& thread = *running;
  if (!thread.block->kernel().settings.checks) return;
  const std::uint32_t block = block_serial_of(thread.now);
  Shadow& element = storage.shadows[std::size_t(at)];
  // Blocks share nothing, and what an earlier block on this OS thread left behind does not count as written.
  if (access != Access::write && block_serial_of(element.write_time) != block) {
    // What follows should not run wild on whatever the element holds.
    std::memset(storage.data + at * storage.layout.element_bytes, 0, std::size_t(storage.layout.element_bytes));
    const auto message = [&](const char* what, const char* more) {
      return fault_message(thread, "shared memory: read of " + storage.text_of_element(at) + what, more);
    };
    return thread.block->stop_later_unwritten(
        element,
        [&] {
          return message(", which nothing wrote yet", "  if another thread writes it later, a barrier is missing\n");
        },
        [&] {
          return message(", which nothing wrote",
                         "  and no other thread writes it, up to the next barrier or the end\n");
        });
  }
  if (element.copy == Copy::in_flight && block_serial_of(element.write_time) == block) {
    return thread.block->stop_later([&] {
      return fault_message(thread,
                           "shared memory: " + storage.text_of_element(at) +
                               (access == Access::read ? " is read" : " is written") +
                               " before an asynchronous copy into it has arrived",
                           what_is_missing(thread.block->thread(element.writer), thread, storage, at));
    });
  }
  const Conflict conflict = note(element, thread, block, access);
  if (conflict) {
    thread.block->stop_later(
        [&] { return race_message(thread, "shared memory: " + storage.text_of_element(at), conflict, access); });
  }
}

int next_ordinal(const Place& declared) {
  thread_local std::map<std::pair<std::string, int>, int> seen;
  return seen[{declared.file, declared.line}]++;
}

}  // namespace fa::simt
