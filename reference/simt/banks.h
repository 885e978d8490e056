// Bank conflicts of shared memory, counted.
//
// Shared memory has 32 banks; 4 bytes that begin at byte b of a block's shared memory, a word, are in bank b / 4
// mod 32. In one pass, each bank gives one word, to all lanes that want it. So an instruction of a warp takes as many
// passes as the bank with the most different words. Lanes that access 8 bytes take turns by half-warps, those that
// access 16 bytes by quarter-warps: the 32 words that a pass can bring do for no more. At which word an array begins
// does not matter, since all lanes of an instruction access one array: its bytes are counted from its own first one.
//
// Which accesses belong to one instruction is found out as in counting.h: the n-th of each lane since the last barrier.

#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "fa/byte_counts.h"
#include "simt/shared_storage.h"
#include "simt/thread.h"

namespace fa::simt {

// Whether the launch that runs now wants it. It costs time and memory, so mostly nobody does.
inline constinit bool counting_banks = false;

// An instruction of the running thread accesses `elements` neighbors from element `at` on. Atomic operations are not
// counted.
[[gnu::cold]] void count_banks(const SharedStorage& storage, Index at, int elements, Access access);

// The counts of one OS thread during a launch. Not shared, so nothing is locked; the launch adds them up.
class BankCounter {
 public:
  void begin_launch() { arrays_.clear(); }
  void note(const Thread& thread, const SharedStorage& storage, Index at, int elements, bool write);
  std::vector<SharedTraffic> by_array() const;  // an array may be there twice

 private:
  // An instruction of a warp, as far as its lanes have come. A place is what a lane accesses: a word, or 8 or 16 bytes.
  // A slot is a part of the banks as wide as a place, in the turn of one group of lanes: 32 words, or 2 times 16 slots
  // of 8 bytes, or 4 times 8 of 16.
  struct Request {
    struct Place {
      std::uint32_t slot, place;
    };
    std::uint32_t taken = 0;                  // bits: slots that have a place
    std::array<std::uint8_t, 4> passes = {};  // of each group of lanes, by its first quarter-warp
    std::vector<Place> conflicts;             // further places of slots that were taken
    std::array<std::uint32_t, kWarp> place;   // the first one of each slot
  };
  // Of one kind of access, loads or stores, to one array.
  struct Stream {
    struct Lane {
      std::uint64_t interval = 0;
      std::uint32_t accesses = 0;  // since this barrier
    };
    struct Requests {
      std::uint64_t interval = 0;
      std::vector<Request> list;  // since this barrier
    };
    BankCount count;
    std::vector<Lane> lanes;         // by index of the thread
    std::vector<Requests> requests;  // by number of the warp
  };
  struct Array {
    const SharedStorage* storage;
    std::string_view name;  // a region of dynamic shared memory may have another one in another block
    Stream loads, stores;
  };

  Array& array_of(const SharedStorage& storage);
  static void note(Stream& stream, const Thread& thread, std::uint32_t place, std::uint32_t place_bytes);

  std::deque<Array> arrays_;
};

}  // namespace fa::simt
